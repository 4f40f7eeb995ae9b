// What driver, device and layer cost, in nanoseconds: the only table of numbers of the policy evaluation.
// Where each is from, and which are assumptions: docs/decisions/0020-costs-of-the-policys-grid.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/chunk_sizes.h"

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
  Ns dormant = 10;    ///< while the lane is
  Ns host_call = 40;  ///< a wait

  backends::ChunkSizes chunks = backends::kCudaChunkSizes;
  bool can_update = true;
  unsigned processors = 16;
};

inline constexpr Costs h200() noexcept {
  Costs costs;
  costs.name = "h200";
  return costs;
}

/// A driver that starts graphs so late that small ones lose.
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
  costs.instantiate = {{300'000, 350'000, 500'000, 800'000, 2'300'000}};
  costs.stall_from = 1;
  costs.longest_stall = 280'000;
  costs.eager_launch = 5000;
  costs.graph_launch = {{5800, 7500, 10'000, 12'000, 20'000}};
  costs.observe = 300;
  costs.describe = 200;
  costs.hold = 400;
  costs.host_call = 200;
  return costs;
}

/// A GPU with cl_khr_command_buffer and without mutable dispatch. An assumption: the H200's driver and device
/// with what Refrain's OpenCL layer costs, and its default chunks.
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

/// PoCL 3.1 on two processors, where command buffers are slower than the same commands enqueued one by one. Which part
/// of that is the host's is an assumption.
inline constexpr Costs pocl() noexcept {
  Costs costs = opencl();
  costs.name = "pocl";
  costs.eager_launch = 3800;
  costs.graph_node = 7400;
  costs.processors = 2;
  return costs;
}

}  // namespace refrain::policy
