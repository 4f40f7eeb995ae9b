// A graph is run for trial on memory by address, and what it changed is put back: nobody notices but by what the check
// says.
#include "replay/verify/address_check.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using backends::AddressedMemory;
using backends::MemoryCopy;
using backends::MemoryRange;
using capture::ArgumentKind;
using capture::OperationView;

constexpr std::uint64_t kFirst = 1, kSecond = 2;  ///< words of memory
constexpr std::uint64_t kApart = 1U << 20U;

/// The words of the backend as memory: word n at n * kApart, each a range of its own.
class FakeMemory final : public AddressedMemory {
 public:
  explicit FakeMemory(test::ArithmeticBackend& backend) : backend_(backend) {}

  const char* refused = nullptr;  ///< by begin()
  const char* known = nullptr;    ///< before anything is waited for
  std::uint64_t of_host = 0;      ///< that word is the host's
  bool open = false;              ///< between begin() and end()
  std::uint64_t used = 0;         ///< bytes in copies
  std::uint64_t most_used = 0;
  int hashes = 0;

  const char* why_not(const capture::QueueInfo& /*queue*/,
                      std::span<const capture::OperationView> /*operations*/) noexcept override {
    return known;
  }
  bool begin(const capture::QueueInfo& /*queue*/, std::vector<MemoryRange>* device, std::vector<MemoryRange>* host,
             const char** why) noexcept override {
    REQUIRE(!open);
    open = true;
    for (const auto& [word, value] : backend_.memory()) {
      (word == of_host ? host : device)->push_back({word * kApart, sizeof(value)});
    }
    *why = refused;
    return refused == nullptr;
  }
  void end(bool /*idle*/) noexcept override {
    REQUIRE(used == 0);
    open = false;
  }
  backends::Status hash(std::span<const MemoryRange> ranges, std::vector<std::uint64_t>* numbers) noexcept override {
    ++hashes;
    numbers->clear();
    auto memory = backend_.memory();
    for (const MemoryRange& range : ranges) {
      numbers->push_back(memory[range.start / kApart]);
    }
    return {};
  }
  backends::Status read(const MemoryRange& range, std::byte* into) noexcept override {
    const std::uint64_t word = backend_.memory()[range.start / kApart];
    std::memcpy(into, &word, sizeof(word));
    return {};
  }
  std::unique_ptr<MemoryCopy> copy(std::span<const MemoryRange> ranges, std::uint64_t most) noexcept override {
    const std::uint64_t bytes = ranges.size() * sizeof(std::uint64_t);
    if (used + bytes > most) {
      return nullptr;
    }
    auto memory = backend_.memory();
    auto made = std::make_unique<Copy>(*this, bytes);
    for (const MemoryRange& range : ranges) {
      made->kept[range.start] = memory[range.start / kApart];
    }
    return made;
  }

 private:
  struct Copy final : MemoryCopy {
    Copy(FakeMemory& its_owner, std::uint64_t its_bytes) : owner(its_owner), bytes(its_bytes) {
      owner.used += bytes;
      owner.most_used = std::max(owner.most_used, owner.used);
    }
    ~Copy() override { owner.used -= bytes; }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    backends::Status write_back(std::span<const MemoryRange> ranges) noexcept override {
      for (const MemoryRange& range : ranges) {
        REQUIRE(kept.contains(range.start));
        CHECK(
            owner.backend_
                .write({}, ArgumentKind::kBuffer, range.start / kApart, std::as_bytes(std::span(&kept[range.start], 1)))
                .ok());
      }
      return {};
    }
    FakeMemory& owner;
    const std::uint64_t bytes;
    std::map<std::uint64_t, std::uint64_t> kept;
  };

  test::ArithmeticBackend& backend_;
};

class Backend final : public test::ArithmeticBackend {
 public:
  bool ends = true;  ///< what was submitted last
  int waits = 0;
  FakeMemory words{*this};
  AddressedMemory* addressed_memory() noexcept override { return &words; }
  bool finish_by(const capture::QueueInfo& /*queue*/, std::chrono::steady_clock::time_point /*until*/,
                 bool /*held*/) noexcept override {
    ++waits;
    return ends;
  }
};

/// Three kernels, each with an event of the program's: two that update the first word, then one for the second.
Occurrence work() {
  Occurrence result;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t word = i < 2 ? kFirst : kSecond;
    capture::RecordBytes bytes;
    capture::OperationWriter writer(bytes);
    auto& header = writer.begin(capture::OperationKind::kKernel, 1);
    header.queue = 1;
    header.function = 5;
    header.sequence = 100 + i;
    header.promise = 1 + i;
    writer.words(capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}});
    writer.argument_handle(ArgumentKind::kBuffer, word, word);
    writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&i, 1)));
    writer.finish();
    result.add(OperationView(bytes.data()));
  }
  capture::QueueInfo queue;
  queue.id = queue.handle = 1;
  result.queues.push_back(queue);
  return result;
}

struct Trial {
  explicit Trial(std::uint64_t most = 1024) : check(most) {
    std::string why;
    executable = Executable::build(operations, test::quiet(false), backend, &why);
    INFO(why);
    REQUIRE(executable != nullptr);
    for (const std::uint64_t word : {kFirst, kSecond, kUnused}) {
      CHECK(backend.write({}, ArgumentKind::kBuffer, word, std::as_bytes(std::span(&kBefore, 1))).ok());
    }
  }
  VerifyResult run() {
    std::vector<OperationView> views;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      views.push_back(operations.operation(i));
    }
    VerificationPause pause;
    REQUIRE(pause.begin());
    VerifyResult result = check.run({backend, hooks, window}, 7, *executable, views, operations.queues, pause);
    pause.end();
    CHECK(!backend.words.open);
    window.clear(backend);
    return result;
  }
  /// What the words are after that many eager runs.
  static std::map<std::uint64_t, std::uint64_t> after(int runs) {
    std::map<std::uint64_t, std::uint64_t> result{{kFirst, kBefore}, {kSecond, kBefore}, {kUnused, kBefore}};
    for (int i = 0; i < runs; ++i) {
      result[kFirst] = (result[kFirst] * 31 + 0) * 31 + 1;
      result[kSecond] = result[kSecond] * 31 + 2;
    }
    return result;
  }

  static constexpr std::uint64_t kBefore = 11, kUnused = 9;
  Backend backend;
  test::TestHooks hooks{backend};
  Occurrence operations = work();
  std::unique_ptr<Executable> executable;
  WindowEvents window;
  AddressCheck check;
};

TEST_CASE("verify by address: work is done once, and it is seen where a graph computes something else", "[promise-1]") {
  const bool wrong = GENERATE(false, true);
  const bool names = GENERATE(false, true);
  Trial trial;
  trial.backend.can_leave_out = names;
  trial.backend.corrupt_replay = wrong;

  const VerifyResult result = trial.run();

  INFO(result.text << result.why);
  CHECK(result.outcome == (wrong ? Verified::kDifferent : Verified::kEqual));
  CHECK(result.error == 0);
  CHECK(trial.backend.memory() == Trial::after(1));
  CHECK(trial.hooks.order == std::vector<std::uint64_t>{1, 2, 3});  // each event stands for one execution
  if (wrong) {
    CHECK((result.text.find("operation 0 of 3 is done otherwise: kernel") != std::string::npos) == names);
  } else {
    CHECK(result.compared == 3 * sizeof(std::uint64_t));
  }
  CHECK(trial.backend.live_events == 0);
}

TEST_CASE("verify by address: what the program does with memory of the host meanwhile stays", "[promise-1]") {
  const bool writes = GENERATE(false, true);
  Trial trial;
  trial.backend.words.of_host = Trial::kUnused;
  std::uint64_t written = Trial::kBefore;
  if (writes) {
    trial.backend.in_run = [&] {
      CHECK(trial.backend.memory()[Trial::kUnused] == written);
      ++written;
      CHECK(trial.backend.write({}, ArgumentKind::kBuffer, Trial::kUnused, std::as_bytes(std::span(&written, 1))).ok());
    };
  }
  const VerifyResult result = trial.run();
  CHECK(result.outcome == (writes ? Verified::kImpossible : Verified::kEqual));
  auto expected = Trial::after(1);
  expected[Trial::kUnused] = written;
  CHECK(trial.backend.memory() == expected);
}

TEST_CASE("verify by address: where not all memory can be copied, a graph's writes are learnt first") {
  Trial trial(5 * sizeof(std::uint64_t) - 1);  // all three words and two more are too much
  trial.check = AddressCheck(4 * sizeof(std::uint64_t));
  const std::uint64_t unused[] = {20, 21, 22};
  for (const std::uint64_t& word : unused) {
    CHECK(trial.backend.write({}, ArgumentKind::kBuffer, word, std::as_bytes(std::span(&word, 1))).ok());
  }
  CHECK(trial.run().outcome == Verified::kImpossible);
  const VerifyResult second = trial.run();
  INFO(second.why);
  CHECK(second.outcome == Verified::kEqual);
  CHECK(trial.backend.words.most_used <= 4 * sizeof(std::uint64_t));
  auto expected = Trial::after(2);
  for (const std::uint64_t word : unused) {
    expected[word] = word;
  }
  CHECK(trial.backend.memory() == expected);
}

TEST_CASE("verify by address: work whose eager runs differ is no difference") {
  Trial trial;
  int runs = 0;
  trial.backend.in_run = [&] {
    if (++runs % 3 == 0) {  // the last kernel of each run
      const std::uint64_t any = static_cast<std::uint64_t>(runs);
      CHECK(trial.backend.write({}, ArgumentKind::kBuffer, kSecond, std::as_bytes(std::span(&any, 1))).ok());
    }
  };
  const VerifyResult result = trial.run();
  CHECK(result.outcome == Verified::kUnstable);
}

TEST_CASE("verify by address: where it cannot check, everything is submitted once, and the first error is told",
          "[promise-5]") {
  Trial trial;
  int refused = -1;  // of the operations
  SECTION("memory that cannot be compared") {
    trial.backend.words.refused = "there is no comparing it";
  }
  SECTION("earlier work that does not end") {
    trial.backend.ends = false;
  }
  SECTION("an error of the driver's") {
    refused = GENERATE(0, 1, 2);
    trial.backend.spare = refused;
    trial.backend.fail_issues = 1;
  }
  const VerifyResult result = trial.run();
  CHECK(result.outcome == Verified::kImpossible);
  CHECK(*result.why != 0);
  CHECK(result.error == (refused >= 0 ? -5 : 0));
  if (refused < 0) {
    CHECK(trial.backend.memory() == Trial::after(1));
  }
  for (int i = 0; i < 3; ++i) {
    CHECK((trial.hooks.kept.at(1 + static_cast<std::uint64_t>(i)) != 0) == (i == refused));
  }
}

TEST_CASE("verify by address: work together with another device is left alone, and nothing is waited for",
          "[promise-1]") {
  Trial trial;
  trial.backend.ends = false;  // it waits for the program
  SECTION("it uses that device's memory") {
    trial.backend.words.known = "kernels can use memory of another device";
  }
  SECTION("it is of both") {
    trial.operations.queues.push_back(trial.operations.queues.front());
    trial.operations.queues.back().id = 2;
    trial.operations.queues.back().context = trial.operations.queues.front().context + 1;
  }
  const VerifyResult result = trial.run();
  CHECK(result.outcome == Verified::kImpossible);
  CHECK(std::string(result.why).find("device") != std::string::npos);
  CHECK(trial.backend.memory() == Trial::after(1));
  CHECK(trial.backend.waits == 0);
}

}  // namespace
}  // namespace refrain::replay
