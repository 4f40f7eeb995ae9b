#include "env/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>

#include "env/config_files.h"
#include "env/file_name.h"
#include "env/program_choice.h"
#include "env/regular_file.h"
#include "env/secure_process.h"

namespace refrain::env {
namespace {

constexpr std::string_view kPrefix = "REFRAIN_";
constexpr std::size_t kLargestConfigFile = std::size_t{1} << 20U;
constexpr std::size_t kMostProblems = 100;

// What is wrong with a value; empty when it was taken.
using Problem = std::string;

struct Row {
  SettingInfo info;
  Problem (*parse)(Settings&, std::string_view value);
  std::string (*format)(const Settings&);
};

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), to_lower);
  return result;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Of what may be as long as a file, in a message.
std::string shown_part(std::string_view text) {
  constexpr std::size_t kMost = 200;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto end = list.find(separator);
    parts.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

Problem parse_boolean(bool& field, std::string_view value) {
  const std::string text = lower(value);
  for (const char* yes : {"1", "on", "true", "yes"}) {
    if (text == yes) return field = true, Problem();
  }
  for (const char* no : {"0", "off", "false", "no"}) {
    if (text == no) return field = false, Problem();
  }
  return "is neither on (1, true, yes) nor off (0, false, no)";
}

Problem parse_number(std::int64_t& field, std::int64_t minimum, std::int64_t maximum, std::string_view range,
                     std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = end == value.data() + value.size();
  if (error == std::errc::invalid_argument || !whole) {
    return "is not a whole number (" + std::string(range) + ")";
  }
  if (error == std::errc::result_out_of_range || number < minimum || number > maximum) {
    return "is out of range (" + std::string(range) + ")";
  }
  field = number;
  return {};
}

template <class Enum>
Problem parse_choice(Enum& field, std::string_view values, std::string_view value) {
  const std::vector<std::string> names = split(values, '|');
  const std::string text = lower(value);
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return "is not one of " + list + suggestion(text, names);
  }
  field = static_cast<Enum>(found - names.begin());
  return {};
}

// A file name or a comparable text can hold anything but what would break a line of the log.
Problem parse_text(std::string& field, std::string_view value) {
  if (value.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos) {
    return "contains a line break";
  }
  field = std::string(value);
  return {};
}

/// `needed`: it is not switched off by naming none.
Problem parse_output(std::string& field, std::string_view value, bool needed) {
  if (needed && value.empty()) return "is not the name of a file";
  Problem problem = FileName::problem(value);
  return problem.empty() ? parse_text(field, value) : problem;
}

Problem parse_patterns(std::string& field, std::string_view value) {
  Problem problem = ProgramChoice::problem(value);
  return problem.empty() ? parse_text(field, value) : problem;
}

std::string choice_name(std::string_view values, std::size_t index) {
  const std::vector<std::string> names = split(values, '|');
  return index < names.size() ? names[index] : std::string();
}

// Enough of the preprocessor to turn a table row into text: the name of the default of a CHOICE is found from
// its enumerator, so that the table states it once.
template <class Enum, Enum kDefault>
std::string_view choice_default(std::string_view values) {
  std::size_t begin = 0;
  for (std::size_t skipped = 0; skipped < static_cast<std::size_t>(kDefault); ++skipped) {
    begin = values.find('|', begin) + 1;
  }
  return values.substr(begin, values.find('|', begin) - begin);
}

const std::vector<Row>& rows() {
  // Never destroyed: the layer is used while static objects are being destroyed.
  static const auto* const table = new std::vector<Row>{
#define BOOLEAN(field, name, audience, example, default_value, help)                                         \
  Row{{name, "boolean", (default_value) ? "on" : "off", "on|off", help, SettingAudience::audience, example}, \
      [](Settings& s, std::string_view value) -> Problem { return parse_boolean(s.field, trim(value)); },    \
      [](const Settings& s) -> std::string { return s.field ? "on" : "off"; }},
#define NUMBER(field, name, audience, example, default_value, minimum, maximum, unit, help)                        \
  Row{{name, "number", #default_value, #minimum ".." #maximum " " unit, help, SettingAudience::audience, example}, \
      [](Settings& s, std::string_view value) -> Problem {                                                         \
        return parse_number(s.field, minimum, maximum, #minimum ".." #maximum " " unit, trim(value));              \
      },                                                                                                           \
      [](const Settings& s) -> std::string { return std::to_string(s.field); }},
#define TEXT(field, name, audience, example, default_value, help)                                \
  Row{{name, "text", default_value, "", help, SettingAudience::audience, example},               \
      [](Settings& s, std::string_view value) -> Problem { return parse_text(s.field, value); }, \
      [](const Settings& s) -> std::string { return s.field; }},
#define OUTPUT(field, name, audience, example, default_value, help)                    \
  Row{{name, "output", default_value, "", help, SettingAudience::audience, example},   \
      [](Settings& s, std::string_view value) -> Problem {                             \
        return parse_output(s.field, value, !std::string_view(default_value).empty()); \
      },                                                                               \
      [](const Settings& s) -> std::string { return s.field; }},
#define PATTERNS(field, name, audience, example, default_value, help)                                      \
  Row{{name, "list", default_value, "PATTERN,...", help, SettingAudience::audience, example},              \
      [](Settings& s, std::string_view value) -> Problem { return parse_patterns(s.field, trim(value)); }, \
      [](const Settings& s) -> std::string { return s.field; }},
#define CHOICE(field, name, audience, example, Enum, default_value, values, help)                                  \
  Row{{name, "choice", choice_default<Enum, Enum::default_value>(values), values, help, SettingAudience::audience, \
       example},                                                                                                   \
      [](Settings& s, std::string_view value) -> Problem { return parse_choice(s.field, values, trim(value)); },   \
      [](const Settings& s) -> std::string { return choice_name(values, static_cast<std::size_t>(s.field)); }},
#include "env/settings.def"
#undef BOOLEAN
#undef NUMBER
#undef TEXT
#undef OUTPUT
#undef PATTERNS
#undef CHOICE
  };
  return *table;
}

std::string table_name(std::string_view name) {
  std::string result = lower(trim(name));
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

// `shown` is how the user wrote the name: REFRAIN_MODE, --mode or mode.
std::optional<SettingProblem> set_as(Settings& settings, std::string_view name, std::string_view value,
                                     std::string_view source, const std::string& shown,
                                     std::string (*show)(std::string_view)) {
  const std::string wanted = table_name(name);
  for (const Row& row : rows()) {
    if (row.info.name != wanted) continue;
    const Problem problem = row.parse(settings, value);
    if (problem.empty()) return std::nullopt;
    return SettingProblem{std::string(source), shown + ": '" + shown_part(value) + "' " + problem};
  }
  std::vector<std::string> names;
  for (const Row& row : rows()) names.emplace_back(row.info.name);
  return SettingProblem{std::string(source),
                        "there is no setting " + shown_part(shown) + suggestion(wanted, names, show)};
}

// Notes a problem that does not stop anything.
void ignore(std::optional<SettingProblem> problem, const Settings& settings, std::string_view name,
            std::vector<SettingProblem>& problems) {
  if (!problem) return;
  const std::string kept = get(settings, name);
  problem->message += kept.empty() ? "; it is ignored" : "; '" + kept + "' stays in force";
  problems.push_back(std::move(*problem));
}

std::string same_name(std::string_view name) {
  return std::string(name);
}

// A '#' begins a comment at the start of a line or after a blank, but not inside quotes.
std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

std::optional<SettingProblem> set(Settings& settings, std::string_view name, std::string_view value,
                                  std::string_view source) {
  if (source == kCommandLine) return set_as(settings, name, value, source, option_name(name), option_name);
  return set_as(settings, name, value, source, std::string(name), same_name);
}

void load_config_file(Settings& settings, const std::string& path, std::vector<SettingProblem>& problems) {
  std::string content;
  std::string why;
  if (!read_regular_file(path, kLargestConfigFile, &content, &why, Writers::kTrusted)) {
    problems.push_back({path, "the config file is not used: " + why});
    return;
  }
  std::istringstream file(content);
  std::string text;
  const std::size_t before = problems.size();
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    const std::string_view line = trim(without_comment(text));
    if (line.empty()) continue;
    const std::string source = path + ":" + std::to_string(number);
    if (problems.size() - before >= kMostProblems) {  // it is something else than a config file
      problems.push_back({source, "the rest of the config file is ignored"});
      return;
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)).empty()) {
      problems.push_back({source, "'" + shown_part(line) + "' is not 'name = value'; the line is ignored"});
      continue;
    }
    std::string_view value = trim(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    const std::string_view name = trim(line.substr(0, equals));
    ignore(set(settings, name, value, source), settings, name, problems);
  }
}

Settings load_settings(const char* const* environment, std::vector<SettingProblem>& problems,
                       const std::string& system_config) {
  Settings settings;
  if (environment == nullptr) return settings;
  std::vector<std::pair<std::string_view, std::string_view>> variables;
  ConfigPlaces places;
  places.system = system_config;
  long root_process = 0;
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    places.see(name, value);
    if (!name.starts_with(kPrefix)) continue;
    if (name == "REFRAIN_ROOT_PID") std::from_chars(value.data(), value.data() + value.size(), root_process);
    if (std::find(std::begin(kHelperVariables), std::end(kHelperVariables), name) == std::end(kHelperVariables)) {
      variables.emplace_back(name, value);
    }
  }
  for (const std::string& file : config_files(places)) load_config_file(settings, file, problems);
  for (const auto& [name, value] : variables) {
    const std::string_view setting = name.substr(kPrefix.size());
    ignore(set_as(settings, setting, value, "environment", std::string(name), environment_name), settings, setting,
           problems);
  }
  if (!settings.follow_children && root_process != 0 && root_process != ::getpid()) {
    settings.mode = Mode::kOff;
  }
  return settings;
}

Settings configured_settings(std::vector<SettingProblem>& problems) {
  if (in_secure_process()) {
    Settings settings;
    settings.mode = Mode::kOff;
    return settings;
  }
  return load_settings(::environ, problems, kSystemConfig);
}

Settings load_settings(std::vector<SettingProblem>& problems) {
  std::vector<SettingProblem> found;
  Settings settings = configured_settings(found);
  if (!ProgramChoice::of(settings).chosen()) {
    settings.mode = Mode::kOff;
    return settings;
  }
  problems.insert(problems.end(), found.begin(), found.end());
  return settings;
}

std::span<const SettingInfo> setting_table() {
  static const auto* const infos = [] {
    auto* result = new std::vector<SettingInfo>;
    for (const Row& row : rows()) result->push_back(row.info);
    return result;
  }();
  return *infos;
}

std::string get(const Settings& settings, std::string_view name) {
  const std::string wanted = table_name(name);
  for (const Row& row : rows()) {
    if (row.info.name == wanted) return row.format(settings);
  }
  return {};
}

std::string environment_name(std::string_view name) {
  std::string result(kPrefix);
  std::transform(name.begin(), name.end(), std::back_inserter(result), to_upper);
  return result;
}

std::string option_name(std::string_view name) {
  std::string result = "--" + std::string(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

std::string example_option(const SettingInfo& info) {
  const std::string option = option_name(info.name);
  if (info.type == "list") return option + " '" + std::string(info.example) + "'";
  if (info.type != "boolean") return option + " " + std::string(info.example);
  return info.example == "on" ? option : "--no-" + option.substr(2);
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  // A name in the environment can be as long as the environment: only its beginning is compared.
  constexpr std::size_t kLongestCompared = 64;
  const std::string_view wanted = name.substr(0, kLongestCompared);
  std::string nearest;
  std::size_t smallest = SIZE_MAX;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> distance(wanted.size() + 1);
    std::iota(distance.begin(), distance.end(), std::size_t{0});
    for (std::size_t row = 1; row <= candidate.size(); ++row) {
      std::size_t diagonal = distance[0];
      distance[0] = row;
      for (std::size_t column = 1; column <= wanted.size(); ++column) {
        const std::size_t replaced = diagonal + (candidate[row - 1] == wanted[column - 1] ? 0 : 1);
        diagonal = distance[column];
        distance[column] = std::min({replaced, distance[column] + 1, distance[column - 1] + 1});
      }
    }
    if (distance.back() < smallest) {
      smallest = distance.back();
      nearest = candidate;
    }
  }
  return smallest <= std::max(wanted.size(), nearest.size()) / 2 ? nearest : std::string();
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates,
                       std::string (*show)(std::string_view)) {
  const std::string nearest = nearest_name(name, candidates);
  if (nearest.empty()) return {};
  return "; the nearest is " + (show != nullptr ? show(nearest) : "'" + nearest + "'");
}

}  // namespace refrain::env
