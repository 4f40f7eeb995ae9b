// Memory that copies and fills of graphs name, and when it goes.
//
// A node with a copy or a fill is made for the allocations that it names (CUDA's driver looks them up and refuses what
// is freed). No program frees memory while it makes such a node; but here graphs are made in the background, from work
// of a while ago. So a free waits for the recording that names the memory, and no graph is recorded with what is gone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "env/mutex.h"
#include "env/stuck_check.h"

namespace refrain::backends {

/// What an address belongs to, as the API tells it.
enum class MemoryType : std::uint32_t { kNone, kHost, kDevice, kOther };

struct Allocation {
  std::uint64_t start = 0, bytes = 0;
  std::uint64_t id = 0;  ///< never used again
  MemoryType type = MemoryType::kNone;
  int device = 0;
};

/// Allocations are known by their first address. Thread-safe.
class NamedMemory {
 public:
  /// `maker`: of the thread that records. Should the driver never return to it, nobody waits any more.
  explicit NamedMemory(env::StuckCheck& maker) noexcept : maker_(maker) {}

  /// Any memory may be meant. (0 is none: freeing a null pointer is allowed.)
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};

  /// While it exists, no graph that names the memory is recorded.
  class [[nodiscard]] Going {
   public:
    Going(Going&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), start_(other.start_) {}
    Going& operator=(Going&&) = delete;
    ~Going();

   private:
    friend class NamedMemory;
    Going(NamedMemory* owner, std::uint64_t start) noexcept : owner_(owner), start_(start) {}
    NamedMemory* owner_;
    std::uint64_t start_;
  };
  /// Before the program's call that frees the allocation at `start`, or kAny. Waits while a graph that names it is
  /// being recorded (as long as adding and instantiating its nodes takes), but not for ever (0.5 s): a driver may let
  /// that wait for work that only ends when this thread goes on.
  Going goes(std::uint64_t start) noexcept;
  /// While it is going: it is freed in stream order. The driver may know it still, but no graph may name it, until it
  /// is allocated() again. If nobody tells that, give the allocation's id: then another id is another allocation.
  void freed_in_order(std::uint64_t start, std::uint64_t id = 0) noexcept;
  void allocated(std::uint64_t start) noexcept;
  /// Counts what may have made an address mean another allocation. One relaxed load.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }
  /// Something else than a free made addresses mean other allocations.
  void changed() noexcept { changes_.fetch_add(1, std::memory_order_relaxed); }

  /// While it exists, a thread of the program waits for the end of a recording: no pauses in it, then.
  class [[nodiscard]] Waiting {
   public:
    explicit Waiting(NamedMemory& owner) noexcept : owner_(owner) { ++owner_.awaited_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { --owner_.awaited_; }

   private:
    NamedMemory& owner_;
  };
  [[nodiscard]] bool awaited() const noexcept { return awaited_.load(std::memory_order_relaxed) != 0; }
  /// True if a free of named memory went on without waiting for the end of the recording: no graph may be made then.
  /// Until the last recording ends.
  [[nodiscard]] bool gone_meanwhile() const noexcept { return gone_meanwhile_.load(std::memory_order_acquire); }

  /// The recording thread's: what it names does not go until the end of this.
  class [[nodiscard]] Recording {
   public:
    Recording() noexcept = default;
    Recording(Recording&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Recording& operator=(Recording&& other) noexcept {
      end();
      owner_ = std::exchange(other.owner_, nullptr);
      return *this;
    }
    ~Recording() { end(); }
    void end() noexcept;
    /// False: some of the memory is gone.
    [[nodiscard]] bool good() const noexcept { return owner_ != nullptr; }

   private:
    friend class NamedMemory;
    explicit Recording(NamedMemory* owner) noexcept : owner_(owner) {}
    NamedMemory* owner_ = nullptr;
  };
  /// `find(&allocations)` adds what the graph names, as the driver knows it at that moment, or returns false: then it
  /// is asked again whenever something was allocated in stream order, for `patience`, and nothing goes until it was.
  /// Several recordings end together: with the last of them. May throw std::bad_alloc.
  template <class Find>
  Recording record(Find&& find, std::chrono::milliseconds patience = {}) {
    const auto until = std::chrono::steady_clock::now() + patience;
    const Looking looking(*this);
    env::UniqueLock lock(mutex_);
    do {
      looked(false);
      std::vector<Allocation> allocations;
      if (find(&allocations) && !is_gone(allocations)) {
        named_.insert(named_.end(), allocations.begin(), allocations.end());
        ++recordings_;
        return Recording(this);
      }
    } while (wait_for_memory(lock, until));
    return {};
  }

 private:
  /// A recording looks for its memory.
  class Looking {
   public:
    explicit Looking(NamedMemory& owner) noexcept : owner_(owner) { ++owner_.looking_; }
    ~Looking();
    Looking(const Looking&) = delete;
    Looking& operator=(const Looking&) = delete;

   private:
    NamedMemory& owner_;
  };
  void looked(bool is_to) noexcept REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] bool wait_for_memory(env::UniqueLock& lock, std::chrono::steady_clock::time_point until)
      REFRAIN_REQUIRES(mutex_);

  static constexpr std::size_t kRemembered = 4096;  ///< of what was freed in stream order, at least

  [[nodiscard]] bool is_gone(const std::vector<Allocation>& allocations) const noexcept REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] bool is_named(std::uint64_t start) const noexcept REFRAIN_REQUIRES(mutex_);

  env::StuckCheck& maker_;
  std::atomic<std::uint64_t> changes_{1};
  std::atomic<std::uint32_t> awaited_{0};
  std::atomic<bool> gone_meanwhile_{false};
  env::Mutex mutex_;
  env::ConditionVariable recorded_;
  std::vector<Allocation> named_ REFRAIN_GUARDED_BY(mutex_);  ///< by the graphs that are being recorded
  std::uint32_t recordings_ REFRAIN_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint64_t> going_ REFRAIN_GUARDED_BY(mutex_);  ///< right now
  std::uint32_t going_any_ REFRAIN_GUARDED_BY(mutex_) = 0;
  /// Start to id of what was freed in stream order: the newest, and those before.
  std::unordered_map<std::uint64_t, std::uint64_t> freed_ REFRAIN_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::uint64_t> freed_before_ REFRAIN_GUARDED_BY(mutex_);
  std::atomic<bool> any_freed_{false};
  std::atomic<std::uint32_t> looking_{0};
  bool is_to_look_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< who is looking, since something was allocated
  env::ConditionVariable allocated_, looked_;
};

}  // namespace refrain::backends
