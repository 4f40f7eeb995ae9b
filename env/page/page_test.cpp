#include "env/page/page.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <string>

#include "replay/forecast/forecast.h"
#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"

namespace refrain::page {
namespace {

using capture::Recorder;
using capture::Stream;
using capture::TemporaryFile;
using capture::TestRecord;
using Catch::Contains;
using nlohmann::json;

void record_to(const std::string& file, const std::function<void(Recorder&, Stream&)>& program) {
  const auto recorder = capture::open(file);
  capture::describe_program(*recorder);
  program(*recorder, recorder->open_stream(1));
}

/// The data in a page, as a browser finds it.
json data_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t start = page.find(begin) + begin.size();
  return json::parse(page.substr(start, page.find("</script>", start) - start));
}

void write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

json small_report() {
  return {{"share_replayed", 0.5}, {"submissions", 10}, {"replayed", 5},          {"verdict", "saved"},
          {"program", "./app"},    {"yielded_ms", 0},   {"graphs", json::array()}};
}

}  // namespace

TEST_CASE("a page of a capture has its graphs, those with most to gain first, and what keeps the rest") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) { capture::heat(stream, 1000); });
  const json input = read_input(file.name(), replay::forecast);
  CHECK(input["kind"] == "capture");
  CHECK(input["submissions"] == 1100);
  REQUIRE(input["graphs"].size() >= 1);
  const json& graph = input["graphs"][0];
  CHECK(graph["operations"] == 11);
  CHECK(graph["runs"] == 100);
  CHECK(graph["what"].get<std::string>().find("stencil x10") == 0);
  CHECK_FALSE(graph["changes"].empty());
  // The picture: ten times the same, then one more.
  const json& picture = graph["picture"];
  CHECK(picture["items"] == json({{10, 0}, 1}));
  CHECK(picture["nodes"][0][3] == 10);
  CHECK(picture["left_out"] == 0);
  CHECK_THAT(input["verdict"].get<std::string>(), Contains("of 1 100 submissions repeat in a way that can be graphed"));
  for (const json& obstacle : input["not_replayed"]) CHECK(obstacle["advice"].is_string());
}

namespace {

std::vector<std::uint8_t> bytes_of(const json& base64) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0, count = 0;
  for (const char letter : base64.get<std::string>()) {
    if (letter == '=') break;
    bits = bits << 6U | static_cast<std::uint32_t>(letters.find(letter));
    if ((count += 6) >= 8) bytes.push_back(static_cast<std::uint8_t>(bits >> (count -= 8)));
  }
  return bytes;
}

json timeline_of(std::uint64_t submissions, std::uint64_t timed) {
  TemporaryFile file;
  {
    const auto recorder = capture::open(file.name(), false, timed);
    capture::describe_program(*recorder);
    Stream& stream = recorder->open_stream(3);
    TestRecord record;
    std::uint64_t time = 1000;
    for (std::uint64_t i = 1; i <= submissions; ++i) {
      stream.operation(
          record.kernel({.function = 1, .queue = 1 + i % 2, .sequence = i, .time_ns = time, .host_ns = 300}));
      time += 500;
    }
    stream.host_call("clFinish", time);
    stream.host_call_done(time + submissions * 500);
  }
  return read_input(file.name(), replay::forecast)["timeline"];
}

}  // namespace

TEST_CASE("timeline: few calls are told one by one") {
  const json timeline = timeline_of(4, 1000);
  CHECK(timeline["from"] == "calls");
  CHECK(timeline["length_ns"] == 4000);
  CHECK(timeline["unit_ns"] == 1);
  CHECK(timeline["queues"].size() == 2);
  const json& lane = timeline["lanes"][0];
  CHECK(lane["lane"] == 3);
  CHECK(lane["states"] == json({{4, 1200}, {0, 0}, {1, 2000}}));
  const auto begin = bytes_of(lane["begin"]);
  REQUIRE(begin.size() == 5 * 4);
  CHECK(begin[4] + 256 * begin[5] == 500);
  const auto what = bytes_of(lane["what"]);
  REQUIRE(what.size() == 5 * 2);
  CHECK(timeline["names"][what[8]] == json({"clFinish", 2, -1}));
}

TEST_CASE("timeline: of many calls it is told how much of each part of the time they took") {
  const json timeline = timeline_of(200'000, 1'000'000);
  const std::size_t bins = timeline["bins"];
  CHECK(bins == 65536);
  const json& lane = timeline["lanes"][0];
  const auto submissions = bytes_of(lane["shares"][0]), host_calls = bytes_of(lane["shares"][2]);
  REQUIRE(submissions.size() == bins);
  CHECK(std::abs(submissions[bins / 4] - 153) < 60);  // 300 of 500 ns, in parts of some calls
  CHECK(submissions[bins * 3 / 4] == 0);
  CHECK(host_calls[bins / 4] == 0);
  CHECK(host_calls[bins * 3 / 4] == 255);
  std::uint64_t calls = 0;
  const auto counts = bytes_of(lane["counts"]);
  for (std::size_t i = 0; i < bins; ++i) calls += counts[2 * i] + 256U * counts[2 * i + 1];
  CHECK(calls == 200'001);
  CHECK(timeline["queue_shares"].size() == 2);
  CHECK(timeline.dump().size() < 1'000'000);
}

TEST_CASE("timeline: where no times are told, stretches are shown") {
  const json timeline = timeline_of(4, 0);
  CHECK(timeline["from"] == "stretches");
  CHECK(timeline["names"][0] == json({"graph 0", 3, -1}));
}

TEST_CASE("pictures of long graphs end, and say how much is behind") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    std::uint64_t sequence = 0;
    for (capture::FunctionId function = 1; function <= 700; ++function) {
      stream.operation(record.kernel({.function = function, .sequence = ++sequence}));
    }
    stream.host_call("clFinish", 0);
  });
  const json picture = read_input(file.name(), replay::forecast)["graphs"][0]["picture"];
  CHECK(picture["nodes"].size() == 300);
  CHECK(picture["left_out"] == 400);
}

TEST_CASE("whatever a file holds, the page stays a page") {
  TemporaryFile file;
  const std::string evil = "</script><script>alert(1)</script><!-- \xFF\x1b /*SCRIPTS*/ {\"DATA\":0}";
  record_to(file.name(), [&](Recorder& recorder, Stream& stream) {
    recorder.define(capture::FunctionInfo{9, 77, evil, ""});
    TestRecord record;
    for (std::uint64_t i = 0; i < 4; ++i) {
      stream.operation(record.kernel({.function = 9, .sequence = i}));
      stream.host_call("clFinish", 0);
    }
  });
  const std::string page = make_page({read_input(file.name(), replay::forecast)});
  CHECK_THAT(page, !Contains("alert(1)<") && !Contains("<script>alert"));
  const json data = data_in(page);
  CHECK_THAT(data["inputs"][0]["graphs"][0]["what"].get<std::string>(), Contains("</script"));
  // One script of its own, and one that is data.
  std::size_t scripts = 0;
  for (std::size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++scripts;
  CHECK(scripts == 2);
  CHECK_THAT(page, Contains("default-src 'none'") && !Contains("http-equiv=\"refresh\"") && !Contains("src=\"http"));
}

TEST_CASE("a report is taken over as what it should be, whatever its values are") {
  TemporaryFile file;
  json report = small_report();
  report["graphs"] = {{{"what", "stencil"}, {"eager_us", 30}, {"replay_us", 10}, {"recorded", 2}, {"bypassed", 3}},
                      {{"what", 7}, {"eager_us", "much"}, {"memory_bytes", nullptr}},
                      "no graph"};
  report["cut_by"] = {{"clFinish", 3}, {"clFlush", "x"}};
  report["sync_intervals"] = {{{"plan", 1}, {"plans", {{{"us", 1.5}}, {{"us", 2.5}}}}}, {{"plan", 9}}, 3};
  report["not_replayed"] = {{{"submissions", 5}, {"why", "because"}}};
  report["seconds"] = "long";
  write(file.name(), report.dump());
  const json input = read_input(file.name(), replay::forecast);
  CHECK(input["kind"] == "report");
  CHECK(input["seconds"] == 0);
  REQUIRE(input["graphs"].size() == 3);
  CHECK(input["graphs"][0]["gain_us"] == 100);
  CHECK(input["graphs"][1]["what"] == "");
  CHECK(input["graphs"][1]["memory_bytes"] == 0);
  CHECK_FALSE(input["graphs"][1]["measured"]);
  CHECK(input["graphs"][2]["graph"] == 2);
  CHECK(input["host_calls"] == json({{{"call", "clFinish"}, {"cuts", 3}}}));
  CHECK(input["intervals"][0]["with_us"] == 2.5);
  CHECK(input["intervals"][1]["with_us"] == 0);
  CHECK(input["not_replayed"][0]["advice"] == "");
}

TEST_CASE("a report's timeline tells what ran from wait to wait") {
  TemporaryFile file;
  json report = small_report();
  const auto timeline_of_report = [&](const json& lanes) {
    report["timeline"] = lanes;
    write(file.name(), report.dump());
    return read_input(file.name(), replay::forecast)["timeline"];
  };
  CHECK(read_input((write(file.name(), report.dump()), file.name()), replay::forecast)["timeline"].is_null());
  const json good = {{"lane", 4},
                     {"left_out", 5},
                     {"begin_ns", {0, 1000}},
                     {"waiting_ns", {300, 1400}},
                     {"end_ns", {900, 1500}},
                     {"submissions", {10, 10}},
                     {"in_graphs", {0, 9}},
                     {"how", {1, 3}}};
  const json timeline = timeline_of_report(json::array({good}));
  CHECK(timeline["from"] == "report");
  CHECK(timeline["length_ns"] == 1500);
  CHECK(timeline["left_out"] == 5);
  REQUIRE(timeline["lanes"].size() == 1);
  const json& lane = timeline["lanes"][0];
  CHECK(lane["lane"] == 4);
  CHECK(lane["states"] == json({{1, 400}, {1, 300}, {2, 700}}));  // with graphs, without, waits
  // As an older report tells it: without what was held only, and without launches.
  CHECK(timeline["names"][0] == json({"10 submissions: 10 eager (without graphs, to be compared)", 5, -1, {0, 0, 10}}));
  CHECK(timeline["names"][1] == json({"for the device", 6, -1, nullptr}));
  CHECK(timeline["names"][2] == json({"10 submissions: 9 replayed, 1 eager (graphs pay)", 4, -1, {9, 0, 1}}));
  const auto took = bytes_of(lane["took"]);
  REQUIRE(took.size() == 16);
  CHECK(took[0] + 256 * took[1] == 300);
  CHECK(took[4] + 256 * took[5] == 600);
  json whole = good;
  whole["in_graphs"] = {0, 6};
  whole["held_issued"] = {1, 3};
  whole["launches"] = {0, 2};
  whole["hold_ns"] = 70;
  const json told = timeline_of_report(json::array({whole}));
  CHECK(told["names"][0][0] ==
        "10 submissions: 1 held but issued one by one, 9 eager (without graphs, to be compared)");
  CHECK(told["names"][2] == json({"10 submissions: 6 replayed in 2 launches, 3 held but issued one by one, 1 eager "
                                  "(graphs pay)",
                                  4,
                                  -1,
                                  {6, 3, 1}}));
  const json& sums = told["lanes"][0];
  CHECK(json({sums["in_graphs"], sums["held_issued"], sums["eager"], sums["launches"], sums["hold_ns"]}) ==
        json({6, 4, 10, 2, 70}));
  whole["chunks"] = {
      {{"at_ns", 5}, {"plan", 1}, {"first", 8}, {"growth", 4}, {"longest", 64}, {"last", 2}, {"why", "pace"}},
      {{"at_ns", 3}, {"first", 8}, {"longest", 32}},
      {{"at_ns", 6}, {"first", 8}, {"longest", 0}},
      {{"at_ns", 7}, {"first", 1}, {"longest", 16}, {"why", 3}},
      "no change"};
  whole["chunks_left_out"] = 9;
  const json with_chunks = timeline_of_report(json::array({whole}));
  REQUIRE(with_chunks["chunks"].size() == 2);  // neither backwards in time, nor of no length
  CHECK(with_chunks["chunks"][0] == json({{"lane", 4},
                                          {"at_ns", 5},
                                          {"plan", 1},
                                          {"first", 8},
                                          {"growth", 4},
                                          {"longest", 64},
                                          {"last", 2},
                                          {"why", "pace"}}));
  CHECK(with_chunks["chunks"][1]["longest"] == 16);
  CHECK(with_chunks["chunks"][1]["why"] == "");
  CHECK(with_chunks["chunks_left_out"] == 9);
  CHECK(told["chunks"].empty());
  // Columns of different lengths, times that run backwards, other types: such a lane is not shown.
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, json>>{{"how", {1}},
                                                                                       {"end_ns", {200, 1500}},
                                                                                       {"begin_ns", {0, 800}},
                                                                                       {"submissions", {10, "ten"}},
                                                                                       {"in_graphs", 7},
                                                                                       {"in_graphs", {0, 11}},
                                                                                       {"held_issued", {0, 2}},
                                                                                       {"launches", {0}},
                                                                                       {"waiting_ns", {-1, 3}}}) {
    json bad = good;
    bad[name] = value;
    INFO(name);
    CHECK(timeline_of_report(json::array({bad, good}))["lanes"].size() == 1);
  }
}

TEST_CASE("what is neither a report nor a capture is refused by name") {
  TemporaryFile file;
  for (const std::string text : {"", "{}", "[1, 2", "REFRFN\r\n", "{\"share_replayed\": 1}"}) {
    write(file.name(), text);
    INFO(text);
    CHECK_THROWS_WITH(read_input(file.name(), replay::forecast), Contains(file.name()));
  }
  CHECK_THROWS_WITH(read_input("/nowhere/x", replay::forecast), Contains("/nowhere/x"));
}

}  // namespace refrain::page
