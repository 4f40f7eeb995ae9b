// What one operation does when it runs: a value, so that graphs and command lists can keep it and launch it again.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "test/sim/core/kernel.h"

namespace sim {

/// Rows of bytes in memory: `start` is the first byte, rows follow each other at `pitch`, slices at `slice`.
struct Box {
  Address start = 0;
  std::size_t pitch = 0, slice = 0;
  [[nodiscard]] Address row(std::size_t y, std::size_t z) const noexcept { return start + y * pitch + z * slice; }
};

struct Task {
  enum class Kind { kEmpty, kKernel, kCopy, kFill, kHost, kFree };
  Kind kind = Kind::kEmpty;

  // kKernel
  const Kernel* kernel = nullptr;
  std::vector<std::byte> arguments;  ///< kernel->bytes() of them
  Shape shape;
  Address grid_in = 0;                      ///< if not 0, shape.grid is there when it runs
  std::map<int, std::uint64_t> attributes;  ///< by their ids; part of shape.set
  bool early = false;                       ///< may begin before the kernel in front of it in its stream has ended

  // kCopy, kFill: depth × height rows of `bytes`
  Box to, from;
  std::size_t bytes = 0, height = 1, depth = 1;
  std::shared_ptr<const std::vector<std::byte>> staged;  ///< what is copied, rows without gaps, instead of `from`
  bool to_pageable = false, from_pageable = false;       ///< not the device's to check
  std::vector<std::byte> pattern;                        ///< of a fill; repeated, from the beginning in each row
  unsigned long long to_id = 0, from_id = 0;             ///< see bind()

  // kFree: the allocation that starts at to.start, unless to_id says that it is another one by then
  // kEmpty: with `bytes`, an allocation at to.start that exists for what comes after it

  // kHost; with `bytes`, it writes them at to.start
  void (*function)(void* data) = nullptr;
  void* data = nullptr;

  /// The shape of a kernel, once what comes before is done.
  [[nodiscard]] Shape shape_now() const;
  /// Everything that it may read or write, for bounds and races, without pageable memory. Under the lock.
  [[nodiscard]] Accesses accesses() const;
  /// False, and a violation, if some of that is not alive, or beyond its end. Under the lock.
  [[nodiscard]] bool usable(const Accesses& accesses, std::uint64_t number) const;
  /// Notes which allocations a copy or fill names: as a node of a graph, it may name no others. Under the lock.
  void bind();
  /// False, and a violation, if one of them was freed since, whatever is at that address now. `what`: "is launched".
  /// Under the lock.
  [[nodiscard]] bool bound(const char* what) const;
  /// For messages: "kernel scale".
  [[nodiscard]] const char* name() const noexcept;
  /// Without the lock.
  void run() const;
};

/// Whether it begins as early as it may.
[[nodiscard]] inline bool may_overtake(const Task& task) noexcept {
  return task.kind == Task::Kind::kKernel && task.kernel->begins_early;
}

/// A copy of `bytes` in one row, and in a box.
Task copy_task(Address to, Address from, std::size_t bytes);
Task copy_task(const Box& to, const Box& from, std::size_t bytes, std::size_t height, std::size_t depth);
/// A fill of `bytes` with a pattern of any width.
Task fill_task(Address to, const void* pattern, std::size_t width, std::size_t bytes);
Task host_task(void (*function)(void*), void* data);
/// Takes the contents of `task`'s source now, so that it may change afterwards (the source of a copy of pageable
/// memory).
void stage(Task& task);

}  // namespace sim
