// random SEED THREADS BODIES: each thread repeats bodies of random operations on its own streams and memory, with
// events across them; what it computes depends on the order of every operation.

#include <algorithm>
#include <memory>
#include <random>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 24;
constexpr int kStreams = 3;
constexpr int kBuffers = 4;

enum class Kind { kMix, kScale, kFill, kFill16, kCopy, kRead, kWrite, kHost, kOdd, kDefault, kHostCall, kLast };

struct Step {
  Kind kind;
  int stream, to, from;
  Word value;
};

class Worker {
 public:
  Worker(const Device& gpu, unsigned seed, bool alone)
      : gpu_(gpu),
        random_(seed),
        alone_(alone),
        mix_(gpu.function("mix_in")),
        scale_(gpu.function("scale")),
        odd_(gpu.function("odd")) {
    for (CUstream& stream : streams_) {
      stream = make_any_stream();
    }
    if (seed % 2 == 1) {
      streams_[1] = CU_STREAM_PER_THREAD;
    }
    for (Buffer& buffer : buffers_) {
      buffer.address = filled(kCount, below(1000));
      buffer.event = make_event(below(4) == 0 ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
    }
    staging_ = pinned(kCount);
    staging_event_ = make_event();
    CHECK_CU(cuEventRecord(staging_event_, streams_[0]));
  }

  void body() {
    std::vector<Step> steps(2 + below(12));
    for (Step& step : steps) {
      step = {static_cast<Kind>(below(static_cast<Word>(Kind::kLast))), static_cast<int>(below(kStreams)),
              static_cast<int>(below(kBuffers)), static_cast<int>(below(kBuffers)), below(100)};
      if (step.kind == Kind::kHostCall && below(3) != 0) {
        step.kind = Kind::kMix;
      }
    }
    const Word rounds = below(8) == 0 ? 1 : 4 + below(40);
    const bool changing = below(3) == 0;
    for (Word round = 0; round < rounds; ++round) {
      for (const Step& step : steps) {
        run(step, changing ? round : 0);
      }
      if (below(16) == 0) {  // something else in between
        run({Kind::kScale, 0, 0, 0, 77}, 0);
      }
      if (below(3) != 0) {
        synchronize();
      }
    }
    if (below(4) == 0) {
      replace();
    }
  }

  /// In the thread that ran the bodies: nobody else can wait for its default stream.
  void finish() { synchronize(); }

  std::vector<Word> result() {
    std::vector<Word> all;
    for (const Buffer& buffer : buffers_) {
      std::vector<Word> values(kCount);
      CHECK_CU(cuMemcpyDtoH(values.data(), buffer.address, kCount * sizeof(Word)));
      all.insert(all.end(), values.begin(), values.end());
    }
    all.push_back(sum_);
    return all;
  }

 private:
  /// Who used it last, in which stream.
  struct Buffer {
    CUdeviceptr address = 0;
    CUevent event = nullptr;
    CUstream stream = nullptr;
  };

  Word below(Word limit) { return static_cast<Word>(random_() % limit); }

  void synchronize() {
    for (CUstream stream : streams_) {
      CHECK_CU(cuStreamSynchronize(stream));
    }
    if (alone_) {
      CHECK_CU(cuStreamSynchronize(nullptr));
    }
    sum_ = sum_ * 31 + staging_[1];
  }

  CUstream make_any_stream() { return make_stream(below(2) == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT); }

  /// The default stream orders blocking streams around itself.
  static bool ordered(CUstream first, CUstream second) {
    CUstream other = first == CU_STREAM_LEGACY ? second : second == CU_STREAM_LEGACY ? first : nullptr;
    unsigned flags = CU_STREAM_NON_BLOCKING;
    if (other != nullptr) {
      CHECK_CU(cuStreamGetFlags(other, &flags));
    }
    return (flags & CU_STREAM_NON_BLOCKING) == 0;
  }

  void take(Buffer& buffer, CUstream stream) {
    if (buffer.stream != nullptr && buffer.stream != stream && !ordered(buffer.stream, stream)) {
      CHECK_CU(cuStreamWaitEvent(stream, buffer.event, 0));
    }
  }
  void give(Buffer& buffer, CUstream stream) {
    CHECK_CU(cuEventRecord(buffer.event, stream));
    buffer.stream = stream;
  }

  void run(const Step& step, Word change) {
    CUstream stream = step.kind == Kind::kDefault && alone_ ? CU_STREAM_LEGACY : streams_[step.stream];
    Buffer& to = buffers_[step.to];
    Buffer& from = buffers_[step.from];
    const Word value = step.value + change;
    const bool staged = step.kind == Kind::kRead || step.kind == Kind::kWrite || step.kind == Kind::kHost;
    take(to, stream);
    if (&from != &to) {
      take(from, stream);
    }
    if (staged) {
      CHECK_CU(cuStreamWaitEvent(stream, staging_event_, 0));
    }
    switch (step.kind) {
      case Kind::kMix:
      case Kind::kDefault: mix_in(stream, mix_, to.address, from.address, kCount, value); break;
      case Kind::kScale: scale(stream, scale_, to.address, kCount, 2 * value + 1, value); break;
      case Kind::kFill: CHECK_CU(cuMemsetD8Async(to.address, static_cast<unsigned char>(value), 7, stream)); break;
      case Kind::kFill16:
        CHECK_CU(cuMemsetD16Async(to.address + 8, static_cast<unsigned short>(value), 5, stream));
        break;
      case Kind::kCopy:
        CHECK_CU(cuMemcpyDtoDAsync(to.address, from.address, &to == &from ? 0 : 8 * sizeof(Word), stream));
        break;
      case Kind::kRead: CHECK_CU(cuMemcpyDtoHAsync(staging_, from.address, kCount * sizeof(Word), stream)); break;
      case Kind::kWrite: CHECK_CU(cuMemcpyHtoDAsync(to.address, staging_, kCount * sizeof(Word), stream)); break;
      case Kind::kHost:
        CHECK_CU(cuLaunchHostFunc(
            stream, [](void* memory) { static_cast<Word*>(memory)[3] += 5; }, staging_));
        break;
      case Kind::kOdd:
        launch_on(stream, odd_, kCount, static_cast<unsigned char>(value), to.address,
                  static_cast<unsigned short>(value), std::uint64_t{value} << 33U);
        break;
      case Kind::kHostCall: {
        std::vector<Word> pageable(4, value);
        CHECK_CU(cuMemcpyHtoDAsync(to.address, pageable.data(), 4 * sizeof(Word), stream));
        pageable.assign(4, 0xBAD);
        break;
      }
      case Kind::kLast: break;
    }
    if (staged) {
      CHECK_CU(cuEventRecord(staging_event_, stream));
    }
    give(to, stream);
    if (&from != &to) {
      give(from, stream);
    }
  }

  /// Something goes, and comes back as something new.
  void replace() {
    synchronize();
    Buffer& buffer = buffers_[below(kBuffers)];
    switch (below(3)) {
      case 0:
        CHECK_CU(cuMemFree(buffer.address));
        buffer.address = filled(kCount, below(1000));
        break;
      case 1:
        CHECK_CU(cuEventDestroy(buffer.event));
        buffer.event = make_event();
        buffer.stream = nullptr;
        break;
      default: {
        CUstream& stream = streams_[below(kStreams)];
        if (stream == CU_STREAM_PER_THREAD) {
          break;
        }
        for (Buffer& each : buffers_) {
          each.stream = each.stream == stream ? nullptr : each.stream;
        }
        CHECK_CU(cuStreamDestroy(stream));
        stream = make_any_stream();
      }
    }
  }

  const Device& gpu_;
  std::mt19937 random_;
  bool alone_;
  CUfunction mix_, scale_, odd_;
  CUstream streams_[kStreams] = {};
  Buffer buffers_[kBuffers];
  Word* staging_ = nullptr;
  CUevent staging_event_ = nullptr;
  Word sum_ = 0;
};

}  // namespace

PROGRAM(random) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1;
  const int threads = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 2;
  const int bodies = argc > 3 ? static_cast<int>(std::strtol(argv[3], nullptr, 10)) : 20;
  const Device gpu;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<Worker>(gpu, seed * 1000 + static_cast<unsigned>(i), threads == 1));
  }
  std::vector<std::thread> all;
  for (auto& worker : workers) {
    all.emplace_back([&gpu, bodies, &worker] {
      CHECK_CU(cuCtxSetCurrent(gpu.context));
      for (int i = 0; i < bodies; ++i) {
        worker->body();
      }
      worker->finish();
    });
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  for (auto& worker : workers) {
    print("worker", worker->result());
  }
  return 0;
}
