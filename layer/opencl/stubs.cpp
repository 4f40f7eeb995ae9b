#include "layer/opencl/stubs.h"

#include <atomic>
#include <cerrno>

#include "layer/opencl/layer.h"
#include "layer/waiting.h"

namespace refrain::layer::opencl {
namespace {

using interpose::HostStubs;

std::atomic<bool> makes[HostStubs::kCount];

void* host_call(std::uint32_t index, std::uint64_t /*caller*/) noexcept {
  const int saved_errno = errno;
  {
    const EntryScope scope;
    // One that gave up may still hold something.
    if (replay::Engine* running = engine_pointer.load(std::memory_order_acquire); running != nullptr) {
      const NotCancelled during(running->anything_held());
      if (makes[index].load(std::memory_order_relaxed)) {
        state.foreign_objects.store(true, std::memory_order_relaxed);
      }
      running->flush_all_silently(HostStubs::entry_point(index));
    }
  }
  errno = saved_errno;
  return HostStubs::target(index);
}

}  // namespace

void set_makes_objects(std::uint32_t index, bool makes_objects) noexcept {
  makes[index].store(makes_objects, std::memory_order_relaxed);
}

void set_stubs_watching(bool watching) noexcept {
  HostStubs::replace_call(&host_call);
  HostStubs::set_watching(watching);
}

}  // namespace refrain::layer::opencl
