#include "layer/interpose/host_stubs.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace refrain::layer::interpose {
namespace {

#if defined(__aarch64__)
constexpr std::size_t kStubBytes = 64;
#else
constexpr std::size_t kStubBytes = 32;
#endif

std::atomic<HostCallHook> host_call_hook{nullptr};
replay::EntryPoint entry_points[HostStubs::kCount] = {};

void* call_hook_and_go(std::uint32_t index, std::uint64_t /*caller*/) noexcept {
  HostStubs::call_hook(entry_points[index]);
  return HostStubs::target(index);
}

}  // namespace
}  // namespace refrain::layer::interpose

extern "C" {
// Defined in host_stubs.S.
extern const std::byte refrain_host_stub_code[];
// Used there.
std::uint32_t refrain_host_stub_watching = 0;
void* refrain_host_stub_targets[refrain::layer::interpose::HostStubs::kCount] = {};
refrain::layer::interpose::StubCall refrain_host_stub_call = &refrain::layer::interpose::call_hook_and_go;
}

namespace refrain::layer::interpose {

void* HostStubs::address(std::uint32_t index) noexcept {
  return const_cast<std::byte*>(refrain_host_stub_code) + kStubBytes * index;
}

void HostStubs::set(std::uint32_t index, void* function, const char* name) noexcept {
  entry_points[index].name = name;
  __atomic_store_n(&refrain_host_stub_targets[index], function, __ATOMIC_RELEASE);
}

void* HostStubs::target(std::uint32_t index) noexcept {
  return __atomic_load_n(&refrain_host_stub_targets[index], __ATOMIC_ACQUIRE);
}

const replay::EntryPoint& HostStubs::entry_point(std::uint32_t index) noexcept {
  return entry_points[index];
}

void HostStubs::set_watching(bool watching) noexcept {
  __atomic_store_n(&refrain_host_stub_watching, watching ? 1U : 0U, __ATOMIC_RELEASE);
}

void HostStubs::set_hook(HostCallHook hook) noexcept {
  host_call_hook.store(hook, std::memory_order_release);
}

void HostStubs::replace_call(StubCall call) noexcept {
  __atomic_store_n(&refrain_host_stub_call, call, __ATOMIC_RELEASE);
}

void HostStubs::call_hook(const replay::EntryPoint& entry_point) noexcept {
  const int saved_errno = errno;
  if (const HostCallHook hook = host_call_hook.load(std::memory_order_acquire); hook != nullptr) {
    hook(entry_point);
  }
  errno = saved_errno;
}

}  // namespace refrain::layer::interpose
