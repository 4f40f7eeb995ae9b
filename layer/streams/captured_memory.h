// Captures only: the memory that recorded operations name, and what is in it.
//
// L has, besides what objects.h and inventory.h list, Api::query_stream, copy, synchronize, create_stream and
// destroy_stream.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include "capture/limits.h"
#include "env/log.h"
#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/streams/captures.h"
#include "layer/streams/inventory.h"
#include "layer/streams/objects.h"

namespace refrain::layer::streams {

template <class L>
class CapturedMemory {
 public:
  using Api = typename L::Api;
  using State = StreamState<Api>;

  /// The one of the process; never destroyed.
  static CapturedMemory& all() noexcept {
    static Immortal<CapturedMemory> memory;
    return *memory;
  }

  /// Before the operation reaches the driver, so that contents are those of before its first use.
  void before(const State& stream, const capture::OperationView& operation) noexcept {
    try {
      std::vector<LiveMemory> fresh;
      std::vector<const State*> streams;
      {
        const env::MutexLock guard(mutex_);
        streams_.insert(&stream);
        find_memory(stream, operation, &fresh);
        if (!fresh.empty() && L::runtime().recorder->wants_contents()) {
          streams.assign(streams_.begin(), streams_.end());
        }
      }
      if (!streams.empty()) {  // without the lock: what is waited for may need other threads
        record_contents(fresh, streams, stream.stream.context);
      }
    } catch (...) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true)) {
        env::log_error("out of memory: the capture lacks some buffers and cannot be benchmarked");
      }
    }
  }

 private:
  using LiveMemory = backends::LiveMemory;

  /// So long the program's own work may run before contents are read; then they are left out.
  static constexpr auto kLongestWait = std::chrono::seconds(2);
  /// No memory is below, and every address that a device knows is a canonical one of user space.
  static constexpr std::uint64_t kLowestAddress = 0x10000;
  static constexpr std::uint64_t kHighestAddress = std::uint64_t{1} << 57U;
  /// Values that turned out to be no addresses; forgotten when there are too many.
  static constexpr std::size_t kMostOthers = 1U << 16U;

  /// `fresh` gets what was told for the first time.
  void find_memory(const State& stream, const capture::OperationView& operation, std::vector<LiveMemory>* fresh)
      REFRAIN_REQUIRES(mutex_) {
    using capture::ArgumentKind;
    const std::byte* value = operation.values().data();
    for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
      if (argument.kind == ArgumentKind::kValue || argument.kind == ArgumentKind::kPointer) {
        // What a parameter means is not known: any aligned word of it may be an address.
        for (std::size_t at = 0; at + sizeof(std::uint64_t) <= argument.size; at += sizeof(std::uint64_t)) {
          std::uint64_t word = 0;
          std::memcpy(&word, value + at, sizeof(word));
          if (word >= kLowestAddress && word < kHighestAddress) {
            record_memory(stream, word, fresh);
          }
        }
      }
      value += argument.stored_bytes();
    }
  }

  void record_memory(const State& stream, std::uint64_t address, std::vector<LiveMemory>* fresh)
      REFRAIN_REQUIRES(mutex_) {
    backends::MemoryInventory& inventory = *L::runtime().inventory;
    std::optional<LiveMemory> memory = inventory.find(address);
    if (!memory) {
      if (const std::uint64_t changes = inventory.changes(); others_at_ != changes || others_.size() >= kMostOthers) {
        others_.clear();
        others_at_ = changes;
      }
      if (others_.contains(address)) {
        return;
      }
      // What was there before Refrain was, or what a call made that nobody knows here, the driver does know.
      memory.emplace();
      if (!L::describe_memory(address, &*memory)) {
        others_.insert(address);
        return;
      }
      inventory.add(*memory);
    }
    if (!recorded_.insert(memory->id).second) {
      return;
    }
    capture::BufferInfo info;
    info.id = memory->id;
    info.context = stream.slot.info.context;
    info.size = memory->bytes;
    info.address = memory->start;
    info.description = {static_cast<std::uint64_t>(memory->place), static_cast<std::uint64_t>(memory->device)};
    L::runtime().recorder->define(info);
    fresh->push_back(*memory);
  }

  /// Any stream may be writing it, and copies that have returned may still be on their way.
  void record_contents(const std::vector<LiveMemory>& fresh, const std::vector<const State*>& streams,
                       typename Api::ContextHandle context) {
    const typename Api::Scope scope(L::runtime().driver, context);
    const typename Api::RelaxedCapture relaxed(L::runtime().driver);
    const auto end = std::chrono::steady_clock::now() + kLongestWait;
    const bool ready =
        done(Api::legacy_stream(), end) && std::ranges::all_of(streams, [&](const State* each) {
          return each->stream.context != context || each->stream.id.load() == 0 || done(each->stream.handle, end);
        });
    for (const LiveMemory& memory : fresh) {
      if (memory.bytes > capture::format::kMaxContents) {
        L::runtime().recorder->leave_out_contents(memory.bytes);
        continue;
      }
      std::vector<std::byte> contents;
      if (ready && read(memory, &contents)) {
        L::runtime().recorder->contents(memory.id, contents);
        continue;
      }
      static std::atomic<bool> said{false};
      if (!said.exchange(true)) {
        env::log_warning("capture: the contents of some memory could not be read; the bench makes them up");
      }
    }
  }

  /// Waits for everything that was submitted to a stream, but not beyond `end`: it may wait for what the program does
  /// next.
  static bool done(typename Api::StreamHandle stream, std::chrono::steady_clock::time_point end) {
    for (;;) {
      auto status = Api::kNotReady;
      {
        // A stream that the program captures may not even be asked: none begins to be captured meanwhile.
        const env::MutexLock guard(Captures<L>::all().mutex);
        if (L::runtime().captures.load(std::memory_order_relaxed) == 0) {
          status = Api::query_stream(L::runtime().driver, stream);
        }
      }
      if (status != Api::kNotReady) {
        return status == Api::kSuccess;
      }
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  /// The context must be current, and the program's work done.
  static bool read(const LiveMemory& memory, std::vector<std::byte>* into) {
    const auto& driver = L::runtime().driver;
    into->resize(memory.bytes);
    typename Api::StreamHandle stream{};  // waits for no stream of the program's
    if (Api::create_stream(driver, &stream) != Api::kSuccess) {
      return false;
    }
    const bool good = Api::copy(driver, reinterpret_cast<std::uint64_t>(into->data()), memory.start, memory.bytes,
                                stream) == Api::kSuccess &&
                      Api::synchronize(driver, stream) == Api::kSuccess;
    static_cast<void>(Api::destroy_stream(driver, stream));
    return good;
  }

  env::Mutex mutex_;
  /// Values that are no addresses of memory, as long as no memory is made or freed.
  std::unordered_set<std::uint64_t> others_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t others_at_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< MemoryInventory::changes()
  std::unordered_set<ObjectId> recorded_ REFRAIN_GUARDED_BY(mutex_);
  /// That anything was submitted to; records of streams stay.
  std::unordered_set<const State*> streams_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::layer::streams
