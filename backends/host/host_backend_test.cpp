#include "backends/host/host_backend.h"

#include <catch2/catch.hpp>
#include <thread>

#include "backends/shape.h"

namespace {

using namespace refrain;
using namespace refrain::backends;
using namespace refrain::backends::host;
using capture::ArgumentKind;
using capture::Handle;
using capture::OperationKind;
using capture::OperationView;

// Builds records; each lives as long as the maker.
struct Records {
  std::vector<std::unique_ptr<capture::RecordBytes>> storage;
  std::uint64_t sequence = 0;
  capture::ObjectId queue = 1;

  OperationView make(OperationKind kind, std::initializer_list<std::uint64_t> words,
                     const std::function<void(capture::OperationWriter&)>& arguments, capture::FunctionId function = 0,
                     std::uint16_t flags = 0) {
    storage.push_back(std::make_unique<capture::RecordBytes>());
    capture::OperationWriter writer(*storage.back());
    auto& header = writer.begin(kind, 1);
    header.queue = queue;
    header.sequence = ++sequence;
    header.function = function;
    header.flags = flags;
    for (const std::uint64_t word : words) {
      writer.word(word);
    }
    arguments(writer);
    writer.finish();
    return OperationView(storage.back()->data());
  }
  // buffer[i] = buffer[i] * factor + add
  OperationView scale(Handle buffer, std::uint32_t factor, std::uint32_t add, capture::FunctionId function = 7) {
    return make(
        OperationKind::kKernel, {1, 0, 0, 0, 4, 1, 1, 0, 0, 0},
        [&](capture::OperationWriter& w) {
          w.argument_handle(ArgumentKind::kBuffer, 0, buffer);
          w.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&factor, 1)));
          w.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&add, 1)));
        },
        function);
  }
  OperationView copy(Handle from, Handle to, std::uint64_t bytes) {
    return make(OperationKind::kCopyBuffer, {0, 0, bytes}, [&](capture::OperationWriter& w) {
      w.argument_handle(ArgumentKind::kBuffer, 0, from);
      w.argument_handle(ArgumentKind::kBuffer, 0, to);
    });
  }
};

struct Fixture {
  HostBackend backend;
  Records records;
  capture::QueueInfo in_order{1, 0x10, 1, 1, 0, true, false};
  Fixture() {
    backend.declare_queue(in_order);
    backend.add_function(7, [](const KernelCall& call) {
      for (auto& word : call.buffer<std::uint32_t>(0)) {
        word = word * call.value<std::uint32_t>(1) + call.value<std::uint32_t>(2);
      }
    });
  }
  std::uint32_t first(Handle buffer) { return *reinterpret_cast<std::uint32_t*>(backend.bytes(buffer).data()); }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "operations are executed at once unless asynchronous") {
  const Handle a = backend.add_buffer(16);
  const Handle b = backend.add_buffer(16);
  REQUIRE(backend.issue(records.scale(a, 1, 5), {}, nullptr).ok());
  REQUIRE(backend.issue(records.copy(a, b, 16), {}, nullptr).ok());
  REQUIRE(first(b) == 5);

  backend.set_asynchronous(true);
  Event done = kNoEvent;
  REQUIRE(backend.issue(records.scale(b, 3, 0), {}, &done).ok());
  REQUIRE_FALSE(backend.complete(done));
  REQUIRE(first(b) == 5);
  REQUIRE(backend.advance());
  REQUIRE(backend.complete(done));
  REQUIRE(first(b) == 15);
  backend.release_event(done);
  REQUIRE(backend.live_events() == 0);
}

TEST_CASE_METHOD(Fixture, "strict: released memory, unknown functions, sizes outside") {
  const Handle a = backend.add_buffer(16);
  const Handle b = backend.add_buffer(8);
  REQUIRE(backend.issue(records.copy(a, b, 16), {}, nullptr).code == kInvalidValue);
  REQUIRE(backend.issue(records.scale(a, 1, 1, 99), {}, nullptr).code == kUnknownFunction);
  REQUIRE(backend.release(b));
  REQUIRE_FALSE(backend.release(b));
  REQUIRE(backend.issue(records.copy(a, b, 8), {}, nullptr).code == kInvalidHandle);
  REQUIRE(backend.live_memory() == 1);
  const Event unknown[] = {Event{12345}};
  REQUIRE(backend.issue(records.copy(a, a, 0), unknown, nullptr).code == kInvalidEvent);
  // A copy whose arguments are missing, as a damaged file could have it.
  REQUIRE(backend.issue(records.make(OperationKind::kCopyBuffer, {0, 0, 4}, [](auto&) {}), {}, nullptr).code ==
          kInvalidValue);
}

TEST_CASE_METHOD(Fixture, "create, append, finalize: twice or too late is an error") {
  const Handle a = backend.add_buffer(16);
  auto buffer = backend.create_command_buffer(in_order);
  REQUIRE(buffer->enqueue({}, nullptr).code == kInvalidOperation);
  REQUIRE(buffer->append(records.scale(a, 1, 1), {}, nullptr).ok());
  REQUIRE(buffer->finalize().ok());
  REQUIRE(buffer->finalize().code == kInvalidOperation);
  REQUIRE(buffer->append(records.scale(a, 1, 1), {}, nullptr).code == kInvalidOperation);
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  REQUIRE(first(a) == 1);
  REQUIRE(backend.live_command_buffers() == 1);
  buffer.reset();
  REQUIRE(backend.live_command_buffers() == 0);
}

TEST_CASE_METHOD(Fixture, "N submissions give N ordered events, release with work in flight is safe") {
  const Handle a = backend.add_buffer(16);
  backend.set_asynchronous(true);
  auto buffer = backend.create_command_buffer(in_order);
  REQUIRE(buffer->append(records.scale(a, 2, 1), {}, nullptr).ok());
  REQUIRE(buffer->finalize().ok());
  const Event gate = backend.make_event();
  std::vector<Event> done(5);
  for (Event& event : done) {
    REQUIRE(buffer->enqueue(std::span(&gate, 1), &event).ok());
  }
  REQUIRE(buffer->busy());
  REQUIRE_FALSE(backend.advance());
  buffer.reset();
  const auto memory = backend.bytes(a);
  backend.complete_event(gate);
  for (std::size_t i = 0; i < done.size(); ++i) {
    REQUIRE_FALSE(backend.complete(done[i]));
    REQUIRE(backend.advance());
    REQUIRE(backend.complete(done[i]));
    REQUIRE(*reinterpret_cast<std::uint32_t*>(memory.data()) == (2U << i) - 1);
  }
  REQUIRE(backend.release(a));
  for (const Event event : done) {
    backend.release_event(event);
  }
  backend.release_event(gate);
  REQUIRE(backend.live_events() == 0);
  REQUIRE(backend.live_memory() == 0);
}

TEST_CASE_METHOD(Fixture, "without simultaneous use a busy command buffer refuses, without side effects") {
  Capabilities caps;
  caps.native = true;
  backend.set_capabilities(caps);
  backend.set_asynchronous(true);
  const Handle a = backend.add_buffer(16);
  auto buffer = backend.create_command_buffer(in_order);
  REQUIRE(buffer->append(records.scale(a, 1, 1), {}, nullptr).ok());
  REQUIRE(buffer->finalize().ok());
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  REQUIRE(buffer->enqueue({}, nullptr).code == kInvalidOperation);
  backend.run_all();
  REQUIRE_FALSE(buffer->busy());
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  REQUIRE(backend.finish(in_order).ok());
  REQUIRE(first(a) == 2);
}

TEST_CASE_METHOD(Fixture, "an update affects later submissions only and hits the right node") {
  const Handle a = backend.add_buffer(16);
  const Handle b = backend.add_buffer(16);
  backend.set_asynchronous(true);
  capture::GraphBuilder builder;
  builder.declare_queue(in_order);
  builder.add(records.scale(a, 1, 1));
  builder.add(records.scale(b, 1, 1));
  const capture::Graph graph = builder.finish();
  std::unique_ptr<CommandBuffer> buffer;
  const capture::NodeIndex nodes[] = {0, 1};
  REQUIRE(backend.record(graph, nodes, &buffer).ok());
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  const NodeUpdate update{1, records.scale(b, 1, 100)};
  REQUIRE(buffer->update(std::span(&update, 1)).ok());
  const NodeUpdate wrong{1, records.copy(a, b, 16)};
  REQUIRE(buffer->update(std::span(&wrong, 1)).code == kInvalidValue);
  backend.run_all();
  REQUIRE(first(b) == 1);
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  backend.run_all();
  REQUIRE(first(a) == 2);
  REQUIRE(first(b) == 101);
}

TEST_CASE_METHOD(Fixture, "out-of-order queues keep edges whatever the schedule") {
  capture::QueueInfo queue{2, 0x20, 1, 1, 1, false, false};
  records.queue = 2;
  backend.declare_queue(queue);
  for (std::uint32_t seed = 1; seed < 30; ++seed) {
    backend.set_schedule(seed);
    const Handle a = backend.add_buffer(16);
    capture::GraphBuilder builder;
    builder.declare_queue(queue);
    const auto plus = builder.add(records.scale(a, 1, 3));
    const auto times = builder.add(records.scale(a, 5, 0));
    const auto last = builder.add(records.scale(a, 1, 1));
    REQUIRE(builder.then(plus, times));
    REQUIRE(builder.then(times, last));
    const capture::Graph graph = builder.finish();
    const capture::NodeIndex nodes[] = {0, 1, 2};
    std::unique_ptr<CommandBuffer> buffer;
    REQUIRE(backend.record(graph, nodes, &buffer).ok());
    REQUIRE(buffer->enqueue({}, nullptr).ok());
    REQUIRE(first(a) == 16);
    const capture::NodeIndex wrong[] = {1, 0, 2};
    REQUIRE(backend.record(graph, wrong, &buffer).code == kInvalidValue);
  }
}

TEST_CASE_METHOD(Fixture, "a barrier comes between what is before and after it") {
  capture::QueueInfo queue{2, 0x20, 1, 1, 1, false, false};
  records.queue = 2;
  backend.declare_queue(queue);
  backend.set_asynchronous(true);
  for (std::uint32_t seed = 1; seed < 30; ++seed) {
    backend.set_schedule(seed);
    const Handle a = backend.add_buffer(16);
    REQUIRE(backend.issue(records.scale(a, 1, 3), {}, nullptr).ok());
    REQUIRE(
        backend
            .issue(records.make(
                       OperationKind::kBarrier, {}, [](auto&) {}, 0, capture::kWaitsForQueue | capture::kBlocksQueue),
                   {}, nullptr)
            .ok());
    REQUIRE(backend.issue(records.scale(a, 5, 0), {}, nullptr).ok());
    REQUIRE(backend.finish(queue).ok());
    REQUIRE(first(a) == 15);
  }
}

TEST_CASE_METHOD(Fixture, "failures are injected at the call asked for, and logged") {
  const Handle a = backend.add_buffer(16);
  backend.fail(Call::kIssue, 2, -99);
  REQUIRE(backend.issue(records.scale(a, 1, 1), {}, nullptr).ok());
  REQUIRE(backend.issue(records.scale(a, 1, 1), {}, nullptr).code == -99);
  REQUIRE(backend.issue(records.scale(a, 1, 1), {}, nullptr).ok());
  REQUIRE(first(a) == 2);
  const auto log = backend.log();
  REQUIRE(log.size() == 3);
  REQUIRE(log[1].status == -99);
  REQUIRE(log[1].sequence == 2);
}

TEST_CASE_METHOD(Fixture, "of several parts the first that is refused ends it") {
  const Handle a = backend.add_buffer(16);
  capture::GraphBuilder builder;
  builder.declare_queue(in_order);
  builder.add(records.scale(a, 1, 1));
  builder.add(records.scale(a, 1, 2));
  const capture::Graph graph = builder.finish();
  const capture::NodeIndex nodes[] = {0, 1};
  const std::span<const capture::NodeIndex> parts[] = {std::span(nodes, 1), std::span(nodes + 1, 1)};
  std::unique_ptr<CommandBuffer> made[2];
  backend.fail(Call::kRecord, 1, -99);
  CHECK(backend.record_all(graph, parts, made).code == -99);
  CHECK(backend.calls(Call::kRecord) == 1);
  backend.fail(Call::kRecord, 2, -98);
  CHECK(backend.record_all(graph, parts, made).code == -98);
  CHECK(backend.record_all(graph, parts, made).ok());
  CHECK(made[0] != nullptr);
  CHECK(made[1] != nullptr);
}

TEST_CASE_METHOD(Fixture, "a failed event fails what waits for it") {
  const Handle a = backend.add_buffer(16);
  const Event gate = backend.make_event();
  Event done = kNoEvent;
  Event after = kNoEvent;
  REQUIRE(backend.issue(records.scale(a, 1, 1), std::span(&gate, 1), &done).ok());
  records.queue = 3;
  REQUIRE(backend.issue(records.scale(a, 1, 1), std::span(&done, 1), &after).ok());
  backend.complete_event(gate, true);
  REQUIRE(backend.complete(after));
  REQUIRE(first(a) == 0);
  std::uint32_t word = 7;
  const auto read = records.make(
      OperationKind::kReadBuffer, {0, 4, 1},
      [&](capture::OperationWriter& w) {
        w.argument_handle(ArgumentKind::kBuffer, 0, a);
        w.argument_handle(ArgumentKind::kHostPointer, 0, reinterpret_cast<std::uint64_t>(&word));
      },
      0, capture::kBlocking);
  CHECK(backend.issue(read, std::span(&after, 1), nullptr).code == kWaitFailed);
  CHECK(word == 7);
  CHECK(backend.issue(read, {}, nullptr).ok());
  CHECK(word == 0);
}

TEST_CASE_METHOD(Fixture, "work that needs a flush does not start without one, blocking work does") {
  backend.set_asynchronous(true);
  backend.set_needs_flush(true);
  const Handle a = backend.add_buffer(16);
  REQUIRE(backend.issue(records.scale(a, 1, 1), {}, nullptr).ok());
  REQUIRE_FALSE(backend.advance());
  REQUIRE(backend.flush(in_order).ok());
  REQUIRE(backend.advance());
  std::uint32_t word = 0;
  REQUIRE(backend.issue(records.scale(a, 1, 1), {}, nullptr).ok());
  REQUIRE(backend
              .issue(records.make(
                         OperationKind::kReadBuffer, {0, 4, 1},
                         [&](capture::OperationWriter& w) {
                           w.argument_handle(ArgumentKind::kBuffer, 0, a);
                           w.argument_handle(ArgumentKind::kHostPointer, 0, reinterpret_cast<std::uint64_t>(&word));
                         },
                         0, capture::kBlocking),
                     {}, nullptr)
              .ok());
  REQUIRE(word == 2);
}

TEST_CASE_METHOD(Fixture, "finish waits for work that another thread unblocks") {
  const Handle a = backend.add_buffer(16);
  const Event gate = backend.make_event();
  REQUIRE(backend.issue(records.scale(a, 1, 1), std::span(&gate, 1), nullptr).ok());
  std::thread other([&] { backend.complete_event(gate); });
  REQUIRE(backend.finish(in_order).ok());
  REQUIRE(first(a) == 1);
  other.join();
}

TEST_CASE_METHOD(Fixture, "slices without a pitch of their own are as far apart as their rows say") {
  const Handle from = backend.add_buffer(32);
  const Handle to = backend.add_buffer(8);
  std::uint8_t number = 0;
  for (std::byte& byte : backend.bytes(from)) {
    byte = std::byte{number++};
  }
  // 2 bytes, 2 rows, 2 slices; rows are 8 bytes apart in one buffer, and close together in the other one.
  const auto copy = records.make(OperationKind::kCopyBufferRect, {1, 0, 0, 0, 0, 0, 2, 2, 2, 8, 0, 0, 0},
                                 [&](capture::OperationWriter& w) {
                                   w.argument_handle(ArgumentKind::kBuffer, 0, from);
                                   w.argument_handle(ArgumentKind::kBuffer, 0, to);
                                 });
  REQUIRE(backend.issue(copy, {}, nullptr).ok());
  const auto* got = reinterpret_cast<const std::uint8_t*>(backend.bytes(to).data());
  CHECK(std::vector<std::uint8_t>(got, got + 8) == std::vector<std::uint8_t>{1, 2, 9, 10, 17, 18, 25, 26});
}

TEST_CASE_METHOD(Fixture, "the colour of a fill has sixteen bytes, whatever the image") {
  const Handle image = backend.add_image(4, 8, 4);
  const std::uint32_t colour[4] = {1, 2, 3, 4};
  const auto fill = [&](std::size_t words) {
    return records.make(OperationKind::kFillImage, {1, 1, 0, 2, 2, 1}, [&](capture::OperationWriter& w) {
      w.argument_handle(ArgumentKind::kImage, 0, image);
      w.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(colour, words)));
    });
  };
  CHECK(arguments_fit(fill(4)));
  CHECK_FALSE(arguments_fit(fill(1)));
  CHECK_FALSE(arguments_fit(fill(3)));
}

TEST_CASE_METHOD(Fixture, "images, rectangles, fills and pointers") {
  const Handle image = backend.add_image(4, 8, 4);
  const Handle other = backend.add_image(4, 8, 4);
  const Handle buffer = backend.add_buffer(std::size_t{2} * 2 * 4);
  const std::uint32_t colour[4] = {1, 2, 3, 4};
  REQUIRE(backend
              .issue(records.make(OperationKind::kFillImage, {1, 1, 0, 2, 2, 1},
                                  [&](capture::OperationWriter& w) {
                                    w.argument_handle(ArgumentKind::kImage, 0, image);
                                    w.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(colour)));
                                  }),
                     {}, nullptr)
              .ok());
  REQUIRE(backend
              .issue(records.make(OperationKind::kCopyImage, {1, 1, 0, 4, 2, 0, 2, 2, 1},
                                  [&](capture::OperationWriter& w) {
                                    w.argument_handle(ArgumentKind::kImage, 0, image);
                                    w.argument_handle(ArgumentKind::kImage, 0, other);
                                  }),
                     {}, nullptr)
              .ok());
  REQUIRE(backend
              .issue(records.make(OperationKind::kCopyImageToBuffer, {4, 2, 0, 2, 2, 1, 0},
                                  [&](capture::OperationWriter& w) {
                                    w.argument_handle(ArgumentKind::kImage, 0, other);
                                    w.argument_handle(ArgumentKind::kBuffer, 0, buffer);
                                  }),
                     {}, nullptr)
              .ok());
  for (const std::byte byte : backend.bytes(buffer)) {
    CHECK(byte != std::byte{0});
  }
  REQUIRE(first(buffer) == 0x04030201);

  void* memory = backend.add_allocation(24);
  const std::uint8_t pattern[3] = {7, 8, 9};
  const auto fill = [&](std::uint64_t bytes) {
    return records.make(OperationKind::kPointerFill, {bytes}, [&](capture::OperationWriter& w) {
      w.argument_handle(ArgumentKind::kPointer, 0, reinterpret_cast<std::uint64_t>(memory));
      w.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(pattern)));
    });
  };
  REQUIRE(backend.issue(fill(24), {}, nullptr).ok());
  REQUIRE(static_cast<std::uint8_t*>(memory)[23] == 9);
  REQUIRE(backend.issue(fill(27), {}, nullptr).code == kInvalidValue);
  REQUIRE(backend.release_allocation(memory));
  REQUIRE(backend.issue(fill(24), {}, nullptr).code == kInvalidHandle);
}
