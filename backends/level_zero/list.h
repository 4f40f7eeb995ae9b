// An immediate command list of the application, as the backend sees it.
#pragma once

#include <atomic>
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
