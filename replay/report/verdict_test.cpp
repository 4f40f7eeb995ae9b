#include "replay/report/verdict.h"

#include <catch2/catch.hpp>

namespace refrain::replay {
namespace {

ReportData replayed(std::uint64_t replayed, std::uint64_t submissions) {
  ReportData data;
  data.mode = "replay";
  data.seconds = 8;
  data.submissions = submissions;
  data.replayed = replayed;
  return data;
}

void add_interval(ReportData& data, IntervalSummary::State state, std::uint64_t eager_ns, std::uint64_t with_ns,
                  std::uint64_t saved_ns = 0) {
  IntervalSummary& interval = data.intervals.emplace_back();
  interval.state = state;
  interval.seen = 1000;
  interval.eager_ns = eager_ns;
  interval.plans[0].ns = with_ns;
  interval.saved_ns = saved_ns;
}

using Catch::Contains;
using Catch::Equals;

TEST_CASE("verdict: what intervals save, of what the program would have taken") {
  ReportData data = replayed(90, 100);
  CHECK_THAT(verdict_of(data), Equals("90 % of the submissions were replayed; what that saved was not measured"));
  add_interval(data, IntervalSummary::State::kDeclined, 9'000'000, 1'000'000);
  add_interval(data, IntervalSummary::State::kReplaying, 0, 1'000'000);
  add_interval(data, IntervalSummary::State::kReplaying, 1'000'000, 2'000'000);
  CHECK_THAT(verdict_of(data), Contains("no time was saved, though 90 %"));
  // Not what was measured last times all that were seen: that may have been a slow moment of the machine.
  add_interval(data, IntervalSummary::State::kReplaying, 50'000'000, 3'000'000, 1'500'000'000);
  add_interval(data, IntervalSummary::State::kDeclined, 1'000'000, 3'000'000, 500'000'000);  // in the end
  CHECK_THAT(verdict_of(data), Equals("saved about 2.0 s of 10.0 s (20 %)"));
}

TEST_CASE("verdict: where nothing was replayed, what kept most of it") {
  ReportData data = replayed(0, 1000);
  CHECK_THAT(verdict_of(data), Contains("hardly anything repeats"));
  data.unholdable["it does this"] = 300;
  data.unholdable["it does that"] = 600;
  CHECK_THAT(verdict_of(data), Equals("nothing was replayed: it does that"));
  data.dormant = 650;
  CHECK_THAT(verdict_of(data), Contains("not looked at any more"));
  data.followed = 700;
  CHECK_THAT(verdict_of(data), Contains("ended before"));
  GraphEntry::Summary& graph = data.graphs.emplace_back();
  graph.operations = 7;
  graph.bypassed = 100;
  graph.state = GraphEntry::State::kBypassing;
  graph.reason = "an argument changes";
  CHECK_THAT(verdict_of(data), Contains("declined: an argument changes"));
  // Each gate has measured something else, and only that is said.
  graph.decline = GraphEntry::Decline::kCost;
  graph.eager_ns = 21'400;
  graph.replay_ns = 63'700;
  CHECK_THAT(verdict_of(data), Equals("nothing was replayed: what repeats is not cheaper to submit as a graph: 21.4 us "
                                      "eagerly, 63.7 us as a graph"));
  graph.decline = GraphEntry::Decline::kInterval;
  graph.interval_eager_ns = 509'900;
  graph.interval_replay_ns = 516'500;
  CHECK_THAT(verdict_of(data), Equals("nothing was replayed: what repeats is not done sooner with graphs: submissions "
                                      "and the wait behind them took 509.9 us eagerly, 516.5 us with graphs"));
}

TEST_CASE("verdict: a few replays are not called none") {
  ReportData data = replayed(11, 192'930);
  data.unholdable["it does this"] = 192'000;
  CHECK_THAT(verdict_of(data), Equals("hardly anything was replayed (11 of 192930 submissions): it does this"));
}

TEST_CASE("verdict: where little was replayed, and not measured, what kept most of the rest") {
  ReportData data = replayed(20, 1000);
  data.followed = 200;
  data.dormant = 700;  // for what was declined
  data.unholdable["it does this"] = 80;
  GraphEntry::Summary& graph = data.graphs.emplace_back();
  graph.operations = graph.launched = graph.bypassed = 10;
  graph.state = GraphEntry::State::kBypassing;
  graph.decline = GraphEntry::Decline::kCost;
  CHECK_THAT(verdict_of(data), Contains("2 % of the submissions were replayed") &&
                                   Contains("; most of the rest: what repeats is not cheaper to submit as a graph"));
}

TEST_CASE("verdict: what was declined after a trial is told, not the replays of the trial") {
  ReportData data = replayed(6, 100);
  data.followed = 80;
  add_interval(data, IntervalSummary::State::kDeclined, 1'000'000, 2'000'000);
  GraphEntry::Summary& graph = data.graphs.emplace_back();
  graph.operations = graph.launched = graph.bypassed = 10;
  graph.state = GraphEntry::State::kBypassing;
  graph.decline = GraphEntry::Decline::kInterval;
  CHECK_THAT(verdict_of(data), Contains("no time was saved: what repeats is not done sooner with graphs"));
  data.intervals[0].saved_ns = 1000;
  CHECK_THAT(verdict_of(data), Contains("hardly any time was saved: what repeats is not done sooner with graphs"));
}

TEST_CASE("verdict: of the other modes") {
  ReportData data = replayed(0, 0);
  CHECK_THAT(verdict_of(data), Equals("nothing was submitted"));
  data = replayed(50, 100);
  data.mode = "observe";
  data.followed = 80;
  CHECK_THAT(verdict_of(data),
             Equals("100 submissions were watched, of which 80 % are in stretches that repeat; nothing is replayed in "
                    "this mode"));
  data.mode = "verify";
  data.verified = 7;
  CHECK_THAT(verdict_of(data), Equals("7 replays are proven equal to eager execution"));
  data.differences = 1;
  CHECK_THAT(verdict_of(data), Equals("1 of 8 replays that were checked computed something else"));
}

}  // namespace
}  // namespace refrain::replay
