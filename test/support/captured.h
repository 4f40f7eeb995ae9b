// What a program's capture says of itself.
#pragma once

#include <filesystem>
#include <string>

#include "capture/reader.h"
#include "test/support/child.h"

namespace child {

/// Where runs in capture mode write to.
inline std::string capture_file() {
  return scratch("capture.rfn");
}

/// Before a run: what an earlier one has written is not taken for it.
inline void no_capture_yet() {
  std::filesystem::remove(capture_file());
}

/// Why the file of a program that ended by itself cannot be read; empty if it can, or if there is none, as of a program
/// that submits nothing.
inline std::string capture_fault() {
  if (!std::filesystem::exists(capture_file())) {
    return {};
  }
  std::string error;
  static_cast<void>(refrain::capture::read_capture(capture_file(), &error));
  return error;
}

}  // namespace child
