// What one call of the driver API costs the calling thread: one that only looks something up, and a launch. Prints one
// line of JSON with medians in nanoseconds. With --driver each call is also made at the real driver's own function, in
// the same process and in turn, so that the difference is what a layer in front of the driver adds. Only for a layer
// that holds nothing back (observe): it does not see the calls made directly.
#include <cuda.h>
#include <dlfcn.h>

#include <chrono>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

__global__ void nothing() {}

void check_driver(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s failed: %d\n", call, static_cast<int>(status));
  std::exit(1);
}

/// Nanoseconds a call takes by way of the name that the program is linked to (which a layer may stand behind), and by
/// the driver's own function.
struct Pair {
  std::vector<double> linked, direct;

  /// The median of what a batch took longer than the one beside it: a processor that is slower for a while, is so for
  /// both.
  double difference() const {
    std::vector<double> differences;
    for (std::size_t i = 0; i < linked.size(); ++i) differences.push_back(linked[i] - direct[i]);
    return gpu_test::median(differences);
  }
};

/// Times `calls` calls of each in turn, `batches` times; `after` each batch is not measured.
template <typename Linked, typename Direct, typename After>
Pair nanoseconds(int batches, int calls, Linked linked, Direct direct, After after) {
  Pair pair;
  const auto batch = [&](auto& call, std::vector<double>& times) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls);
    after();
  };
  for (int i = 0; i < batches; ++i) {
    if (i % 2 == 0) {
      batch(linked, pair.linked);
      batch(direct, pair.direct);
    } else {
      batch(direct, pair.direct);
      batch(linked, pair.linked);
    }
  }
  return pair;
}

/// The same, but every call is timed by itself, the clock's own time included: the means above count as well what one
/// call in many does for all of them.
template <typename Linked, typename Direct, typename After>
Pair nanoseconds_of_each(int batches, int calls, Linked linked, Direct direct, After after) {
  Pair pair;
  const auto batch = [&](auto& call, std::vector<double>& times) {
    for (int i = 0; i < calls; ++i) {
      const auto start = Clock::now();
      call();
      times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    }
    after();
  };
  for (int i = 0; i < batches; ++i) {
    batch(linked, pair.linked);
    batch(direct, pair.direct);
  }
  return pair;
}

void print(const char* name, const Pair& pair, const char* end) {
  std::printf("\"%s_ns\": %.2f, \"%s_direct_ns\": %.2f, \"%s_more_ns\": %.2f%s", name, gpu_test::median(pair.linked),
              name, gpu_test::median(pair.direct), name, pair.difference(), end);
}

template <typename Function>
Function* driver_function(void* driver, const char* name, Function* linked) {
  if (driver == nullptr) return linked;
  auto* function = reinterpret_cast<Function*>(dlsym(driver, name));
  if (function == nullptr) {
    std::fprintf(stderr, "call_cost: --driver has no %s\n", name);
    std::exit(1);
  }
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, "call_cost [--batches N] [--driver FILE, the real driver's]");
  const int batches = arguments.integer("batches", 300);
  const std::string path = arguments.text("driver", "");
  arguments.nothing_left();

  CHECK_CUDA(cudaFree(nullptr));  // makes the context
  void* driver = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW);
  if (driver == nullptr && !path.empty()) {
    std::fprintf(stderr, "call_cost: %s\n", dlerror());
    return 1;
  }
  const auto direct_device = driver_function(driver, "cuCtxGetDevice", &cuCtxGetDevice);
  const auto direct_current = driver_function(driver, "cuCtxGetCurrent", &cuCtxGetCurrent);
  const auto direct_launch = driver_function(driver, "cuLaunchKernel", &cuLaunchKernel);

  cudaFunction_t function = nullptr;
  CHECK_CUDA(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(nothing)));
  CUstream stream = nullptr;
  check_driver(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  CUdevice device = 0;
  CUcontext context = nullptr;
  const auto none = [] {};
  const Pair get_device = nanoseconds(
      batches, 5000, [&] { (void)cuCtxGetDevice(&device); }, [&] { (void)direct_device(&device); }, none);
  const Pair get_current = nanoseconds(
      batches, 5000, [&] { (void)cuCtxGetCurrent(&context); }, [&] { (void)direct_current(&context); }, none);
  // Fewer than the driver's queue holds, so that no launch has to wait for the device. Their number varies: loops that
  // repeat exactly are what a layer may take a short cut for.
  int number = 0;
  const auto launch_by = [&](auto* launch) {
    return [&, launch] {
      const unsigned blocks = 1 + static_cast<unsigned>(++number) * 2654435761u % 7;
      check_driver(launch(function, blocks, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
    };
  };
  const auto wait = [&] { check_driver(cuStreamSynchronize(stream), "cuStreamSynchronize"); };
  const Pair launch = nanoseconds(batches, 500, launch_by(&cuLaunchKernel), launch_by(direct_launch), wait);
  const Pair each = nanoseconds_of_each(batches, 500, launch_by(&cuLaunchKernel), launch_by(direct_launch), wait);
  std::printf("{");
  print("cuCtxGetDevice", get_device, ", ");
  print("cuCtxGetCurrent", get_current, ", ");
  print("cuLaunchKernel", launch, ", ");
  // Here the difference of the medians.
  std::printf("\"each_cuLaunchKernel_more_ns\": %.1f}\n",
              gpu_test::median(each.linked) - gpu_test::median(each.direct));
  return 0;
}
