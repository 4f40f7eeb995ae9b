#include "replay/forecast/forecast.h"

#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "capture/file_recorder.h"
#include "capture/reader.h"
#include "replay/lane/handoff.h"
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

/// One after the other, each in a lane of its own.
using Threads = std::vector<std::function<void(Stream&, TestRecord&)>>;
Result forecast_of(bool updates, const Threads& threads) {
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
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i](recorder->open_stream(i + 1), record);
    }
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

Result forecast_of(bool updates, const std::function<void(Stream&, TestRecord&)>& program) {
  return forecast_of(updates, Threads{program});
}

void kernels(Stream& stream, TestRecord& record, int count, std::int32_t scalar) {
  for (int i = 0; i < count; ++i) {
    stream.operation(
        record.kernel({.function = 1 + static_cast<FunctionId>(i % 3), .buffers = {1}, .scalars = {scalar}}));
  }
}

}  // namespace

TEST_CASE("a loop is replayed but for its first times, however long it is") {
  const int turns = GENERATE(100, 200'000);
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

TEST_CASE("which host call ends a stretch does not matter, as to the engine") {
  const Result result = forecast_of(false, [](Stream& stream, TestRecord& record) {
    static constexpr const char* kCalls[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    for (unsigned i = 0; i < 60; ++i) {
      kernels(stream, record, 10, 7);
      stream.host_call(kCalls[i * i * 7 % 12], 0);
    }
  });
  CHECK(result.share() > 0.85);
}

TEST_CASE("a stretch ends where another thread's work comes between") {
  const bool cut = GENERATE(false, true);
  const Result result = forecast_of(false, [&](Stream& stream, TestRecord& record) {
    for (int i = 0; i < 4000; ++i) {
      kernels(stream, record, 1, 7);
      if (cut) {
        stream.cut(kHandedOff, 0);
      }
    }
  });
  CHECK(result.submissions == 4000);
  CHECK((result.replayed == 0) == cut);  // one submission by itself is no graph
}

TEST_CASE("what becomes of an operation is what the capture says, whatever its kind") {
  using namespace capture;
  const auto flags = GENERATE(as<std::uint16_t>(), 0, kRecordable, kAtOnce, kAtOnce | kBetween);
  INFO(flags);
  const Result result = forecast_of(false, [&](Stream& stream, TestRecord& record) {
    for (int i = 0; i < 300; ++i) {
      kernels(stream, record, 3, 7);
      stream.operation(record.other(55, OperationKind::kOther, flags));
      kernels(stream, record, 3, 7);
      stream.host_call("clFinish", 0);
    }
  });
  const double expected = flags == kRecordable ? 1 : 6.0 / 7;
  CHECK(result.share() == Approx(expected).margin(0.03));
}

TEST_CASE("behind what the program may wait for by looking at memory nothing stays held") {
  const std::uint16_t flags =
      GENERATE(as<std::uint16_t>(), capture::kRecordable, capture::kRecordable | capture::kEndsHold);
  const Result result = forecast_of(false, [&](Stream& stream, TestRecord& record) {
    for (int i = 0; i < 1000; ++i) {
      stream.operation(record.other(55, capture::OperationKind::kFillBuffer, flags));
    }
  });
  CHECK((result.replayed == 0) == ((flags & capture::kEndsHold) != 0));
}

TEST_CASE("arguments that the backend cannot change make another graph") {
  const std::uint16_t flags =
      GENERATE(as<std::uint16_t>(), capture::kRecordable, capture::kRecordable | capture::kFixed);
  const Result result = forecast_of(true, [&](Stream& stream, TestRecord& record) {
    for (std::uint64_t i = 0; i < 500; ++i) {
      kernels(stream, record, 4, 7);
      capture::RecordBytes bytes;
      capture::OperationWriter writer(bytes);
      writer.begin(capture::OperationKind::kPointerFill, 55).queue = 1;
      writer.header().flags = flags;
      for (int word = 0; word < capture::word_count_of(capture::OperationKind::kPointerFill); ++word) {
        writer.word(64);
      }
      writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&i, 1)));
      writer.finish();
      stream.operation(capture::OperationView(bytes.data()));
      stream.host_call("clFinish", 0);
    }
  });
  CHECK(result.share() == ((flags & capture::kFixed) != 0 ? Approx(0).margin(0.001) : Approx(0.98).margin(0.02)));
}

TEST_CASE("a thread goes on with what another one has learnt that ended") {
  const char* const end = GENERATE(as<const char*>(), kThreadEnds, "clFinish");
  Threads threads;
  for (std::uint64_t thread = 0; thread < 30; ++thread) {
    threads.emplace_back([=](Stream& stream, TestRecord& record) {
      for (int i = 0; i < 10; ++i) {
        stream.operation(record.kernel({.function = 1 + static_cast<FunctionId>(i % 3), .time_ns = 1000 * thread + 1}));
      }
      stream.host_call(end, 1000 * thread + 500);
    });
  }
  CHECK((forecast_of(false, threads).share() > 0.7) == (std::string_view(end) == kThreadEnds));
}

}  // namespace refrain::replay
