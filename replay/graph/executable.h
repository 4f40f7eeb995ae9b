// A graph made executable: its parts as native command buffers, for one set of arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "capture/graph.h"
#include "env/settings.h"
#include "replay/graph/submit.h"

namespace refrain::replay {

/// Records of one occurrence of a repeating stretch, in the order of submission. Owns its bytes.
struct Occurrence {
  std::vector<std::byte> storage;
  std::vector<std::size_t> offsets;
  std::vector<capture::QueueInfo> queues;  ///< of all queues named

  [[nodiscard]] std::size_t size() const noexcept { return offsets.size(); }
  [[nodiscard]] capture::OperationView operation(std::size_t index) const noexcept {
    return capture::OperationView(storage.data() + offsets[index]);
  }
  void clear() noexcept {
    storage.clear();
    offsets.clear();
    queues.clear();
  }
  void add(const capture::OperationView& operation);
};

/// True for operations whose arguments can be changed in a graph, where the device can change any.
[[nodiscard]] bool is_changeable(const capture::OperationView& operation) noexcept;

class Discarder;

/// Used by one thread at a time; destroying it while it runs is safe.
class Executable {
 public:
  /// Builds the graph, splits it and records its parts. Null if that makes no sense or fails; then
  /// `why` says why, in the user's words, and `later` whether it may be tried again soon. Slow: for the background
  /// thread.
  static std::unique_ptr<Executable> build(const Occurrence& occurrence, const env::Settings& settings,
                                           backends::Backend& backend, std::string* why, bool* later = nullptr);

  Executable() = default;
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// What it has of the driver goes back through this, which must outlive it; else where it is destroyed.
  void give_back_through(Discarder& discarder) noexcept { discarder_ = &discarder; }

  /// True if these operations are exactly the recorded ones.
  [[nodiscard]] bool matches(std::span<const capture::OperationView> operations) const noexcept;
  /// Writes changed arguments, sizes and functions into the command buffers, and nothing else. False if something else
  /// differs or the device cannot do it; then nothing has changed, or dead() says that it has.
  bool update(std::span<const capture::OperationView> operations) noexcept;
  /// True if every part may be enqueued now.
  [[nodiscard]] bool available() const noexcept;
  /// True if a part still runs, whether or not it may be enqueued again meanwhile.
  [[nodiscard]] bool runs() const noexcept;

  /// Submits the operations, which must match. Keeps their promises. Whatever a failing part leaves
  /// is issued eagerly. `failed` tells that a part failed (retire this graph then).
  /// Returns the first error of an operation that was issued eagerly, else 0.
  int launch(const SubmitContext& context, std::span<const capture::OperationView> operations, bool* failed);
  /// The same with the operations that it holds, if none of them promises an event, or waits for anything but its
  /// queue. None is looked at, unless something fails.
  int launch_plain(const SubmitContext& context, bool* failed);

  /// For verify, while nothing of it runs: later launches do the work of the first `end` operations only; of size():
  /// all. False: it cannot, and must not be launched any more.
  bool run_before(std::size_t end) noexcept;

  /// Shares the operations with their current arguments; a later update() works on a copy.
  [[nodiscard]] std::shared_ptr<const Occurrence> lend() noexcept {
    lent_ = true;
    return recorded_;
  }

  /// True if `lent` is what lend() returned, with no update() since.
  [[nodiscard]] bool holds(const Occurrence& lent) const noexcept { return !dead_ && recorded_.get() == &lent; }
  /// The operations with the arguments that it holds now, until they are changed.
  [[nodiscard]] std::size_t size() const noexcept { return recorded_->size(); }
  [[nodiscard]] capture::OperationView operation(std::size_t index) const noexcept {
    return recorded_->operation(index);
  }
  /// How many operations the last update changed. What a host function is given does not count: it is mostly made for
  /// the call, and no reason for an instance of its own.
  [[nodiscard]] std::size_t changed() const noexcept { return changed_; }
  /// Whether the last update changed which objects are named.
  [[nodiscard]] bool objects_changed() const noexcept { return objects_changed_; }
  /// True if an update failed halfway: it cannot be launched any more.
  [[nodiscard]] bool dead() const noexcept { return dead_; }
  [[nodiscard]] const capture::Graph& graph() const noexcept { return graph_; }
  [[nodiscard]] std::size_t part_count() const noexcept { return parts_.size(); }
  [[nodiscard]] std::size_t native_nodes() const noexcept { return native_nodes_; }
  /// Ids of all objects named by arguments, and of queues; sorted, unique.
  [[nodiscard]] const std::vector<capture::ObjectId>& objects() const noexcept { return objects_; }
  /// Rough memory use of records and command buffers, in bytes.
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  struct Part {
    std::unique_ptr<backends::CommandBuffer> buffer;  ///< null: one operation issued eagerly
    std::vector<capture::NodeIndex> nodes;
    std::vector<std::uint32_t> waits;  ///< parts whose event it must wait for
    capture::QueueInfo queue;
    bool signals = false;  ///< another part waits for its event
    bool flushes = false;  ///< contains a flush: the queue is flushed afterwards
    bool simultaneous = false;
  };

  Discarder* discarder_ = nullptr;
  capture::Graph graph_;
  std::shared_ptr<Occurrence> recorded_;  ///< never null once it is built
  bool lent_ = false;
  std::vector<Part> parts_;
  bool plain_ = true;  ///< all parts are recorded, and none waits for another or flushes
  std::vector<capture::ObjectId> objects_;
  std::vector<std::vector<backends::NodeUpdate>> updates_;  ///< per part; keeps its memory
  std::vector<std::vector<backends::Event>> done_;          ///< of launch(), per part; keeps its memory
  std::size_t changed_ = 0;
  std::size_t native_nodes_ = 0;
  bool objects_changed_ = false;
  bool can_update_ = false;
  bool can_resize_ = false;
  bool can_change_functions_ = false;
  bool dead_ = false;
};

}  // namespace refrain::replay
