// Cuts one lane's stream of operations into stretches: what lies between two host calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/format.h"
#include "capture/operation.h"

namespace refrain::capture {

/// Receives stretches. The views are valid during the call.
class StretchSink {
 public:
  virtual void stretch(std::span<const OperationView> operations, std::uint32_t ended_by, std::uint64_t end_ns) = 0;

 protected:
  ~StretchSink() = default;
};

/// Where to cut `keys` (all of them are too many for one graph): the number of keys to take, at least half
/// of them. If they repeat with some period, a multiple of the smallest one, so that an endless loop gives
/// equal stretches. Else the place where the content itself says so (the smallest hash of neighbours):
/// loops too long for the window fall into step after a few cuts, wherever they began.
std::size_t choose_cut(std::span<const std::uint64_t> keys);

/// Not thread-safe.
class Splitter {
 public:
  explicit Splitter(StretchSink& sink) noexcept : sink_(&sink) {}

  void operation(const OperationView& operation);
  /// Returns false if nothing was submitted since the last cut.
  bool host_call(std::uint32_t entry_point, std::uint64_t time_ns);
  /// What no cut has ended yet. Valid until the next call.
  std::span<const OperationView> open();
  [[nodiscard]] std::size_t open_count() const noexcept { return offsets_.size(); }

 private:
  void emit(std::size_t count, std::uint32_t ended_by, std::uint64_t end_ns);

  StretchSink* sink_;
  std::vector<std::byte> storage_;
  std::vector<std::size_t> offsets_;
  std::vector<std::uint64_t> keys_;
  std::vector<OperationView> views_;
};

}  // namespace refrain::capture
