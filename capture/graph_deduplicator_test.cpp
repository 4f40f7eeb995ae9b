#include "capture/graph_deduplicator.h"

#include <catch2/catch.hpp>

#include "test/capture/capture_files.h"
#include "test/capture/records.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {

TEST_CASE("the same work in streams of other order is another graph") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    ObjectId id = 0;
    for (const DefaultOrder order : {DefaultOrder::kNone, DefaultOrder::kWithDefault, DefaultOrder::kIsDefault}) {
      QueueInfo queue;
      queue.id = ++id;
      queue.default_order = order;
      recorder->define(queue);
      stream.operation(record.kernel({.queue = id, .sequence = id}));
      stream.host_call("cuStreamSynchronize", 0);
    }
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.graphs.size() == 3);
  CHECK(capture.graphs[0].graph().queue_of(0).default_order == DefaultOrder::kNone);
  CHECK(capture.graphs[1].graph().queue_of(0).default_order == DefaultOrder::kWithDefault);
  CHECK(capture.graphs[2].graph().queue_of(0).default_order == DefaultOrder::kIsDefault);
}

TEST_CASE("graphs that were forgotten take no room: what comes after them is known when it repeats") {
  GraphDeduplicator store(std::size_t{64} << 10U);
  TestRecord record;
  const auto add = [&](Token token) {
    const OperationView operation = record.other(token);
    return store.add({&operation, 1}).graph;
  };
  for (Token token = 1; token <= 1000; ++token) {
    add(token);
  }
  CHECK(add(1) == 1000);  // it was among the forgotten
  const std::uint32_t other = add(2);
  for (int i = 0; i < 10; ++i) {
    CHECK(add(1) == 1000);
    CHECK(add(2) == other);
  }
}

TEST_CASE("which waits that lead out are for the same event comes back, in each round the same way") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    describe_program(*recorder);
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    for (std::uint64_t round = 1; round <= 3; ++round) {
      const WaitRef old = kInternalWait | kRepeatedWait | 1, other = 0x1000 * round;
      stream.operation(record.kernel({.function = 1, .waits = {old, other | kOrderedWait}, .sequence = 10 * round}));
      stream.operation(record.kernel({.function = 1, .waits = {old, 0x77, other}, .sequence = 10 * round + 1}));
      stream.host_call("clFinish", 0);
    }
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.graphs.size() == 1);
  const Graph graph = capture.graphs[0].graph();
  const auto waits_of = [&](NodeIndex node) {
    const auto waits = graph.operation(node).waits();
    return std::vector<WaitRef>(waits.begin(), waits.end());
  };
  CHECK(waits_of(0) == std::vector<WaitRef>{kWaitEarlier | kRepeatedWait, kWaitForeign | kOrderedWait});
  CHECK(waits_of(1) == std::vector<WaitRef>{kWaitEarlier | kRepeatedWait, kWaitForeign + 1, kWaitForeign});
  CHECK(is_earlier(waits_of(1)[0]));
  CHECK_FALSE(is_earlier(waits_of(1)[1]));
}

}  // namespace refrain::capture
