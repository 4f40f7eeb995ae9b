// Which device the runtime says is the calling thread's, whatever way it became that: by the runtime, by the driver's
// contexts, in threads, behind a reset, in a child. A program of the shared runtime, whose output must be the same with
// Refrain, which answers most of these questions (layer/cuda/cudart.h). What comes behind "elapsed" are times.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "cuda_check.h"

namespace {

constexpr const char* kUsage =
    "device_rules [--steps N] [--seed S] [--questions Q]\n"
    "  prints which device is current in each situation, a checksum of the answers in N random steps, and how long Q\n"
    "  questions take";

void check_driver(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "device_rules: %s failed: %d\n", call, static_cast<int>(status));
  std::exit(1);
}
#define CHECK_DRIVER(call) check_driver((call), #call)

template <class Function>
void find(Function** function, const char* name, unsigned version = 12000) {
  cudaDriverEntryPointQueryResult found{};
  CHECK_CUDA(
      cudaGetDriverEntryPointByVersion(name, reinterpret_cast<void**>(function), version, cudaEnableDefault, &found));
}

struct Driver {
  decltype(&::cuCtxGetCurrent) get_current = nullptr;
  decltype(&::cuCtxSetCurrent) set_current = nullptr;
  decltype(&::cuCtxPushCurrent) push = nullptr;
  decltype(&::cuCtxPopCurrent) pop = nullptr;
  decltype(&::cuCtxGetDevice) get_device = nullptr;
  CUresult (*create)(CUcontext*, unsigned, CUdevice) = nullptr;
  decltype(&::cuCtxDestroy) destroy = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain = nullptr;

  Driver() {
    find(&get_current, "cuCtxGetCurrent");
    find(&set_current, "cuCtxSetCurrent");
    find(&push, "cuCtxPushCurrent");
    find(&pop, "cuCtxPopCurrent");
    find(&get_device, "cuCtxGetDevice");
    find(&create, "cuCtxCreate", 3020);  // later ones have more arguments
    find(&destroy, "cuCtxDestroy");
    find(&retain, "cuDevicePrimaryCtxRetain");
  }
};

int ask() {
  int device = -7;
  const cudaError_t status = cudaGetDevice(&device);
  return status == cudaSuccess ? device : -static_cast<int>(status);
}

class Rules {
 public:
  Rules() {
    CHECK_CUDA(cudaGetDeviceCount(&devices_));
    primary_.resize(static_cast<std::size_t>(devices_));
    tell("at first");
  }

  void single() {
    for (int device = devices_ - 1; device >= 0; --device) {
      CHECK_CUDA(cudaSetDevice(device));
      tell("set", device);
    }
    for (int device = 0; device < devices_; ++device) {
      CHECK_DRIVER(driver_.retain(&primary_[static_cast<std::size_t>(device)], device));
      CHECK_CUDA(cudaSetDevice(device));
      CUcontext current = nullptr;
      CHECK_DRIVER(driver_.get_current(&current));
      std::printf("set %d: its primary context is current: %d\n", device,
                  current == primary_[static_cast<std::size_t>(device)] ? 1 : 0);
    }
    std::printf("set none: %s\n", cudaGetErrorName(cudaSetDevice(99)));
    tell("behind it");
    std::printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
    const int last = devices_ - 1;
    CHECK_DRIVER(driver_.set_current(primary_[0]));
    tell("the driver's context of", 0);
    CHECK_DRIVER(driver_.set_current(primary_.back()));
    tell("the driver's context of", last);
    CHECK_DRIVER(driver_.set_current(nullptr));
    tell("no context");
    CHECK_CUDA(cudaFree(nullptr));
    tell("no context, and a call that needs one");
    CHECK_CUDA(cudaSetDevice(0));
    CHECK_DRIVER(driver_.push(primary_.back()));
    tell("pushed", last);
    CUcontext popped = nullptr;
    CHECK_DRIVER(driver_.pop(&popped));
    tell("popped");
    // Contexts of its own: a handle may come back as one of another device.
    int same = 0;
    CUcontext before = nullptr;
    for (int i = 0; i < 8; ++i) {
      CUcontext own = nullptr;
      const int device = i % devices_;
      CHECK_DRIVER(driver_.create(&own, 0, device));
      tell("a context of its own on", device);
      same += own == before ? 1 : 0;
      before = own;
      CHECK_DRIVER(driver_.destroy(own));
      tell("destroyed");
    }
    // The same without a question in between: nothing else says that the handle means another context now.
    for (int i = 0; i < 8; ++i) {
      CUcontext own = nullptr;
      const int device = (i + 1) % devices_;
      CHECK_DRIVER(driver_.create(&own, 0, device));
      tell("another one on", device);
      same += own == before ? 1 : 0;
      before = own;
      CHECK_DRIVER(driver_.destroy(own));
    }
    std::printf("elapsed-handles-that-came-back %d\n", same);
    CHECK_CUDA(cudaSetDevice(last));
    std::thread([&] {
      tell("another thread");
      CHECK_CUDA(cudaSetDevice(0));
      tell("another thread set", 0);
    }).join();
    tell("and this one");
    set_by_the_library(0);
    tell("set by the library's function", 0);
    set_by_the_library(last);
    tell("set by the library's function", last);
    std::fflush(stdout);
    if (fork() == 0) {
      tell("a child");
      std::fflush(stdout);
      _exit(0);
    }
    wait(nullptr);
    tell("its parent");
  }

  void random(int steps, unsigned seed) {
    gpu_test::Checksum checksum;
    std::vector<CUcontext> pushed;
    for (int i = 0; i < steps; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const int device = static_cast<int>(seed >> 8) % devices_;
      switch ((seed >> 20) % 8) {
        case 0: CHECK_CUDA(cudaSetDevice(device)); break;
        case 1: CHECK_DRIVER(driver_.set_current(primary_[static_cast<std::size_t>(device)])); break;
        case 2:
          if (pushed.size() < 8) {
            pushed.push_back(primary_[static_cast<std::size_t>(device)]);
            CHECK_DRIVER(driver_.push(pushed.back()));
          }
          break;
        case 3:
          if (!pushed.empty()) {
            CUcontext popped = nullptr;
            CHECK_DRIVER(driver_.pop(&popped));
            pushed.pop_back();
          }
          break;
        case 4: set_by_the_library(device); break;
        case 5:
          std::thread([&] {
            CHECK_CUDA(cudaSetDevice(device));
            const int answer = ask();
            checksum.add(&answer, sizeof(answer));
          }).join();
          break;
        default: break;  // asks more often
      }
      const int answer = ask();
      checksum.add(&answer, sizeof(answer));
    }
    std::printf("%d random steps: %016llx\n", steps, static_cast<unsigned long long>(checksum.value()));
  }

  void reset() {
    CHECK_CUDA(cudaSetDevice(devices_ - 1));
    CHECK_CUDA(cudaDeviceReset());
    tell("reset");
    CHECK_CUDA(cudaSetDevice(0));
    tell("set", 0);
  }

  void time(int questions) const {
    CHECK_CUDA(cudaSetDevice(devices_ - 1));
    CUcontext current = nullptr;
    int device = -1;
    std::printf("elapsed-get-device-ns %.1f\n", each(questions, [&] { cudaGetDevice(&device); }));
    std::printf("elapsed-current-context-ns %.1f\n", each(questions, [&] { driver_.get_current(&current); }));
    std::printf("%d devices\n", devices_);
  }

 private:
  void tell(const char* when) const { std::printf("%s: %d %d\n", when, ask(), ask()); }
  void tell(const char* when, int device) const { std::printf("%s %d: %d %d\n", when, device, ask(), ask()); }

  template <class Call>
  static double each(int times, Call&& call) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) call();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / times;
  }

  /// As a program finds it that looks it up.
  static void set_by_the_library(int device) {
    static const auto set = [] {
      Dl_info place{};
      void* of_library = nullptr;
      if (dladdr(reinterpret_cast<void*>(&cudaGetErrorName), &place) != 0) {
        if (void* library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
          of_library = dlsym(library, "cudaSetDevice");
        }
      }
      if (of_library == nullptr) {
        std::fprintf(stderr, "device_rules: the runtime's cudaSetDevice() was not found\n");
        std::exit(1);
      }
      return reinterpret_cast<decltype(&cudaSetDevice)>(of_library);
    }();
    CHECK_CUDA(set(device));
  }

  Driver driver_;
  int devices_ = 0;
  std::vector<CUcontext> primary_;
};

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const int steps = arguments.integer("steps", 20'000);
  const auto seed = static_cast<unsigned>(arguments.integer("seed", 1));
  const int questions = std::max(1, arguments.integer("questions", 200'000));
  arguments.nothing_left();
  Rules rules;
  rules.single();
  rules.random(steps, seed);
  rules.time(questions);
  rules.reset();
  return 0;
}
