// What a program's queues, memory and the like are on a device.
#pragma once

#include <mutex>
#include <vector>

#include "test/property/machine.h"

namespace property {

class GateWatch;

/// What all threads of a program share; each object is one thread's at a time.
struct Shared {
  const Program& program;
  portable::Device& device;
  std::vector<portable::Queue*> queues;
  std::vector<portable::Memory*> memory;
  std::vector<portable::Graph*> graphs;
  std::vector<portable::Event*> graph_events;
  std::vector<portable::Event*>
      graph_done;  ///< that the last launch of each completes: one of graph_events, or of events
  std::vector<portable::Event*> events;
  std::vector<std::uint8_t> recorded;
  std::mutex kernels_mutex;
  std::vector<portable::Kernel*> kernels;  ///< that may only go when nothing runs
  std::vector<portable::Gate*> gates;
  GateWatch* watch = nullptr;
};

/// Makes all of it but `watch`.
void set_up(Shared& shared);
/// Waits for everything, stops `watch`, gives all of it back; what is in the memory at the end.
Result finish(Shared& shared);

}  // namespace property
