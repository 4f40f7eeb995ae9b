// What a capture that was read keeps of its file: the file itself, open, from which graphs and histories are read again
// when they are looked at, and how much memory may be taken for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/definitions.h"
#include "capture/operation.h"
#include "capture/record_file.h"
#include "env/mutex.h"

namespace refrain::capture {

/// Where something is in the file.
struct RecordPlace {
  std::uint64_t position = 0;  ///< of the record
  std::uint32_t number = 0;    ///< of the record
  std::uint32_t index = 0;     ///< within it
};

/// Thread-safe once the capture is read. Every member may throw Refused or std::bad_alloc.
class CaptureStore {
 public:
  /// Memory that is given back.
  class Loan {
   public:
    Loan(CaptureStore& store, std::uint64_t bytes) : store_(&store), bytes_(bytes) { store.charge(bytes); }
    ~Loan() { store_->used_.fetch_sub(bytes_, std::memory_order_relaxed); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    CaptureStore* store_;
    std::uint64_t bytes_;
  };
  /// A record's payload.
  struct Record {
    Record(CaptureStore& store, std::uint64_t bytes) : loan(store, bytes) {}
    Loan loan;
    std::vector<std::byte> raw;
    mutable std::atomic<bool> verified{false};  ///< its fields were found where they should be
  };

  /// `max_memory` in bytes; 0: what format::max_memory() allows.
  CaptureStore(const std::string& name, std::uint64_t max_memory);

  [[nodiscard]] const RecordFile& file() const noexcept { return file_; }
  /// Counts memory that is taken because of this file. Refuses what is too much.
  void charge(std::uint64_t bytes);
  /// The payload of the record at `place`, which was one of this type when the capture was read. The last one is kept.
  std::shared_ptr<const Record> record(const RecordPlace& place, format::RecordType type) REFRAIN_EXCLUDES(mutex_);

  /// The queues of the capture, by id, once it is read.
  std::unordered_map<ObjectId, QueueInfo> queues;

 private:
  RecordFile file_;
  std::uint64_t max_memory_;
  std::atomic<std::uint64_t> used_{0};
  env::Mutex mutex_;
  std::uint64_t last_position_ REFRAIN_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const Record> last_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::capture
