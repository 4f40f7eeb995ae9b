#include "replay/forecast/forecast.h"

#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "capture/file_recorder.h"
#include "capture/reader.h"
#include "test/capture/records.h"
#include "test/capture/temporary_file.h"

namespace refrain::replay {
namespace {

using capture::FunctionId;
using capture::Stream;
using capture::TestRecord;

struct Result {
  std::uint64_t submissions = 0, replayed = 0;
  [[nodiscard]] double share() const { return static_cast<double>(replayed) / static_cast<double>(submissions); }
};

Result forecast_of(bool updates, const std::function<void(Stream&, TestRecord&)>& program) {
  const capture::TemporaryFile file;
  std::string error;
  {
    capture::FileRecorderOptions options;
    options.file = file.name();
    const auto recorder = capture::open_file_recorder(options, &error);
    REQUIRE(recorder != nullptr);
    capture::DeviceInfo device;
    device.id = 1;
    device.api = "opencl";
    device.native = "cl_khr_command_buffer 0.9.8";
    device.updates = updates;
    recorder->define(device);
    TestRecord record;
    program(recorder->open_stream(1), record);
  }
  const auto capture = capture::read_capture(file.name(), &error);
  INFO(error);
  REQUIRE(capture.has_value());
  const std::vector<std::uint64_t> replayed = forecast(*capture);
  REQUIRE(replayed.size() == capture->graphs.size());
  Result result;
  result.replayed = std::accumulate(replayed.begin(), replayed.end(), std::uint64_t{0});
  for (const capture::LaneHistory& lane : capture->lanes) {
    for_each_leaf(lane, [&](const capture::HistoryItem& item) {
      result.submissions += item.total * capture->graphs[item.graph].size();
    });
  }
  return result;
}

void kernels(Stream& stream, TestRecord& record, int count, std::int32_t scalar) {
  for (int i = 0; i < count; ++i) {
    stream.operation(
        record.kernel({.function = 1 + static_cast<FunctionId>(i % 3), .buffers = {1}, .scalars = {scalar}}));
  }
}

}  // namespace

TEST_CASE("a loop is replayed but for its first times, however long it is") {
  const int turns = GENERATE(50, 200'000);
  const Result result = forecast_of(false, [&](Stream& stream, TestRecord& record) {
    for (int i = 0; i < turns; ++i) {
      kernels(stream, record, 10, 7);
      stream.host_call("clFinish", 0);
    }
  });
  CHECK(result.submissions == 10U * static_cast<unsigned>(turns));
  CHECK(result.share() > 0.9);
  CHECK(result.replayed < result.submissions);
}

TEST_CASE("a loop without host calls is replayed as well") {
  const Result result =
      forecast_of(false, [](Stream& stream, TestRecord& record) { kernels(stream, record, 6000, 7); });
  CHECK(result.submissions == 6000);
  CHECK(result.share() > 0.9);
}

TEST_CASE("what has other arguments each time is replayed where the device can change them") {
  const bool updates = GENERATE(false, true);
  const Result result = forecast_of(updates, [](Stream& stream, TestRecord& record) {
    for (int i = 0; i < 500; ++i) {
      kernels(stream, record, 10, i);
      stream.host_call("clFinish", 0);
    }
  });
  CHECK(result.submissions == 5000);
  CHECK(result.share() == (updates ? Approx(0.98).margin(0.02) : Approx(0).margin(0.001)));
}

TEST_CASE("what is submitted once, one by one, or cannot be recorded is not replayed") {
  const Result once = forecast_of(true, [](Stream& stream, TestRecord& record) {
    for (FunctionId i = 0; i < 300; ++i) {
      stream.operation(record.kernel({.function = i * i + 5}));
    }
  });
  CHECK(once.submissions == 300);
  CHECK(once.replayed == 0);
  const Result single = forecast_of(true, [](Stream& stream, TestRecord& record) {
    for (int i = 0; i < 300; ++i) {
      kernels(stream, record, 1, 1);
      stream.host_call("clFinish", 0);
    }
  });
  CHECK(single.submissions == 300);
  CHECK(single.replayed == 0);
  const Result maps = forecast_of(true, [](Stream& stream, TestRecord& record) {
    for (int i = 0; i < 300; ++i) {
      stream.operation(record.other(55, capture::OperationKind::kMap));
    }
  });
  CHECK(maps.replayed == 0);
}

}  // namespace refrain::replay
