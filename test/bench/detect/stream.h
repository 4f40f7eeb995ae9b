// A stream of submissions as text: one token per line, 0 for a host call, and optionally the number of
// the thread in a second column.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "capture/operation.h"

namespace refrain::bench {

struct Entry {
  capture::Token token = 0;
  std::uint32_t thread = 0;  ///< index into Stream::threads
};

struct Stream {
  std::vector<Entry> entries;
  std::vector<std::uint64_t> threads;  ///< their numbers, in order of appearance
  std::uint64_t operations = 0;
};

/// Numbers are decimal, or hexadecimal with 0x. Throws std::runtime_error that names `name`, the line and
/// what is wrong with it.
Stream read_stream(std::istream& input, const std::string& name);

}  // namespace refrain::bench
