#include "replay/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

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
  if (heaviest->decline == GraphEntry::Decline::kCost || heaviest->decline == GraphEntry::Decline::kInterval) {
    return "what repeats is not faster in graphs: the device is what takes the time, not the submissions";
  }
  return "most of what repeats was declined: " + heaviest->reason;
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
    return fmt::format("{} submissions were watched, of which {:.0f} % repeat; nothing is replayed in this mode",
                       data.submissions,
                       100 * share(static_cast<double>(data.followed), static_cast<double>(data.submissions)));
  }
  const double replayed = share(static_cast<double>(data.replayed), static_cast<double>(data.submissions));
  if (replayed < kNothing) {
    return "nothing was replayed: " + obstacle(data);
  }
  const Intervals intervals = sum_of(data.intervals);
  if (intervals.saved >= kNothing * data.seconds) {
    const double without = data.seconds + intervals.saved;
    return fmt::format("saved about {} of {} ({:.0f} %)", time_text(intervals.saved), time_text(without),
                       100 * share(intervals.saved, without));
  }
  if (intervals.measured && replayed < kMostly) {  // on trial, say
    return "no time was saved: " + obstacle(data);
  }
  if (intervals.measured) {
    return fmt::format("no time was saved, though {:.0f} % of the submissions were replayed: the rest takes the time",
                       100 * replayed);
  }
  const std::string known =
      fmt::format("{:.0f} % of the submissions were replayed; what that saved was not measured", 100 * replayed);
  return replayed < kMostly ? known + "; most of the rest: " + obstacle(data) : known;
}

}  // namespace refrain::replay
