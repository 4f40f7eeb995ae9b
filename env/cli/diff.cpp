// `refrain diff A B`: what a program submitted otherwise the second time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "capture/analysis.h"
#include "env/cli/commands.h"
#include "env/cli/input.h"
#include "env/cli/options.h"
#include "env/escape.h"

namespace refrain::env {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLines = 10;  // of a list

double number(const json& object, const char* name) {
  return object.contains(name) ? object[name].get<double>() : 0;
}

/// Times that a graph came.
double times_of(const json& graph) {
  return graph.contains("runs") ? number(graph, "runs")
                                : number(graph, "recorded") + number(graph, "bypassed") + number(graph, "launched");
}

/// Rows of a list by a name; of equal names the numbers are added up.
template <class Of>
std::map<std::string, std::pair<double, double>> side_by_side(const json& before, const json& after, const char* name,
                                                              const Of& number_of) {
  std::map<std::string, std::pair<double, double>> rows;
  for (const json& row : before) rows[row[name].get<std::string>()].first += number_of(row);
  for (const json& row : after) rows[row[name].get<std::string>()].second += number_of(row);
  return rows;
}

/// What differs, as JSON.
class Difference {
 public:
  Difference(const json& before, const json& after) : before_(before), after_(after) {
    const bool report = before["kind"] == "report";
    add_figure("submissions", "submissions");
    add_figure(report ? "share_replayed" : "graphable_share", report ? "replayed" : "can be graphed", true);
    add_figure("graphs_in_all", "different graphs");
    if (report) {
      add_figure("launches", "launches of graphs");
    } else {
      add_figure("stretches", "stretches between host calls");
    }
    add_calls();
    add_graphs();
  }

  [[nodiscard]] bool any() const {
    return std::ranges::any_of(made_, [](const json& part) { return part.is_array() && !part.empty(); });
  }
  [[nodiscard]] const json& made() const noexcept { return made_; }

 private:
  void add_figure(const char* key, const char* what, bool share = false) {
    const double before = number(before_, key), after = number(after_, key);
    if (before != after) {
      made_["figures"].push_back({{"what", what}, {"share", share}, {"before", before}, {"after", after}});
    }
  }
  /// Of very many graphs not all are told: one that is missing may be there.
  static bool tells_all_graphs(const json& file) { return file["graphs"].size() >= file["graphs_in_all"]; }
  void add_calls() {
    const auto rows = side_by_side(before_["host_calls"], after_["host_calls"], "call",
                                   [](const json& row) { return number(row, "cuts"); });
    for (const auto& [call, times] : rows) {
      if (times.first != times.second) {
        made_["host_calls"].push_back({{"call", call}, {"before", times.first}, {"after", times.second}});
      }
    }
    largest_first("host_calls");
  }
  void add_graphs() {
    const auto rows = side_by_side(before_["graphs"], after_["graphs"], "fingerprint", times_of);
    std::map<std::string, const json*> known;
    for (const json* side : {&before_, &after_}) {
      for (const json& graph : (*side)["graphs"]) known[graph["fingerprint"].get<std::string>()] = &graph;
    }
    for (const auto& [fingerprint, times] : rows) {
      const bool known_to_both =
          (times.first != 0 || tells_all_graphs(before_)) && (times.second != 0 || tells_all_graphs(after_));
      if (times.first != times.second && known_to_both) {
        const json& graph = *known[fingerprint];
        made_["graphs"].push_back({{"graph", graph["graph"]},
                                   {"fingerprint", fingerprint},
                                   {"what", graph["what"]},
                                   {"operations", graph["operations"]},
                                   {"before", times.first},
                                   {"after", times.second}});
      }
    }
    largest_first("graphs");
  }
  void largest_first(const char* list) {
    const auto change = [](const json& row) {
      return std::abs(number(row, "after") - number(row, "before")) * std::max(1.0, number(row, "operations"));
    };
    json::array_t& rows = made_[list].get_ref<json::array_t&>();
    std::ranges::stable_sort(rows, [&](const json& a, const json& b) { return change(a) > change(b); });
  }

  const json& before_;
  const json& after_;
  json made_ = {{"figures", json::array()}, {"host_calls", json::array()}, {"graphs", json::array()}};
};

std::string change_text(double before, double after) {
  return before == 0 ? std::string() : fmt::format(" ({:+.1f} %)", 100 * (after - before) / before);
}

/// As other commands show it: "40 802".
std::string count_text(double number) {
  return capture::grouped(static_cast<std::uint64_t>(number));
}

std::string times_text(double times) {
  return times == 1 ? "once" : count_text(times) + " times";
}

/// "2 graphs are new, 1 is gone" …
std::string graphs_text(const json& graphs) {
  const auto count = [&](const auto& which) { return std::ranges::count_if(graphs, which); };
  const auto is = [](std::int64_t number) { return fmt::format("{} {}", number, number == 1 ? "is" : "are"); };
  const auto fresh = count([](const json& graph) { return number(graph, "before") == 0; });
  const auto gone = count([](const json& graph) { return number(graph, "after") == 0; });
  const auto others = static_cast<std::int64_t>(graphs.size()) - fresh - gone;
  return graphs.empty() ? "the same graphs as often"
                        : fmt::format("of the graphs {} new, {} gone, {} there more or less often", is(fresh), is(gone),
                                      is(others));
}

/// The answer in a line: whether more or less was submitted and replayed, and of what.
std::string answer(const json& before, const json& after, const json& difference) {
  const double was = number(before, "submissions"), now = number(after, "submissions");
  const bool report = before["kind"] == "report";
  const char* const share = report ? "share_replayed" : "graphable_share";
  const double first = number(before, share), second = number(after, share);
  const std::string shown = capture::percent(first), shown_now = capture::percent(second);
  const char* const done = report ? "was replayed" : "can be graphed";
  return fmt::format("{}, {}; {}",
                     was == now ? std::string("as many submissions")
                     : was == 0 ? std::string("more submissions")
                                : fmt::format("{:.1f} % {} submissions", 100 * std::abs(now - was) / was,
                                              now > was ? "more" : "fewer"),
                     shown == shown_now ? fmt::format("the same share of them {} ({})", done, shown)
                                        : fmt::format("a {} share of them {} ({} -> {})",
                                                      second > first ? "larger" : "smaller", done, shown, shown_now),
                     graphs_text(difference["graphs"]));
}

std::string text_in(const json& file, const char* name) {
  return file.contains(name) ? file[name].get<std::string>() : std::string();
}

/// Which files these are, and what both runs say of themselves where that differs: whose they are, whether it helped.
void print_runs(const json& before, const json& after) {
  const bool two_commands = text_in(before, "program") != text_in(after, "program");
  const bool two_verdicts = before["kind"] == "report" && text_in(before, "verdict") != text_in(after, "verdict");
  if (two_commands) std::cout << "these are runs of different commands\n";
  for (const json* file : {&before, &after}) {
    std::cout << (file == &before ? "before: " : "after:  ") << escaped(text_in(*file, "file"));
    if (two_commands) std::cout << ", of " << escaped(text_in(*file, "program"));
    if (two_verdicts) std::cout << ": " << escaped(text_in(*file, "verdict"));
    std::cout << "\n";
  }
}

void print(const json& difference) {
  for (const json& row : difference["figures"]) {
    const double before = row["before"], after = row["after"];
    std::cout << (row["share"] ? fmt::format("{}: {:.1f} % -> {:.1f} %\n", row["what"].get<std::string>(), 100 * before,
                                             100 * after)
                               : fmt::format("{}: {} -> {}{}\n", row["what"].get<std::string>(), count_text(before),
                                             count_text(after), change_text(before, after)));
  }
  const auto list = [](const char* title, const json& rows, const auto& line) {
    if (!rows.empty()) std::cout << title << "\n";
    for (std::size_t i = 0; i < std::min(rows.size(), kMostLines); ++i) std::cout << "  " << line(rows[i]) << "\n";
    if (rows.size() > kMostLines) std::cout << fmt::format("  ... and {} more, see --json\n", rows.size() - kMostLines);
  };
  list("host calls that end a stretch:", difference["host_calls"], [](const json& row) {
    return fmt::format("{}: {} -> {} times", escaped(row["call"].get<std::string>()), count_text(number(row, "before")),
                       count_text(number(row, "after")));
  });
  list("graphs:", difference["graphs"], [](const json& row) {
    const double before = row["before"], after = row["after"];
    const auto operations = row["operations"].get<std::size_t>();
    const std::string who = fmt::format("graph {} ({} operation{}: {})", row["graph"].get<std::size_t>(), operations,
                                        operations == 1 ? "" : "s", escaped(row["what"].get<std::string>()));
    return before == 0  ? fmt::format("new: {}, {}", who, times_text(after))
           : after == 0 ? fmt::format("gone: {}, came {}", who, times_text(before))
                        : fmt::format("{}: came {} -> {} times", who, count_text(before), count_text(after));
  });
}

}  // namespace

int diff_command(const CommandArguments& arguments) {
  CLI::App app(
      "Says what the second of two captures, or of two reports (--report-file), has otherwise than the first: how much "
      "was\n"
      "submitted, which calls cut it, which graphs are new, gone, or came more or less often.",
      "refrain diff");
  set_usage(app, "refrain diff [OPTIONS] FILE FILE");
  app.footer(
      "The exit status is 0 if nothing differs, 1 if something does, 2 for a file that can't be read or wrong usage.\n"
      "Graphs are numbered as in the file that has them, the second one if both do.");
  bool as_json = false;
  app.add_flag("--json", as_json, "Print one JSON object instead, with all of it");
  std::vector<std::string> files;
  app.add_option("FILE", files, "Two reports or two captures");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (files.size() != 2) throw UsageError("diff needs two files; usage: refrain diff [OPTIONS] FILE FILE");
  const json before = read_input(files[0]), after = read_input(files[1]);
  if (before["kind"] != after["kind"]) {
    throw UsageError("one of '" + files[0] + "' and '" + files[1] + "' is a report and the other one a capture");
  }
  const Difference difference(before, after);
  if (as_json) {
    json all = difference.made();
    all["before"] = files[0];
    all["after"] = files[1];
    std::cout << all.dump(1) << "\n";
  } else if (difference.any()) {
    std::cout << answer(before, after, difference.made()) << "\n";
    print_runs(before, after);
    print(difference.made());
  } else {
    std::cout << "nothing differs in what was submitted\n";
    print_runs(before, after);
  }
  return difference.any() ? kFailure : kSuccess;
}

}  // namespace refrain::env
