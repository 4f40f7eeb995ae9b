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
                                             "graphs (1.50x)"));
}

TEST_CASE("report: replays that verify found to differ are among those that it checked") {
  ReportData data;
  data.mode = "verify";
  data.verified = 5;
  data.differences = 2;
  data.unverified = 3;
  CHECK_THAT(report_text(data), Contains("verify checked 7 replays, 2 differences; 3 could not be checked"));
}

TEST_CASE("report: notes on devices are told as they are, in the text and as JSON") {
  ReportData data;
  data.notes = {"a device: mutable dispatch offers arguments; arguments are used"};
  CHECK_THAT(report_text(data), Contains("  a device: mutable dispatch offers arguments; arguments are used\n"));
  CHECK(nlohmann::json::parse(report_json(data))["notes"] == data.notes);
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
  CHECK_THAT(text, Contains("80 % repeat") && Contains("80  80.0 %  repeats: replay would make graphs of it"));
  CHECK_THAT(text, !Contains("repeating stretches") && !Contains("declined"));
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
