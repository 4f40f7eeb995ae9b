#include "test/property/shared.h"

#include <array>

#include "test/portable/kernels.h"
#include "test/property/gate_watch.h"
#include "test/property/words.h"

namespace property {

using namespace portable;

namespace {

void make_graph(Shared& shared, const std::vector<GraphStep>& steps, Queue* queue) {
  Device& device = shared.device;
  Kernel* const scaling = device.find_kernel("scale");
  Kernel* const mixing = device.find_kernel("mix_in");
  const auto memory = [&](int index) { return shared.memory[static_cast<std::size_t>(index)]; };
  device.begin_graph(queue);
  for (const GraphStep& step : steps) {
    Memory* to = memory(step.to);
    Memory* from = memory(step.from);
    const std::array<std::byte, 4> pattern{std::byte(step.value), std::byte(1), std::byte(2), std::byte(3)};
    switch (step.kind) {
      case Kind::kScale: scale(device, queue, scaling, to, kWords, 3, step.value); break;
      case Kind::kMix: mix_in(device, queue, mixing, to, from, kWords, step.value); break;
      case Kind::kCopy: device.copy(queue, {to, 16}, {from, 0}, 64); break;
      default: device.fill(queue, {to, 8}, pattern, 32); break;
    }
  }
  shared.graphs.push_back(device.end_graph(queue));
  shared.kernels.insert(shared.kernels.end(), {scaling, mixing});  // they may be needed until the end
}

}  // namespace

void set_up(Shared& shared) {
  const Program& program = shared.program;
  Device& device = shared.device;
  if (program.peers && device.devices() > 1) {
    device.allow_peers();
  }
  for (std::size_t i = 0; i < program.queues.size(); ++i) {
    device.use_device(program.queue_devices[i]);
    shared.queues.push_back(device.make_queue(program.queues[i]));
  }
  device.use_device(0);
  Queue* queue = device.make_queue(QueueKind::kInOrder);
  for (std::size_t i = 0; i < program.memory.size(); ++i) {
    device.use_device(program.memory_devices[i]);
    Memory* made =
        program.in_order[i] ? device.allocate_in_order(queue, kBytes) : device.allocate(program.memory[i], kBytes);
    const Words words = words_of(static_cast<Word>(program.seed) + static_cast<Word>(1000 * i));
    device.write(queue, {made, 0}, words.data(), kBytes);
    shared.memory.push_back(made);
  }
  device.use_device(0);
  for (int i = 0; i < program.events; ++i) {
    shared.events.push_back(device.make_event(device.cannot(Feature::kTimedEvent) == nullptr &&
                                              (program.seed + static_cast<std::uint64_t>(i)) % 7 == 0));
  }
  for (const bool by_queue : program.gates) {
    shared.gates.push_back(device.make_gate(by_queue));
  }
  shared.recorded.assign(static_cast<std::size_t>(program.events), 0);
  device.synchronize(queue);
  if (!program.graphs.empty()) {
    for (const auto& graph : program.graphs) {
      make_graph(shared, graph, queue);
      shared.graph_events.push_back(device.make_event());
    }
  }
  shared.graph_done = shared.graph_events;
  device.release(queue);
}

Result finish(Shared& shared) {
  Device& device = shared.device;
  Result result;
  result.memory = 0xCBF29CE484222325ULL;
  device.synchronize();
  Queue* queue = device.make_queue(QueueKind::kInOrder);
  for (std::size_t i = 0; i < shared.memory.size(); ++i) {
    Words words{};
    device.read(queue, words.data(), {shared.memory[i], 0}, kBytes);
    mix_into(&result.memory, std::as_bytes(std::span(words)));
    if (shared.program.in_order[i]) {
      device.release_in_order(queue, shared.memory[i]);
    } else {
      device.release(shared.memory[i]);
    }
  }
  device.synchronize(queue);
  device.release(queue);
  for (Graph* graph : shared.graphs) {
    device.release(graph);
  }
  for (Kernel* kernel : shared.kernels) {
    device.release(kernel);
  }
  for (const auto& list : {shared.events, shared.graph_events}) {
    for (Event* event : list) {
      device.release(event);
    }
  }
  for (Queue* each : shared.queues) {
    device.release(each);
  }
  shared.watch->stop();
  for (Gate* gate : shared.gates) {
    device.release(gate);
  }
  return result;
}

}  // namespace property
