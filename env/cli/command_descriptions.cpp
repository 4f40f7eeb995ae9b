#include "env/cli/command_descriptions.h"

#include <algorithm>

#include "env/cli/commands.h"
#include "env/cli/completion.h"
#include "env/cli/options.h"

namespace refrain::env {
namespace {

const SettingInfo* find_setting(const std::string& option) {
  const auto table = setting_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const SettingInfo& info) { return option_name(info.name) == option; });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> split_words(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    words.emplace_back(list.substr(0, list.find('|')));
    list.remove_prefix(std::min(words.back().size() + 1, list.size()));
  }
  return words;
}

OptionDescription describe(const CLI::Option& option) {
  OptionDescription result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  result.help = option.get_description();
  if (option.get_items_expected_max() != 0) {
    const std::string type = option.get_type_name();  // "N:INT in [1 - 1000]"
    result.value = type.substr(0, type.find(':'));
  }
  const SettingInfo* const setting = result.names.empty() ? nullptr : find_setting(result.names.back());
  if (setting == nullptr) return result;
  result.setting = true;
  if (setting->type == "choice" || setting->type == "boolean") result.words = split_words(setting->range);
  if (setting->type == "boolean") {
    result.may_stand_alone = true;
    result.names.push_back("--no-" + result.names.back().substr(2));
  }
  return result;
}

CommandDescription describe(const CLI::App& app) {
  CommandDescription result;
  result.text = app.get_description();
  result.footer = app.get_footer();
  if (const auto* formatter = dynamic_cast<const CLI::Formatter*>(app.get_formatter().get()); formatter != nullptr) {
    constexpr std::string_view kBefore = "Usage: ";
    result.usage = formatter->make_usage(&app, app.get_name());
    if (result.usage.starts_with(kBefore)) result.usage.erase(0, kBefore.size());
    while (result.usage.ends_with('\n')) result.usage.pop_back();
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      result.takes_file = result.takes_file || option->get_name() == "FILE";
    } else {
      result.options.push_back(describe(*option));
      result.takes_settings = result.takes_settings || result.options.back().setting;
    }
  }
  result.takes_command = result.usage.find("COMMAND") != std::string::npos;
  if (result.usage.ends_with("SHELL")) result.words = completed_shells();
  result.takes_process = result.usage.find("PID") != std::string::npos;
  if (result.takes_process) result.words = control_words();
  return result;
}

}  // namespace

std::vector<CommandDescription> describe_commands() {
  std::vector<CommandDescription> result;
  for (const Command& command : command_table()) {
    if (command.help == nullptr) continue;
    const OptionReader reader([&](const CLI::App& app) { result.push_back(describe(app)); });
    command.run({});
    const std::string help = command.help;
    result.back().name = command.name;
    result.back().summary = help.substr(0, std::min(help.find(": refrain "), help.find("; ")));
  }
  return result;
}

std::string first_sentence(const std::string& text) {
  constexpr std::size_t kLongest = 72;
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line = line.substr(0, std::min(line.find(". "), line.find("; ")));
  if (line.size() > kLongest) line = wrap(line, kLongest).front() + " ...";
  return line;
}

}  // namespace refrain::env
