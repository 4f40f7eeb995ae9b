// Memory by address of Level Zero, for verify.
#pragma once

#include "backends/level_zero/event_states.h"
#include "backends/level_zero/memory_copies.h"
#include "backends/memory_through_host.h"
#include "backends/reach.h"

namespace refrain::backends {

/// What the layer knows that makes the inventory. Thread-safe.
class LevelZeroFacts {
 public:
  virtual ~LevelZeroFacts() = default;
  /// What kernels in the list may do with it; kNone: it is of another context, or not there any more.
  [[nodiscard]] virtual Reach reach(const LiveMemory& memory, const ImmediateList& list) noexcept = 0;
  /// Whether the program's command queues have no work. May wait for them, not for long.
  [[nodiscard]] virtual bool queues_are_idle() noexcept = 0;
};

class LevelZeroMemory final : public MemoryThroughHost {
 public:
  /// `driver` must outlive this.
  explicit LevelZeroMemory(const LevelZeroDriver& driver) noexcept
      : driver_(driver), events_(driver), copies_(driver) {}

  /// Before the first check. Both must outlive this. Does nothing if the driver has not all that it takes.
  void use(MemoryInventory& inventory, LevelZeroFacts& facts) noexcept;
  [[nodiscard]] bool usable() const noexcept { return inventory_ != nullptr; }
  /// Gives back what was made in it, before it is destroyed. Between begin_freeing() and end_freeing() of the
  /// inventory, one call at a time.
  void context_gone(ze_context_handle_t context) noexcept { copies_.context_gone(context); }
  /// Of the check that is under way.
  [[nodiscard]] EventStates& events() noexcept { return events_; }

  [[nodiscard]] const char* why_not(const capture::QueueInfo& queue,
                                    std::span<const capture::OperationView> operations) noexcept override;
  bool begin(const capture::QueueInfo& queue, std::vector<MemoryRange>* device, std::vector<MemoryRange>* host,
             const char** why) noexcept override;
  void end(bool idle) noexcept override;

 protected:
  Status move(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept override;
  [[nodiscard]] Status out_of_memory() const noexcept override {
    return {static_cast<int>(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)};
  }

 private:
  const LevelZeroDriver& driver_;
  EventStates events_;
  MemoryInventory* inventory_ = nullptr;
  LevelZeroFacts* facts_ = nullptr;
  // Of the check that is under way.
  MemoryCopies copies_;
  bool is_held_ = false;  ///< the inventory
};

}  // namespace refrain::backends
