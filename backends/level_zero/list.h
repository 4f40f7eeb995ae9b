// An immediate command list of the application, as the backend sees it.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "backends/level_zero/driver_api.h"
#include "capture/operation.h"

namespace refrain::backends {

/// capture::QueueInfo::handle is the address of one. Made by the layer, never freed before the process ends: graphs
/// and threads may still name a list that was destroyed.
struct ImmediateList {
  ze_command_list_handle_t handle = nullptr;
  ze_context_handle_t context = nullptr;
  ze_device_handle_t device = nullptr;
  std::uint32_t ordinal = 0, index = 0;
  int device_number = 0;  ///< the layer's; the same for the parts of one device
  bool in_order = false;
  bool synchronous = false;                           ///< each call returns when the work is done
  level_zero::ImmediateAppend append = nullptr;       ///< null: the driver does not offer it
  const level_zero::MutableLists* updates = nullptr;  ///< null: commands of recorded lists stay as they are
  std::atomic<capture::ObjectId> id{0};               ///< 0 once it is destroyed
  /// Commands given to it so far, each counted after the driver's call, and how many of the first of them are known to
  /// be done. Who wants to know what a wait or a signal covers reads `appended` before the driver's call: while it
  /// lasts other threads may append more.
  std::atomic<std::uint64_t> appended{0};
  std::atomic<std::uint64_t> known_done{0};
  /// Queue of our own with the same engine, made when the first graph is recorded (under the backend's lock).
  std::atomic<ze_command_queue_handle_t> queue{nullptr};

  /// capture::QueueInfo::detail: how it was made. 0: in order, asynchronous, the first of the first group. // format
  struct Made {
    std::uint16_t flags = 0;  ///< kUnordered, kSynchronous
    std::uint16_t ordinal = 0;
    std::uint32_t index = 0;
  };
  static constexpr std::uint16_t kUnordered = 1U << 0U, kSynchronous = 1U << 1U;
  [[nodiscard]] std::uint64_t detail() const noexcept {
    return std::bit_cast<std::uint64_t>(
        Made{static_cast<std::uint16_t>((in_order ? 0U : kUnordered) | (synchronous ? kSynchronous : 0U)),
             static_cast<std::uint16_t>(ordinal), index});
  }

  [[nodiscard]] static ImmediateList& of(capture::Handle handle) noexcept {
    return *reinterpret_cast<ImmediateList*>(handle);
  }
  /// So many are known to be done.
  void done_up_to(std::uint64_t count) noexcept {
    std::uint64_t known = known_done.load(std::memory_order_relaxed);
    while (known < count && !known_done.compare_exchange_weak(known, count, std::memory_order_relaxed)) {
    }
  }
  /// Nothing in it is unfinished.
  [[nodiscard]] bool quiet() const noexcept {
    return appended.load(std::memory_order_relaxed) == known_done.load(std::memory_order_relaxed);
  }
};

}  // namespace refrain::backends
