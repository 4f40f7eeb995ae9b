#include "layer/opencl/stubs.h"

#include <cerrno>

#include "layer/opencl/layer.h"
#include "layer/waiting.h"

extern "C" {
extern const char refrain_stub_code[];
// Read by stubs.S.
std::uint32_t refrain_stub_watching = 0;
void* refrain_stub_targets[refrain::layer::kStubs] = {};
void* refrain_stub_host_call(std::uint32_t index) noexcept;
}

namespace refrain::layer {
namespace {

constexpr std::size_t kStubBytes = 32;
replay::EntryPoint names[kStubs];
bool makes[kStubs];

}  // namespace

void* stub_address(std::uint32_t index) noexcept {
  return const_cast<char*>(refrain_stub_code + kStubBytes * index);
}

void set_stub(std::uint32_t index, void* stub_target, const char* name, bool makes_objects) noexcept {
  names[index].name = name;
  makes[index] = makes_objects;
  __atomic_store_n(&refrain_stub_targets[index], stub_target, __ATOMIC_RELEASE);
}

void set_stubs_watching(bool watching) noexcept {
  __atomic_store_n(&refrain_stub_watching, watching ? 1U : 0U, __ATOMIC_RELEASE);
}

}  // namespace refrain::layer

void* refrain_stub_host_call(std::uint32_t index) noexcept {
  using namespace refrain::layer;
  const int saved_errno = errno;
  {
    const EntryScope scope;
    // One that gave up may still hold something.
    if (refrain::replay::Engine* running = engine_pointer.load(std::memory_order_acquire); running != nullptr) {
      const NotCancelled during(running->anything_held());
      if (makes[index]) {
        state.foreign_objects.store(true, std::memory_order_relaxed);
      }
      running->flush_all_silently(names[index]);
    }
  }
  errno = saved_errno;
  return __atomic_load_n(&refrain_stub_targets[index], __ATOMIC_ACQUIRE);
}
