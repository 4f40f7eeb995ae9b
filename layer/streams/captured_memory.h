// Captures only: the memory that recorded operations name, and what is in it.
//
// L has, besides what objects.h and inventory.h list, Api::query_stream, copy, synchronize, create_stream and
// destroy_stream.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include "env/mutex.h"
#include "layer/common/captured_memory.h"
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
      capture::Recorder& recorder = *L::runtime().recorder;
      const std::vector<LiveMemory> fresh = told_.tell(recorder, stream.slot.info.context, operation);
      std::vector<const State*> streams;
      {
        const env::MutexLock guard(mutex_);
        streams_.insert(&stream);
        if (!fresh.empty() && recorder.wants_contents()) {
          streams.assign(streams_.begin(), streams_.end());
        }
      }
      if (!streams.empty()) {  // without the lock: what is waited for may need other threads
        record_contents(recorder, fresh, streams, stream.stream.context);
      }
    } catch (...) {
      common::say_that_buffers_are_missing();
    }
  }

 private:
  using LiveMemory = backends::LiveMemory;

  /// So long the program's own work may run before contents are read; then they are left out.
  static constexpr auto kLongestWait = std::chrono::seconds(2);

  static std::optional<LiveMemory> find(std::uint64_t address) {
    backends::MemoryInventory& inventory = *L::runtime().inventory;
    if (std::optional<LiveMemory> known = inventory.find(address)) {
      return known;
    }
    // What was there before Refrain was, or what a call made that nobody knows here, the driver does know.
    LiveMemory memory;
    if (!L::describe_memory(address, &memory)) {
      return std::nullopt;
    }
    inventory.add(memory);
    return memory;
  }

  /// Any stream may be writing it, and copies that have returned may still be on their way.
  void record_contents(capture::Recorder& recorder, const std::vector<LiveMemory>& fresh,
                       const std::vector<const State*>& streams, typename Api::ContextHandle context) {
    const typename Api::Scope scope(L::runtime().driver, context);
    const typename Api::RelaxedCapture relaxed(L::runtime().driver);
    const auto end = std::chrono::steady_clock::now() + kLongestWait;
    const bool ready = done(end, [] { return Api::query_stream(L::runtime().driver, Api::legacy_stream()); }) &&
                       std::ranges::all_of(streams, [&](const State* each) {
                         const capture::ObjectId id = id_in(*each, context);
                         return id == 0 || done(end, [&] {
                                  // Another thread may destroy it meanwhile, with work that is still under way.
                                  return each->stream.id.load(std::memory_order_acquire) == id
                                             ? Api::query_stream(L::runtime().driver, each->stream.handle)
                                             : Api::kInvalidHandle;
                                });
                       });
    common::tell_contents(recorder, fresh, [ready](const LiveMemory& memory, std::vector<std::byte>* into) {
      return ready && read(memory, into);
    });
  }

  /// The stream's; 0 if it is in another context, or destroyed.
  static capture::ObjectId id_in(const State& state, typename Api::ContextHandle context) {
    // With the lock a record that has an id does not become another stream's: see StreamTable::forget().
    const env::MutexLock guard(Captures<L>::all().mutex);
    const capture::ObjectId id = state.stream.id.load(std::memory_order_acquire);
    return id != 0 && state.stream.context == context ? id : 0;
  }

  /// Waits for everything that was submitted to a stream, but not beyond `end`: it may wait for what the program does
  /// next. `query`: asks the driver, while no stream is destroyed.
  template <class Query>
  static bool done(std::chrono::steady_clock::time_point end, Query&& query) {
    for (;;) {
      auto status = Api::kNotReady;
      {
        // A stream that the program captures may not even be asked: none begins to be captured meanwhile.
        const env::MutexLock guard(Captures<L>::all().mutex);
        if (L::runtime().captures.load(std::memory_order_relaxed) == 0) {
          status = query();
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

  common::CapturedMemory told_{{&find, [] { return L::runtime().inventory->changes(); }}};
  env::Mutex mutex_;
  /// That anything was submitted to; records of streams stay.
  std::unordered_set<const State*> streams_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::layer::streams
