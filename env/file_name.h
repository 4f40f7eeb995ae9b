// Names of files that Refrain writes: patterns with placeholders, so that many processes can be given one name.
#pragma once

#include <string>
#include <string_view>

#include "env/child_environment.h"

namespace refrain::env {

/// %p is the process id, %n the program's name, %h the host's, %r the process's rank, %j the job of the batch system,
/// %i the lowest number of a file that is not there yet, %% a percent sign. Rank and job come from the variables that
/// launchers and batch systems set; without them both are 0. What others chose never adds a folder to the name.
///
/// Host, rank and job are asked for once, when the object is made: the program may change its environment later. The
/// process id is that of the caller. Immutable, so thread-safe.
class FileName {
 public:
  explicit FileName(std::string_view pattern, const Lookup& lookup = process_variable);

  /// Whether it has %i: such a file is made, or another number is taken (OwnFile).
  [[nodiscard]] bool counted() const noexcept { return counted_; }
  /// Whether it is the same name everywhere and each time.
  [[nodiscard]] bool fixed() const noexcept { return fixed_; }
  /// The name with this number for %i.
  [[nodiscard]] std::string text(unsigned number = 1) const;
  /// The name with the lowest number of which there is no file now.
  [[nodiscard]] std::string free_text() const;

  /// What is wrong with a pattern, behind its text in a message; empty: nothing.
  [[nodiscard]] static std::string problem(std::string_view pattern);
  /// The pattern of which `text` is the name.
  [[nodiscard]] static std::string literal(std::string_view text);

  /// Numbers for %i are 1 to this one.
  static constexpr unsigned kMostNumbers = 1'000'000;

 private:
  std::string pattern_;  ///< %p, %i and %% are left
  bool counted_ = false;
  bool fixed_ = true;
};

}  // namespace refrain::env
