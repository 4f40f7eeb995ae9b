// Submissions that are held without being looked at, because they were predicted.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "replay/detect/matcher.h"
#include "replay/engine_test_support.h"
#include "replay/graph/executable.h"

namespace refrain::replay {
namespace {

using test::Program;
using test::Rig;

constexpr int kLength = 24;

constexpr int kPart = 8;

/// Chunks of that length, and no gate.
env::Settings settings(int chunk, std::int64_t hold_limit_us = 1'000'000) {
  env::Settings settings;
  settings.gate = false;
  settings.report = false;
  settings.chunk_first = chunk;
  settings.chunk_max = chunk;
  settings.hold_limit_us = hold_limit_us;
  return settings;
}

/// Until what repeats is known and its graphs are built, and then as often.
template <class Scalar>
void loop(Rig& rig, Program& program, int iterations, Scalar scalar) {
  for (int i = 0; i < iterations; ++i) {
    for (int k = 0; k < kLength; ++k) {
      REQUIRE(program.kernel(100 + k, 7 + k % 3, scalar(i, k)) == 0);
    }
    REQUIRE(program.wait() == 0);
    if (i < 24) {
      rig.engine->wait_idle();
    }
  }
}

std::uint64_t constant(int /*iteration*/, int k) {
  return 1000 + static_cast<std::uint64_t>(k);
}

TEST_CASE("of a loop with equal arguments nearly all submissions are predicted, and counted like all others") {
  Rig rig(settings(GENERATE(kLength, kPart)));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.predicted;
  loop(rig, program, 100, constant);
  // The first one of each graph is looked at, and two of those that are timed.
  CHECK(program.predicted - before > 100 * kLength * 8 / 10);
  REQUIRE(rig.backend.log() == program.submitted);
  const auto report = rig.report();
  CHECK(report["submissions"] == 132 * kLength);
  CHECK(report["replayed"].get<int>() > 100 * kLength * 9 / 10);
  for (const auto& graph : report["graphs"]) {
    CHECK((graph["launched"].get<int>() < 100 || graph["replay_us"].get<double>() > 0));  // some are timed
  }
}

TEST_CASE(
    "behind a graph that was predicted, and behind a wait, the next one is predicted from its first submission on") {
  Rig rig(settings(kPart));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.predicted;
  loop(rig, program, 100, constant);
  CHECK(program.predicted - before == 100 * kLength);
  REQUIRE(rig.backend.log() == program.submitted);
  const auto report = rig.report();
  CHECK(report["submissions"] == 132 * kLength);
  CHECK(report["launches"].get<int>() >= 100 * kLength / kPart);
}

TEST_CASE("in a program that never waits, what was predicted is looked at now and then") {
  Rig rig(settings(kPart));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  constexpr int kRounds = 200;
  const auto looked_at = [&] {
    const int before = program.predicted;
    for (int i = 0; i < kRounds * kLength; ++i) {
      program.kernel(100 + i % kLength, 7 + i % kLength % 3, constant(0, i % kLength));
    }
    return kRounds * kLength - (program.predicted - before);
  };
  static_cast<void>(looked_at());  // it learns that there are no waits any more
  const int seen = looked_at();
  CHECK(seen >= kRounds * kLength / 2048);  // one of 1024 or so
  CHECK(seen <= kRounds * kLength / 256);
  program.wait();
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("what is held behind a graph without being looked at is submitted in time, too") {
  constexpr std::int64_t kLimitUs = 40'000;
  Rig rig(settings(kPart, kLimitUs));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  for (int k = 0; k < kPart; ++k) {
    program.kernel(100 + k, 7 + k % 3, constant(0, k));
  }
  REQUIRE(rig.backend.log() == program.submitted);
  std::this_thread::sleep_for(std::chrono::microseconds(2 * kLimitUs));  // it counts from when it is held
  const int before = program.predicted;
  const auto start = std::chrono::steady_clock::now();
  const auto until = start + std::chrono::seconds(20);
  program.kernel(100 + kPart, 7 + kPart % 3, constant(0, kPart));
  REQUIRE(program.predicted == before + 1);
  while (rig.engine->anything_held() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::microseconds(kLimitUs / 2));
  REQUIRE(rig.backend.log() == program.submitted);
  CHECK(rig.report()["expired"] == 1);
}

TEST_CASE("nothing is predicted in a queue that is gone, or once anything else is") {
  Rig rig(settings(kPart));
  Program program(*rig.engine, rig.backend, rig.queue);
  const bool queue_goes = GENERATE(false, true);
  const int done = GENERATE(0, kPart);  // behind a wait, and behind a graph
  loop(rig, program, 32, constant);
  for (int k = 0; k < done; ++k) {
    program.kernel(100 + k, 7 + k % 3, constant(0, k));
  }
  const Lane& lane = rig.engine->lane();
  REQUIRE(lane.predicted());  // and nothing is held
  // Where layer/cuda/kernels.cpp looks for it, in assembly.
  CHECK(*reinterpret_cast<const std::byte* const*>(&lane) == lane.predicted().bytes().data());
  REQUIRE(rig.backend.log() == program.submitted);
  // A handle may be another object's now, and the record's the old one's.
  std::thread([&] { queue_goes ? rig.engine->queue_gone(rig.queue) : rig.engine->object_gone(4711); }).join();
  const int before = program.predicted;
  program.kernel(100 + done, 7 + done % 3, constant(0, done));
  CHECK(program.predicted == before);
  program.wait();
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("nothing is predicted in a queue that another thread has submitted to since") {
  Rig rig(settings(kPart));
  Program program(*rig.engine, rig.backend, rig.queue);
  const int done = GENERATE(0, kPart);
  loop(rig, program, 32, constant);
  for (int k = 0; k < done; ++k) {
    program.kernel(100 + k, 7 + k % 3, constant(0, k));
  }
  REQUIRE(rig.engine->lane().predicted());
  std::thread([&] { Program(*rig.engine, rig.backend, rig.queue).kernel(999, 3, 1); }).join();
  const int before = program.predicted;
  program.kernel(100 + done, 7 + done % 3, constant(0, done));
  CHECK(program.predicted == before);
}

TEST_CASE("what another thread holds in the same queue comes before what is predicted there") {
  Rig rig(settings(kPart));
  Program program(*rig.engine, rig.backend, rig.queue);
  std::atomic<int> step{0};
  const auto reached = [&](int wanted) {
    while (step < wanted) {
      std::this_thread::yield();
    }
  };
  std::thread other([&] {
    loop(rig, program, 32, constant);
    step = 1;
    for (int round = 1; round < kLength / kPart; ++round) {
      reached(2 * round);
      for (int k = 0; k < 3; ++k) {
        program.kernel(100 + k, 7 + k % 3, constant(0, k));
      }
      step = 2 * round + 1;
    }
    reached(2 * kLength);
  });
  reached(1);
  loop(rig, program, 32, constant);
  int held = 0;
  for (int round = 1; round < kLength / kPart; ++round) {
    const int part = round * kPart;
    for (int k = 0; k < part; ++k) {
      program.kernel(100 + k, 7 + k % 3, constant(0, k));
    }
    CHECK(rig.engine->lane().predicted());
    CHECK_FALSE(rig.engine->anything_held());
    step = 2 * round;
    reached(2 * round + 1);
    held += rig.engine->anything_held() ? 1 : 0;
    for (int k = part; k < kLength; ++k) {
      program.kernel(100 + k, 7 + k % 3, constant(0, k));
    }
    program.wait();
    REQUIRE(rig.backend.log() == program.submitted);
    loop(rig, program, 8, constant);
  }
  step = 2 * kLength;
  other.join();
  CHECK(held != 0);
  CHECK(rig.report()["submissions"] == program.submitted.size());
}

TEST_CASE("a program that does something else than predicted is given what it asks for") {
  const int changed = GENERATE(0, 1, 2, 11, 22, 23);
  Rig rig(settings(GENERATE(kLength, kPart)), GENERATE(false, true));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.predicted;
  loop(rig, program, 40, [changed](int i, int k) { return constant(i, k) + (k == changed && i % 4 == 3 ? 500 : 0); });
  CHECK(program.predicted > before);
  REQUIRE(rig.backend.log() == program.submitted);
  CHECK(rig.report()["submissions"] == 72 * kLength);
}

TEST_CASE("where it is being found out what graphs are worth, nothing is predicted in the turns without them") {
  env::Settings gated = settings(kPart);
  gated.gate = true;
  gated.trial_budget_permille = 1000;
  Rig rig(gated);
  Program program(*rig.engine, rig.backend, rig.queue);
  rig.backend.enqueue_cost_ns = 2'000;
  program.issue_cost_ns = 50'000;  // so that an instrumented engine, too, costs little beside it
  const auto concluded = [&] {
    const auto intervals = rig.report()["sync_intervals"];
    return std::any_of(intervals.begin(), intervals.end(),
                       [](const auto& interval) { return interval["state"] == "replaying"; });
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int mixed = 0;
  while (!concluded() && std::chrono::steady_clock::now() < until) {
    const std::size_t first = rig.backend.log().size();
    loop(rig, program, 1, constant);
    const auto log = rig.backend.log();
    const auto native = std::count_if(log.begin() + static_cast<std::ptrdiff_t>(first), log.end(),
                                      [](const test::Arrived& each) { return each.native; });
    mixed += native != 0 && native != kLength ? 1 : 0;
  }
  CHECK(mixed <= 2);  // of 16; many more if the first chunk after a wait is predicted all the same
  // A turn in which a graph was launched says nothing about eager execution: there would never be enough of them.
  REQUIRE(concluded());
  const int before = program.predicted;
  loop(rig, program, 20, constant);
  CHECK(program.predicted - before >= 10 * kLength);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("a wait in the middle of what was predicted submits what came before") {
  Rig rig(settings(GENERATE(kLength, kPart)));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  for (int stop = 1; stop < kLength; ++stop) {
    for (int k = 0; k < stop; ++k) {
      program.kernel(100 + k, 7 + k % 3, constant(0, k));
    }
    program.wait();
    REQUIRE(rig.backend.log() == program.submitted);
    loop(rig, program, 2, constant);
  }
  REQUIRE(rig.backend.log() == program.submitted);
}

/// Which operations have a new argument each time: every second one, so that graphs begin with one or not, or none.
enum class Changing { kNone, kOdd, kEven };

/// Once for each place in a chunk that is predicted: something happens there. `before(k)` a submission, `after(k)` it.
template <class Before, class After>
void disturb(Rig& rig, Program& program, Changing changing, Before before, After after) {
  std::uint64_t always_new = 1'000'000;
  const auto scalar = [&](int i, int k) {
    return changing == (k % 2 == 1 ? Changing::kOdd : Changing::kEven) ? ++always_new : constant(i, k);
  };
  loop(rig, program, 32, scalar);
  const int predicted = program.predicted;
  for (int place = 0; place < kLength; ++place) {
    for (int k = 0; k < kLength; ++k) {
      if (k == place) {
        before();
      }
      REQUIRE(program.kernel(100 + k, 7 + k % 3, scalar(0, k)) == 0);
      if (k == place) {
        after();
      }
    }
    program.wait();
    REQUIRE(rig.backend.log() == program.submitted);
    loop(rig, program, 1, scalar);
  }
  CHECK(program.predicted > predicted);
  CHECK(rig.report()["submissions"] == program.submitted.size());
}

TEST_CASE("another thread that flushes gets what was predicted and not looked at yet, too") {
  const Changing changing = GENERATE(Changing::kNone, Changing::kOdd, Changing::kEven);
  Rig rig(settings(GENERATE(kLength, kPart)), changing != Changing::kNone);
  Program program(*rig.engine, rig.backend, rig.queue);
  disturb(
      rig, program, changing, [] {},
      [&] {
        std::thread([&] { rig.engine->flush_holder(rig.queue); }).join();
        REQUIRE(rig.backend.log() == program.submitted);
        CHECK((!rig.engine->lane().predicted() || !rig.engine->anything_held()));  // behind a graph, the next one
      });
}

TEST_CASE("a queue that another thread had a turn with, in the middle of what was predicted") {
  const Changing changing = GENERATE(Changing::kNone, Changing::kOdd, Changing::kEven);
  Rig rig(settings(GENERATE(kLength, kPart)), changing != Changing::kNone);
  Program program(*rig.engine, rig.backend, rig.queue);
  disturb(
      rig, program, changing, [&] { rig.queue.newest = reinterpret_cast<const Lane*>(&rig); }, [] {});
}

TEST_CASE("an error of a graph that was predicted reaches the program") {
  Rig rig(settings(GENERATE(kLength, kPart)));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  rig.backend.fail_enqueues = 1;
  rig.backend.fail_issues = 1;
  const int predicted = program.predicted;
  int errors = 0;
  for (int k = 0; k < kLength; ++k) {
    errors += program.kernel(100 + k, 7 + k % 3, constant(0, k)) == -5 ? 1 : 0;
  }
  errors += program.wait() == -5 ? 1 : 0;
  CHECK(program.predicted > predicted);
  CHECK(errors == 1);
}

TEST_CASE("threads that flush while submissions are predicted lose nothing and change no order") {
  Rig rig(settings(GENERATE(kLength, kPart), 50));
  Program program(*rig.engine, rig.backend, rig.queue);
  loop(rig, program, 32, constant);
  const int before = program.predicted;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      rig.engine->flush_holder(rig.queue);
      std::this_thread::sleep_for(std::chrono::microseconds(30));
    }
  });
  loop(rig, program, 600, constant);
  stop = true;
  other.join();
  program.wait();
  CHECK(program.predicted > before);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("a thread that flushes what was predicted of a graph that has gone leaves the lane alone then") {
  Rig rig(settings(kPart));
  Program program(*rig.engine, rig.backend, rig.queue);
  const auto submit = [&](int begin, int end) {  // each part names a buffer of its own
    for (int k = begin; k < end; ++k) {
      program.kernel(100 + k, 7 + k / kPart, constant(0, k));
    }
  };
  int flushed = 0;
  for (int round = 0; round < 300; ++round) {
    submit(0, 3);
    const bool held = round >= 32 && rig.engine->anything_held();
    flushed += held ? 1 : 0;
    std::thread other([&] {
      if (held) {
        rig.engine->object_gone(7);  // what is held is not launched any more, but what comes behind it is
        rig.engine->flush_holder(rig.queue);
      }
    });
    while (held && rig.engine->anything_held()) {
    }
    submit(3, kLength);  // at once, and at first without the lock
    program.wait();
    other.join();
    rig.engine->wait_idle();
  }
  CHECK(flushed > 0);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("of a loop whose arguments change nearly all submissions are predicted, too, and get their own arguments") {
  Rig rig(settings(GENERATE(kLength, kPart)), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  const int few = GENERATE(1, 5, kLength);  // of how many operations
  std::uint64_t always_new = 1'000'000;
  const auto changing = [&](int i, int k) { return k % kLength < few ? ++always_new : constant(i, k); };
  loop(rig, program, 32, changing);
  const int before = program.predicted;
  loop(rig, program, 100, changing);
  CHECK(program.predicted - before > 100 * kLength * 3 / 4);
  REQUIRE(rig.backend.log() == program.submitted);
  CHECK(rig.report()["submissions"] == program.submitted.size());
}

TEST_CASE("where something else comes each time, hardly anything is predicted") {
  Rig rig(settings(GENERATE(kLength, kPart)), true);
  Program program(*rig.engine, rig.backend, rig.queue);
  std::uint64_t buffer = 1000;
  const auto other_buffers = [&](int iterations) {
    for (int i = 0; i < iterations; ++i) {
      for (int k = 0; k < kLength; ++k) {
        REQUIRE(program.kernel(100 + k, ++buffer, 1) == 0);
      }
      REQUIRE(program.wait() == 0);
      rig.engine->wait_idle();
    }
  };
  other_buffers(200);
  const int before = program.asked;
  other_buffers(200);
  CHECK(program.asked - before < 200 * kLength / 20);
  REQUIRE(rig.backend.log() == program.submitted);
}

TEST_CASE("what was lent of a graph stays as it was when the graph's arguments are changed") {
  Rig rig(settings(kLength), true);
  const auto occurrence = [&](std::uint64_t scalar) {
    Occurrence result;
    result.queues.push_back(rig.queue.info);
    for (std::uint64_t k = 0; k < 3; ++k) {
      capture::RecordBytes bytes;
      capture::OperationWriter writer(bytes);
      auto& header = writer.begin(capture::OperationKind::kKernel, k + 1);
      header.function = k + 1;
      writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}});
      writer.argument_handle(capture::ArgumentKind::kBuffer, 7, 7);
      writer.argument(capture::ArgumentKind::kValue, 0, std::as_bytes(std::span(&scalar, 1)));
      writer.finish();
      auto& own = *reinterpret_cast<capture::OperationHeader*>(bytes.data());
      own.sequence = k + 1;
      own.queue = rig.queue.info.id;
      result.add(capture::OperationView(bytes.data()));
    }
    return result;
  };
  const auto views = [](const Occurrence& of) {
    std::vector<capture::OperationView> result;
    for (std::size_t i = 0; i < of.size(); ++i) {
      result.push_back(of.operation(i));
    }
    return result;
  };
  const Occurrence one = occurrence(1), another = occurrence(2);
  std::string why;
  const auto executable = Executable::build(one, settings(kLength), rig.backend, &why);
  REQUIRE(executable != nullptr);
  const auto lent = executable->lend();
  REQUIRE(executable->update(views(another)));
  CHECK(executable->matches(views(another)));
  CHECK(lent->storage == one.storage);
}

}  // namespace
}  // namespace refrain::replay
