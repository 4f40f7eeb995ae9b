// What driver, device and layer cost, in nanoseconds: the only table of numbers of the policy evaluation.
//
// Sources. [D] DESIGN.md section 5 and promise 6; [P] docs/performance.md as it was then, "CUDA on an H200"
// (NVIDIA H200, driver 580.159.04, CUDA 13.0; 2026-11-21); [O] the same file, "Cost per call" (OpenCL). [=] follows
// from measured totals. [A] an assumption nobody measured; it says which way it leans.
//
//   figure                   H200            source
//   eager_launch             3300            [D] 2.8–4.7 us; [P] 1000 kernels and a wait 3351 us, 100 kernels 329 us
//   graph_launch             1.2–3.3 us      [P] graph_costs: graphs of 8, 32, 128, 256, 1000 nodes
//   instantiate              0.03–2 ms       [P] the same graphs, upload included: 28, 79, 280, 528, 2010 us
//   update                   350 a node      [P] graph_costs: 0.33–0.36 us; [D] 0.5 us
//   record, wait             150             [P] graph_costs: event without timing 0.145 us, stream wait 0.133 us
//   sync + eager_latency     1600            [=] memset, kernel, 8-byte copy, sync: 12.3 us [D], 12.8 us [P]
//   graph_latency            6000 / 12000    [=] hand-made graphs of 100 and 3 nodes: 76.1 and 10.1 us [P]; and the
//                                            graph of 3 nodes that took 17.8 us [D]: a cost set of its own
//   graph_gap                1000            [=] 1000 kernels in 8 growing chunks 672.5 us, as one graph 664.2 us [P];
//                                            [A] the same between a graph and a launch
//   branch_gap               700             [P] graph_costs: a graph of four branches behind another one, 3 us
//   stall                    1 ms            [D] launches of other threads while a large graph is built
//   observe, hold            150, 200        [P] over the real driver 60 to 153 ns (24 over one that does nothing);
//                                            0.2 us to hold a call of the fork-join. OpenCL: 47 and 213 [O]
//   h200-cold                a framework between the calls, whose code and data push the driver's out of the caches
//                            (PyTorch, the layer's own reports, 2026-11-22): 5 us a launch, 5.3 to 7.3 us a graph of 2
//                            to 16 nodes, holding 0.13 to 0.5 us
//   device time of a node    the grid's      [A] the same eagerly and in a graph. In truth graphs save a little there,
//                                            so this leans against replay
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/backend.h"

namespace refrain::policy {

using Ns = std::uint64_t;

/// A cost that depends on the number of nodes: straight lines between five measured points.
struct ByNodes {
  static constexpr std::array<double, 5> kNodes = {8, 32, 128, 256, 1000};
  std::array<double, 5> ns{};

  [[nodiscard]] Ns of(std::size_t nodes) const noexcept {
    const auto n = static_cast<double>(nodes);
    std::size_t i = 0;
    while (i + 2 < kNodes.size() && n > kNodes[i + 1]) {
      ++i;
    }
    if (n <= kNodes[0]) {
      return static_cast<Ns>(ns[0]);  // fewer nodes cost no less: what is there is the fixed part
    }
    return static_cast<Ns>(ns[i] + (ns[i + 1] - ns[i]) * (n - kNodes[i]) / (kNodes[i + 1] - kNodes[i]));
  }
};

struct Costs {
  std::string_view name;

  // The driver, on the calling thread.
  Ns eager_launch = 3300;
  ByNodes graph_launch{{1220, 1290, 1710, 2010, 3250}};
  ByNodes instantiate{{28'000, 79'000, 280'000, 528'000, 2'010'000}};  ///< on the background thread
  Ns update = 350;                                                     ///< per node
  Ns record = 150, wait = 150;                                         ///< events, issued eagerly
  std::size_t stall_from = 64;   ///< a launch while a graph of so many nodes is built …
  Ns longest_stall = 1'000'000;  ///< … is late by what is left of the building, up to this; once per graph

  // The device.
  Ns eager_latency = 600;   ///< from the end of the call to the start of the work
  Ns graph_latency = 6000;  ///< the same of a graph
  Ns graph_gap = 1000;      ///< between a graph and the work before and behind it in its queue
  Ns branch_gap = 700;      ///< … and so much more for each further queue that it is divided among
  Ns graph_node = 0;        ///< what a node takes longer in a graph than eagerly
  Ns sync = 1000;           ///< from the end of the work to the return of the wait

  // The layer, on the calling thread, per call.
  Ns observe = 150;   ///< looked at and issued, between two calls of a driver that leaves nothing in the caches
  Ns describe = 100;  ///< the record, if it is wanted while the call is issued
  Ns hold = 200;      ///< held, compared and launched: everything but the driver's launch
  Ns asleep = 10;     ///< while the lane sleeps
  Ns host_call = 40;  ///< a wait

  backends::ChunkSizes chunks{8, 2, 128, 8, 256};
  bool can_update = true;
  unsigned processors = 16;
};

inline constexpr Costs h200() noexcept {
  Costs costs;
  costs.name = "h200";
  return costs;
}

/// The graph of three nodes that lost [D]: 17.8 us against 12.3 us.
inline constexpr Costs h200_late() noexcept {
  Costs costs;
  costs.name = "h200-late";
  costs.graph_latency = 12'000;
  return costs;
}

/// The H200 below a framework.
inline constexpr Costs h200_cold() noexcept {
  Costs costs;
  costs.name = "h200-cold";
  costs.eager_launch = 5000;
  costs.graph_launch = {{5800, 7500, 10'000, 12'000, 20'000}};
  costs.observe = 300;
  costs.describe = 200;
  costs.hold = 400;
  costs.host_call = 200;
  return costs;
}

/// A GPU with cl_khr_command_buffer and without mutable dispatch. [A] Nobody here has one: the H200's driver and device
/// with what is measured of Refrain's OpenCL layer [O] and its default chunks.
inline constexpr Costs opencl() noexcept {
  Costs costs;
  costs.name = "opencl";
  costs.observe = 47;
  costs.describe = 60;
  costs.hold = 213;
  costs.chunks = {};
  costs.can_update = false;
  return costs;
}

/// PoCL 3.1 on two processors: 1000 kernels take 4.3 ms eagerly and 7.9 ms as a command buffer [D]. Which part of it is
/// whose is not known: [A] 3.8 us of a launch are the host's, and a recorded kernel takes 7.4 us more than an issued
/// one.
inline constexpr Costs pocl() noexcept {
  Costs costs = opencl();
  costs.name = "pocl";
  costs.eager_launch = 3800;
  costs.graph_node = 7400;
  costs.processors = 2;
  return costs;
}

}  // namespace refrain::policy
