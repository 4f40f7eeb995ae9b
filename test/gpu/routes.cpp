// A stand-in for libcuda.so.1 that leads each call by one of three routes: to the real driver, to Refrain (which leads
// on to the driver), or to the driver except for submissions, which succeed without doing anything. The program says
// which (routes_use()), so that the ways can be compared in turn in one process: the same memory, the same processor.
//
//   LD_PRELOAD=libroutes.so ROUTES_DRIVER=/path/to/the/real/libcuda.so.1 ROUTES_FIRST=noop ./program
//   LD_PRELOAD=libroutes.so ROUTES_DRIVER=… ROUTES_LAYER=/path/to/librefrain_cuda.so ./program   (starts with Refrain)
//
// With no-ops, a program takes as long as its host side takes: the least that any way of submitting can reach. Results
// are garbage then, so it is for programs whose control flow does not depend on them. A route is changed while the
// device is idle; Refrain knows nothing of what is done by another route, so that memory that was used before must
// stay. What Refrain answers in the shared runtime's place (layer/cuda/cudart.h) is led by the same routes.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "driver_names.h"

// Not cuda.h: it renames functions, and here the names are what matters.
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kNoDevice = 100;
constexpr Result kNotFound = 500;

namespace {

constexpr const char* kNames[] = {
#define ENTRY(index, name) #name,
#include "driver_names.inc"
#undef ENTRY
};
constexpr std::size_t kNameCount = std::size(kNames);
static_assert(kNameCount == ROUTE_NAMES);    // route_stubs.S counts on it
constexpr std::size_t kSlots = ROUTE_SLOTS;  ///< for functions without a name
constexpr std::size_t kStubBytes = 16;

enum Route : std::uint8_t { kDriver, kLayer, kNoop, kRoutes };

/// What programs submit while they run. Synchronous copies and copies from and to the host stay: they wait, and the
/// host looks at what they bring. So do a program's own graphs.
constexpr std::array<std::string_view, 10> kSubmissions = {
    "cuLaunchKernel",   "cuLaunchKernelEx",  "cuLaunchCooperativeKernel", "cuMemsetD8Async",    "cuMemsetD16Async",
    "cuMemsetD32Async", "cuMemsetD2D8Async", "cuMemsetD2D16Async",        "cuMemsetD2D32Async", "cuMemcpyDtoDAsync"};

/// Variants for the per-thread default stream and later versions do the same thing.
bool is_submission(std::string_view name) {
  for (const std::string_view suffix : {std::string_view("_ptsz"), std::string_view("_v2")}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return std::find(kSubmissions.begin(), kSubmissions.end(), name) != kSubmissions.end();
}

/// One function for all of them: the caller cleans up the arguments, and nobody looks at them.
Result do_nothing() {
  return kSuccess;
}
Result no_driver() {
  return kNoDevice;
}
Result not_found() {
  return kNotFound;
}

using GetProcAddress = Result (*)(const char*, void**, int, std::uint64_t);
using GetProcAddressV2 = Result (*)(const char*, void**, int, std::uint64_t, void*);

Result get(const char* name, void** function, int version, std::uint64_t flags);
Result get_v2(const char* name, void** function, int version, std::uint64_t flags, void* status);

}  // namespace

/// Where the stubs (route_stubs.S) jump to: the exported functions in the order of driver_names.inc, then those without
/// a name.
extern "C" __attribute__((visibility("hidden"))) void* route_targets[kNameCount + kSlots];
void* route_targets[kNameCount + kSlots];
extern "C" __attribute__((visibility("hidden"))) const char route_stubs[];

namespace {

struct Real {
  GetProcAddress get = nullptr;
  GetProcAddressV2 get_v2 = nullptr;
};

std::mutex mutex;          ///< guards all below, but not the stubs' reading
std::array<Real, 2> real;  ///< of driver and layer
std::array<std::array<void*, kNameCount + kSlots>, kRoutes> targets;
std::size_t slots = 0;
std::atomic<Route> route = kDriver;  ///< read without the mutex, too
bool has_layer = false;
void* layer_library = nullptr;

/// Fills in a stub's targets; `layer` is null if there is none.
void lead(std::size_t index, const char* name, void* driver, void* layer) {
  targets[kDriver][index] = driver;
  targets[kLayer][index] = layer != nullptr ? layer : driver;
  targets[kNoop][index] = name != nullptr && is_submission(name) ? reinterpret_cast<void*>(&do_nothing) : driver;
  route_targets[index] = targets[route][index];
}

/// The function that stands for what `name` is to the driver and to the layer.
void* stub_for(const char* name, void* driver, void* layer) {
  if (driver == reinterpret_cast<void*>(real[0].get)) return reinterpret_cast<void*>(&get);
  if (driver == reinterpret_cast<void*>(real[0].get_v2)) return reinterpret_cast<void*>(&get_v2);
  const std::lock_guard guard(mutex);
  std::size_t index = 0;
  while (index < kNameCount + slots && (targets[kDriver][index] != driver || targets[kLayer][index] != layer)) ++index;
  if (index == kNameCount + slots) {
    if (slots++ == kSlots) {
      std::fprintf(stderr, "routes: too many functions\n");
      std::abort();
    }
    lead(index, name, driver, layer);
  }
  // Those with a name stand directly in front of those without.
  return const_cast<char*>(route_stubs) + kStubBytes * index - kStubBytes * kNameCount;
}

/// A function of one version of the shared runtime, by route; null: not looked for yet.
struct RuntimeFunction {
  const char* library;
  const char* name;
  std::array<std::atomic<void*>, kRoutes> by_route{};
};
constinit RuntimeFunction get_device_12{"libcudart.so.12", "cudaGetDevice"};
constinit RuntimeFunction get_device_13{"libcudart.so.13", "cudaGetDevice"};
constinit RuntimeFunction launch_12{"libcudart.so.12", "__cudaLaunchKernel"};
constinit RuntimeFunction launch_13{"libcudart.so.13", "__cudaLaunchKernel"};

void* look_for(RuntimeFunction& function, Route by) {
  void* library = by == kLayer ? layer_library : dlopen(function.library, RTLD_LAZY | RTLD_NOLOAD);
  void* found = dlvsym(library, function.name, function.library);
  if (found == nullptr) {
    std::fprintf(stderr, "routes: no %s of %s\n", function.name, function.library);
    std::abort();
  }
  function.by_route[by].store(found, std::memory_order_release);
  return found;
}

template <class... Arguments>
Result call(RuntimeFunction& function, Arguments... arguments) {
  const Route by = route.load(std::memory_order_relaxed);
  void* found = function.by_route[by].load(std::memory_order_acquire);
  if (found == nullptr) found = look_for(function, by);
  return reinterpret_cast<Result (*)(Arguments...)>(found)(arguments...);
}

/// The runtime's dim3, as it is passed.
struct Dimensions {
  unsigned x, y, z;
};

template <typename Ask>
Result find(const char* name, void** function, Ask&& ask) {
  const Result result = ask(real[0], function);
  if (result != kSuccess || function == nullptr || *function == nullptr) return result;
  void* layer = *function;
  if (has_layer && ask(real[1], &layer) != kSuccess) layer = *function;
  *function = stub_for(name, *function, layer);
  return result;
}

Result get(const char* name, void** function, int version, std::uint64_t flags) {
  return find(name, function, [&](const Real& of, void** to) { return of.get(name, to, version, flags); });
}

Result get_v2(const char* name, void** function, int version, std::uint64_t flags, void* status) {
  return find(name, function, [&](const Real& of, void** to) { return of.get_v2(name, to, version, flags, status); });
}

void* open(const char* variable, bool needed) {
  const char* path = std::getenv(variable);
  void* library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr && (needed || path != nullptr))
    std::fprintf(stderr, "routes: %s: %s\n", variable, path != nullptr ? dlerror() : "not set");
  return library;
}

/// A constructor is acceptable here: this library is preloaded into test programs only, all of which use the driver.
__attribute__((constructor)) void open_libraries() {
  const std::array<void*, 2> libraries = {open("ROUTES_DRIVER", true), open("ROUTES_LAYER", false)};
  layer_library = libraries[1];
  has_layer = layer_library != nullptr;
  const char* first = std::getenv("ROUTES_FIRST");
  route = first != nullptr && std::strcmp(first, "noop") == 0 ? kNoop : has_layer ? kLayer : kDriver;
  for (std::size_t i = 0; i < 2; ++i) {
    if (libraries[i] == nullptr) continue;
    real[i].get = reinterpret_cast<GetProcAddress>(dlsym(libraries[i], "cuGetProcAddress"));
    real[i].get_v2 = reinterpret_cast<GetProcAddressV2>(dlsym(libraries[i], "cuGetProcAddress_v2"));
  }
  for (std::size_t i = 0; i < kNameCount; ++i) {
    const std::string_view name = kNames[i];
    void* driver = libraries[0] != nullptr ? dlsym(libraries[0], kNames[i]) : reinterpret_cast<void*>(&no_driver);
    void* layer = has_layer ? dlsym(libraries[1], kNames[i]) : nullptr;
    if (driver == nullptr) driver = layer = reinterpret_cast<void*>(&not_found);
    if (libraries[0] != nullptr && name == "cuGetProcAddress") driver = layer = reinterpret_cast<void*>(&get);
    if (libraries[0] != nullptr && name == "cuGetProcAddress_v2") driver = layer = reinterpret_cast<void*>(&get_v2);
    lead(i, kNames[i], driver, layer);
  }
}

}  // namespace

/// "driver", "layer" or "noop". While no call is under way and the device is idle. Returns 0, or 1 if there is no such
/// route.
extern "C" __attribute__((visibility("default"))) int routes_use(const char* name) {
  constexpr std::array<std::string_view, kRoutes> kRouteNames = {"driver", "layer", "noop"};
  const auto found = std::find(kRouteNames.begin(), kRouteNames.end(), name);
  if (found == kRouteNames.end() || (*found == "layer" && !has_layer)) return 1;
  const std::lock_guard guard(mutex);
  route = static_cast<Route>(found - kRouteNames.begin());
  std::copy(targets[route].begin(), targets[route].begin() + static_cast<std::ptrdiff_t>(kNameCount + slots),
            route_targets);
  return 0;
}

extern "C" {
#define RUNTIME __attribute__((visibility("default"), used)) int
#define LAUNCH void *kernel, Dimensions grid, Dimensions block, void **arguments, std::size_t shared, void *stream
RUNTIME routes_get_device_12(int* device) {
  return call(get_device_12, device);
}
RUNTIME routes_get_device_13(int* device) {
  return call(get_device_13, device);
}
RUNTIME routes_launch_12(LAUNCH) {
  return call(launch_12, kernel, grid, block, arguments, shared, stream);
}
RUNTIME routes_launch_13(LAUNCH) {
  return call(launch_13, kernel, grid, block, arguments, shared, stream);
}
}
asm(".symver routes_get_device_12, cudaGetDevice@libcudart.so.12");
asm(".symver routes_get_device_13, cudaGetDevice@libcudart.so.13");
asm(".symver routes_launch_12, __cudaLaunchKernel@libcudart.so.12");
asm(".symver routes_launch_13, __cudaLaunchKernel@libcudart.so.13");
