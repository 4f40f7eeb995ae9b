// A stand-in for libcuda.so.1 that forwards everything to the real driver except submissions, which succeed without
// doing anything. A program run with it preloaded takes as long as its host side takes: the least that any way of
// submitting can reach. Results are garbage, so it is for programs whose control flow does not depend on them.
//
//   LD_PRELOAD=libnoop_launches.so NOOP_LAUNCHES_DRIVER=/path/to/the/real/libcuda.so.1 ./program
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

// Not cuda.h: it renames functions, and here the names are what matters.
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kNoDevice = 100;
constexpr Result kNotFound = 500;

namespace {

constexpr const char* kNames[] = {
#define ENTRY(index, name) #name,
#include "noop_names.inc"
#undef ENTRY
};
constexpr std::size_t kCount = std::size(kNames);

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
  for (const std::string_view submission : kSubmissions) {
    if (name == submission) return true;
  }
  return false;
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
GetProcAddress real_get = nullptr;
GetProcAddressV2 real_get_v2 = nullptr;

Result get(const char* name, void** function, int version, std::uint64_t flags);
Result get_v2(const char* name, void** function, int version, std::uint64_t flags, void* status);

void replace(const char* name, void** function) {
  if (name == nullptr || function == nullptr || *function == nullptr) return;
  if (*function == reinterpret_cast<void*>(real_get)) {
    *function = reinterpret_cast<void*>(&get);
  } else if (*function == reinterpret_cast<void*>(real_get_v2)) {
    *function = reinterpret_cast<void*>(&get_v2);
  } else if (is_submission(name)) {
    *function = reinterpret_cast<void*>(&do_nothing);
  }
}

Result get(const char* name, void** function, int version, std::uint64_t flags) {
  const Result result = real_get(name, function, version, flags);
  if (result == kSuccess) replace(name, function);
  return result;
}

Result get_v2(const char* name, void** function, int version, std::uint64_t flags, void* status) {
  const Result result = real_get_v2(name, function, version, flags, status);
  if (result == kSuccess) replace(name, function);
  return result;
}

}  // namespace

/// Where the exported functions (noop_trampolines.S) jump to, in the order of noop_names.inc.
extern "C" __attribute__((visibility("hidden"))) void* noop_targets[kCount];
void* noop_targets[kCount];

namespace {

/// A constructor is acceptable here: this library is preloaded into test programs only, all of which use the driver.
__attribute__((constructor)) void open_driver() {
  const char* path = std::getenv("NOOP_LAUNCHES_DRIVER");
  void* driver = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (driver == nullptr) {
    std::fprintf(stderr, "noop_launches: no driver: %s\n",
                 path != nullptr ? dlerror() : "NOOP_LAUNCHES_DRIVER is not set");
  } else {
    real_get = reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress"));
    real_get_v2 = reinterpret_cast<GetProcAddressV2>(dlsym(driver, "cuGetProcAddress_v2"));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    void* function = driver != nullptr ? dlsym(driver, kNames[i]) : reinterpret_cast<void*>(&no_driver);
    if (function == nullptr) function = reinterpret_cast<void*>(&not_found);
    if (driver != nullptr) replace(kNames[i], &function);
    noop_targets[i] = function;
  }
}

}  // namespace
