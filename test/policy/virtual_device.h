// The device of the evaluation: queues that run beside each other, as times only.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "test/policy/costs.h"

namespace refrain::policy {

inline constexpr std::size_t kQueues = 4;

/// A graph as the device sees it: on which queues it counts, and how long it takes once it has started.
struct DeviceGraph {
  std::array<bool, kQueues> uses{};
  std::size_t main = 0;  ///< queue on which it is launched
  Ns length = 0;
};

/// In-order queues; each runs one operation at a time, all of them run at once (that is how the fork-join was
/// measured). `now` is always the time at which the driver's call returns.
class VirtualDevice {
 public:
  explicit VirtualDevice(const Costs& costs) noexcept : costs_(costs) {}

  void kernel(std::size_t queue, Ns duration, Ns now) noexcept {
    const Ns behind = tails_[queue] + (graph_[queue] ? costs_.graph_gap : 0);
    graph_[queue] = false;
    tails_[queue] = std::max(behind, now + costs_.eager_latency) + duration;
  }
  /// Time at which what an event stands for is complete.
  [[nodiscard]] Ns record(std::size_t queue) const noexcept { return tails_[queue]; }
  void wait(std::size_t queue, Ns event) noexcept { tails_[queue] = std::max(tails_[queue], event); }
  /// Returns the time at which the graph is complete.
  Ns launch(const DeviceGraph& graph, Ns now) noexcept {
    Ns behind = 0;
    Ns gap = costs_.graph_gap;
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
      behind = graph.uses[queue] ? std::max(behind, tails_[queue]) : behind;
      gap += graph.uses[queue] && queue != graph.main ? costs_.branch_gap : 0;
    }
    const Ns end = std::max(behind + gap, now + costs_.graph_latency) + graph.length;
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
      tails_[queue] = graph.uses[queue] ? end : tails_[queue];
      graph_[queue] = graph_[queue] || graph.uses[queue];
    }
    return end;
  }
  /// True if launching makes no queue wait for work of another that is not known to come before it anyway.
  [[nodiscard]] bool ready(const DeviceGraph& graph, Ns now) const noexcept {
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
      if (graph.uses[queue] && tails_[queue] > std::max(now, tails_[graph.main])) {
        return false;
      }
    }
    return true;
  }
  /// When everything is done.
  [[nodiscard]] Ns idle_at() const noexcept { return *std::max_element(tails_.begin(), tails_.end()); }

 private:
  const Costs& costs_;
  std::array<Ns, kQueues> tails_{};
  std::array<bool, kQueues> graph_{};  ///< the newest work of the queue is one
};

/// Length of a graph whose nodes come in a topological order: the longest way through it.
class GraphLength {
 public:
  /// `before`: nodes added earlier that this one comes after.
  void add(std::span<const std::uint32_t> before, Ns duration) {
    Ns start = 0;
    for (const std::uint32_t node : before) {
      start = std::max(start, ends_[node]);
    }
    ends_.push_back(start + duration);
    length_ = std::max(length_, ends_.back());
  }
  [[nodiscard]] Ns length() const noexcept { return length_; }

 private:
  std::vector<Ns> ends_;
  Ns length_ = 0;
};

}  // namespace refrain::policy
