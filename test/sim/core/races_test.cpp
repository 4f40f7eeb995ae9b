#include "test/sim/core/races.h"

#include <atomic>
#include <random>
#include <thread>

#include "test/sim/core/history.h"
#include "test/sim/core/test_device.h"

namespace sim {
namespace {

constexpr Word kCount = 16;

Settings with_seed(std::uint64_t seed) {
  Settings changed;
  changed.seed = seed;
  return changed;
}

}  // namespace

TEST_CASE("sim races: two operations on the same bytes with nothing between them, with every seed") {
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U, 4U, 5U}) {
    TestDevice device(with_seed(seed));
    Word* x = device.words(kCount);
    Word* y = device.words(kCount);
    device.submit(scale(x, kCount, 1, 1), {});
    device.submit(mix_in(y, x, kCount, 1), {});
    device.finish();
    CHECK(violations("race: ") == 1);
    device.submit(copy_task(address_of(y), address_of(x), 8), {});
    device.submit(copy_task(address_of(x) + 4, address_of(x) + 32, 4), {});
    device.finish();
    CHECK(violations("race: ") == 1);
    // Reads do not disturb each other, nor do neighbours.
    device.submit(copy_task(address_of(y), address_of(x), 8), {});
    device.submit(copy_task(address_of(y) + 8, address_of(x), 8), {});
    device.finish();
    check_no_violations();
  }
}

TEST_CASE("sim races: both sides of a race are shown, with what came before") {
  TestDevice device(with_seed(1));
  Word* x = device.words(kCount);
  const auto first = device.submit(scale(x, kCount, 1, 1), {});
  for (int i = 0; i < 100; ++i) {
    remember_call("cuSomething");
  }
  const auto second = device.submit(scale(x, kCount, 1, 1), {});
  device.finish();
  CHECK(violations("race: scale") == 1);
  const std::array<std::uint64_t, 2> both = {first->number, second->number};
  const std::string shown = history(both);
  INFO(shown);
  CHECK(shown.find("operation " + std::to_string(first->number) + ": scale") != std::string::npos);
  CHECK(shown.find("operation " + std::to_string(second->number) + ": scale") != std::string::npos);
  CHECK(shown.find("calls cuSomething") != std::string::npos);
}

TEST_CASE("sim races: edges, joins, signals, waits and queries of the host are order") {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    TestDevice device(with_seed(seed));
    Word* x = device.words(kCount);
    Word* y = device.words(kCount);
    Word* z = device.words(kCount);
    const auto start = device.submit(scale(x, kCount, 1, 1), {});
    const auto left = device.submit(mix_in(y, x, kCount, 1), {start});
    const auto right = device.submit(mix_in(z, x, kCount, 1), {start});
    const auto join = device.submit({}, {left, right});
    const auto signal = std::make_shared<Signal>();
    device.submit(scale(x, kCount, 2, 1), {join}, {{}, {signal}, {}});
    device.submit(scale(y, kCount, 2, 1), {join});
    const auto last = device.submit(scale(x, kCount, 2, 1), {}, {{signal}, {}, {}});
    CHECK(device.wait(last));
    device.submit(scale(x, kCount, 2, 1), {});  // nothing but the wait of the host
    for (bool done = false; !done;) {
      const Lock lock;
      done = is_done(lock, right);
    }
    device.submit(scale(z, kCount, 2, 1), {});
    device.finish();
    check_no_violations();
    // The join left out: one of the two ends is not waited for.
    device.submit(mix_in(y, x, kCount, 1), {start});
    const auto other = device.submit(mix_in(z, x, kCount, 1), {start});
    device.submit(scale(x, kCount, 2, 1), {other});
    device.finish();
    CHECK(violations("race: ") == 1);
  }
}

TEST_CASE("sim races: what a host function or an observable kernel tells the host is order") {
  TestDevice device(with_seed(1));
  Word* x = device.words(kCount);
  Word* flag = device.words(1, MemoryType::kHost);
  const auto first = device.submit(scale(x, kCount, 1, 1), {});
  device.submit(kernel_task("store", flag, Word{1}), {first});
  while (std::atomic_ref(*flag).load(std::memory_order_acquire) != 1) {
  }
  const auto second = device.submit(scale(x, kCount, 1, 1), {});
  std::atomic<bool> told{false};
  device.submit(host_task([](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &told), {second});
  while (!told) {
  }
  device.submit(scale(x, kCount, 1, 1), {});
  device.finish();
  check_no_violations();
}

TEST_CASE("sim races: a graph that lacks an edge, and launches of it that nothing orders") {
  TestDevice device(with_seed(2));
  Word* x = device.words(kCount);
  Graph graph;
  Node nodes[2];
  add_node(graph, nodes[0], scale(x, kCount, 1, 1), {});
  add_node(graph, nodes[1], scale(x, kCount, 1, 1), {&nodes[0]});
  Exec good;
  REQUIRE(instantiate(graph, good));
  {
    const Lock lock;
    const auto first = launch(lock, device.open(), good, {});
    launch(lock, device.open(), good, std::array<OperationRef, 1>{first});
  }
  device.finish();
  check_no_violations();
  {
    const Lock lock;
    launch(lock, device.open(), good, {});
    launch(lock, device.open(), good, {});
  }
  device.finish();
  CHECK(violations("race: ") >= 1);
  remove_edge(nodes[0], nodes[1]);
  Exec bad;
  REQUIRE(instantiate(graph, bad));
  {
    const Lock lock;
    launch(lock, device.open(), bad, {});
  }
  device.finish();
  CHECK(violations("race: ") == 1);
}

TEST_CASE("sim races: memory in stream order") {
  TestDevice device(with_seed(1));
  Word* x = device.words(kCount);
  Task claim;
  claim.to.start = address_of(x);
  claim.bytes = kCount * sizeof(Word);
  const auto claimed = device.submit(claim, {});
  device.submit(scale(x, kCount, 1, 1), {});  // not after the allocation
  device.finish();
  CHECK(violations("race: ") == 1);
  const auto used = device.submit(scale(x, kCount, 1, 1), {claimed});
  Task gone;
  gone.kind = Task::Kind::kFree;
  gone.to.start = address_of(x);
  device.submit(gone, {used});
  device.finish();
  check_no_violations();
  Word* again = device.words(kCount);
  device.submit(scale(again, kCount, 1, 1), {});
  gone.to.start = address_of(again);
  device.submit(gone, {});  // not after the use
  device.finish();
  // Whichever comes first: a race, or the use of freed memory.
  CHECK(take_violations().size() == 1);
}

// What is found must not depend on what the detector keeps: compared with the definition.
TEST_CASE("sim races: random operations, against reachability") {
  std::mt19937 random(7);
  const auto below = [&random](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  constexpr std::size_t kOperations = 14;
  int racy = 0, clean = 0;
  for (int round = 0; round < 400; ++round) {
    TestDevice device(with_seed(below(6)));
    Word* x = device.words(8);
    std::vector<OperationRef> made;
    std::vector<std::vector<bool>> reaches;  // reaches[i][j]: j happens before i
    struct Range {
      unsigned start, count;
      bool write;
    };
    std::vector<Range> used;
    bool expected = false;
    const unsigned edges = 2 + below(6);
    std::vector<bool> host(kOperations, false);
    for (std::size_t i = 0; i < kOperations; ++i) {
      std::vector<OperationRef> after;
      std::vector<bool> before = host;
      for (unsigned e = 0; e < edges && i != 0; ++e) {
        const std::size_t j = i - 1 - below(std::min<unsigned>(static_cast<unsigned>(i), 4));
        after.push_back(made[j]);
        before[j] = true;
        for (std::size_t k = 0; k < j; ++k) {
          before[k] = before[k] || reaches[j][k];
        }
      }
      const unsigned start = below(7);
      const Range range{start, 1 + below(8 - start), below(2) == 0};
      for (std::size_t j = 0; j < i; ++j) {
        const bool overlap = range.start < used[j].start + used[j].count && used[j].start < range.start + range.count;
        expected = expected || (overlap && (range.write || used[j].write) && !before[j]);
      }
      const Address at = address_of(x + range.start);
      const Word value = 1;
      Word* elsewhere = device.words(8);
      made.push_back(device.submit(range.write ? fill_task(at, &value, 4, range.count * 4UL)
                                               : copy_task(address_of(elsewhere), at, range.count * 4UL),
                                   after));
      used.push_back(range);
      reaches.push_back(before);
      if (below(12) == 0) {
        const std::size_t j = below(static_cast<unsigned>(i) + 1);
        device.wait(made[j]);
        host[j] = true;
        for (std::size_t k = 0; k < j; ++k) {
          host[k] = host[k] || reaches[j][k];
        }
      }
    }
    device.finish();
    const bool found = !take_violations().empty();
    CAPTURE(round);
    CHECK(found == expected);
    (expected ? racy : clean) += 1;
  }
  CHECK(racy > 50);
  CHECK(clean > 50);
}

}  // namespace sim
