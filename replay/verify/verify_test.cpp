// A graph is run for trial, and what it changed is put back: nobody notices but by what verify says.
#include "replay/verify/verify.h"

#include <catch2/catch.hpp>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using capture::ArgumentKind;
using capture::OperationView;

constexpr std::uint64_t kMemory = 7, kBefore = 11;
constexpr int kKernels = 3;

/// Kernels that update one buffer or image, each with an event of the program's.
Occurrence updates_of(ArgumentKind kind) {
  Occurrence result;
  for (std::uint64_t i = 0; i < kKernels; ++i) {
    capture::RecordBytes bytes;
    capture::OperationWriter writer(bytes);
    auto& header = writer.begin(capture::OperationKind::kKernel, 1);
    header.queue = 1;
    header.function = 5;
    header.sequence = 100 + i;
    header.promise = 1 + i;
    writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}});
    writer.argument_handle(kind, kMemory, kMemory);
    writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&i, 1)));
    writer.finish();
    result.add(OperationView(bytes.data()));
  }
  capture::QueueInfo queue;
  queue.id = queue.handle = 1;
  result.queues.push_back(queue);
  return result;
}

/// A graph of these updates, and what verify needs for it.
struct VerifyTrial {
  explicit VerifyTrial(ArgumentKind kind) : work(updates_of(kind)) {
    std::string why;
    executable = Executable::build(work, test::quiet(false), backend, &why);
    INFO(why);
    REQUIRE(executable != nullptr);
  }
  VerifyResult run() {
    std::vector<OperationView> operations;
    for (std::size_t i = 0; i < work.size(); ++i) {
      operations.push_back(work.operation(i));
    }
    VerificationPause pause;
    REQUIRE(pause.begin());
    VerifyResult result = verify({backend, hooks, window}, *executable, operations, work.queues, pause, most_copies);
    pause.end();
    return result;
  }

  std::uint64_t most_copies = 1U << 30U;
  test::ArithmeticBackend backend;
  test::TestHooks hooks{backend};
  const Occurrence work;
  std::unique_ptr<Executable> executable;
  WindowEvents window;
};

TEST_CASE("verify updates buffers and images once, and sees where a graph computes something else") {
  const auto kind = GENERATE(ArgumentKind::kBuffer, ArgumentKind::kImage, ArgumentKind::kPointer);
  const bool wrong = GENERATE(false, true);
  CAPTURE(static_cast<int>(kind), wrong);
  VerifyTrial trial(kind);
  test::ArithmeticBackend& backend = trial.backend;
  backends::MemoryInventory shared;
  shared.add({.start = kMemory, .bytes = 8, .id = 1, .place = capture::MemoryPlace::kManaged});
  backend.shared = &shared;
  REQUIRE(backend.write(trial.work.queues[0], kind, kMemory, std::as_bytes(std::span(&kBefore, 1))).ok());
  backend.corrupt_replay = wrong;

  const VerifyResult result = trial.run();

  CHECK(result.outcome == (wrong ? Verified::kDifferent : Verified::kEqual));
  CHECK(result.error == 0);
  const std::string named = kind == ArgumentKind::kImage     ? "byte 0 of image 7 is"
                            : kind == ArgumentKind::kPointer ? "byte 0 of shared memory at 7 is"
                                                             : "byte 0 of buffer 7 is";
  CHECK((result.text.find(named) != std::string::npos) == wrong);
  std::uint64_t expected = kBefore;
  for (std::uint64_t i = 0; i < kKernels; ++i) {
    expected = expected * 31 + i;
  }
  CHECK(backend.memory() == std::map<std::uint64_t, std::uint64_t>{{kMemory, expected}});
  // Each event stands for one execution, the eager one that the program is to see.
  CHECK(trial.hooks.order == std::vector<std::uint64_t>{1, 2, 3});
  trial.window.clear(backend);
  CHECK(backend.live_events == 0);
}

TEST_CASE("verify leaves shared memory alone that is not known, that the host may use, or that the program changes") {
  constexpr std::uint64_t kOther = 1000;
  VerifyTrial trial(ArgumentKind::kPointer);
  test::ArithmeticBackend& backend = trial.backend;
  const auto set = [&](std::uint64_t where, std::uint64_t value) {
    REQUIRE(
        backend.write(trial.work.queues[0], ArgumentKind::kPointer, where, std::as_bytes(std::span(&value, 1))).ok());
  };
  backends::MemoryInventory shared;
  backend.shared = &shared;
  set(kMemory, kBefore);
  set(kOther, 1);
  std::string why = "an operation is given a pointer to memory that is not known";
  SECTION("not known") {}
  SECTION("fine-grained") {
    shared.add({.start = kMemory, .bytes = 8, .id = 1, .place = capture::MemoryPlace::kHost});
    why = "it uses fine-grained shared memory, which the program may change meanwhile";
  }
  SECTION("changed meanwhile") {
    shared.add({.start = kMemory, .bytes = 8, .id = 1, .place = capture::MemoryPlace::kManaged});
    shared.add({.start = kOther, .bytes = 8, .id = 2, .place = capture::MemoryPlace::kHost});
    backend.in_run = [&] { set(kOther, 2); };
    why = "shared memory that no operation names changed meanwhile";
  }
  const VerifyResult result = trial.run();
  CHECK(result.outcome == Verified::kImpossible);
  CHECK(result.why == why);
  std::uint64_t expected = kBefore;
  for (std::uint64_t i = 0; i < kKernels; ++i) {
    expected = expected * 31 + i;
  }
  CHECK(backend.memory()[kMemory] == expected);
  CHECK(backend.memory()[kOther] == (backend.in_run ? 2 : 1));
  trial.window.clear(backend);
}

TEST_CASE("verify runs a kernel that prints once") {
  VerifyTrial trial(ArgumentKind::kBuffer);
  trial.hooks.printing = 5;
  const VerifyResult result = trial.run();
  CHECK(result.outcome == Verified::kImpossible);
  CHECK(std::string(result.why) == "a kernel prints, or allocates memory, which cannot be put back");
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < kKernels; ++i) {
    expected = expected * 31 + i;
  }
  CHECK(trial.backend.memory()[kMemory] == expected);
  CHECK(trial.hooks.order == std::vector<std::uint64_t>{1, 2, 3});
  trial.window.clear(trial.backend);
}

TEST_CASE("verify copies no more than it may") {
  VerifyTrial trial(ArgumentKind::kBuffer);
  trial.most_copies = 3 * sizeof(std::uint64_t) - 1;
  const VerifyResult result = trial.run();
  CHECK(result.outcome == Verified::kImpossible);
  CHECK(std::string(result.why) == "the copies of its memory would take too much (verify_memory_mb)");
  CHECK(trial.hooks.order == std::vector<std::uint64_t>{1, 2, 3});
  trial.window.clear(trial.backend);
}

}  // namespace
}  // namespace refrain::replay
