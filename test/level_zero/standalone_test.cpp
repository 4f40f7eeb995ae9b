// The device on which `refrain bench` makes the objects of a capture again: captures come from anywhere.
#include <stdlib.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/level_zero/kernel_call.h"
#include "backends/level_zero/list.h"
#include "backends/standalone_device.h"
#include "backends/streams/operation.h"
#include "test/backends/record_maker.h"

namespace {

using namespace refrain;
using backends::ImmediateList;
using backends::KernelSettings;
using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationWriter;
using test::RecordMaker;
using Record = std::vector<std::byte>;
using Words = std::vector<std::uint32_t>;

/// An event as a record has it: its number, and what the captured program's handle was.
struct OldEvent {
  capture::ObjectId id = 0;
  std::uint64_t handle = 0xDEAD0000;
};
constexpr OldEvent kNone{0, 0};

Record bytes_of(const capture::OperationView& view) {
  return {view.bytes().begin(), view.bytes().end()};
}

struct Opened {
  Opened() {
    ::setenv("ZE_ENABLE_ALT_DRIVERS", SIMULATED_DRIVER, 1);
    ::setenv("SIM_PATIENCE", "5", 1);
    device = backends::open_standalone_device("level_zero", {}, &why);
    INFO(why);
    REQUIRE(device != nullptr);
  }
  /// Each of another program: what was refused once is refused again without being looked at.
  capture::Handle function(const std::string& name, std::span<const std::byte> code,
                           capture::CodeKind kind = capture::CodeKind::kIntermediate, const std::string& options = {}) {
    why.clear();
    const capture::FunctionInfo wanted{++functions, functions, name, options};
    return device->make_function(wanted, kind, code, &why);
  }
  capture::Handle function(const std::string& name, const Words& code = {0x07230203, 0x00010000, 0, 1, 0}) {
    return function(name, std::as_bytes(std::span(code)));
  }
  capture::QueueInfo queue(std::uint64_t detail = 0) {
    capture::QueueInfo wanted;
    capture::QueueInfo made;
    wanted.id = ++queues;
    wanted.detail = detail;
    const bool good = device->make_queue(wanted, &made, &why);
    CHECK(good == (made.handle != 0));
    return made;
  }
  Record launch(capture::Handle function, const std::function<void(OperationWriter&)>& arguments,
                std::size_t settings = sizeof(KernelSettings)) {
    return bytes_of(records.make(
        OperationKind::kKernel, backends::shape_of({1, 1, 1}, {32, 1, 1}),
        [&](OperationWriter& writer) {
          arguments(writer);
          const std::vector<std::byte> zeros(settings);
          writer.argument(ArgumentKind::kValue, 0, zeros);
          writer.argument_handle(ArgumentKind::kOtherHandle, 0, 0);
        },
        0, functions, function));
  }
  /// A command with nothing but events: what it signals or resets, and what it waits for.
  Record events(OperationKind kind, OldEvent signal, const std::vector<OldEvent>& waits = {},
                const capture::QueueInfo& on = {}) {
    Record record = bytes_of(records.make(kind, std::span<const std::uint64_t>(), [&](OperationWriter& writer) {
      writer.argument_handle(ArgumentKind::kOtherHandle, signal.id, signal.handle);
      for (const OldEvent& wait : waits) {
        writer.argument_handle(ArgumentKind::kOtherHandle, wait.id, wait.handle);
      }
    }));
    auto* const header = reinterpret_cast<capture::OperationHeader*>(record.data());
    header->queue = on.id;
    header->queue_handle = on.handle;
    return record;
  }
  bool fits(Record& record) {
    why.clear();
    device->adapt(&record);
    return device->fits(capture::OperationView(record.data()), &why);
  }
  bool fits(Record&& record) { return fits(record); }
  static std::uint64_t event_in(const Record& record, std::size_t index) {
    return capture::OperationView(record.data()).handle_of(index);
  }
  /// Once more what was adapted.
  void run(const std::vector<Record>& all, const capture::QueueInfo& on) {
    REQUIRE(device->prepare_run(&why));
    for (const Record& record : all) {
      REQUIRE(device->backend().issue(capture::OperationView(record.data()), {}, nullptr).ok());
    }
    REQUIRE(device->backend().finish(on).ok());
  }

  std::string why;
  capture::FunctionId functions = 0;
  capture::ObjectId queues = 0;
  RecordMaker records{capture::QueueInfo{}};
  std::unique_ptr<backends::StandaloneDevice> device;
};

void scale_arguments(OperationWriter& writer, int words) {
  RecordMaker::value(writer, std::uint64_t{0x1000});
  for (int i = 0; i < words; ++i) {
    RecordMaker::value(writer, std::uint32_t{3});
  }
}

}  // namespace

TEST_CASE_METHOD(Opened, "Level Zero: a launch is run only if it has the arguments of its kernel, and its settings") {
  const capture::Handle scale = function("scale");
  INFO(why);
  REQUIRE(scale != 0);
  const auto with = [](int words) { return [words](OperationWriter& writer) { scale_arguments(writer, words); }; };
  CHECK(fits(launch(scale, with(3))));
  for (const int words : {0, 2, 4}) {
    CHECK_FALSE(fits(launch(scale, with(words))));
    CHECK(why == "its arguments are not those of the captured kernel");
  }
  for (const std::size_t settings : {std::size_t{0}, std::size_t{8}, std::size_t{16}, std::size_t{32}}) {
    CHECK_FALSE(fits(launch(scale, with(3), settings)));
    CHECK_THAT(why, Catch::Contains("the capture does not tell the kernel's settings"));
  }
}

TEST_CASE_METHOD(Opened, "Level Zero: images, samplers and what may be one are never given to the driver") {
  // `scale` with a sampler as its last parameter, as SPIR-V tells it.
  const Words code = {0x07230203,
                      0x00010200,
                      0,
                      100,
                      0,
                      5U << 16U | 15,
                      6,
                      30,
                      0x6C616373,
                      0x65,
                      2U << 16U | 26,
                      2,
                      4U << 16U | 21,
                      1,
                      32,
                      0,
                      5U << 16U | 54,
                      9,
                      30,
                      0,
                      8,
                      3U << 16U | 55,
                      1,
                      40,
                      3U << 16U | 55,
                      1,
                      41,
                      3U << 16U | 55,
                      1,
                      42,
                      3U << 16U | 55,
                      2,
                      43};
  const auto last = [](std::uint64_t value) {
    return [value](OperationWriter& writer) {
      scale_arguments(writer, 2);
      RecordMaker::value(writer, value);
    };
  };
  const capture::Handle told = function("scale", code);
  INFO(why);
  REQUIRE(told != 0);
  CHECK_FALSE(fits(launch(told, last(5))));
  CHECK(why == "argument 3 is an image or a sampler, which captures do not hold");
  const capture::Handle untold = function("scale");
  CHECK(fits(launch(untold, last(5))));
  CHECK(fits(launch(untold, last(std::bit_cast<std::uint64_t>(0.5)))));
  CHECK_FALSE(fits(launch(untold, last(0x555555550000))));
  CHECK_THAT(why, Catch::Contains("argument 3 may be an image or a sampler"));
  capture::BufferInfo wanted;
  wanted.size = 4096;
  CHECK(fits(launch(untold, last(device->make_memory(wanted, 0, &why) + 16))));
}

TEST_CASE_METHOD(Opened, "Level Zero: code that cannot be used is refused, with the reason") {
  CHECK(function("no such kernel") == 0);
  CHECK(why == "the captured code has no kernel 'no such kernel'");
  CHECK(function("scale", Words{0x07230203, 0x00010000, 0, 1}) == 0);
  CHECK(why == "the captured code is damaged: it is no SPIR-V");
  CHECK(function("scale", Words{}) == 0);
  CHECK(why == "the captured code is damaged: it is no SPIR-V");
  const std::string broken = "broken";
  const auto bytes = std::as_bytes(std::span(broken));
  CHECK(function("scale", bytes, capture::CodeKind::kBinary) == 0);
  CHECK_THAT(why, Catch::Contains("(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE)"));
  CHECK(function("scale", bytes, capture::CodeKind::kSource) == 0);
  CHECK(why == "the captured code is neither SPIR-V nor code of a device");
  CHECK(function("scale", bytes, capture::CodeKind::kBinary, "constant 1=0") == 0);
  CHECK_THAT(why, Catch::Contains("its build options make no sense"));
  const std::string whole = "some code";
  CHECK(function("scale", std::as_bytes(std::span(whole)), capture::CodeKind::kBinary, "-x") != 0);
}

TEST_CASE_METHOD(Opened, "Level Zero: before each run events are what they were when the graph began") {
  const capture::QueueInfo list = queue();
  const OldEvent a{1};
  const OldEvent b{2};
  // `a` was set, is reset and set again; `b` is set and never reset.
  std::vector<Record> graph;
  graph.push_back(events(OperationKind::kEventWait, kNone, {a}, list));
  graph.push_back(events(OperationKind::kOther, a, {}, list));
  graph.push_back(events(OperationKind::kBarrier, b, {}, list));
  graph.push_back(events(OperationKind::kEventRecord, a, {}, list));
  graph.push_back(events(OperationKind::kEventWait, kNone, {a, b}, list));
  for (Record& record : graph) {
    INFO(why);
    REQUIRE(fits(record));
  }
  CHECK(event_in(graph[0], 1) == event_in(graph[1], 0));
  CHECK(event_in(graph[4], 1) == event_in(graph[3], 0));
  CHECK(event_in(graph[4], 2) == event_in(graph[2], 0));
  for (int i = 0; i < 3; ++i) {  // would wait for ever, or signal what is signalled
    run(graph, list);
  }
  device->release_memory();
  // The next graph has events of its own.
  Record next = events(OperationKind::kEventRecord, a);
  CHECK(fits(next));
}

TEST_CASE_METHOD(Opened, "Level Zero: an event that is signalled again means the newest command") {
  const capture::QueueInfo list = queue();
  const OldEvent counter{1};
  std::vector<Record> graph;
  graph.push_back(events(OperationKind::kBarrier, counter, {}, list));
  graph.push_back(events(OperationKind::kBarrier, counter, {counter}, list));
  graph.push_back(events(OperationKind::kEventWait, kNone, {counter}, list));
  for (Record& record : graph) {
    REQUIRE(fits(record));
  }
  CHECK(event_in(graph[1], 1) == event_in(graph[0], 0));
  CHECK(event_in(graph[1], 0) != event_in(graph[0], 0));
  CHECK(event_in(graph[2], 1) == event_in(graph[1], 0));
  run(graph, list);
  run(graph, list);
}

TEST_CASE_METHOD(
    Opened, "Level Zero: events that cannot be made again are refused, and none of the captured program's is used") {
  const OldEvent a{1};
  CHECK(fits(events(OperationKind::kOther, a)));
  CHECK_FALSE(fits(events(OperationKind::kEventWait, kNone, {a})));
  CHECK(why == "it waits for an event that nothing before it signals, once it was reset");
  CHECK_FALSE(fits(events(OperationKind::kEventRecord, OldEvent{0, 0x1234})));
  CHECK_THAT(why, Catch::Contains("it uses an event that the capture does not know"));
  CHECK_FALSE(fits(events(OperationKind::kEventWait, kNone, {kNone})));
  CHECK_FALSE(fits(events(OperationKind::kOther, kNone)));
  // Not adapted at all.
  Record raw = events(OperationKind::kEventRecord, OldEvent{9});
  Record good = events(OperationKind::kEventRecord, OldEvent{8});
  device->adapt(&good);
  CHECK_FALSE(device->fits(capture::OperationView(raw.data()), &why));
  CHECK(why == "it names events of the captured program");
  // A handle of another size, and something else among the events.
  for (const ArgumentKind kind : {ArgumentKind::kOtherHandle, ArgumentKind::kValue}) {
    Record record =
        bytes_of(records.make(OperationKind::kBarrier, std::span<const std::uint64_t>(), [&](OperationWriter& writer) {
          const std::uint32_t half = 1;
          writer.argument(kind, 1, std::as_bytes(std::span(&half, 1)));
        }));
    CHECK_FALSE(fits(record));
    CHECK(why == "its events are not written as a command has them");
  }
}

TEST_CASE_METHOD(Opened, "Level Zero: memory of every place, read and written, and what is prefetched") {
  const capture::QueueInfo list = queue();
  for (const auto place :
       {capture::MemoryPlace::kDevice, capture::MemoryPlace::kHost, capture::MemoryPlace::kManaged}) {
    capture::BufferInfo wanted;
    wanted.size = std::uint64_t{5} << 20U;  // more than is copied at once
    wanted.description = {static_cast<std::uint64_t>(place), 0};
    const capture::Handle made = device->make_memory(wanted, 0, &why);
    REQUIRE(made != 0);
    std::vector<std::byte> bytes(wanted.size);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i * 7 + (i >> 16U));
    }
    std::vector<std::byte> back(bytes.size());
    REQUIRE(device->backend().write(list, ArgumentKind::kPointer, made, bytes).ok());
    REQUIRE(device->backend().read(list, ArgumentKind::kPointer, made, back).ok());
    CHECK((back == bytes));
    CHECK_FALSE(device->backend().read(list, ArgumentKind::kBuffer, made, back).ok());
    const auto prefetch = [&](std::uint64_t from, std::uint64_t count) {
      return bytes_of(records.make(OperationKind::kPointerMigrate, capture::words::PointerPrefetch{.bytes = count},
                                   [&](OperationWriter& writer) {
                                     writer.argument_handle(ArgumentKind::kPointer, 1, from);
                                     writer.argument_handle(ArgumentKind::kOtherHandle, 0, 0);
                                   }));
    };
    CHECK(fits(prefetch(made + 16, wanted.size - 16)));
    CHECK_FALSE(fits(prefetch(made + 16, wanted.size)));
    CHECK_FALSE(fits(prefetch(0x1000, 16)));
    CHECK(why == "it names more memory than the capture describes");
  }
}

TEST_CASE_METHOD(Opened, "Level Zero: lists are made as they were") {
  const auto like = [](std::uint16_t flags, std::uint16_t ordinal, std::uint32_t index) {
    return std::bit_cast<std::uint64_t>(ImmediateList::Made{flags, ordinal, index});
  };
  const ImmediateList& plain = ImmediateList::of(queue().handle);
  CHECK(plain.in_order);
  CHECK_FALSE(plain.synchronous);
  CHECK(plain.detail() == 0);
  const std::uint64_t other = like(ImmediateList::kUnordered | ImmediateList::kSynchronous, 0, 3);
  const capture::QueueInfo made = queue(other);
  const ImmediateList& list = ImmediateList::of(made.handle);
  CHECK_FALSE(list.in_order);
  CHECK(list.synchronous);
  CHECK(list.detail() == other);
  CHECK_FALSE(
      device->backend().can_record(capture::OperationView(events(OperationKind::kBarrier, kNone).data()), made).ok);
  CHECK(queue(like(0, 7, 0)).handle == 0);
  CHECK(why == "the device has no group of queues 7, in which the captured one was");
  CHECK(ImmediateList::of(queue(like(0, 0, 4)).handle).index == 0);  // the device has four
  device->release_memory();
}
