// Graphs made executable, without an engine around them.
#include "replay/graph/executable.h"

#include <catch2/catch.hpp>

#include "replay/engine_test_support.h"
#include "replay/graph/argument_hashes.h"

namespace refrain::replay {
namespace {

using capture::OperationView;

struct Kernel {
  std::uint64_t queue = 1;
  std::uint64_t buffer = 7;
  capture::WaitRef wait = 0, other_wait = 0;
  std::uint64_t scalar = 3;
};
constexpr std::uint64_t kFlush = 0;  ///< instead of a buffer: no kernel, but a flush

Occurrence occurrence_of(std::initializer_list<Kernel> kernels, bool in_order = true) {
  Occurrence result;
  std::uint64_t sequence = 100;
  for (const Kernel& kernel : kernels) {
    capture::RecordBytes bytes;
    capture::OperationWriter writer(bytes);
    const bool flush = kernel.buffer == kFlush;
    auto& header = writer.begin(flush ? capture::OperationKind::kFlush : capture::OperationKind::kKernel, 1);
    header.queue = kernel.queue;
    header.sequence = sequence++;
    if (flush) {
      writer.finish();
      result.add(OperationView(bytes.data()));
      continue;
    }
    header.function = 5;
    writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}});
    writer.argument_handle(capture::ArgumentKind::kBuffer, kernel.buffer, kernel.buffer);
    writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&kernel.scalar, 1)));
    for (const capture::WaitRef wait : {kernel.wait, kernel.other_wait}) {
      if (wait != 0) {
        writer.wait(wait);
      }
    }
    writer.finish();
    result.add(OperationView(bytes.data()));
  }
  for (const std::uint64_t queue : {1, 2}) {
    capture::QueueInfo info;
    info.id = info.handle = queue;
    info.role = static_cast<decltype(info.role)>(queue - 1);
    info.in_order = in_order;
    result.queues.push_back(info);
  }
  return result;
}

std::vector<OperationView> views_of(const Occurrence& occurrence) {
  std::vector<OperationView> views;
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    views.push_back(occurrence.operation(i));
  }
  return views;
}

std::unique_ptr<Executable> build(test::ArithmeticBackend& backend, const Occurrence& occurrence) {
  std::string why;
  auto result = Executable::build(occurrence, test::quiet(false), backend, &why);
  INFO(why);
  REQUIRE(result != nullptr);
  return result;
}

TEST_CASE("what waits for an event from outside is not in one part with what does not") {
  test::ArithmeticBackend backend;
  const auto apart = build(backend, occurrence_of({{1}, {1}, {1}, {1}}));
  CHECK(apart->part_count() == 1);
  constexpr capture::WaitRef kFromOutside = 4711;
  const auto waits = build(backend, occurrence_of({{1}, {1}, {1, 7, kFromOutside}, {1}}));
  CHECK(waits->part_count() == 2);
  constexpr capture::WaitRef kInside = capture::kInternalWait | 100;
  const auto inside = build(backend, occurrence_of({{1}, {1}, {1, 7, kInside}, {1}}));
  CHECK(inside->part_count() == 1);
  constexpr capture::WaitRef kEarlier = capture::kInternalWait | 99;
  const auto earlier = build(backend, occurrence_of({{1}, {1}, {1, 7, kEarlier}, {1}}));
  CHECK(earlier->part_count() == 2);
}

TEST_CASE("operations wait for one event from outside together where their tokens say that it is one") {
  test::ArithmeticBackend backend;
  constexpr capture::WaitRef kFromOutside = 4711, kEarlier = capture::kInternalWait | 99;
  constexpr capture::WaitRef kAgain = capture::kRepeatedWait;
  // Two of each kind, as a part of one is none.
  const auto parts = [&](capture::WaitRef first, capture::WaitRef second, capture::WaitRef other = 0) {
    const capture::WaitRef other_again = other == 0 ? 0 : other | kAgain;
    return build(backend, occurrence_of({{1, 7, first},
                                         {1, 7, first | kAgain},
                                         {1, 7, second, other},
                                         {1, 7, second | kAgain, other_again},
                                         {1},
                                         {1}},
                                        false))
        ->part_count();
  };
  for (const capture::WaitRef event : {kFromOutside, kEarlier}) {
    CHECK(parts(event, event | kAgain) == 2);
    CHECK(parts(event, event) == 3);  // the same by chance
    CHECK(parts(event, event | kAgain, kFromOutside + 1) == 3);
  }
  // What the queue's order implies divides nothing.
  CHECK(build(backend, occurrence_of({{1}, {1}, {1, 7, kFromOutside | capture::kOrderedWait}, {1}}))->part_count() ==
        1);
}

TEST_CASE("a command buffer waits once for an event that many of its operations wait for") {
  test::ArithmeticBackend backend;
  test::TestHooks hooks(backend);
  WindowEvents window;
  constexpr capture::WaitRef kFromOutside = 4711;
  const auto occurrence = occurrence_of({{1, 7, kFromOutside},
                                         {1, 7, kFromOutside | capture::kRepeatedWait},
                                         {1, 7, kFromOutside | capture::kOrderedWait}});
  const auto executable = build(backend, occurrence);
  bool failed = false;
  CHECK(executable->launch({backend, hooks, window}, views_of(occurrence), &failed) == 0);
  CHECK_FALSE(failed);
  CHECK(backend.waited() == std::vector<std::size_t>{1});
}

/// A kernel and a copy.
Occurrence sized(std::uint64_t threads, std::uint64_t group, std::uint64_t bytes, std::uint64_t blocking = 0) {
  Occurrence result = occurrence_of({});
  capture::RecordBytes kernel, copy;
  capture::OperationWriter writer(kernel);
  auto& launch = writer.begin(capture::OperationKind::kKernel, 1);
  launch.queue = 1;
  launch.function = 5;
  launch.sequence = 100;
  writer.words(
      capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {threads, 1, 1}, .local = {group, 1, 1}});
  writer.argument_handle(capture::ArgumentKind::kBuffer, 7, 7);
  writer.argument_handle(capture::ArgumentKind::kValue, 0, 3);
  writer.finish();
  result.add(OperationView(kernel.data()));
  capture::OperationWriter other(copy);
  auto& move = other.begin(capture::OperationKind::kPointerCopy, 2);
  move.queue = 1;
  move.sequence = 101;
  other.words(capture::words::PointerCopy{.bytes = bytes, .blocking = blocking});
  other.argument_handle(capture::ArgumentKind::kPointer, 8, 8);
  other.argument_handle(capture::ArgumentKind::kPointer, 9, 9);
  other.finish();
  result.add(OperationView(copy.data()));
  return result;
}

TEST_CASE("sizes are changed where the device can change them, and nothing beside them") {
  test::ArithmeticBackend backend;
  backend.can_update = true;
  backend.can_resize = GENERATE(true, false);
  CAPTURE(backend.can_resize);
  const auto executable = build(backend, sized(64, 32, 100));
  const auto updates_to = [&](const Occurrence& wanted) { return executable->update(views_of(wanted)); };
  const Occurrence other = sized(96, 32, 200);
  CHECK(updates_to(other) == backend.can_resize);
  CHECK(executable->changed() == (backend.can_resize ? 2U : 0U));
  CHECK(executable->matches(views_of(other)) == backend.can_resize);
  CHECK_FALSE(updates_to(sized(96, 16, 200)));
  CHECK_FALSE(updates_to(sized(96, 32, 200, 1)));
  CHECK_FALSE(updates_to(sized(96, 32, 0)));  // a copy of nothing has no node
  CHECK_FALSE(executable->dead());
  const auto nothing = build(backend, sized(64, 32, 0));
  CHECK_FALSE(nothing->update(views_of(sized(64, 32, 100))));
}

TEST_CASE(
    "a node is given another function where the device can do that, if both are of one token and have one layout") {
  test::ArithmeticBackend backend;
  backend.can_update = true;
  backend.can_change_functions = GENERATE(true, false);
  CAPTURE(backend.can_change_functions);
  const auto executable = build(backend, occurrence_of({{1, 7}, {1, 7}}));
  const auto header_of = [](Occurrence& occurrence, std::size_t index) -> capture::OperationHeader& {
    return *reinterpret_cast<capture::OperationHeader*>(occurrence.storage.data() + occurrence.offsets[index]);
  };
  Occurrence other = occurrence_of({{1, 7}, {1, 7}});
  header_of(other, 1).function = 6;
  header_of(other, 1).function_handle = 4711;
  CHECK_FALSE(executable->matches(views_of(other)));
  Occurrence of_other_token = other;
  header_of(of_other_token, 1).token = 2;
  CHECK_FALSE(executable->update(views_of(of_other_token)));
  CHECK(executable->update(views_of(other)) == backend.can_change_functions);
  CHECK(executable->matches(views_of(other)) == backend.can_change_functions);
  // What goes is known by what the nodes name now.
  CHECK(executable->objects_changed() == backend.can_change_functions);
  CHECK(std::ranges::count(executable->objects(), 6U) == (backend.can_change_functions ? 1 : 0));
  CHECK(executable->operation(1).header().function_handle == (backend.can_change_functions ? 4711U : 0U));
  CHECK_FALSE(executable->dead());
}

TEST_CASE("where only sizes can be changed, or only arguments, a node that needs no more is changed") {
  test::ArithmeticBackend backend;
  backend.can_resize = GENERATE(true, false);
  backend.can_update = !backend.can_resize;
  CAPTURE(backend.can_resize);
  const auto executable = build(backend, sized(64, 32, 100));
  CHECK(executable->update(views_of(sized(96, 32, 100))) == backend.can_resize);
  const auto values = build(backend, occurrence_of({{1, 7}, {1, 7}}));
  CHECK(values->update(views_of(occurrence_of({{1, 7}, {1, 7, 0, 0, 4}}))) == backend.can_update);
  CHECK(values->update(views_of(occurrence_of({{1, 7}, {1, 8}}))) == backend.can_update);
  CHECK_FALSE((executable->dead() || values->dead()));
}

TEST_CASE("a part that is refused is issued one by one, and says so, though others wait for it") {
  const int refused = GENERATE(0, 1);
  test::ArithmeticBackend backend;
  test::TestHooks hooks(backend);
  const Occurrence work = occurrence_of({{1}, {1}, {2, 7, capture::kInternalWait | 101}, {2}});
  const auto executable = build(backend, work);
  REQUIRE(executable->part_count() == 2);
  WindowEvents window;
  const SubmitContext context{backend, hooks, window};
  bool failed = true;
  REQUIRE(executable->launch(context, views_of(work), &failed) == 0);
  CHECK_FALSE(failed);
  backend.spare = refused;
  backend.fail_enqueues = 1;
  CHECK(executable->launch(context, views_of(work), &failed) == 0);
  CHECK(failed);
  CHECK(backend.log().size() == 8);
  window.clear(backend);
}

TEST_CASE("in a queue without an order a part waits for the one before it, which its operations wait for") {
  constexpr capture::WaitRef kFromOutside = 4711;
  const auto number = [](std::uint64_t sequence) { return capture::kInternalWait | sequence; };
  const bool in_order = GENERATE(true, false);
  test::ArithmeticBackend backend;
  test::TestHooks hooks(backend);
  const Occurrence work =
      occurrence_of({{1}, {1, 7, number(100)}, {1, 7, kFromOutside, number(101)}, {1, 7, number(102)}}, in_order);
  const auto executable = build(backend, work);
  CAPTURE(in_order);
  CHECK(executable->part_count() == 2);
  WindowEvents window;
  bool failed = true;
  REQUIRE(executable->launch({backend, hooks, window}, views_of(work), &failed) == 0);
  // One event of somebody else's; an ordered queue needs none of ours.
  CHECK(backend.waited() == std::vector<std::size_t>{0, in_order ? 1U : 2U});
  window.clear(backend);
  CHECK(backend.live_events == 0);
}

TEST_CASE("a graph with a flush in it flushes its queue, whichever way it is launched") {
  test::ArithmeticBackend backend;
  test::TestHooks hooks(backend);
  const Occurrence work = occurrence_of({{2}, {2}, {2, kFlush}, {2}});
  const auto executable = build(backend, work);
  CHECK(executable->part_count() == 1);
  WindowEvents window;
  const SubmitContext context{backend, hooks, window};
  bool failed = true;
  REQUIRE(executable->launch(context, views_of(work), &failed) == 0);
  CHECK(backend.flushed() == std::vector<std::uint64_t>{2});
  REQUIRE(executable->launch_plain(context, &failed) == 0);
  CHECK_FALSE(failed);
  CHECK(backend.flushed() == std::vector<std::uint64_t>{2, 2});
}

TEST_CASE("a graph that still runs is not there for another launch, unless it may run twice at once") {
  test::ArithmeticBackend backend;
  bool runs = true;
  backend.busy = [&runs] { return runs; };
  const auto twice = build(backend, occurrence_of({{1}, {1}}));
  CHECK(twice->available());
  backend.simultaneous = false;
  const auto once = build(backend, occurrence_of({{1}, {1}}));
  CHECK_FALSE(once->available());
  runs = false;
  CHECK(once->available());
}

TEST_CASE("a graph is not changed for another queue, but for other buffers") {
  test::ArithmeticBackend backend;
  backend.can_update = true;
  const auto executable = build(backend, occurrence_of({{1, 7}, {1, 8}}));
  const Occurrence elsewhere = occurrence_of({{2, 7}, {2, 8}});
  CHECK_FALSE(executable->update(views_of(elsewhere)));
  const Occurrence one_elsewhere = occurrence_of({{1, 7}, {2, 9}});
  CHECK_FALSE(executable->update(views_of(one_elsewhere)));
  CHECK(backend.updates == 0);
  const Occurrence others = occurrence_of({{1, 7}, {1, 9}});
  CHECK(executable->update(views_of(others)));
  CHECK(executable->changed() == 1);
  CHECK(executable->objects_changed());
  CHECK(executable->objects() == std::vector<capture::ObjectId>{1, 5, 7, 9});  // the queue and the kernel, too
  CHECK(executable->update(views_of(others)));
  CHECK_FALSE(executable->objects_changed());
}

TEST_CASE("arguments in another queue, or in another buffer, have other hashes") {
  ArgumentHashes hashes;
  ArgumentHashes same;
  ArgumentHashes elsewhere;
  ArgumentHashes others;
  const Occurrence work = occurrence_of({{1, 7}, {1, 8}});
  hashes.compute(views_of(work));
  same.compute(views_of(occurrence_of({{1, 7}, {1, 8}})));
  elsewhere.compute(views_of(occurrence_of({{2, 7}, {2, 8}})));
  others.compute(views_of(occurrence_of({{1, 7}, {1, 9}})));
  CHECK(hashes.whole() == same.whole());
  CHECK(hashes.whole() != elsewhere.whole());
  CHECK(hashes.differing(elsewhere) == 2);
  CHECK(hashes.whole() != others.whole());
  CHECK(hashes.differing(others) == 1);
}

}  // namespace
}  // namespace refrain::replay
