#include "capture/lane_stream.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <new>

namespace refrain::capture {

std::atomic<std::uint64_t> WriterSignal::fork_counter{0};

WriterSignal::WriterSignal() noexcept {
  static std::once_flag once;
  std::call_once(
      once, [] { pthread_atfork(nullptr, nullptr, [] { fork_counter.fetch_add(1, std::memory_order_relaxed); }); });
  forks = fork_counter.load(std::memory_order_relaxed);
  sem_init(&wake, 0, 0);
}

WriterSignal::~WriterSignal() {
  sem_destroy(&wake);
}

LaneStream::~LaneStream() {
  // Chunks before the one being read were recycled.
  Chunk* chunk = reading_ != nullptr ? reading_ : first_.load(std::memory_order_acquire);
  while (chunk != nullptr) {
    destroy(std::exchange(chunk, chunk->next.load(std::memory_order_acquire)));
  }
  for (auto& spare : spare_) {
    if (Chunk* kept = spare.load(std::memory_order_acquire)) {
      destroy(kept);
    }
  }
}

bool LaneStream::next_chunk(std::size_t bytes) noexcept {
  constexpr std::size_t kLargest = std::size_t{256} << 10U;
  if (current_ != nullptr) {
    sem_post(&signal_.wake);
    if (!wait_for_writer()) {
      return false;
    }
    // The chunk that is full now comes back only after the next one is there: it counts from here on.
    produced_ += current_->capacity;
    chunk_bytes_ = std::min(kLargest, chunk_bytes_ * 4);
  }
  Chunk* fresh = nullptr;
  for (auto& spare : spare_) {
    // Warm memory: a fresh chunk would cost a page fault for every twenty records.
    Chunk* candidate = spare.exchange(nullptr, std::memory_order_acquire);
    if (candidate != nullptr && candidate->capacity >= std::max(bytes, chunk_bytes_)) {
      fresh = candidate;
      fresh->committed.store(0, std::memory_order_relaxed);
      fresh->next.store(nullptr, std::memory_order_relaxed);
      break;
    }
    if (candidate != nullptr) {
      destroy(candidate);
    }
  }
  if (fresh == nullptr) {
    const std::size_t capacity = std::max(bytes, chunk_bytes_);
    void* memory = ::operator new(sizeof(Chunk) + capacity, std::nothrow);
    if (memory == nullptr) {
      signal_.out_of_memory();
      return false;
    }
    fresh = new (memory) Chunk;
    fresh->capacity = capacity;
  }
  if (current_ == nullptr) {
    first_.store(fresh, std::memory_order_release);
  } else {
    current_->next.store(fresh, std::memory_order_release);
  }
  current_ = fresh;
  used_ = 0;
  capacity_ = fresh->capacity;
  return true;
}

bool LaneStream::wait_for_writer() noexcept {
  while (produced_ - consumed_.load(std::memory_order_acquire) > max_behind_) {
    if (!signal_.alive()) {
      return false;
    }
    sem_post(&signal_.wake);
    const timespec pause{0, 200'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

void LaneStream::recycle(Chunk* chunk) noexcept {
  const std::size_t capacity = chunk->capacity;
  for (auto& spare : spare_) {
    Chunk* none = nullptr;
    if (spare.compare_exchange_strong(none, chunk, std::memory_order_release, std::memory_order_relaxed)) {
      chunk = nullptr;
      break;
    }
  }
  if (chunk != nullptr) {
    destroy(chunk);
  }
  consumed_.fetch_add(capacity, std::memory_order_release);
}

void LaneStream::destroy(Chunk* chunk) noexcept {
  chunk->~Chunk();
  ::operator delete(chunk);
}

}  // namespace refrain::capture
