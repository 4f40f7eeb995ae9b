// A recorded command list, closed once, with what each submission needs around it.
//
// There are two instances of everything, used in turn, because a list may not be executed again while it runs: with
// both in flight nothing is submitted through it (busy()), and nobody waits.
//
// Where the driver offers zeCommandListImmediateAppendCommandListsExp, a submission is that one call, and a barrier on
// either side if the list has an order that the application's list has not. Elsewhere the list runs on a queue of our
// own, in its place in the application's list by two events:
//
//   application's list:  … barrier(signals start)                      barrier(waits done, signals finished) …
//   our queue:                    [waits start, the commands, signals done] and a fence
//
// `start` is set by the host instead if everything in the application's list is known to be done. An instance is free
// again when its fence and `finished`, which the last command of ours signals, are set: then nothing uses any of its
// events, and the host resets them.
//
// Where lists are mutable, each instance has arguments of its own: an update changes one that does not run, which is
// the next to be submitted, and the other follows when its turn comes. Two sets of arguments in turns so become one for
// each instance, and nothing is changed any more.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "backends/level_zero/kernel_call.h"
#include "backends/level_zero/list.h"
#include "backends/level_zero/list_arguments.h"

namespace refrain::backends {

class LevelZeroBackend;

/// Everything of the driver that one instance has. Not thread-safe.
struct ListInstance {
  const ImmediateList* of = nullptr;
  ze_command_list_handle_t list = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t start = nullptr, done = nullptr, finished = nullptr;
  ze_fence_handle_t fence = nullptr;  ///< null: it is appended to the application's list
  bool submitted = false;             ///< at least once
  bool broken = false;                ///< an event may be used for ever: given back with the application's list only
  bool spoilt = false;                ///< a change of its list failed: never submitted again
  ListArguments arguments;            ///< of the list's kernels, where they can be changed
  std::uint64_t version = 0;          ///< of the arguments

  [[nodiscard]] bool running(const LevelZeroDriver& driver) const noexcept {
    return submitted && (driver.zeEventQueryStatus(finished) == ZE_RESULT_NOT_READY ||
                         (fence != nullptr && driver.zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY));
  }
  /// Waits until it does not run. Not for broken ones.
  void wait(const LevelZeroDriver& driver) const noexcept;
  /// Makes it ready for another submission. It must not run.
  ze_result_t reset(const LevelZeroDriver& driver) const noexcept;
  /// Gives it back to the driver. It must not run.
  void destroy(const LevelZeroDriver& driver) noexcept;
};

class LevelZeroCommandBuffer final : public CommandBuffer {
 public:
  static constexpr std::size_t kInstances = 2;

  explicit LevelZeroCommandBuffer(LevelZeroBackend& backend) noexcept : backend_(backend) {}
  ~LevelZeroCommandBuffer() override;
  LevelZeroCommandBuffer(const LevelZeroCommandBuffer&) = delete;
  LevelZeroCommandBuffer& operator=(const LevelZeroCommandBuffer&) = delete;

  /// Under the backend's recording lock, when the list has what it needs. May throw std::bad_alloc.
  ze_result_t record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes);

  /// `waits` is empty and `done` gets no event: the commands name the application's events themselves.
  Status enqueue(std::span<const Event> waits, Event* done) noexcept override;
  Status update(std::span<const NodeUpdate> updates) noexcept override;
  [[nodiscard]] bool busy() const noexcept override;

 private:
  friend class LevelZeroBackend;
  ze_result_t make(ListInstance& instance);
  ze_result_t fill(ListInstance& instance, const capture::Graph& graph, std::span<const capture::NodeIndex> nodes);
  ze_result_t submit_appended(ListInstance& instance) noexcept;
  ze_result_t submit_queued(ListInstance& instance) noexcept;
  /// One that does not run: the next one, or with `current` one that has the arguments wanted, if there is one.
  [[nodiscard]] ListInstance* free_instance(bool current) noexcept;
  [[nodiscard]] bool usable(const ListInstance& instance) const noexcept {
    return instance.list != nullptr && !instance.broken && !instance.spoilt;
  }
  /// Gives the instance the arguments wanted.
  ze_result_t bring_up_to_date(ListInstance& instance) noexcept;

  LevelZeroBackend& backend_;
  ImmediateList* list_ = nullptr;
  capture::ObjectId list_id_ = 0;
  bool comes_after_all_ = false;  ///< some command comes after everything before it in the application's list
  bool blocks_later_ = false;     ///< everything after it in the application's list comes after some command
  bool mutable_ = false;
  std::unordered_map<capture::NodeIndex, std::size_t> kernels_;  ///< if mutable: places in `wanted_`
  std::vector<OwnRecord> wanted_;                                ///< what the next submission is to launch
  std::uint64_t version_ = 0;                                    ///< of what is wanted
  std::uint64_t newest_version_ = 0;
  ListInstance instances_[kInstances];
  std::size_t next_ = 0;
};

}  // namespace refrain::backends
