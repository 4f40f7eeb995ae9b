// Why operations are never held: what a capture is told of that, and what is said of it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "capture/reader.h"
#include "test/capture/dumps.h"
#include "test/capture/records.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {

using Catch::Contains;

TEST_CASE("what the layer or the device takes at once only is not said to be graphed") {
  const auto flags = GENERATE(std::uint16_t{0}, std::uint16_t{kAtOnce});
  TemporaryFile file;
  record_to(file.name(), [&](Recorder&, Stream& stream) {
    TestRecord record;
    for (int i = 0; i < 100; ++i) {
      for (int k = 0; k < 5; ++k) {
        stream.operation(record.other(7, OperationKind::kFillBuffer, flags));
      }
      stream.host_call("clFinish", 0);
    }
  });
  const std::string text = dump(file.name(), DumpFormat::kExplain).out;
  if (flags == 0) {
    CHECK_THAT(text, Catch::StartsWith("9"));
  } else {
    CHECK_THAT(text, Catch::StartsWith("0.0 %") && Contains("fill buffer: it is never held"));
  }
}

TEST_CASE("what the layer says of an operation is said in every form, and of no other one like it") {
  TemporaryFile file;
  record_to(file.name(), [&](Recorder& recorder, Stream& stream) {
    TestRecord record;
    const std::uint16_t marked = recorder.reason("its stream is marked");
    CHECK(recorder.reason("its stream is marked") == marked);
    const std::uint16_t between = recorder.reason("events stand between graphs");
    CHECK(marked != between);
    for (int i = 0; i < 100; ++i) {
      for (int k = 0; k < 5; ++k) {
        stream.operation(record.told(OperationKind::kFillBuffer, kRecordable, 0));
      }
      stream.operation(record.told(OperationKind::kFillBuffer, kAtOnce, i < 60 ? marked : 0));
      stream.operation(record.told(OperationKind::kEventRecord, kAtOnce | kBetween, between));
      stream.host_call("clFinish", 0);
    }
  });
  CHECK(read_capture(file.name(), nullptr)->reasons.size() == 2);
  const std::string text = dump(file.name(), DumpFormat::kExplain).out;
  CHECK_THAT(text, Contains("fill buffer: its stream is marked; ") && Contains("60 times in graph 0"));
  CHECK_THAT(text, Contains("fill buffer: it is never held"));  // of which nothing is told
  CHECK_THAT(text, Contains("event record: events stand between graphs; ") && Contains("100 times in graphs 0, 1"));
  CHECK_THAT(dump(file.name(), DumpFormat::kGraph, 0).out, Contains(", its stream is marked\n"));
  CHECK_THAT(dump(file.name(), DumpFormat::kDot).out, Contains("its stream is marked"));
  CHECK_THAT(dump(file.name(), DumpFormat::kCsv).out,
             Contains(",\"events stand between graphs; its stream is marked\"\n"));
  const auto json = nlohmann::json::parse(dump(file.name(), DumpFormat::kJson).out);
  const auto& nodes = json["graphs"][0]["nodes"];
  CHECK(!nodes[0].contains("why"));
  CHECK(nodes[5]["why"] == "its stream is marked");
  CHECK(json["graphs"][1]["nodes"][5]["why"] != "its stream is marked");
}

}  // namespace refrain::capture
