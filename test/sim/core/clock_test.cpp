#include "test/sim/core/clock.h"

#include <atomic>

#include "test/sim/core/checks.h"
#include "test/sim/core/test_device.h"

namespace sim {
namespace {

constexpr Word kCount = 8;

Settings in_virtual_time(std::uint64_t seed = 0) {
  Settings changed;
  changed.seed = seed;
  changed.virtual_time = true;
  REQUIRE(
      parse_costs("submit=3us,launch=2us,node=0.9us,update=500,instantiate=5us,kernel=1us,kernel:mix_in=10us,copy=4us",
                  &changed.costs));
  return changed;
}

}  // namespace

TEST_CASE("sim costs: texts") {
  Costs costs;
  CHECK(parse_costs("", &costs));
  CHECK(parse_costs("submit=1ms,kernel:a=2", &costs));
  CHECK(costs.submit == 1e6);
  CHECK(costs.kernels.at("a") == 2);
  for (const char* bad : {"submit", "submit=", "submit=x", "submit=-1us", "submit=1s", "other=1us", "submit=nan"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_costs(bad, &costs));
  }
  CHECK(costs.submit == 1e6);
}

TEST_CASE("sim virtual time: nothing runs but in calls that wait, and times are sums of costs") {
  TestDevice device(in_virtual_time());
  Word* x = device.words(kCount);
  Word* y = device.words(kCount);
  Word* z = device.words(kCount);
  const double start = host_ns();
  const auto first = device.submit(scale(x, kCount, 1, 1), {});
  const auto second = device.submit(mix_in(y, x, kCount, 0), {first});
  const auto other = device.submit(copy_task(address_of(z), address_of(x), 4), {first});
  CHECK(host_ns() - start == 9000);
  CHECK(x[0] == 0);
  CHECK(device.wait(second));
  CHECK(y[0] == 1);
  // Submitted at 3, 6 and 9 us; the kernels take 1 and 10 us.
  CHECK(first->done_ns - start == 4000);
  CHECK(second->started_ns - start == 6000);
  CHECK(host_ns() - start == 16000);
  CHECK(device.wait(other));
  CHECK(other->done_ns - start == 13000);
  CHECK(host_ns() - start == 16000);
  check_no_violations();
}

TEST_CASE("sim virtual time: queries say not ready until the time has come, and end") {
  TestDevice device(in_virtual_time(1));
  Word* x = device.words(kCount);
  Word* y = device.words(kCount);
  const auto slow = device.submit(mix_in(y, x, kCount, 5), {});
  int queries = 0;
  for (bool done = false; !done; ++queries) {
    Lock lock;
    poll(lock);
    done = is_done(lock, slow);
    CHECK((y[0] == 5) == done);
  }
  CHECK(queries == 100);  // 10 us at 100 ns
  Lock lock;
  const auto signal = std::make_shared<Signal>();
  const auto waiting = schedule(lock, device.open(), {}, {}, {{signal}, {}, {}});
  const double before = host_ns();
  CHECK_FALSE(wait_at_most(lock, waiting, 7000));
  CHECK(host_ns() - before == 7000);
  set_signal(lock, signal);
  CHECK(wait_at_most(lock, waiting, 7000));
  check_no_violations();
}

TEST_CASE("sim virtual time: a graph against single submissions") {
  TestDevice device(in_virtual_time(2));
  Word* x = device.words(kCount);
  Graph graph;
  std::vector<Node> nodes(10);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    add_node(graph, nodes[i], scale(x, kCount, 1, 1),
             i == 0 ? std::vector<Node*>{} : std::vector<Node*>{&nodes[i - 1]});
  }
  Exec exec;
  double before = host_ns();
  REQUIRE(instantiate(graph, exec));
  CHECK(host_ns() - before == 50000);
  before = host_ns();
  OperationRef last;
  {
    const Lock lock;
    last = launch(lock, device.open(), exec, {});
  }
  CHECK(host_ns() - before == 2000);
  CHECK(device.wait(last));
  CHECK(host_ns() - before == 12000);
  before = host_ns();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    last = device.submit(scale(x, kCount, 1, 1), {last});
  }
  CHECK(device.wait(last));
  CHECK(host_ns() - before == 31000);
  CHECK(x[0] == 20);
  check_no_violations();
}

TEST_CASE("sim virtual time: the same seed gives the same order, others give others") {
  const auto order_of = [](std::uint64_t seed) {
    TestDevice device(in_virtual_time(seed));
    std::vector<int> order;
    struct Step {
      std::vector<int>* order;
      int number;
    };
    std::vector<Step> steps(20);
    for (int i = 0; i < 20; ++i) {
      steps[static_cast<std::size_t>(i)] = {&order, i};
      device.submit(host_task(
                        [](void* data) {
                          const auto* step = static_cast<Step*>(data);
                          step->order->push_back(step->number);
                        },
                        &steps[static_cast<std::size_t>(i)]),
                    {});
    }
    device.finish();
    return order;
  };
  CHECK(order_of(1) == order_of(1));
  CHECK(order_of(2) == order_of(2));
  CHECK(order_of(1) != order_of(2));
}

TEST_CASE("sim checks: lists, kernels and signals that are changed in flight") {
  TestDevice device(in_virtual_time());
  Word* x = device.words(kCount);
  const auto kernel = std::make_shared<OpenWork>();
  const auto signal = std::make_shared<Signal>();
  Graph graph;
  Node node;
  add_node(graph, node, scale(x, kCount, 1, 1), {}, {{}, {signal}, {}});
  node.user = kernel;
  Exec exec;
  REQUIRE(instantiate(graph, exec));
  OperationRef last;
  {
    const Lock lock;
    CHECK(must_be_idle(lock, exec, "reset of a list"));
    last = launch(lock, device.open(), exec, {});
    CHECK_FALSE(must_be_idle(lock, exec, "reset of a list"));
    CHECK_FALSE(must_be_idle(lock, kernel, "a kernel is destroyed"));
    CHECK_FALSE(must_be_unused(lock, *signal, "an event is reset"));
  }
  CHECK(take_violations().size() == 3);
  device.wait(last);
  const Lock lock;
  CHECK(must_be_idle(lock, exec, "reset of a list"));
  CHECK(must_be_idle(lock, kernel, "a kernel is destroyed"));
  CHECK(must_be_unused(lock, *signal, "an event is reset"));
  check_no_violations();
}

}  // namespace sim
