// What `refrain env` changes besides lists of libraries, and what was there before: in one variable of the shell, so
// that `refrain env --undo` can give it back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/child_environment.h"

namespace refrain::env {

class SavedSettings {
 public:
  static constexpr const char* kVariable = "REFRAIN_SAVED_SETTINGS";

  SavedSettings() = default;
  /// What text() gave; anything else is nothing.
  explicit SavedSettings(std::string_view text);

  /// Keeps what a variable was (nothing: it was not there), unless an earlier value of it is known.
  void keep(const std::string& name, const std::optional<std::string>& value) { before_.emplace(name, value); }
  [[nodiscard]] std::string text() const;
  /// What puts everything back as it was, and removes the variable itself.
  [[nodiscard]] std::vector<Variable> restored() const;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace refrain::env
