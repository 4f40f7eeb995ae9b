#include "layer/starter/starter.h"

#include <pthread.h>

#include "env/keep_errno.h"
#include "env/secure_process.h"
#include "layer/own_bindings.h"
#include "layer/starter/c_library.h"
#include "layer/starter/facts.h"

namespace refrain::layer::starter {
namespace {

void* first_call(std::uint32_t index) noexcept;

}  // namespace
}  // namespace refrain::layer::starter

extern "C" {
// Used by the stubs.
std::uint32_t refrain_starter_watching = 0;
refrain::layer::FirstCall refrain_starter_first_call = &refrain::layer::starter::first_call;
refrain::layer::HostCall refrain_starter_host_call = nullptr;
}

namespace refrain::layer::starter {
namespace {

std::uintptr_t opening = 0;  // the thread that opens the layer
bool opened = false;

/// As the layer gets it, once it is opened.
Starter self;

const char* own_file() noexcept {
  const char* file = "";
  visit_loaded([&](const char* path, const DynamicSymbols& symbols) {
    const bool found = symbols.find(facts.marker) == facts.own_marker;
    file = found ? path : file;
    return found;
  });
  return file;
}

void* target_of(std::uint32_t index) noexcept {
  return __atomic_load_n(&refrain_starter_targets[index], __ATOMIC_ACQUIRE);
}

FirstCall open_layer() noexcept {
  if (env::in_secure_process()) {
    pass_to(nullptr);
    return &target_of;
  }
  self = {
      .version = REFRAIN_VERSION,
      .file = own_file(),
      .soname = facts.soname,
      .stubs = facts.stubs,
      .stub_offsets = refrain_starter_stub_offsets,
      .targets = refrain_starter_targets,
      .watching = &refrain_starter_watching,
      .host_call = &refrain_starter_host_call,
      .inner_code = facts.inner_code,
      .inner_targets = facts.inner_targets,
      .pass_to = &pass_to,
  };
  const char* why = "";
  const OpenLayer open = find_layer(self.file, &why);
  if (open != nullptr) {
    if (const FirstCall next = open(self); next != nullptr) {
      return next;
    }
    why = "the layer is another version's";
  }
  say(facts.api, ": ", why, ": calls go straight to ", facts.soname);
  pass_to(nullptr);
  return &target_of;
}

/// For calls by a library that opens together with the layer: CUDA_ERROR_NOT_INITIALIZED, hipErrorNotInitialized.
int not_ready() noexcept {
  return 3;
}

void* first_call(std::uint32_t index) noexcept {
  const env::KeepErrno keep;
  refrain_own_bindings();
  const auto thread = static_cast<std::uintptr_t>(pthread_self());
  std::uintptr_t holder = 0;
  while (!__atomic_compare_exchange_n(&opening, &holder, thread, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    if (holder == thread) {
      return reinterpret_cast<void*>(&not_ready);
    }
    holder = 0;
    sched_yield();
  }
  if (!opened) {
    __atomic_store_n(&refrain_starter_first_call, open_layer(), __ATOMIC_RELEASE);
    opened = true;
  }
  __atomic_store_n(&opening, 0, __ATOMIC_RELEASE);
  return __atomic_load_n(&refrain_starter_first_call, __ATOMIC_ACQUIRE)(index);
}

}  // namespace
}  // namespace refrain::layer::starter
