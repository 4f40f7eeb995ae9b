#include "layer/opencl/stubs.h"

#include <atomic>

#include "layer/opencl/layer.h"

namespace refrain::layer::opencl {
namespace {

using interpose::HostStubs;

std::atomic<bool> makes[HostStubs::kCount];

void* host_call(std::uint32_t index, std::uint64_t /*caller*/) noexcept {
  if (makes[index].load(std::memory_order_relaxed)) {
    state.foreign_objects.store(true, std::memory_order_relaxed);
  }
  common::flush_for_stub<Protocol>(HostStubs::entry_point(index));
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
