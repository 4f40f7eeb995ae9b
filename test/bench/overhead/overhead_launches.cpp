// One process of the CUDA part of the overhead benchmark: makes the calls and prints what each took as JSON. Meant to
// run over the swallowing driver, with or without Refrain above it; `run` beside this file starts both in turn.
#include <cuda.h>
#include <link.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "test/bench/overhead/cold_caches.h"

namespace {

constexpr int kStep = 100;   // launches between two waits
constexpr int kSteps = 10;   // steps in a batch: some microseconds, far above the clock's step
constexpr int kStreams = 4;  // of the rows with several streams

void check(CUresult status, const char* call) {
  if (status != CUDA_SUCCESS) throw std::runtime_error(std::string(call) + " failed with " + std::to_string(status));
}

struct Setup {
  CUfunction two = nullptr, five = nullptr;
  std::array<CUstream, kStreams> streams{};
  std::array<CUevent, kStreams> events{};
  CUevent start = nullptr;
};

Setup make_setup() {
  Setup setup;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, ".version 8.0\n"), "cuModuleLoadData");
  check(cuModuleGetFunction(&setup.two, module, "two"), "cuModuleGetFunction");
  check(cuModuleGetFunction(&setup.five, module, "five"), "cuModuleGetFunction");
  for (CUstream& stream : setup.streams) check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (CUevent& event : setup.events) check(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  check(cuEventCreate(&setup.start, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  return setup;
}

/// Parameters of a launch, as programs have them: values on the stack, and their addresses.
struct Parameters {
  CUdeviceptr to = 0x7000000, from = 0x7100000, more = 0x7200000, last = 0x7300000;
  int count = 1000;
  void* two[2] = {&to, &count};
  void* five[5] = {&to, &from, &more, &last, &count};
};

class Bench {
 public:
  Bench(const Setup& setup, int batches, const std::string& only) : setup_(setup), batches_(batches), only_(only) {}

  nlohmann::json measure() {
    const CUstream stream = setup_.streams[0];
    row("neutral", kStep, [&] {
      CUdevice device = 0;
      for (int i = 0; i < kStep; ++i) cuCtxGetDevice(&device);
    });
    row("launch_2", kStep, [&] {
      for (int i = 0; i < kStep; ++i) launch_two(stream);
      cuStreamSynchronize(stream);
    });
    row("launch_5", kStep, [&] {
      for (int i = 0; i < kStep; ++i) launch_five(stream);
      cuStreamSynchronize(stream);
    });
    row("launch_ex", kStep, [&] {
      CUlaunchConfig config{};
      config.gridDimX = 8;
      config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.blockDimX = 128;
      config.hStream = stream;
      for (int i = 0; i < kStep; ++i) cuLaunchKernelEx(&config, setup_.five, parameters_.five, nullptr);
      cuStreamSynchronize(stream);
    });
    row("launch_buffer", kStep, [&] {
      for (int i = 0; i < kStep; ++i) launch_buffer(stream);
      cuStreamSynchronize(stream);
    });
    // A number that every launch of the step has, and that is another one in every step.
    row("scalar", kStep, [&] {
      ++parameters_.count;
      for (int i = 0; i < kStep; ++i) launch_five(stream);
      cuStreamSynchronize(stream);
    });
    // Nothing repeats: the shapes are numbers without a pattern.
    row("new", kStep, [&] {
      for (int i = 0; i < kStep; ++i) {
        const unsigned blocks = 1 + static_cast<unsigned>((random_ = random_ * 6364136223846793005ULL + 1) >> 40U);
        cuLaunchKernel(setup_.five, blocks, 1, 1, 128, 1, 1, 0, stream, parameters_.five, nullptr);
      }
      cuStreamSynchronize(stream);
    });
    // Four streams in turn, forked at the beginning and joined at the end.
    row("fork", kStep + 1 + 3 * (kStreams - 1), [&] {
      const auto& streams = setup_.streams;
      const auto& events = setup_.events;
      cuEventRecord(setup_.start, stream);
      for (int s = 1; s < kStreams; ++s) cuStreamWaitEvent(streams[s], setup_.start, 0);
      for (int i = 0; i < kStep; ++i) launch_five(streams[i % kStreams]);
      for (int s = 1; s < kStreams; ++s) {
        cuEventRecord(events[s], streams[s]);
        cuStreamWaitEvent(stream, events[s], 0);
      }
      cuStreamSynchronize(stream);
    });
    // Every launch waits for the one before, on another stream.
    row("chain", 3 * kStep, [&] {
      for (int i = 0; i < kStep; ++i) {
        launch_five(setup_.streams[i % kStreams]);
        cuEventRecord(setup_.events[i % kStreams], setup_.streams[i % kStreams]);
        cuStreamWaitEvent(setup_.streams[(i + 1) % kStreams], setup_.events[i % kStreams], 0);
      }
      cuStreamSynchronize(setup_.streams[kStep % kStreams]);
    });
    return result_;
  }

  /// The same calls, as they are in a program that runs through `kib` of code and as much data between two of them.
  nlohmann::json measure_cold(std::size_t kib) {
    const refrain::bench::ColdCaches caches(kib);
    const CUstream stream = setup_.streams[0];
    cold_row("cold_5", caches, [&] { launch_five(stream); });
    cold_row("cold_buffer", caches, [&] { launch_buffer(stream); });
    return result_;
  }

 private:
  /// As libraries do it: parameters in one piece, and attributes.
  void launch_buffer(CUstream stream) {
    std::array<std::byte, 36> buffer;
    for (int i = 0; i < 4; ++i) std::memcpy(buffer.data() + 8L * i, parameters_.five[i], 8);
    std::memcpy(buffer.data() + 32, parameters_.five[4], 4);
    std::size_t size = buffer.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUlaunchAttribute attributes[2] = {};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value.clusterDim = {2, 1, 1};
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    CUlaunchConfig config{};
    config.gridDimX = 8;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 128;
    config.hStream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    cuLaunchKernelEx(&config, setup_.five, nullptr, extra);
  }
  void launch_two(CUstream stream) {
    cuLaunchKernel(setup_.two, 8, 1, 1, 128, 1, 1, 0, stream, parameters_.two, nullptr);
  }
  void launch_five(CUstream stream) {
    cuLaunchKernel(setup_.five, 8, 1, 1, 128, 1, 1, 0, stream, parameters_.five, nullptr);
  }

  /// The median over the batches of the nanoseconds per call; `step` makes `calls` of them, besides its wait.
  template <typename Step>
  void row(const char* name, int calls, Step&& step) {
    if (!only_.empty() && only_ != name) return;
    std::vector<double> times;
    for (int batch = -batches_ / 2; batch < batches_; ++batch) {  // first: caches, the detector, graphs to be built
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kSteps; ++i) step();
      const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
      if (batch >= 0) times.push_back(elapsed.count() / (calls * kSteps));
    }
    std::nth_element(times.begin(), times.begin() + batches_ / 2, times.end());
    result_[name] = times[batches_ / 2];
  }

  /// The mean and the median of the nanoseconds of single calls, waits not included, without the longest of each
  /// hundred: a call that launches what was held is one of twelve or so, which only the mean has in it.
  template <typename Call>
  void cold_row(const char* name, const refrain::bench::ColdCaches& caches, Call&& call) {
    if (!only_.empty() && only_ != name) return;
    std::vector<double> times;
    for (int batch = -batches_ / 2; batch < batches_; ++batch) {
      for (int i = 0; i < kStep; ++i) {
        caches.run_through();
        const auto start = std::chrono::steady_clock::now();
        call();
        const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
        if (batch >= 0) times.push_back(elapsed.count());
      }
      cuStreamSynchronize(setup_.streams[0]);
    }
    std::sort(times.begin(), times.end());
    times.resize(times.size() - times.size() / 100);
    result_[name] = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    result_[name + std::string("_median")] = times[times.size() / 2];
  }

  const Setup& setup_;
  int batches_;
  std::string only_;
  Parameters parameters_;
  std::uint64_t random_ = 1;
  nlohmann::json result_ = nlohmann::json::object();
};

}  // namespace

int main(int argc, char** argv) {
  try {
    int batches = 200;
    std::string only;
    CLI::App app("Times CUDA calls over a driver that swallows them; started by test/bench/overhead/run.");
    app.add_option("--batches", batches, "Batches of each kind of call")
        ->capture_default_str()
        ->check(CLI::Range(4, 10000000));
    app.add_option("--only", only, "The one row to measure");
    std::size_t cold = 0;
    app.add_option("--cold", cold,
                   "Single calls instead: KiB of code and of data that the program runs through between two")
        ->check(CLI::Range(0, 1 << 20));
    bool where = false;
    app.add_flag(
        "--where", where,
        "Also print the addresses of the functions that are called, and where libraries lie, on standard error");
    CLI11_PARSE(app, argc, argv);
    if (where) {
      std::fprintf(stderr, "cuLaunchKernel %p\n", reinterpret_cast<void*>(&cuLaunchKernel));
      std::fprintf(stderr, "cuLaunchKernelEx %p\n", reinterpret_cast<void*>(&cuLaunchKernelEx));
      dl_iterate_phdr(
          [](dl_phdr_info* info, std::size_t /*size*/, void* /*data*/) {
            std::fprintf(stderr, "library %lx %s\n", static_cast<unsigned long>(info->dlpi_addr), info->dlpi_name);
            return 0;
          },
          nullptr);
    }
    const Setup setup = make_setup();
    Bench bench(setup, batches, only);
    const nlohmann::json result = cold == 0 ? bench.measure() : bench.measure_cold(cold);
    if (result.empty()) throw std::runtime_error("there is no row " + only);
    std::printf("%s\n", result.dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overhead_launches: %s\n", error.what());
    return 1;
  }
}
