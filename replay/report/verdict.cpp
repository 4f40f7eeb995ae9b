#include "replay/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "replay/report/report_facts.h"

namespace refrain::replay {
namespace {

constexpr double kNothing = 0.005;  // limit: of the time, or of the submissions
constexpr double kMostly = 0.5;     // limit: of the submissions

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::string time_text(double seconds) {
  return seconds >= 1      ? fmt::format("{:.1f} s", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.1f} ms", 1e3 * seconds)
                           : fmt::format("{:.0f} us", 1e6 * seconds);
}

struct Intervals {
  bool measured = false;
  double saved = 0;  ///< seconds
};
Intervals sum_of(const std::vector<IntervalSummary>& intervals) {
  Intervals sum;
  for (const IntervalSummary& interval : intervals) {
    const std::uint64_t with = interval.plans[interval.plan].ns;
    if (interval.eager_ns == 0 || with == 0) {
      continue;
    }
    sum.measured = true;
    sum.saved += 1e-9 * static_cast<double>(interval.saved_ns);
  }
  return sum;
}

/// Why the gates declined it: each of them has measured something else. Empty: they did not.
std::string measured_against(const GraphEntry::Summary& graph) {
  if (graph.decline == GraphEntry::Decline::kCost) {
    const std::string times =
        graph.eager_ns == 0 || graph.replay_ns == 0
            ? ""
            : fmt::format(": {:.1f} us eagerly, {:.1f} us as a graph", us(graph.eager_ns), us(graph.replay_ns));
    return "what repeats is not cheaper to submit as a graph" + times;
  }
  if (graph.decline == GraphEntry::Decline::kInterval) {
    return "what repeats is not done sooner with graphs: submissions and the wait behind them took " +
           fmt::format("{:.1f} us eagerly, {:.1f} us with graphs", us(graph.interval_eager_ns),
                       us(graph.interval_replay_ns));
  }
  return "";
}

/// Of the stretches that were declined, or not ready.
std::string why_declined(const ReportData& data) {
  const GraphEntry::Summary* heaviest = nullptr;
  for (const GraphEntry::Summary& graph : data.graphs) {
    if (graph.state == GraphEntry::State::kBypassing && (heaviest == nullptr || graph.weight() > heaviest->weight())) {
      heaviest = &graph;
    }
  }
  if (heaviest == nullptr && data.dormant > data.followed) {
    return "nothing had paid for a long time, so that it was not looked at any more";
  }
  if (heaviest == nullptr) {
    return "the program ended before what repeats had been tried";
  }
  const std::string measured = measured_against(*heaviest);
  return measured.empty() ? "most of what repeats was declined: " + heaviest->reason : measured;
}

/// What keeps most submissions from being replayed.
std::string obstacle(const ReportData& data) {
  std::uint64_t most = data.followed + data.dormant;  // of what paid so little that it is not looked at any more
  std::string why = why_declined(data);
  std::uint64_t left = data.submissions - std::min(data.submissions, data.replayed + most);
  const auto consider = [&](std::uint64_t count, std::string_view text) {
    left -= std::min(left, count);
    if (count > most) {
      most = count;
      why = text;
    }
  };
  consider(data.recorded, "the program ended while what repeats was being learnt");
  consider(data.between, "what lies between events is too short for a graph");
  consider(data.stopped, "Refrain was stopped (refrain_stop(), refrain ctl, or start = off)");
  consider(data.not_ready, "the graphs of what repeats were being made, still ran, or had other arguments most times");
  consider(data.held_issued - std::min(data.held_issued, data.not_ready),
           "what had repeated went on differently most times");
  for (const auto& [reason, count] : data.unholdable) {
    consider(count, reason);
  }
  consider(left,
           "hardly anything repeats between calls that wait; `refrain run --mode capture`, then `refrain dump "
           "--explain` says what changes");
  return why;
}

/// What is known of the time that replays saved, where no whole interval was measured.
std::string submission_text(const ReportData& data) {
  const bool measured = std::ranges::any_of(data.graphs, [](const GraphEntry::Summary& graph) {
    return graph.launched != 0 && graph.eager_ns != 0 && graph.replay_ns != 0;
  });
  const std::uint64_t saved = submission_saved_ns(data);
  if (!measured && saved == 0) {
    return "what that saved was not measured";
  }
  return fmt::format(
      "to submit them took {}; whether the program was done sooner was not measured",
      saved == 0 ? "no less time" : fmt::format("about {} less", time_text(1e-9 * static_cast<double>(saved))));
}

}  // namespace

std::string verdict_of(const ReportData& data) {
  if (data.submissions == 0) {
    return "nothing was submitted";
  }
  if (data.mode == "verify") {
    return data.differences != 0 ? fmt::format("{} of {} replays that were checked computed something else",
                                               data.differences, data.verified + data.differences)
                                 : fmt::format("{} replays are proven equal to eager execution", data.verified);
  }
  if (data.mode != "replay") {
    return fmt::format(
        "{} submissions were watched, of which {:.0f} % are in stretches that repeat; nothing is replayed "
        "in this mode",
        data.submissions, 100 * share(static_cast<double>(data.followed), static_cast<double>(data.submissions)));
  }
  if (data.replayed == 0) {
    return "nothing was replayed: " + obstacle(data);
  }
  const double replayed = share(static_cast<double>(data.replayed), static_cast<double>(data.submissions));
  if (replayed < kNothing) {
    return fmt::format("hardly anything was replayed ({} of {} submissions): {}", data.replayed, data.submissions,
                       obstacle(data));
  }
  const Intervals intervals = sum_of(data.intervals);
  if (intervals.measured && intervals.saved >= kNothing * data.seconds) {
    const double without = data.seconds + intervals.saved;
    return fmt::format("saved about {} of {} ({:.0f} %)", time_text(intervals.saved), time_text(without),
                       100 * share(intervals.saved, without));
  }
  const char* const saved = intervals.saved > 0 ? "hardly any time was saved" : "no time was saved";
  if (intervals.measured && replayed < kMostly) {  // on trial, say
    return fmt::format("{}: {}", saved, obstacle(data));
  }
  if (intervals.measured) {
    return fmt::format(
        "{}, though {:.0f} % of the submissions were replayed: up to the end of each wait the program "
        "takes about as long without graphs",
        saved, 100 * replayed);
  }
  const std::string known =
      fmt::format("{:.0f} % of the submissions were replayed; {}", 100 * replayed, submission_text(data));
  return replayed < kMostly ? known + "; most of the rest: " + obstacle(data) : known;
}

std::uint64_t submission_saved_ns(const ReportData& data) {
  constexpr std::uint64_t kLeast = 50'000;  // limit: less is noise, and would be shown as nothing
  std::uint64_t saved = data.graphs_gone.saved_ns;
  for (const GraphEntry::Summary& graph : data.graphs) {
    saved += graph.saved_ns;
  }
  return saved < kLeast ? 0 : saved;
}

}  // namespace refrain::replay
