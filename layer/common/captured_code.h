// Captures only: the code images that a program gave to its driver, and which of them a kernel is from.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/recorder.h"
#include "env/mutex.h"

namespace refrain::layer::common {

/// Thread-safe. May throw std::bad_alloc.
class CapturedCode {
 public:
  /// The one of the process; never destroyed.
  static CapturedCode& all() noexcept;

  /// Keeps a copy until a kernel of it is launched: libraries bring hundreds of images of which a program uses few, and
  /// the program may free its own at once. Returns its number.
  capture::CodeId add(capture::CodeKind kind, std::span<const std::byte> image);

  /// Tells the recorder of a kernel that is launched for the first time, and of its image (0: not known), which was
  /// built with `options`. Returns the id that it has in the capture: if its image is known by content, the same in
  /// every run, else `otherwise`.
  [[nodiscard]] capture::FunctionId tell(capture::Recorder& recorder, capture::CodeId image, const std::string& name,
                                         capture::FunctionId otherwise, const std::string& options = {});

 private:
  struct Image {
    capture::CodeKind kind = capture::CodeKind::kBinary;
    std::vector<std::byte> bytes;  ///< empty: told, or too large for the file
  };

  env::Mutex mutex_;
  std::unordered_map<capture::CodeId, Image> images_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::layer::common
