#include "replay/report/report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace refrain::replay {

using Catch::Contains;

TEST_CASE("report: of intervals only those are told that were measured with graphs and without") {
  ReportData data;
  const auto add = [&](std::uint64_t submissions, std::uint64_t eager_ns, std::uint64_t plan_ns) {
    IntervalSummary& interval = data.intervals.emplace_back();
    interval.submissions = submissions;
    interval.seen = 1;
    interval.eager_ns = eager_ns;
    interval.plan = 1;
    interval.plans[0].ns = 7;
    interval.plans[1].ns = plan_ns;
  };
  add(101, 3000, 0);
  add(102, 0, 2000);
  CHECK_THAT(report_text(data),
             !Contains("from the first submission") && !Contains("101 submissions") && !Contains("102 submissions"));
  add(103, 3000, 2000);
  CHECK_THAT(report_text(data), Contains("from the first submission") && !Contains("101 submissions") &&
                                    !Contains("102 submissions") &&
                                    Contains("103 submissions, seen 1 times, on trial: 3.0 us eagerly, 2.0 us with "
                                             "graphs (1.50x)\n"));
  data.intervals.back().reason = "it did not come often";
  CHECK_THAT(report_text(data), Contains("graphs (1.50x); it did not come often\n"));
}

TEST_CASE("report: where every graph was declined, no interval is said to replay") {
  ReportData data;
  data.mode = "replay";
  IntervalSummary& interval = data.intervals.emplace_back();
  interval.state = IntervalSummary::State::kReplaying;
  interval.eager_ns = interval.plans[0].ns = 1000;
  data.graphs.resize(2);
  data.graphs[0].state = GraphEntry::State::kBypassing;
  CHECK_THAT(report_text(data), Contains("seen 0 times, replaying: ") && Contains("1 declined in the end"));
  data.graphs[1].state = GraphEntry::State::kBypassing;
  CHECK_THAT(report_text(data), Contains("seen 0 times, declined: ") && Contains("(1.00x); its graphs were declined"));
  const auto told = nlohmann::json::parse(report_json(data))["sync_intervals"][0];
  CHECK(told["state"] == "declined");
  CHECK_THAT(told["reason"].get<std::string>(), Contains("its graphs were declined"));
}

TEST_CASE("report: replays that verify found to differ are among those that it checked") {
  ReportData data;
  data.mode = "verify";
  data.verified = 5;
  data.differences = 2;
  data.unverified = 3;
  CHECK_THAT(report_text(data), Contains("verify checked 7 replays, 2 differences; 3 could not be checked"));
}

TEST_CASE("report: what devices can change of graphs is told where that keeps something from being replayed") {
  ReportData data;
  data.mode = "replay";
  data.device_notes = {"a device: mutable dispatch offers arguments; arguments are used"};
  data.notes = {"others may wait"};
  data.graphs.resize(2);
  CHECK_THAT(report_text(data), !Contains("mutable dispatch") && Contains("  others may wait\n"));
  data.graphs[1].decline = GraphEntry::Decline::kArguments;
  CHECK_THAT(report_text(data), Contains("  a device: mutable dispatch offers arguments; arguments are used\n"));
  CHECK(nlohmann::json::parse(report_json(data))["notes"].size() == 2);
}

TEST_CASE("report: what was not replayed is told once, the most first, in the text and as JSON") {
  ReportData data;
  data.mode = "replay";
  data.submissions = 100;
  data.replayed = 40;
  data.recorded = 5;
  data.unholdable = {{"it blocks", 25}};
  const auto rows = nlohmann::json::parse(report_json(data))["not_replayed"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["submissions"] == 30);
  CHECK(rows[0]["why"] == "not part of a stretch that repeats between host calls");
  CHECK(rows[1]["why"] == "it blocks");
  CHECK(rows[1]["advice"] == "");
  CHECK(rows[2]["submissions"] == 5);
  const std::string text = report_text(data);
  CHECK_THAT(text, Contains("30  30.0 %  not part of a stretch") && !Contains("was declined or not ready"));
  CHECK(text.find("not part of") < text.find("it blocks"));
  data.replayed = 100;
  data.recorded = 0;
  data.unholdable.clear();
  CHECK_THAT(report_text(data), !Contains("not replayed, and why"));
}

TEST_CASE("report: where nothing is replayed, there are no graphs, but what repeats is told") {
  ReportData data;
  data.mode = "capture";
  data.submissions = 100;
  data.followed = 80;
  const std::string text = report_text(data);
  CHECK_THAT(text, Contains("80 % are in stretches that repeat") && Contains("80  80.0 %  in stretches that repeat: "));
  // What of that can be graphed only the matcher knows, which `refrain dump` asks.
  CHECK_THAT(text,
             Contains("refrain dump tells of a capture what of it can be graphed") && !Contains("would make graphs"));
  CHECK_THAT(text, !Contains("repeating stretches") && !Contains("declined") && !Contains("building and trying"));
}

TEST_CASE("report: what was saved is told if it is something, and not called unknown then") {
  ReportData data;
  data.mode = "replay";
  data.seconds = 8;
  data.submissions = data.replayed = 100;
  GraphEntry::Summary& graph = data.graphs.emplace_back();
  CHECK_THAT(report_text(data), Contains("what that saved was not measured") && !Contains(" less\n"));
  graph.launched = 10;
  graph.eager_ns = graph.replay_ns = 5000;
  graph.saved_ns = 1000;  // would be told as 0.0 ms
  CHECK_THAT(report_text(data), Contains("to submit them took no less time; whether") && !Contains(" less\n"));
  graph.saved_ns = 2'000'000;
  CHECK_THAT(report_text(data), Contains("to submit them took about 2.0 ms less; whether the program was done sooner "
                                         "was not measured\n") &&
                                    Contains("launches; to submit them took 2.0 ms less\n"));
}

TEST_CASE("report: what graphs do on each device is told where there are several") {
  ReportData data;
  data.mode = "replay";
  data.devices = {"an H200"};
  data.graphs.resize(4);
  for (auto& graph : data.graphs) {
    graph.operations = 10;
    graph.memory = 2048;
    graph.launched = 3;
  }
  data.graphs[3].launched = 0;
  CHECK_THAT(report_text(data), !Contains("on each device"));
  data.devices.emplace_back("an H200");
  data.graphs[1].device = 1;
  data.graphs[2].device = GraphEntry::Summary::kSeveral;
  const std::string text = report_text(data);
  CHECK_THAT(text, Contains("    0 an H200: 1 graph, launched 3 times, 30 operations, 4 KiB\n"));
  CHECK_THAT(text, Contains("    1 an H200: 1 graph, launched 3 times, 30 operations, 2 KiB\n"));
  CHECK_THAT(text, Contains("    several devices: 1 graph, launched 3 times, 30 operations, 2 KiB\n"));
  const auto told = nlohmann::json::parse(report_json(data));
  REQUIRE(told["devices"].size() == 2);
  CHECK(told["devices"][0]["launched"] == 3);
  CHECK(told["graphs"][1]["device"] == 1);
  CHECK(told["graphs"][2]["device"].is_null());
}

TEST_CASE("report: a graph has the same number in the text and as JSON, whatever they are sorted by") {
  ReportData data;
  data.mode = "replay";
  data.graphs.resize(2);
  data.graphs[0].what = "little";
  data.graphs[0].operations = 1;
  data.graphs[1].what = "much";
  data.graphs[1].operations = data.graphs[1].launched = 9;
  data.graphs[1].memory = 4096;
  const std::string text = report_text(data);
  CHECK_THAT(text, Contains("graph 0, little: 1 operation,") && Contains("graph 1, much: 9 operations,"));
  CHECK(text.find("graph 1") < text.find("graph 0"));
  const auto graphs = nlohmann::json::parse(report_json(data))["graphs"];
  REQUIRE(graphs.size() == 2);
  CHECK(graphs[1]["graph"] == 1);
  CHECK(graphs[1]["what"] == "much");
  CHECK(graphs[1]["memory_bytes"] == 4096);
}

}  // namespace refrain::replay
