// In which programs Refrain does anything: the setting `programs`.
#pragma once

#include <string>
#include <string_view>

#include "env/settings.h"

namespace refrain::env {

/// A list of patterns, "python*, !nvidia-smi", and a program. It is chosen if no pattern with '!' matches its name, and
/// one of the others does, if there are others.
class ProgramChoice {
 public:
  ProgramChoice(std::string list, std::string program) : list_(std::move(list)), program_(std::move(program)) {}
  /// For this process.
  static ProgramChoice of(const Settings& settings);

  [[nodiscard]] bool chosen() const;

  /// What is wrong with a list, behind its text in a message; empty: nothing.
  [[nodiscard]] static std::string problem(std::string_view list);

 private:
  std::string list_;
  std::string program_;
};

/// The name of this process's executable file, without its folder. A program can call itself what it likes.
std::string executable_name();

}  // namespace refrain::env
