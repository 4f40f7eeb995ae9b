// The way of one lane's records to the writer: a chain of memory chunks with one producer (the lane's
// thread) and one consumer (the writer). No locks; the lane waits only if it is too far ahead.
#pragma once

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "capture/recorder.h"

namespace refrain::capture {

/// What streams and writer share.
struct WriterSignal {
  std::atomic<bool> stopped{false};    ///< the file cannot be written any more: records are dropped
  std::atomic<bool> no_memory{false};  ///< a lane had to stop the capture
  std::uint64_t forks = 0;             ///< fork_counter when the writer was made
  sem_t wake{};

  WriterSignal() noexcept;
  ~WriterSignal();
  WriterSignal(const WriterSignal&) = delete;
  WriterSignal& operator=(const WriterSignal&) = delete;
  /// False in a forked child and after an error.
  [[nodiscard]] bool alive() const noexcept {
    return !stopped.load(std::memory_order_relaxed) && forks == fork_counter.load(std::memory_order_relaxed);
  }
  /// Ends the capture, and has the writer say why.
  void out_of_memory() noexcept {
    no_memory.store(true, std::memory_order_relaxed);
    stopped.store(true, std::memory_order_relaxed);
    sem_post(&wake);
  }
  /// False in a forked child: nothing of the parent's may be touched.
  [[nodiscard]] bool own_process() const noexcept { return forks == fork_counter.load(std::memory_order_relaxed); }

 private:
  static std::atomic<std::uint64_t> fork_counter;  // forks between this process and the first one
};

class LaneStream final : public Stream {
 public:
  /// `signal` must outlive the stream.
  LaneStream(std::uint64_t lane, WriterSignal& signal, std::size_t max_behind) noexcept
      : lane_(lane), signal_(signal), max_behind_(max_behind) {}
  ~LaneStream() override;
  LaneStream(const LaneStream&) = delete;
  LaneStream& operator=(const LaneStream&) = delete;

  // The lane's thread.
  void operation(const OperationView& operation) noexcept override {
    const auto bytes = operation.bytes();
    if (std::byte* place = reserve(sizeof(std::uint64_t) + bytes.size())) {
      const std::uint64_t tag = kOperation;
      std::memcpy(place, &tag, sizeof(tag));
      std::memcpy(place + sizeof(tag), bytes.data(), bytes.size());
      commit();
    }
  }
  void host_call(const char* entry_point, std::uint64_t time_ns) noexcept override {
    if (std::byte* place = reserve(2 * sizeof(std::uint64_t))) {
      std::memcpy(place, &entry_point, sizeof(entry_point));
      std::memcpy(place + sizeof(std::uint64_t), &time_ns, sizeof(time_ns));
      commit();
    }
  }
  void cut(const char* why, std::uint64_t time_ns) noexcept override { tagged(kCut, Cut{why, time_ns}); }
  void host_call_done(std::uint64_t time_ns) noexcept override { tagged(kHostCallDone, time_ns); }
  void region(const env::Region* region) noexcept override { tagged(kRegion, region); }

  // The writer.
  [[nodiscard]] std::uint64_t lane() const noexcept { return lane_; }
  /// Notes how far the lane has come. drain() goes up to there, so that what was told before the last
  /// of these records (the queues they name) can be looked at in between.
  void mark() noexcept {
    if (reading_ == nullptr) {
      reading_ = first_.load(std::memory_order_acquire);
    }
    for (marked_ = reading_; marked_ != nullptr;) {
      Chunk* next = marked_->next.load(std::memory_order_acquire);  // before `committed`: then that is final
      marked_end_ = marked_->committed.load(std::memory_order_acquire);
      if (next == nullptr) {
        break;
      }
      marked_ = next;
    }
  }
  /// Hands everything up to the mark to `visitor`: operation(view), host_call(name, time),
  /// cut(why, time), host_call_done(time) or region(region). Returns true if there was anything.
  template <typename Visitor>
  bool drain(Visitor&& visitor) {
    bool any = false;
    while (reading_ != nullptr) {
      const bool last = reading_ == marked_;
      const std::size_t end = last ? marked_end_ : reading_->committed.load(std::memory_order_acquire);
      any = any || read_ < end;
      while (read_ < end) {
        const std::byte* entry = reading_->data() + read_;
        std::uint64_t tag = 0;
        std::memcpy(&tag, entry, sizeof(tag));
        if (tag == kOperation) {
          const OperationView view(entry + sizeof(tag));
          read_ += sizeof(tag) + view.header().size;
          visitor.operation(view);
        } else if (tag == kRegion) {
          visitor.region(take<const env::Region*>());
        } else if (tag == kHostCallDone) {
          visitor.host_call_done(take<std::uint64_t>());
        } else if (tag == kCut) {
          const Cut cut = take<Cut>();
          visitor.cut(cut.why, cut.time_ns);
        } else {
          const char* name = nullptr;
          std::uint64_t time_ns = 0;
          std::memcpy(&name, entry, sizeof(name));
          std::memcpy(&time_ns, entry + sizeof(tag), sizeof(time_ns));
          read_ += sizeof(tag) + sizeof(time_ns);
          visitor.host_call(name, time_ns);
        }
      }
      if (last) {
        break;
      }
      recycle(std::exchange(reading_, reading_->next.load(std::memory_order_acquire)));
      read_ = 0;
    }
    return any;
  }

 private:
  // What an entry begins with; anything else is the name of a host call.
  static constexpr std::uint64_t kOperation = 0;
  static constexpr std::uint64_t kRegion = 1;
  static constexpr std::uint64_t kHostCallDone = 2;
  static constexpr std::uint64_t kCut = 3;
  struct Cut {
    const char* why = nullptr;
    std::uint64_t time_ns = 0;
  };

  struct Chunk {
    std::atomic<std::size_t> committed{0};
    std::atomic<Chunk*> next{nullptr};
    std::size_t capacity = 0;
    std::size_t reserved = 0;  // keeps data() at a multiple of 16
    [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  };
  static_assert(sizeof(Chunk) % 16 == 0);

  std::byte* reserve(std::size_t bytes) noexcept {
    if (!signal_.alive()) [[unlikely]] {
      return nullptr;
    }
    if (bytes > capacity_ - used_) [[unlikely]] {
      if (!next_chunk(bytes)) {
        return nullptr;
      }
    }
    std::byte* place = current_->data() + used_;
    used_ += bytes;
    return place;
  }
  template <typename Value>
  void tagged(std::uint64_t tag, Value value) noexcept {
    static_assert(sizeof(value) % sizeof(tag) == 0);
    if (std::byte* place = reserve(sizeof(tag) + sizeof(value))) {
      std::memcpy(place, &tag, sizeof(tag));
      std::memcpy(place + sizeof(tag), &value, sizeof(value));
      commit();
    }
  }
  /// What tagged() wrote.
  template <typename Value>
  [[nodiscard]] Value take() noexcept {
    Value value{};
    std::memcpy(&value, reading_->data() + read_ + sizeof(std::uint64_t), sizeof(value));
    read_ += sizeof(std::uint64_t) + sizeof(value);
    return value;
  }
  void commit() noexcept { current_->committed.store(used_, std::memory_order_release); }
  bool next_chunk(std::size_t bytes) noexcept;
  bool wait_for_writer() noexcept;
  void recycle(Chunk* chunk) noexcept;
  static void destroy(Chunk* chunk) noexcept;

  std::uint64_t lane_;
  WriterSignal& signal_;
  std::size_t max_behind_;
  // The lane's thread.
  Chunk* current_ = nullptr;
  std::size_t used_ = 0, capacity_ = 0;
  std::size_t chunk_bytes_ = std::size_t{4} << 10U;  // grows: most threads submit little
  std::uint64_t produced_ = 0;
  // Both.
  std::atomic<Chunk*> first_{nullptr};
  std::atomic<std::uint64_t> consumed_{0};
  std::array<std::atomic<Chunk*>, 4> spare_{};
  // The writer.
  alignas(64) Chunk* reading_ = nullptr;
  std::size_t read_ = 0;
  Chunk* marked_ = nullptr;
  std::size_t marked_end_ = 0;
};

}  // namespace refrain::capture
