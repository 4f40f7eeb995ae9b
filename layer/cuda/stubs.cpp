#include "layer/cuda/stubs.h"

#include <atomic>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <string>

#include "layer/cuda/driver.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"
#include "layer/immortal.h"
#include "layer/streams/generic_setter.h"

namespace refrain::layer::cuda {
namespace {

#define TYPED_ENTRY(f, c) {{#f}, EntryClass::c, reinterpret_cast<void*>(&wrap::f)},
#define PLAIN_ENTRY(f, c) {{#f}, EntryClass::c, nullptr},
#define SUBMIT(f) TYPED_ENTRY(f, kSubmit)
#define TRACKED(f) TYPED_ENTRY(f, kTracked)
#define TYPED(f) TYPED_ENTRY(f, kTyped)
#define SETTER(f)      \
  {{#f},               \
   EntryClass::kTyped, \
   reinterpret_cast<void*>(&streams::GenericSetter<CudaLayer, driver, &DriverFunctions::f, entry::f>::call)},
#define RESOLVE(f) TYPED_ENTRY(f, kResolve)
#define NEUTRAL(f) PLAIN_ENTRY(f, kNeutral)
#define HOST(f) PLAIN_ENTRY(f, kHost)
const EntryDescription descriptions[] = {
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"
};

constexpr std::uint32_t kKnown = std::size(descriptions);
constexpr std::uint32_t kStubs = kKnown + kAnonymousStubs;

// An application's thread may be on its way through a stub while the process exits: never destroyed.
std::string& anonymous_name(std::uint32_t number) {
  static auto* const names = new std::string[kAnonymousStubs];
  return names[number];
}
replay::EntryPoint anonymous_entries[kAnonymousStubs];
std::atomic<std::uint32_t> anonymous_used{0};
std::atomic<HostCallHook> host_call_hook{nullptr};

}  // namespace
}  // namespace refrain::layer::cuda

extern "C" {
// Defined in stubs.S.
extern void* refrain_cuda_targets[refrain::layer::cuda::kStubs];
extern void* const refrain_cuda_stub_addresses[refrain::layer::cuda::kStubs];
// Used by stubs.S.
std::uint32_t refrain_cuda_watching = 0;
void* refrain_cuda_host_call(std::uint32_t index) noexcept;
void* refrain_cuda_first_call(std::uint32_t index) noexcept;
/// By this name another copy of this library is recognised.
extern __attribute__((visibility("default"))) const char refrain_cuda_shim[];
const char refrain_cuda_shim[] = REFRAIN_VERSION;
}

namespace refrain::layer::cuda {

std::span<const EntryDescription> entry_descriptions() noexcept {
  return descriptions;
}

void* stub_address(std::uint32_t index) noexcept {
  return refrain_cuda_stub_addresses[index];
}

void set_target(std::uint32_t index, void* target) noexcept {
  __atomic_store_n(&refrain_cuda_targets[index], target, __ATOMIC_RELEASE);
}

void* target_of(std::uint32_t index) noexcept {
  return __atomic_load_n(&refrain_cuda_targets[index], __ATOMIC_ACQUIRE);
}

void* take_anonymous_stub(void* function, const char* name) noexcept {
  static Immortal<std::mutex> mutex;
  const std::lock_guard guard(*mutex);
  const std::uint32_t number = anonymous_used.load(std::memory_order_relaxed);
  if (number == kAnonymousStubs) {
    return nullptr;
  }
  try {
    anonymous_name(number) = name;
    anonymous_entries[number].name = anonymous_name(number).c_str();
  } catch (...) {
    anonymous_entries[number].name = "a function newer than Refrain";
  }
  set_target(kKnown + number, function);
  anonymous_used.store(number + 1, std::memory_order_release);
  return stub_address(kKnown + number);
}

void set_host_call_hook(HostCallHook hook) noexcept {
  host_call_hook.store(hook, std::memory_order_release);
}

void set_stubs_watching(bool watching) noexcept {
  __atomic_store_n(&refrain_cuda_watching, watching ? 1U : 0U, __ATOMIC_RELEASE);
}

}  // namespace refrain::layer::cuda

void* refrain_cuda_host_call(std::uint32_t index) noexcept {
  using namespace refrain::layer::cuda;
  const int saved_errno = errno;
  if (const HostCallHook hook = host_call_hook.load(std::memory_order_acquire); hook != nullptr) {
    hook(index < kKnown ? descriptions[index].entry : anonymous_entries[index - kKnown]);
  }
  errno = saved_errno;
  return target_of(index);
}

void* refrain_cuda_first_call(std::uint32_t index) noexcept {
  using namespace refrain::layer::cuda;
  const int saved_errno = errno;
  void* target = load_driver_for(index);
  errno = saved_errno;
  return target;
}
