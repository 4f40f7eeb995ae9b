// `refrain env`: what `refrain run` would set, printed for a shell, and what takes it back.
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "env/cli/commands.h"
#include "env/cli/interposers.h"
#include "env/cli/options.h"
#include "env/cli/saved_settings.h"
#include "env/level_zero_environment.h"
#include "env/preload.h"
#include "env/ranges_environment.h"

namespace refrain::env {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Changes of an environment, one on top of the other, that are printed and not made.
class Changes {
 public:
  [[nodiscard]] std::optional<std::string> look_up(const std::string& name) const {
    const auto found = changed_.find(name);
    return found == changed_.end() ? process_variable(name) : found->second;
  }
  void make(const std::vector<Variable>& changes) {
    for (const Variable& change : changes) changed_[change.name] = change.value;
  }
  [[nodiscard]] std::vector<Variable> all() const {
    std::vector<Variable> result;
    for (const auto& [name, value] : changed_) result.push_back({name, value});
    return result;
  }

 private:
  std::map<std::string, std::optional<std::string>> changed_;
};

void print(const std::vector<Variable>& variables, bool json) {
  nlohmann::json object = nlohmann::json::object();
  for (const Variable& variable : variables) {
    const bool had_one = process_variable(variable.name).has_value();
    if (json) {
      object[variable.name] = variable.value ? nlohmann::json(*variable.value) : nlohmann::json();
    } else if (variable.value) {
      std::cout << "export " << variable.name << "=" << quoted(*variable.value) << "\n";
    } else if (had_one) {
      std::cout << "unset " << variable.name << "\n";
    }
  }
  if (json) std::cout << object.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
}

std::string folder_of(const std::string& file) {
  return file.substr(0, file.rfind('/') + 1);
}

/// What stands in the list because of us: what lies in our folder, and what we put in front of it.
std::vector<std::string> ours(const char* variable, const Lookup& lookup) {
  const std::vector<std::string> before =
      list_entries(variable, lookup("REFRAIN_SAVED_" + std::string(variable)).value_or(""));
  std::vector<std::string> result;
  for (const std::string& file : list_entries(variable, lookup(variable).value_or(""))) {
    if (folder_of(file) == folder_of(find_exit_hooks())) result.push_back(file);
  }
  if (result.empty() || std::string_view(variable) != "LD_PRELOAD") return result;
  for (const char* prefix : {"cu", "hip"}) {
    for (const Interposer& interposer : find_interposers(preloaded_everywhere(), prefix)) {
      if (std::find(before.begin(), before.end(), interposer.file) == before.end()) result.push_back(interposer.file);
    }
  }
  return result;
}

std::vector<Variable> deactivation() {
  Changes changes;
  const Lookup lookup = [&changes](const std::string& name) { return changes.look_up(name); };
  changes.make(repair_opencl(find_layer(), false, lookup));
  for (const char* variable : {"LD_PRELOAD", "LD_AUDIT"}) {
    changes.make(remove_libraries(variable, ours(variable, lookup), lookup));
  }
  changes.make(remove_ranges(lookup));
  if (const std::string layer = find_level_zero(); !layer.empty()) {
    changes.make(remove_level_zero(layer.substr(0, layer.rfind('/')), lookup));
  }
  if (const auto saved = lookup(SavedSettings::kVariable)) changes.make(SavedSettings(*saved).restored());
  return changes.all();
}

/// `given` as it will be, and what is there now.
Variable saved(const std::vector<Variable>& given) {
  SavedSettings before(process_variable(SavedSettings::kVariable).value_or(""));
  for (const Variable& variable : given) before.keep(variable.name, process_variable(variable.name));
  return {SavedSettings::kVariable, before.text()};
}

}  // namespace

int env_command(const CommandArguments& arguments) {
  CLI::App app(
      "Prints what `refrain run` would set, for a shell: eval \"$(refrain env --capture)\". What takes it back again:\n"
      "eval \"$(refrain env --undo)\"",
      "refrain env");
  set_usage(app, "refrain env [OPTIONS]");
  app.footer("The exit status is 0; 1 if a library of Refrain's is missing, 2 for wrong usage.");
  bool json = false;
  bool undo = false;
  app.add_flag("--json", json, "Print an object; a variable that is null is to be removed");
  app.add_flag("--undo", undo, "Print what makes everything as it was before `refrain env`");
  const SettingOptions options(app);
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  const std::vector<Variable> given = options.variables();
  if (undo && !given.empty()) throw UsageError("--undo goes with no setting");
  if (undo) return print(deactivation(), json), kSuccess;
  std::vector<Variable> variables;
  if (!given.empty()) variables.push_back(saved(given));
  for (Variable& variable : activation(given, {})) variables.push_back(std::move(variable));
  print(variables, json);
  return kSuccess;
}

}  // namespace refrain::env
