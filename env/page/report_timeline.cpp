#include "env/page/report_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "env/page/base64.h"

namespace refrain::page {
namespace {

using nlohmann::json;

constexpr std::size_t kMostIntervals = 60'000;  // of all lanes: each may have a name, and those are numbers of 16 bits
constexpr std::size_t kMostChanges = 5'000;     // of the lengths of chunks, of all lanes
constexpr std::size_t kFirstState = 4;

enum State : std::uint8_t { kWithGraphs, kWithout, kWaits };
constexpr std::size_t kStates = 3;

struct Run {
  std::uint64_t begin = 0, waiting = 0, end = 0, submissions = 0, in_graphs = 0, how = 0, held_issued = 0, launches = 0;
  [[nodiscard]] std::uint64_t eager() const noexcept { return submissions - in_graphs - held_issued; }
};

/// What is written as columns; nothing if that makes no sense.
std::vector<Run> runs_of(const json& lane) {
  constexpr std::array<std::uint64_t Run::*, 8> kMembers{&Run::begin,       &Run::waiting,   &Run::end,
                                                         &Run::submissions, &Run::in_graphs, &Run::how,
                                                         &Run::held_issued, &Run::launches};
  constexpr std::array<const char*, 8> kNames{"begin_ns",  "waiting_ns", "end_ns",      "submissions",
                                              "in_graphs", "how",        "held_issued", "launches"};
  constexpr std::size_t kAlways = 6;  // older reports have no others
  std::vector<Run> runs;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (i >= kAlways && lane.is_object() && !lane.contains(kNames[i])) {
      continue;
    }
    if (!lane.is_object() || !lane.contains(kNames[i]) || !lane[kNames[i]].is_array()) {
      return {};
    }
    const json& column = lane[kNames[i]];
    if (i == 0) {
      runs.resize(column.size());
    }
    if (column.size() != runs.size()) {
      return {};
    }
    for (std::size_t row = 0; row < runs.size(); ++row) {
      if (!column[row].is_number_unsigned()) {
        return {};
      }
      runs[row].*kMembers[i] = column[row].get<std::uint64_t>();
    }
  }
  std::uint64_t last = 0;
  for (const Run& run : runs) {
    if (run.begin < last || run.waiting < run.begin || run.end < run.waiting || run.in_graphs > run.submissions ||
        run.held_issued > run.submissions - run.in_graphs) {
      return {};
    }
    last = run.end;
  }
  return runs;
}

/// 0 if it is not there, or something else.
std::uint64_t number_of(const json& lane, const char* name) {
  return lane.is_object() && lane.contains(name) && lane[name].is_number_unsigned() ? lane[name].get<std::uint64_t>()
                                                                                    : 0;
}

class Timeline {
 public:
  void add(const json& lane) {
    add_chunks(lane);
    std::vector<Run> runs = runs_of(lane);
    const std::size_t room = kMostIntervals - std::min(kMostIntervals, intervals_);
    left_out_ += number_of(lane, "left_out") + runs.size() - std::min(runs.size(), room);
    runs.resize(std::min(runs.size(), room));
    if (runs.empty()) {
      return;
    }
    intervals_ += runs.size();
    length_ns_ = std::max(length_ns_, runs.back().end);
    lanes_.push_back({number_of(lane, "lane"), number_of(lane, "hold_ns"), std::move(runs)});
  }

  json made() {
    const std::uint64_t unit_ns = length_ns_ / 0xFFFF'FFFFU + 1;
    json rows = json::array();
    for (const auto& [number, hold_ns, runs] : lanes_) {
      std::vector<std::uint32_t> begin, took;
      std::vector<std::uint16_t> what;
      std::array<std::array<std::uint64_t, 2>, kStates> sums{};
      std::uint64_t in_graphs = 0, held_issued = 0, eager = 0, launches = 0;
      const auto slice = [&](std::uint64_t from, std::uint64_t to, State state, std::size_t name) {
        begin.push_back(static_cast<std::uint32_t>(from / unit_ns));
        took.push_back(static_cast<std::uint32_t>((to - from) / unit_ns));
        what.push_back(static_cast<std::uint16_t>(name));
        ++sums[state][0];
        sums[state][1] += to - from;
      };
      for (const Run& run : runs) {
        const State state = run.in_graphs * 2 >= run.submissions ? kWithGraphs : kWithout;
        slice(run.begin, run.waiting, state,
              name_of(text_of(run), state, {run.in_graphs, run.held_issued, run.eager()}));
        slice(run.waiting, run.end, kWaits, name_of("for the device", kWaits, nullptr));
        in_graphs += run.in_graphs;
        held_issued += run.held_issued;
        eager += run.eager();
        launches += run.launches;
      }
      rows.push_back({{"lane", number},
                      {"calls", runs.size()},
                      {"states", sums},
                      {"in_graphs", in_graphs},
                      {"held_issued", held_issued},
                      {"eager", eager},
                      {"launches", launches},
                      {"hold_ns", hold_ns},
                      {"begin", base64_of(begin)},
                      {"took", base64_of(took)},
                      {"what", base64_of(what)}});
    }
    return {{"from", "report"},
            {"calls", intervals_},
            {"left_out", left_out_},
            {"lanes_left_out", 0},
            {"unit_ns", unit_ns},
            {"length_ns", length_ns_},
            {"lanes", std::move(rows)},
            {"names", std::move(names_)},
            {"queues", json::array()},
            {"chunks", std::move(chunks_)},
            {"chunks_left_out", chunks_left_out_}};
  }

 private:
  void add_chunks(const json& lane) {
    chunks_left_out_ += number_of(lane, "chunks_left_out");
    if (!lane.is_object() || !lane.contains("chunks") || !lane["chunks"].is_array()) {
      return;
    }
    std::uint64_t last_ns = 0;
    for (const json& change : lane["chunks"]) {
      const std::uint64_t at_ns = number_of(change, "at_ns"), longest = number_of(change, "longest");
      if (at_ns < last_ns || longest == 0 || number_of(change, "first") == 0) {
        continue;  // makes no sense
      }
      if (chunks_.size() == kMostChanges) {
        ++chunks_left_out_;
        continue;
      }
      last_ns = at_ns;
      json& row = chunks_.emplace_back(json{{"lane", number_of(lane, "lane")}, {"at_ns", at_ns}, {"longest", longest}});
      for (const char* name : {"plan", "first", "growth", "last"}) {
        row[name] = number_of(change, name);
      }
      row["why"] = change.contains("why") && change["why"].is_string() ? change["why"] : "";
    }
  }
  static std::string text_of(const Run& run) {
    constexpr std::array<const char*, 4> kHow{"what graphs bring is not known yet", "without graphs, to be compared",
                                              "graphs on trial", "graphs pay"};
    std::string text = fmt::format("{} submission{}: ", run.submissions, run.submissions == 1 ? "" : "s");
    if (run.in_graphs != 0 && run.launches != 0) {
      text += fmt::format("{} replayed in {} launch{}, ", run.in_graphs, run.launches, run.launches == 1 ? "" : "es");
    } else if (run.in_graphs != 0) {
      text += fmt::format("{} replayed, ", run.in_graphs);
    }
    if (run.held_issued != 0) {
      text += fmt::format("{} held but issued one by one, ", run.held_issued);
    }
    return text + fmt::format("{} eager ({})", run.eager(), run.how < kHow.size() ? kHow[run.how] : "unknown");
  }
  std::size_t name_of(const std::string& text, State state, const json& parts) {
    const auto [known, is_new] = known_.try_emplace({text, state}, names_.size());
    if (is_new) {
      names_.push_back({text, kFirstState + state, -1, parts});
    }
    return known->second;
  }

  struct Lane {
    std::uint64_t number = 0, hold_ns = 0;
    std::vector<Run> runs;
  };
  std::vector<Lane> lanes_;
  std::size_t intervals_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t length_ns_ = 0;
  std::map<std::pair<std::string, State>, std::size_t> known_;
  json names_ = json::array();
  json chunks_ = json::array();
  std::uint64_t chunks_left_out_ = 0;
};

}  // namespace

json report_timeline(const json& report) {
  if (!report.contains("timeline") || !report["timeline"].is_array() || report["timeline"].empty()) {
    return nullptr;
  }
  Timeline timeline;
  for (const json& lane : report["timeline"]) {
    timeline.add(lane);
  }
  return timeline.made();
}

}  // namespace refrain::page
