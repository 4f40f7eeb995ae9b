#include "test/sim/core/schedule.h"

#include <atomic>
#include <thread>

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

TEST_CASE("sim schedule: a chain of operations runs in its order, whatever the seed") {
  for (const std::uint64_t seed : {0U, 1U, 2U, 5U, 6U}) {
    TestDevice device(with_seed(seed));
    Word* x = device.words(kCount);
    OperationRef last;
    Word expected = 0;
    for (Word i = 0; i < 100; ++i) {
      last = device.submit(scale(x, kCount, 3, i), {last});
      expected = expected * 3 + i;
    }
    CHECK(device.wait(last));
    CHECK(x[kCount - 1] == expected);
    check_no_violations();
  }
}

TEST_CASE("sim schedule: independent operations run in different orders with different seeds") {
  std::set<std::string> orders;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    TestDevice device(with_seed(seed));
    std::string order;
    std::atomic<bool> go{false};
    struct Step {
      std::string* order;
      char letter;
    };
    std::vector<Step> steps;
    for (char letter = 'a'; letter <= 'h'; ++letter) {
      steps.push_back({&order, letter});
    }
    const auto first = device.submit(host_task(
                                         [](void* data) {
                                           while (!static_cast<std::atomic<bool>*>(data)->load()) {
                                             std::this_thread::yield();
                                           }
                                         },
                                         &go),
                                     {});
    for (Step& step : steps) {
      device.submit(host_task(
                        [](void* data) {
                          const auto* one = static_cast<Step*>(data);
                          one->order->push_back(one->letter);
                        },
                        &step),
                    {first});
    }
    go = true;
    device.finish();
    CHECK(order.size() == steps.size());
    orders.insert(order);
  }
  CHECK(orders.size() > 1);
}

TEST_CASE("sim signals: set by a command that is submitted later, reset and set again") {
  TestDevice device(with_seed(1));
  Word* x = device.words(1);
  const auto signal = std::make_shared<Signal>();
  const auto waiting = device.submit(scale(x, 1, 2, 1), {}, {{signal}, {}, {}});
  {
    Lock lock;
    CHECK(signal->users == 1);
    CHECK_FALSE(wait_at_most(lock, waiting, 1000000));
  }
  device.submit(scale(x, 1, 0, 10), {}, {{}, {signal}, {}});
  CHECK(device.wait(waiting));
  CHECK(*x == 21);
  {
    Lock lock;
    CHECK(is_set(lock, signal));
    CHECK(signal->users == 0);
    reset_signal(lock, signal);
    CHECK_FALSE(is_set(lock, signal));
  }
  const auto again = device.submit(scale(x, 1, 1, 1), {}, {{signal}, {}, {signal}});
  {
    Lock lock;
    set_signal(lock, signal);
  }
  CHECK(device.wait(again));
  {
    const Lock lock;
    CHECK_FALSE(is_set(lock, signal));  // the command reset it at its end
  }
  CHECK(*x == 22);
  check_no_violations();
}

TEST_CASE("sim schedule: a wait that nothing can end fails, and says which operation waits") {
  Settings changed;
  changed.patience_s = 0.05;
  TestDevice device(changed);
  const auto signal = std::make_shared<Signal>();
  const auto stuck = device.submit({}, {}, {{signal}, {}, {}});
  CHECK_FALSE(device.wait(stuck));
  CHECK(violations("a wait that nothing ends") == 1);
  const Lock lock;
  set_signal(lock, signal);
}

TEST_CASE("sim schedule: several workers") {
  Settings changed = with_seed(3);
  changed.workers = 4;
  TestDevice device(changed);
  std::vector<OperationRef> ends;
  std::vector<Word*> all;
  for (int chain = 0; chain < 8; ++chain) {
    all.push_back(device.words(kCount));
    ends.emplace_back();
  }
  Word expected = 0;
  for (Word i = 0; i < 300; ++i) {
    for (std::size_t chain = 0; chain < ends.size(); ++chain) {
      ends[chain] = device.submit(scale(all[chain], kCount, 5, i), {ends[chain]});
    }
    expected = expected * 5 + i;
  }
  device.finish();
  for (const Word* x : all) {
    CHECK(x[3] == expected);
  }
  check_no_violations();
}

TEST_CASE("sim kernels: by name, plain and mangled") {
  const Kernel* scale = find_kernel("scale");
  REQUIRE(scale != nullptr);
  for (const char* name : {"_Z5scalePjjjj", "_ZN1a5scaleEPj",
                           "_ZN37_GLOBAL__N__90858d34_9_scalar_cu_main5scaleEPNS_5StateEif", "_Z5scaleIiEvT_"}) {
    CAPTURE(name);
    CHECK(find_kernel(name) == scale);
  }
  for (const char* name : {"", "scal", "_Z", "_Z6scalesv", "_ZN5scale5otherEv", "other"}) {
    CAPTURE(name);
    CHECK(find_kernel(name) == nullptr);
  }
}

TEST_CASE("sim tasks: copies of boxes, fills with patterns of any width") {
  TestDevice device;
  Word* from = device.words(64);
  Word* to = device.words(64);
  for (Word i = 0; i < 64; ++i) {
    from[i] = i;
  }
  // Two slices of three rows of two words: rows of 4 and of 8 words, slices of 16 and of 32.
  device.wait(device.submit(copy_task({address_of(to), 16, 64}, {address_of(from), 32, 128}, 8, 3, 2), {}));
  for (Word z = 0; z < 2; ++z) {
    for (Word y = 0; y < 3; ++y) {
      CHECK(to[z * 16 + y * 4] == z * 32 + y * 8);
      CHECK(to[z * 16 + y * 4 + 1] == z * 32 + y * 8 + 1);
      CHECK(to[z * 16 + y * 4 + 2] == 0);
    }
  }
  const unsigned char pattern[] = {1, 2, 3};
  device.wait(device.submit(fill_task(address_of(to), pattern, sizeof(pattern), 8), {}));
  const auto* bytes = reinterpret_cast<const unsigned char*>(to);
  for (int i = 0; i < 8; ++i) {
    CHECK(bytes[i] == 1 + i % 3);
  }
  Task staged = copy_task(address_of(to), address_of(from), 8);
  stage(staged);
  from[0] = 99;
  device.wait(device.submit(staged, {}));
  CHECK(to[0] == 0);
  CHECK(to[1] == 1);
  check_no_violations();
}

TEST_CASE("sim memory: use of freed memory and beyond the end are violations") {
  for (const std::uint64_t seed : {0U, 1U}) {
    TestDevice device(with_seed(seed));
    Word* x = device.words(4);
    device.wait(device.submit(scale(x, 5, 1, 1), {}));
    CHECK(violations("beyond the end") == 1);
    device.free(x);
    device.wait(device.submit(scale(x, 4, 1, 1), {}));
    CHECK(violations("freed memory") == 1);
    Word local = 0;
    device.wait(device.submit(scale(&local, 1, 1, 1), {}));
    CHECK(violations("not the device's") == 1);
    CHECK(local == 0);
    Word* again = device.words(4);
    CHECK((again == x) == (seed % 2 == 0));
    device.wait(device.submit(scale(again, 4, 1, 1), {}));
    check_no_violations();
  }
}

TEST_CASE("sim graphs: an instance for each launch, which updates do not reach") {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    TestDevice device(with_seed(seed));
    Word* x = device.words(1);
    Graph graph;
    Node nodes[3];
    add_node(graph, nodes[0], scale(x, 1, 1, 1), {});
    add_node(graph, nodes[1], scale(x, 1, 2, 0), {&nodes[0]});
    add_node(graph, nodes[2], scale(x, 1, 1, 3), {});
    CHECK(add_edge(nodes[1], nodes[2]));
    CHECK_FALSE(add_edge(nodes[1], nodes[2]));
    Exec exec;
    REQUIRE(instantiate(graph, exec));
    OperationRef last;
    Word expected = 0;
    for (Word i = 0; i < 50; ++i) {
      const Lock lock;
      find_copy(exec, &nodes[0])->task = scale(x, 1, 1, i);
      last = launch(lock, device.open(), exec, std::array<OperationRef, 1>{last});
      CHECK(exec.in_flight());
      expected = (expected + i) * 2 + 3;
    }
    CHECK(device.wait(last));
    CHECK(*x == expected);
    CHECK_FALSE(exec.in_flight());
    CHECK(add_edge(nodes[2], nodes[0]));
    Exec other;
    CHECK_FALSE(instantiate(graph, other));  // a cycle
    CHECK_FALSE(update_all(exec, graph));
    CHECK(remove_edge(nodes[2], nodes[0]));
    nodes[2].task = scale(x, 1, 1, 100);
    CHECK(update_all(exec, graph));
    CHECK(find_copy(exec, &nodes[2])->task.arguments == nodes[2].task.arguments);
    remove_node(nodes[2]);
    CHECK_FALSE(update_all(exec, graph));
    check_no_violations();
  }
}

TEST_CASE("sim graphs: copies and fills name allocations, not addresses") {
  TestDevice device(with_seed(2));  // addresses come back
  Word* x = device.words(16);
  const Word pattern = 3;
  const auto fill = [&](Word* to) { return fill_task(address_of(to), &pattern, sizeof(pattern), 16 * sizeof(Word)); };
  const auto launch_now = [&](Exec& exec) {
    {
      const Lock lock;
      launch(lock, device.open(), exec, {});
    }
    device.finish();
  };
  Graph graph;
  Node node;
  Exec exec;
  Exec late;
  {
    const Lock lock;
    add_node(graph, node, fill(x), {});
    REQUIRE(instantiate(graph, exec));
  }
  launch_now(exec);
  check_no_violations();
  device.free(x);
  Word* again = device.words(16);
  REQUIRE(again == x);
  launch_now(exec);
  CHECK(violations("a graph is launched whose fill names memory") == 1);
  {
    const Lock lock;
    CHECK_FALSE(instantiate(graph, late));
    CHECK(violations("a graph is instantiated whose fill names memory") == 1);
    Task& changed = find_copy(exec, &node)->task;
    changed = fill(again);
    changed.bind();
  }
  launch_now(exec);
  CHECK(again[15] == pattern);
  check_no_violations();
}

}  // namespace sim
