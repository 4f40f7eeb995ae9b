#include "capture/dump.h"

#include <bit>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "capture/analysis.h"
#include "capture/reader.h"
#include "test/capture/dumps.h"
#include "test/capture/records.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {
namespace {

using Catch::Contains;

// One of everything that explain knows.
void mixed(Recorder&, Stream& stream) {
  TestRecord record;
  std::uint64_t sequence = 0, time = 1'000'000;
  const auto kernels = [&](FunctionId function, int count, std::int32_t scalar, ObjectId buffer = 1) {
    for (int i = 0; i < count; ++i) {
      stream.operation(record.kernel({.function = function,
                                      .buffers = {buffer},
                                      .scalars = {scalar},
                                      .sequence = ++sequence,
                                      .time_ns = time += 1000,
                                      .host_ns = 900}));
    }
  };
  for (std::int32_t i = 0; i < 100; ++i) {
    kernels(1, 10, 7);  // exact
    stream.host_call("clFinish", time += 500);
    kernels(2, 8, 10 * i);  // counts
    stream.host_call("clEnqueueReadBuffer", time += 500);
    kernels(3, 1, 1);  // short
    stream.host_call("clWaitForEvents", time += 500);
    kernels(1, 4, 1);  // split
    stream.operation(record.other(55, OperationKind::kMap, 0, ++sequence, time += 1000));
    kernels(1, 3, 1);
    stream.host_call("clFinish", time += 500);
    kernels(3, 6, 1, 1 + static_cast<ObjectId>(i) % 2);  // in turn
    stream.host_call("clFinish", time += 500);
  }
  kernels(2, 17, 3);  // once
  stream.host_call("clFinish", time += 500);
}

}  // namespace

TEST_CASE("summary and JSON tell regions that the program named") {
  env::Region step{nullptr, 1, "step"}, forward{&step, 2, "for\x1bward"};
  TemporaryFile file;
  record_to(file.name(), [&](Recorder&, Stream& stream) {
    TestRecord record;
    for (std::uint64_t i = 0; i < 4; ++i) {
      stream.region(i == 0 ? nullptr : &forward);
      stream.operation(record.kernel({.function = 1, .sequence = i + 1}));
      stream.host_call("clFinish", 0);
    }
  });
  CHECK_THAT(dump(file.name(), DumpFormat::kSummary).out,
             Contains("75.0 %          3           3  step") && Contains("step/for\\x1bward"));
  const auto json = nlohmann::json::parse(dump(file.name(), DumpFormat::kJson).out);
  REQUIRE(json["regions"].size() == 2);
  CHECK(json["regions"][1]["name"] == "step/for\x1bward");
  CHECK(json["regions"][1]["submissions"] == 3);
}

TEST_CASE("the summary tells the totals") {
  TemporaryFile file;
  record_to(file.name(), mixed);
  const Output output = dump(file.name(), DumpFormat::kSummary);
  CHECK(output.status == 0);
  CHECK(output.err.empty());
  // 100 * (10 + 8 + 1 + 8 + 6) + 17
  CHECK_THAT(output.out, Contains("3 317 submissions in 501 stretches, 1 lane"));
  CHECK_THAT(output.out, Contains("Test device on Test platform (1.0); command buffers: cl_khr_command_buffer 0.9.0"));
  CHECK_THAT(output.out, Contains("6 different graphs"));
  CHECK_THAT(output.out, Contains("stencil x10"));
  CHECK_THAT(output.out, Contains("clWaitForEvents"));
}

TEST_CASE("explain gives the reasons in order of what they cost") {
  TemporaryFile file;
  record_to(file.name(), mixed);
  const Output output = dump(file.name(), DumpFormat::kExplain);
  CHECK(output.status == 0);
  const std::string& text = output.out;
  // Of 1000 exact, 700 beside the map and 600 in turn, but for the first times.
  CHECK_THAT(text, Catch::StartsWith("65.5 % of 3 317 submissions repeat in a way that can be graphed; most of the "
                                     "rest (24.1 %): arguments change: "));
  CHECK(std::ranges::count(text, '\n') <= 40);  // a screen
  CHECK_THAT(text, Contains("the first times of what repeats"));
  CHECK_THAT(text, Contains("100 times of 10 submissions (stencil x10), up to clFinish"));
  CHECK_THAT(text, Contains("repeats exactly 100 times"));
  CHECK_THAT(text, Contains("2 argument sets that come again"));
  CHECK_THAT(text, Contains("residual argument 1 (4-byte value): +10 each time (8 nodes)"));
  CHECK_THAT(text, Contains("map: command buffers have no such command; it splits its stretch"));
  CHECK_THAT(text, Contains("too short to pay: 1.0 submissions on average before clWaitForEvents"));
  CHECK_THAT(text, Contains("not repeated: 1 stretch of submissions that occurs once"));
  const auto place = [&](const char* what) { return text.find(what); };
  CHECK(place("residual argument") < place("too short"));
  CHECK(place("too short") < place("map: "));
  CHECK(place("map: ") < place("not repeated"));

  std::string error;
  const auto capture = read_capture(file.name(), &error);
  REQUIRE(capture.has_value());
  const Analysis analysis = analyse(*capture, replay::forecast);
  std::uint64_t told = 0;
  for (const auto* list : {&analysis.graphable, &analysis.obstacles}) {
    for (const Finding& finding : *list) {
      told += finding.submissions;
    }
  }
  CHECK(told == analysis.submissions);  // every submission is accounted for exactly once
}

TEST_CASE("a blocking call is a host call, and is named as what cuts") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    for (int i = 0; i < 50; ++i) {
      for (int j = 0; j < 5; ++j) {
        stream.operation(record.kernel({.host_ns = 900}));
      }
      stream.operation(record.other(8, OperationKind::kReadBuffer, kBlocking));
    }
  });
  const std::string text = dump(file.name(), DumpFormat::kExplain).out;
  CHECK_THAT(text, Contains("300 submissions in 50 stretches"));
  CHECK_THAT(text, Contains("50 times of 6 submissions (stencil x5, read buffer), up to blocking read buffer"));
  CHECK_THAT(text, Contains("blocking read buffer: the program waits for it"));
  // What it takes is not measured, and not what others take.
  CHECK_THAT(text, Contains("50 submissions; 50 times in graph 0") &&
                       Contains("215 submissions, about 193.5 us in driver calls"));
  CHECK_THAT(text, !Contains("in parts"));
}

TEST_CASE("what is split into parts of one submission is too short, not on its way to be replayed") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    for (int i = 0; i < 50; ++i) {
      for (int j = 0; j < 5; ++j) {
        stream.operation(record.other(54, OperationKind::kMarker, kRecordable | kEndsHold));
        stream.operation(record.kernel({}));
        stream.operation(record.other(55, OperationKind::kMap, 0));
      }
      stream.host_call("clFinish", 0);
    }
  });
  const std::string text = dump(file.name(), DumpFormat::kExplain).out;
  CHECK_THAT(text, Contains("too short to pay: fewer than 2 submissions at a time between those that split"));
  CHECK_THAT(text, !Contains("the first times of what repeats"));
}

TEST_CASE("changes are told in words") {
  const auto changes = [](const std::function<OperationView(TestRecord&, std::int32_t)>& make) {
    TemporaryFile file;
    record_to(file.name(), [&](Recorder&, Stream& stream) {
      TestRecord record;
      for (std::int32_t i = 0; i < 200; ++i) {
        for (int j = 0; j < 4; ++j) {
          stream.operation(make(record, i));
        }
        stream.host_call("clFinish", 0);
      }
    });
    return dump(file.name(), DumpFormat::kExplain).out;
  };
  CHECK_THAT(changes([](TestRecord& record, std::int32_t i) {
               return record.kernel({.scalars = {5, -2 * i}});
             }),
             Contains("stencil argument 1 (4-byte value): -2 each time (4 nodes)"));
  CHECK_THAT(changes([](TestRecord& record, std::int32_t i) {
               return record.kernel({.buffers = {static_cast<ObjectId>(i) + 1}});
             }),
             Contains("stencil argument 0 (buffer): a different one nearly every time (4 nodes)"));
  CHECK_THAT(changes([](TestRecord& record, std::int32_t i) { return record.kernel({.scalars = {i * i}}); }),
             Contains("stencil argument 0 (4-byte value): changes by +1 to +397 (as an integer) (4 nodes)"));
  CHECK_THAT(changes([](TestRecord& record, std::int32_t i) {
               return record.kernel({.scalars = {std::bit_cast<std::int32_t>(0.5F / static_cast<float>(i * i + 1))}});
             }),
             Contains("stencil argument 0 (4-byte value): changes: 0.5, 0.25, 0.1 … (as floats) (4 nodes)"));
  CHECK_THAT(changes([](TestRecord& record, std::int32_t i) {
               return record.kernel({.global = static_cast<std::uint64_t>(1000 - i)});
             }),
             Contains("stencil global size x: -1 each time (4 nodes)"));
  CHECK_THAT(changes([](TestRecord& record, std::int32_t i) {
               return record.kernel({.queue = static_cast<ObjectId>(100 + i)});
             }),
             Contains("another queue nearly every time"));
}

TEST_CASE("an argument that takes turns in one node and not in another one is not said to take turns") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    for (std::int32_t i = 0; i < 200; ++i) {
      for (const std::int32_t value : {i % 3, i * i, i % 3, i * i}) {
        stream.operation(record.kernel({.scalars = {value}}));
      }
      stream.host_call("clFinish", 0);
    }
  });
  CHECK_THAT(dump(file.name(), DumpFormat::kExplain).out,
             Contains("stencil argument 0 (4-byte value): changes by -2 to +397 (as an integer) (4 nodes)"));
}

TEST_CASE("explain sums up what it does not list") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    for (int round = 0; round < 40; ++round) {
      for (Token stretch = 0; stretch < 25; ++stretch) {
        for (int i = 0; i < 4; ++i) {
          stream.operation(record.kernel({}));
        }
        stream.operation(record.other(1000 + stretch, OperationKind::kMarker));
        stream.host_call("clFinish", 0);
      }
    }
  });
  const std::string text = dump(file.name(), DumpFormat::kExplain).out;
  CHECK_THAT(text, Contains("  6.   ") && !Contains("  7.   "));
  CHECK_THAT(text, Contains(" submissions in 19 more, see --json"));
}

TEST_CASE("pointers are told by the allocation they point into") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder& recorder, Stream& stream) {
    BufferInfo buffer;
    buffer.id = 5;
    buffer.size = 4096;
    buffer.address = 0x10000;
    buffer.description = {static_cast<std::uint64_t>(MemoryPlace::kDevice), 0};
    recorder.define(buffer);
    RecordBytes bytes;
    OperationWriter writer(bytes);
    OperationHeader& header = writer.begin(OperationKind::kKernel, 100);
    header.function = 1;
    header.queue = 1;
    writer.words(words::Kernel{.dimensions = 1, .offset = {}, .global = {1024, 1, 1}, .local = {64, 1, 1}});
    for (const std::uint64_t address : {0xFFFFU, 0x10000U, 0x10FFFU, 0x11000U}) {
      writer.argument_handle(ArgumentKind::kPointer, 0, address);
    }
    writer.finish();
    stream.operation(OperationView(bytes.data()));
  });
  const std::string text = dump(file.name(), DumpFormat::kGraph, 0).out;
  CHECK_THAT(text, Contains("0: pointer 0xffff\n"));
  CHECK_THAT(text, Contains("1: 0x10000 = allocation 5 + 0 (device memory, 4.0 KiB)"));
  CHECK_THAT(text, Contains("2: 0x10fff = allocation 5 + 4095"));
  CHECK_THAT(text, Contains("3: pointer 0x11000\n"));
}

TEST_CASE("one graph: nodes, arguments, edges") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    for (std::uint64_t i = 0; i < 2; ++i) {
      stream.operation(record.kernel({.function = 1, .buffers = {1}, .scalars = {42}, .sequence = 3 * i + 1}));
      stream.operation(record.other(9, OperationKind::kCopyBuffer, 0, 3 * i + 2));
      stream.operation(
          record.kernel({.function = 2, .queue = 2, .waits = {kInternalWait | (3 * i + 2)}, .sequence = 3 * i + 3}));
      stream.host_call("clFinish", 0);
    }
  });
  const Output output = dump(file.name(), DumpFormat::kGraph, 0);
  CHECK(output.status == 0);
  CHECK_THAT(output.out, Contains("graph 0: 3 nodes, 2 edges"));
  CHECK_THAT(output.out, Contains("stencil  global 1024, local 64"));
  CHECK_THAT(output.out, Contains("0: buffer 1 (4.0 KiB)"));
  CHECK_THAT(output.out, Contains("1: 42 / "));
  CHECK_THAT(output.out, Contains("0 -> 1    queue order"));
  CHECK_THAT(output.out, Contains("1 -> 2    event"));
  CHECK_THAT(output.out, Contains("queue 2 (out of order)"));

  for (const auto format : {DumpFormat::kGraph, DumpFormat::kDot}) {
    const Output missing = dump(file.name(), format, 9);
    CHECK(missing.status == 1);
    CHECK(missing.out.empty());
    CHECK_THAT(missing.err, Contains("has no graph 9; it has 1"));
  }

  const Output dot = dump(file.name(), DumpFormat::kDot);
  CHECK_THAT(dot.out, Contains("n0_0 [label=\"0 stencil\\n1 copy buffer\\nqueue 1\"]"));
  CHECK_THAT(dot.out, Contains("n0_0 -> n0_2 [style=dashed color=blue]") && !Contains("n0_1"));
}

TEST_CASE("dot: what repeats stands once, and says what changes and what cuts") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    std::uint64_t sequence = 0;
    for (std::int32_t round = 0; round < 3; ++round) {
      for (int i = 0; i < 100; ++i) {
        stream.operation(record.kernel({.function = 1, .scalars = {i == 7 ? round : 5}, .sequence = ++sequence}));
      }
      for (int i = 0; i < 4; ++i) {
        stream.operation(record.kernel({.function = 2, .sequence = ++sequence}));
        stream.operation(record.other(55, OperationKind::kMap, 0, ++sequence));
      }
      stream.host_call("clFinish", 0);
    }
  });
  const Output dot = dump(file.name(), DumpFormat::kDot);
  CHECK_THAT(dot.out, Contains("graph 0, 3 times, ended by clFinish (3 times)"));
  CHECK_THAT(dot.out, Contains("[label=\"0 stencil x 100 (changes in 1 of 100)\\nqueue 1\"]"));
  CHECK_THAT(dot.out, Contains("label=\"x 4\" style=\"rounded,dashed\""));
  CHECK_THAT(dot.out, Contains("\\ncuts: command buffers have no such command\" shape=octagon"));
  CHECK_THAT(dot.out, Contains("n0_101 -> n0_100 [style=solid color=black label=\"next turn\" constraint=false]"));
  CHECK(std::count(dot.out.begin(), dot.out.end(), '\n') < 40);
}

TEST_CASE("JSON and trace are JSON and agree with the text") {
  TemporaryFile file;
  record_to(file.name(), mixed);
  const auto json = nlohmann::json::parse(dump(file.name(), DumpFormat::kJson).out);
  CHECK(json["submissions"] == 3317);
  CHECK(json["command"] == "./heat \"512\"");
  REQUIRE(json["graphs"].size() == 6);
  CHECK(json["graphs"][0]["nodes"].size() == 10);
  CHECK(json["graphs"][0]["edges"][0]["reason"] == "queue order");
  CHECK(json["graphs"][1]["changes"][0]["min_delta"] == 10);
  CHECK(json["explain"].size() == 8);

  const auto trace = nlohmann::json::parse(dump(file.name(), DumpFormat::kTrace).out);
  std::vector<std::pair<double, double>> open;  // slices must nest
  std::size_t slices = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") {
      continue;
    }
    ++slices;
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    CHECK(event["dur"] >= 0);
    while (!open.empty() && begin >= open.back().second - 1e-6) {
      open.pop_back();
    }
    if (!open.empty()) {
      CHECK(end <= open.back().second + 1e-6);
    }
    open.emplace_back(begin, end);
  }
  CHECK(slices > 5);
}

TEST_CASE("JSON has the bytes of each argument") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    stream.operation(record.kernel({.buffers = {1}, .scalars = {42, 43}}));
    stream.host_call("clFinish", 0);
  });
  const auto json = nlohmann::json::parse(dump(file.name(), DumpFormat::kJson).out);
  const auto& arguments = json["graphs"][0]["nodes"][0]["arguments"];
  REQUIRE(arguments.size() == 3);
  CHECK(arguments[0]["bytes"] == "01b0000000000000");
  CHECK(arguments[1]["bytes"] == "2a000000");
  CHECK(arguments[2]["bytes"] == "2b000000");
}

TEST_CASE("CSV: a line for each graph, with as many values as the first line names") {
  TemporaryFile file;
  record_to(file.name(), mixed);
  const Output csv = dump(file.name(), DumpFormat::kCsv);
  CHECK(csv.status == 0);
  CHECK_THAT(csv.out, Catch::StartsWith("graph,fingerprint,operations,edges,occurrences,submissions,host_ns,"));
  CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 7);
  CHECK_THAT(csv.out, Contains(",100,1000,900000,"));
  CHECK_THAT(csv.out, Contains(",855000,can be graphed,exact,\"stencil x10\",\"\"\n"));
  CHECK_THAT(csv.out, Contains(",once,\"residual x17\",\"\"\n"));
  CHECK_THAT(csv.out, Contains(",too short,exact,\"axpy\",\"\"\n"));
}

TEST_CASE("what came too rarely to be replayed is not called too short") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 5; ++i) {
        stream.operation(record.kernel({}));
      }
      stream.host_call("clFinish", 0);
    }
  });
  CHECK_THAT(dump(file.name(), DumpFormat::kCsv).out, Contains(",first times,exact,\"stencil x5\",\"\"\n"));
}

TEST_CASE("names that are not text do no harm") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder& recorder, Stream& stream) {
    recorder.define(FunctionInfo{9, 77, "bad\xFF\"name\n", ""});
    TestRecord record;
    stream.operation(record.kernel({.function = 9}));
    stream.host_call("clFinish", 0);
  });
  for (const auto format : {DumpFormat::kJson, DumpFormat::kTrace}) {
    CHECK_NOTHROW(nlohmann::json::parse(dump(file.name(), format).out));
  }
  CHECK_THAT(dump(file.name(), DumpFormat::kDot).out, Contains("bad\\\\xff\\\"name\\\\n\\n"));
}

TEST_CASE("explain takes what changes for graphable where the device can change it") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder& recorder, Stream& stream) {
    DeviceInfo device;
    device.id = 1000;
    device.api = "opencl";
    device.native = "cl_khr_command_buffer 0.9.8";
    device.updates = true;
    recorder.define(device);
    mixed(recorder, stream);
  });
  const std::string text = dump(file.name(), DumpFormat::kExplain).out;
  CHECK_THAT(text, Catch::StartsWith("89.7 % of "));
  CHECK(text.find("residual argument 1") < text.find("What keeps the rest"));
}

TEST_CASE("a damaged file is shown as far as it is good, and is an error") {
  TemporaryFile file;
  record_to(file.name(), mixed);
  {
    std::fstream bytes(file.name(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file.name()) - 3));
    bytes.write("abc", 3);
  }
  const Output output = dump(file.name(), DumpFormat::kSummary);
  CHECK(output.status == 1);
  CHECK_THAT(output.out, Contains("Test device"));
  CHECK_THAT(output.err, Contains("damaged after"));
}

TEST_CASE("a file cut short is shown with a note, a bad one is an error") {
  TemporaryFile file;
  record_to(file.name(), mixed);
  std::filesystem::resize_file(file.name(), std::filesystem::file_size(file.name()) - 3);
  const Output output = dump(file.name(), DumpFormat::kSummary);
  CHECK(output.status == 0);
  CHECK_THAT(output.err, Contains("truncated after"));
  for (const auto format : {DumpFormat::kExplain, DumpFormat::kJson, DumpFormat::kDot, DumpFormat::kTrace}) {
    CHECK(dump(file.name(), format).status == 0);
  }
  const Output missing = dump("/nonexistent.rfn", DumpFormat::kSummary);
  CHECK(missing.status == 1);
  CHECK_THAT(missing.err, Contains("/nonexistent.rfn"));
}

TEST_CASE("an output that cannot be written is an error") {
  TemporaryFile file;
  record_to(file.name(), mixed);
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  CHECK(run_dump({file.name(), DumpFormat::kSummary, {}, 0, replay::forecast}, full, stderr) == 1);
  std::fclose(full);
}

TEST_CASE("a million submissions are summed up quickly") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    for (std::int32_t i = 0; i < 200'000; ++i) {
      for (FunctionId function = 1; function <= 5; ++function) {
        stream.operation(record.kernel({.function = 1 + function % 3, .buffers = {1, 2}, .scalars = {i}}));
      }
      stream.host_call(i % 3 == 0 ? "clFinish" : "clWaitForEvents", 0);
    }
  });
  const auto start = std::chrono::steady_clock::now();
  const Output output = dump(file.name(), DumpFormat::kSummary);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("dump --summary of 1 000 000 submissions: %.3f s\n", seconds);
  CHECK_THAT(output.out, Contains("1 000 000 submissions"));
  CHECK(std::filesystem::file_size(file.name()) < std::size_t{256} * 1024);
}

}  // namespace refrain::capture
