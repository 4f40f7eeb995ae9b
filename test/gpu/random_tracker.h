// Keeps random_program free of races: knows for every stream what it is ordered after, and adds the waits that an
// operation needs before it is submitted. One tracker per host thread; nothing it tracks is used by other threads.
#pragma once

#include <initializer_list>
#include <thread>
#include <vector>

#include "cuda_check.h"

namespace random_test {

/// xorshift: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {
    for (int i = 0; i < 4; ++i) next();
  }
  std::uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  unsigned below(unsigned bound) { return next() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// How the host waits.
enum class Wait { kStream, kEvent, kPollStream, kPollEvent, kCount };

struct StreamEntry {
  cudaStream_t handle;
  bool blocking;  ///< waits for the legacy default stream and makes it wait
};

using Clock = std::vector<std::uint64_t>;  ///< per stream: how many of its operations are known to come before

inline void merge(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

/// Something that operations read and write.
struct Resource {
  int writer = -1;
  std::uint64_t written = 0;
  Clock read;  ///< per stream: the last operation that read
};

class Tracker {
 public:
  static constexpr int kLegacy = 0;  ///< the first stream is the legacy default stream

  Tracker(std::vector<StreamEntry> streams, Random& random) : streams_(std::move(streams)) {
    const std::size_t count = streams_.size();
    known_.assign(count, Clock(count));
    submitted_ = known_;
    host_.assign(count, 0);
    events_.resize(count * count);
    for (cudaEvent_t& event : events_) {
      const unsigned flags[] = {cudaEventDisableTiming, cudaEventDisableTiming, cudaEventDefault,
                                cudaEventBlockingSync | cudaEventDisableTiming};
      CHECK_CUDA(cudaEventCreateWithFlags(&event, flags[random.below(4)]));
    }
  }
  ~Tracker() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  cudaStream_t handle(int stream) const { return streams_[static_cast<std::size_t>(stream)].handle; }
  bool blocking(int stream) const { return streams_[static_cast<std::size_t>(stream)].blocking; }
  void replace(int stream, cudaStream_t handle) { streams_[static_cast<std::size_t>(stream)].handle = handle; }
  int count() const { return static_cast<int>(streams_.size()); }

  /// To be called right before an operation is submitted to `stream`. `work`: something that a stream executes.
  /// Allocating and freeing in a stream's order is not, and does not wait for the legacy stream as work does.
  void begin(int stream, std::initializer_list<Resource*> reads, std::initializer_list<Resource*> writes,
             bool work = true) {
    const std::size_t s = static_cast<std::size_t>(stream);
    // What the legacy stream does implicitly counts only from work to work: waits alone do not carry it.
    if (work && stream == kLegacy) {
      for (std::size_t i = 1; i < streams_.size(); ++i) {
        if (streams_[i].blocking) merge(known_[s], submitted_[i]);
      }
    } else if (work && streams_[s].blocking) {
      merge(known_[s], submitted_[kLegacy]);
    }
    merge(known_[s], host_);
    for (Resource* resource : reads) after_writer(stream, *resource);
    for (Resource* resource : writes) {
      after_writer(stream, *resource);
      for (std::size_t i = 0; i < resource->read.size(); ++i) {
        if (known_[s][i] < resource->read[i]) order_after(stream, static_cast<int>(i));
      }
    }
    const std::uint64_t number = ++known_[s][s];
    if (work) submitted_[s] = known_[s];
    for (Resource* resource : reads) {
      resource->read.resize(streams_.size());
      resource->read[s] = number;
    }
    for (Resource* resource : writes) {
      resource->writer = stream;
      resource->written = number;
      resource->read.assign(streams_.size(), 0);
    }
  }

  /// To be called before begin() for what the driver may read at the call itself, where it knows of nothing that the
  /// stream waits for: small copies from pinned memory. The legacy stream's implicit order does not count for them
  /// (order_rules.cu).
  void order_after_writer(int stream, const Resource& resource) {
    if (resource.writer >= 0 && host_[static_cast<std::size_t>(resource.writer)] < resource.written) {
      order_after(stream, resource.writer);
    }
  }

  /// `stream` continues only when all that `other` has got so far is done.
  void order_after(int stream, int other) {
    if (stream == other) return;
    cudaEvent_t event = event_of(other, stream);
    CHECK_CUDA(cudaEventRecord(event, handle(other)));
    CHECK_CUDA(cudaStreamWaitEvent(handle(stream), event, 0));
    merge(known_[static_cast<std::size_t>(stream)], known_[static_cast<std::size_t>(other)]);
  }

  /// The host waits for what `stream` has got so far.
  void wait(int stream, Wait how) {
    cudaEvent_t event = event_of(stream, stream);
    switch (how) {
      case Wait::kStream: CHECK_CUDA(cudaStreamSynchronize(handle(stream))); break;
      case Wait::kEvent:
        CHECK_CUDA(cudaEventRecord(event, handle(stream)));
        CHECK_CUDA(cudaEventSynchronize(event));
        break;
      case Wait::kPollStream: poll([&] { return cudaStreamQuery(handle(stream)); }); break;
      default: CHECK_CUDA(cudaEventRecord(event, handle(stream))); poll([&] { return cudaEventQuery(event); });
    }
    merge(host_, known_[static_cast<std::size_t>(stream)]);
  }

  /// The host is about to read, or to write, what operations may still be using.
  void host_access(Resource& resource, bool write, Wait how) {
    if (resource.writer >= 0 && host_[static_cast<std::size_t>(resource.writer)] < resource.written) {
      wait(resource.writer, how);
    }
    if (!write) return;
    for (std::size_t i = 0; i < resource.read.size(); ++i) {
      if (host_[i] < resource.read[i]) wait(static_cast<int>(i), how);
    }
  }

  /// After a call that waits for the whole device.
  void all_done() {
    for (const Clock& clock : known_) merge(host_, clock);
  }

 private:
  cudaEvent_t event_of(int from, int to) const {
    return events_[static_cast<std::size_t>(from) * streams_.size() + static_cast<std::size_t>(to)];
  }

  void after_writer(int stream, const Resource& resource) {
    if (resource.writer < 0) return;
    if (known_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(resource.writer)] < resource.written) {
      order_after(stream, resource.writer);
    }
  }

  template <typename Query>
  static void poll(Query query) {
    cudaError_t status = query();
    while (status == cudaErrorNotReady) {
      std::this_thread::yield();
      status = query();
    }
    CHECK_CUDA(status);
    (void)cudaGetLastError();  // "not ready" is remembered as an error
  }

  std::vector<StreamEntry> streams_;
  std::vector<Clock> known_;      ///< what the stream is ordered after, its own operations included
  std::vector<Clock> submitted_;  ///< the same at the stream's last operation, without waits that came later
  Clock host_;                    ///< what the host has seen complete
  std::vector<cudaEvent_t> events_;
};

}  // namespace random_test
