// Files of text that a command makes anew each time: pages and pictures. Their second line is a mark, by which they are
// known: a file that has it is replaced, any other one that is there stays.
#pragma once

#include <string>

namespace refrain::env {

struct MarkedFile {
  std::string name;
  const char* mark;
  const char* kind;  ///< "page"

  /// Throws std::runtime_error if it can't be written. Before what takes long.
  void check() const;
  /// Writes it whole or not at all, for its owner alone. Throws std::runtime_error.
  void write(const std::string& text) const;
};

}  // namespace refrain::env
