// One host thread of random_program: its streams, its memory, and how each operation is carried out.
#pragma once

#include <cuda.h>

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "random_operations.h"

namespace random_test {

/// Held exclusively while a thread captures: what concerns the whole device is not allowed then.
inline std::shared_mutex capture_lock;

/// What a host function works on; it counts its own calls, so the argument stays the same from loop to loop.
struct HostWork {
  Word* words;
  Word factor, calls;
};

inline void CUDART_CB host_work(void* argument) {
  auto& work = *static_cast<HostWork*>(argument);
  ++work.calls;
  for (unsigned i = 0; i < kWords; i += 16) work.words[i] = work.words[i] * work.factor + work.calls;
}

struct Buffer {
  Word* data = nullptr;
  Resource uses;
};

/// Makes one stream wait until it is opened; see await_gate(). Each is opened in one way only: by the host, or by
/// streams.
struct Gate {
  Word* opened = nullptr;  ///< pinned
  GateCounts* counts = nullptr;
};

struct OwnGraph {
  cudaGraphExec_t executable = nullptr;
  unsigned to = 0, from = 0;
};

/// Kernels are loaded when they are first used, which may wait for the device: not while somebody captures or spins.
void load_kernels();

class Worker {
 public:
  /// `gates`: whether streams may wait for the host and for one another. A device has so many connections to the host;
  /// streams that share one wait for each other, so that this is for few threads.
  Worker(std::uint64_t seed, unsigned thread, bool careful, bool gates);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Draws a few loops; run_round() repeats one of them.
  void run_round();

  /// Hands the first buffer to a neighbour, and takes in the one that a neighbour handed over. The caller sees to
  /// it that every thread has given before any takes, and taken before any gives again.
  void give(Word* shared, cudaEvent_t given, cudaEvent_t taken);
  void take(const Word* shared, cudaEvent_t given, cudaEvent_t taken);

  /// Over all memory of this thread. `parts`: of what the host has read on the way, of each buffer and of each piece of
  /// pinned memory alone, to see where two runs differ.
  std::uint64_t checksum(std::vector<std::uint64_t>* parts);

 private:
  using Device = std::shared_lock<std::shared_mutex>;  ///< held during calls that concern the whole device

  void execute(const Operation& operation, unsigned iteration);
  static void wait_for_device();
  void launch_kernel(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void launch_extended(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void copy(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void fill(const Operation& operation, Buffer& to, Word value);
  void use_host_memory(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void copy_synchronously(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void use_temporary(const Operation& operation, Buffer& to, Word value);
  void use_graph(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void measure(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void spin(const Operation& operation, Word value);
  void make_gates();
  void destroy_gates();
  void use_gate(const Operation& operation, Buffer& to, Buffer& from, Word value);
  void refuse(const Operation& operation, Buffer& to, Buffer& from, Word value);
  std::uint64_t gates_checksum() const;
  void renew_buffer(const Operation& operation, Buffer& to, Word value);
  void renew_stream(const Operation& operation);
  cudaGraphExec_t capture(Word* to, Word* from, Word value);

  static unsigned blocks(unsigned count) { return (count + kBlock - 1) / kBlock; }
  void launch_mix(int stream, Word* to, const Word* from, unsigned offset, unsigned count, Word value) {
    mix<<<blocks(count), kBlock, 0, streams().handle(stream)>>>(to, from, offset, count, value);
  }
  Tracker& streams() { return *tracker_; }
  static Wait wait_of(const Operation& operation) {
    return static_cast<Wait>(operation.style % static_cast<unsigned>(Wait::kCount));
  }

  Random random_;
  bool careful_, gated_;
  std::vector<cudaStream_t> created_;  ///< in the tracker they come after the two default streams
  cudaStream_t capture_stream_ = nullptr;
  std::unique_ptr<Tracker> tracker_;
  std::unique_ptr<Generator> generator_;
  std::array<Buffer, kBuffers> buffers_;
  std::array<Buffer, kPinned> pinned_;
  std::array<HostWork, kPinned> host_works_{};
  std::array<OwnGraph, kGraphs> graphs_;
  std::vector<Word> pageable_;
  Gate host_gate_, queue_gate_;
  cudaEvent_t passed_ = nullptr;  ///< recorded in front of a gate
  Word* flag_ = nullptr;
  Resource flag_uses_;
  cudaEvent_t before_ = nullptr, after_ = nullptr;  ///< with time stamps
  std::vector<Body> bodies_;
  gpu_test::Checksum seen_;  ///< what the host has read on the way
  unsigned iteration_ = 0;
};

}  // namespace random_test
