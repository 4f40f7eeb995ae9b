// `refrain check BUDGET FILE`: whether a capture or a report stays within what its author allows. For CI.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "capture/reader.h"
#include "env/cli/commands.h"
#include "env/cli/input.h"
#include "env/cli/options.h"
#include "env/escape.h"

namespace refrain::env {
namespace {

using nlohmann::json;

double sum_of(const json& rows, const char* name) {
  double sum = 0;
  for (const json& row : rows) sum += row[name].get<double>();
  return sum;
}

/// The longest call of a capture that submits and does not wait, in microseconds; nothing if the file tells no times.
std::optional<double> longest_us(const json& input) {
  std::optional<double> longest;
  std::string error;
  const auto capture = input["kind"] == "capture" ? capture::read_capture(input["file"], &error) : std::nullopt;
  if (!capture) return longest;
  for (const capture::LaneCalls& lane : capture->calls) {
    lane.for_each([&](const capture::TimedCall& call) {
      if (!call.what.is_host_call() && !call.what.blocking) {
        longest = std::max(longest.value_or(0), 1e-3 * static_cast<double>(call.end_ns - call.begin_ns));
      }
    });
  }
  return longest;
}

/// What can be bounded. `figure` is empty where the file does not tell it.
struct Bound {
  const char* key;
  const char* what;
  bool least;  ///< no less than that, instead of no more
  std::function<std::optional<double>(const json&)> figure;
  double most = std::numeric_limits<double>::infinity();  ///< that can be asked
};
const std::vector<Bound>& bounds() {
  static const std::vector<Bound> all{
      {"max_submissions", "submissions", false, [](const json& input) { return input["submissions"].get<double>(); }},
      {"min_replayed", "replayed (of a capture: what can be graphed), 0 to 1", true,
       [](const json& input) {
         return input[input["kind"] == "report" ? "share_replayed" : "graphable_share"].get<double>();
       },
       1},
      {"max_graphs", "different graphs", false, [](const json& input) { return input["graphs_in_all"].get<double>(); }},
      {"max_cuts", "host calls that end a stretch", false,
       [](const json& input) { return sum_of(input["host_calls"], "cuts"); }},
      {"max_seconds", "seconds from the first submission to the end", false,
       [](const json& input) { return input["seconds"].get<double>(); }},
      {"max_longest_us", "the slowest submission, in microseconds (captures)", false, longest_us},
  };
  return all;
}

struct Limit {
  const Bound* bound;
  double value;
};

std::vector<Limit> read_budget(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UsageError("can't read the budget '" + file + "': " + std::strerror(errno));
  if (const int first = in.peek(); first == '{' || capture::is_capture(file)) {
    throw UsageError("'" + file + "' is no budget; usage: refrain check [OPTIONS] BUDGET FILE");
  }
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(in);
  } catch (const std::exception& problem) {
    throw UsageError("the budget '" + file + "': " + problem.what());
  }
  std::vector<Limit> limits;
  std::vector<std::string> names;
  for (const Bound& bound : bounds()) names.emplace_back(bound.key);
  for (const CLI::ConfigItem& item : items) {
    const std::string name = item.fullname();
    const auto known = std::ranges::find(bounds(), name, &Bound::key);
    if (known == bounds().end()) {
      throw UsageError("the budget '" + file + "' has no use for '" + name + "'" + suggestion(name, names) +
                       "; see refrain check --help");
    }
    if (std::ranges::any_of(limits, [&](const Limit& other) { return other.bound == &*known; }) ||
        item.inputs.size() > 1) {
      throw UsageError("the budget '" + file + "' has more than one value of " + name);
    }
    double value = 0;
    if (item.inputs.size() != 1 || !CLI::detail::lexical_cast(item.inputs.front(), value) || !(value >= 0) ||
        value > known->most) {
      throw UsageError("the budget '" + file + "': " + name + " is to be a number, 0 " +
                       (std::isinf(known->most) ? std::string("or more") : fmt::format("to {}", known->most)));
    }
    limits.push_back({&*known, value});
  }
  if (limits.empty()) throw UsageError("the budget '" + file + "' bounds nothing; see refrain check --help");
  return limits;
}

}  // namespace

int check_command(const CommandArguments& arguments) {
  CLI::App app("Says whether a capture or a report (--report-file) stays within a budget. For continuous integration.",
               "refrain check");
  set_usage(app, "refrain check [OPTIONS] BUDGET FILE");
  std::string footer = "A budget is a TOML file with any of these:\n";
  for (const Bound& bound : bounds()) footer += fmt::format("  {:<16} {}\n", bound.key, bound.what);
  app.footer(
      footer +
      "\nThe exit status is 0 if all are kept, 1 if one is broken (a line each) or the file does not tell it, 2 for\n"
      "wrong usage, or a budget or file that can't be read.");
  bool as_json = false;
  app.add_flag("--json", as_json, "Print one JSON object instead: each bound, what was found, and whether it is kept");
  std::vector<std::string> files;
  app.add_option("FILE", files, "The budget, and the report or capture");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (files.size() != 2)
    throw UsageError("check needs a budget and a file; usage: refrain check [OPTIONS] BUDGET FILE");

  const std::vector<Limit> limits = read_budget(files[0]);
  const json input = read_input(files[1]);
  std::size_t broken = 0;
  json rows = json::array();
  for (const Limit& limit : limits) {
    const std::optional<double> found = limit.bound->figure(input);
    const bool kept = found && (limit.bound->least ? *found >= limit.value : *found <= limit.value);
    broken += kept ? 0 : 1;
    rows.push_back({{"bound", limit.bound->key},
                    {"value", limit.value},
                    {"found", found ? json(*found) : json(nullptr)},
                    {"kept", kept}});
    if (!kept && !as_json) {
      std::cout << fmt::format("{}: {} = {:g}, but {}\n", escaped(files[1]), limit.bound->key, limit.value,
                               found ? fmt::format("it is {:g}", *found) : std::string("the file does not tell it"));
    }
  }
  if (as_json) {
    std::cout << json{{"file", files[1]}, {"budget", files[0]}, {"kept", broken == 0}, {"bounds", rows}}.dump(1)
              << "\n";
  } else if (broken == 0) {
    std::cout << fmt::format("{}: within its budget ({} bound{})\n", escaped(files[1]), limits.size(),
                             limits.size() == 1 ? "" : "s");
  }
  return broken == 0 ? kSuccess : kFailure;
}

}  // namespace refrain::env
