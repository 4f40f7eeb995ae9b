#include "layer/cuda/stubs.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>

#include "layer/cuda/cudart.h"
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

/// Whose stubs those of known functions are.
const Starter* starter = nullptr;

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
// Defined in stubs.S: 32 bytes for each stub.
extern const std::byte refrain_cuda_anonymous_code[];
// Used by stubs.S.
std::uint32_t refrain_cuda_anonymous_watching = 0;
void* refrain_cuda_anonymous_targets[refrain::layer::cuda::kAnonymousStubs] = {};
void* refrain_cuda_anonymous_host_call(std::uint32_t number) noexcept;
/// What the starter looks up.
__attribute__((visibility("default"))) refrain::layer::FirstCall refrain_layer_open(
    const refrain::layer::Starter& given) noexcept;
}

namespace refrain::layer::cuda {
namespace {

void* call_hook(const replay::EntryPoint& entry_point, void* target) noexcept {
  const int saved_errno = errno;
  if (const HostCallHook hook = host_call_hook.load(std::memory_order_acquire); hook != nullptr) {
    hook(entry_point);
  }
  errno = saved_errno;
  return target;
}

void* host_call(std::uint32_t index, std::uint64_t /*caller*/) noexcept {
  return call_hook(descriptions[index].entry, target_of(index));
}

void* first_call(std::uint32_t index) noexcept {
  const int saved_errno = errno;
  void* target = index < kKnown ? load_driver_for(index) : target_of(index);
  errno = saved_errno;
  return target;
}

void** place_of(std::uint32_t index) noexcept {
  return starter->targets + index;
}

}  // namespace

const Starter& own_starter() noexcept {
  return *starter;
}

std::span<const EntryDescription> entry_descriptions() noexcept {
  return descriptions;
}

void* stub_address(std::uint32_t index) noexcept {
  return stub_of(*starter, index);
}

void set_target(std::uint32_t index, void* target) noexcept {
  __atomic_store_n(place_of(index), target, __ATOMIC_RELEASE);
}

void* target_of(std::uint32_t index) noexcept {
  return __atomic_load_n(place_of(index), __ATOMIC_ACQUIRE);
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
  __atomic_store_n(&refrain_cuda_anonymous_targets[number], function, __ATOMIC_RELEASE);
  anonymous_used.store(number + 1, std::memory_order_release);
  return const_cast<std::byte*>(refrain_cuda_anonymous_code) + kAnonymousStubBytes * number;
}

void set_host_call_hook(HostCallHook hook) noexcept {
  host_call_hook.store(hook, std::memory_order_release);
}

void set_stubs_watching(bool watching) noexcept {
  __atomic_store_n(&refrain_cuda_anonymous_watching, watching ? 1U : 0U, __ATOMIC_RELEASE);
  __atomic_store_n(starter->watching, watching ? 1U : 0U, __ATOMIC_RELEASE);
}

}  // namespace refrain::layer::cuda

void* refrain_cuda_anonymous_host_call(std::uint32_t number) noexcept {
  using namespace refrain::layer::cuda;
  return call_hook(anonymous_entries[number], refrain_cuda_anonymous_targets[number]);
}

refrain::layer::FirstCall refrain_layer_open(const refrain::layer::Starter& given) noexcept {
  using namespace refrain::layer::cuda;
  if (std::strcmp(given.version, REFRAIN_VERSION) != 0 || given.stubs != kKnown + runtime_functions().size()) {
    return nullptr;
  }
  starter = &given;
  *given.host_call = &host_call;
  for (std::uint32_t index = kKnown; index < given.stubs; ++index) {
    set_target(index, runtime_functions()[index - kKnown]);
  }
  return &first_call;
}
