// Captures only: which memory recorded operations name, each told once, and what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backends/memory_inventory.h"
#include "capture/recorder.h"
#include "env/mutex.h"
#include "layer/common/object_id.h"

namespace refrain::layer::common {

/// Thread-safe.
class CapturedMemory {
 public:
  /// What a layer knows of memory.
  struct Known {
    /// What the address lies in; nothing: the driver has no memory there.
    std::function<std::optional<backends::LiveMemory>(std::uint64_t address)> find;
    /// Another number whenever memory came or went.
    std::function<std::uint64_t()> changes;
  };

  explicit CapturedMemory(Known known) : known_(std::move(known)) {}

  /// Tells the recorder of the memory that the operation names; returns what was told for the first time. `context`:
  /// the id of its queue's. May throw std::bad_alloc.
  std::vector<backends::LiveMemory> tell(capture::Recorder& recorder, ObjectId context,
                                         const capture::OperationView& operation);

 private:
  void tell_of(capture::Recorder& recorder, ObjectId context, std::uint64_t address,
               std::vector<backends::LiveMemory>* fresh) REFRAIN_REQUIRES(mutex_);

  const Known known_;
  env::Mutex mutex_;
  /// Values that are no addresses of memory, as long as no memory is made or freed.
  std::unordered_set<std::uint64_t> others_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t others_at_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< Known::changes()
  std::unordered_set<ObjectId> told_ REFRAIN_GUARDED_BY(mutex_);
};

/// Tells the recorder what is in memory that was just told. `read(memory, into)` fills the bytes; false: they cannot be
/// read. May throw std::bad_alloc.
void tell_contents(capture::Recorder& recorder, std::span<const backends::LiveMemory> memory,
                   const std::function<bool(const backends::LiveMemory& memory, std::vector<std::byte>* into)>& read);

/// Says once that there was no memory to tell all of it.
void say_that_buffers_are_missing() noexcept;

}  // namespace refrain::layer::common
