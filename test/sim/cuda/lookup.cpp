// cuGetProcAddress: the version of a function that a program of `version` was built for, in the flavour that the
// flags ask for.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "test/sim/cuda/face.h"

namespace {

struct Since {
  const char* name;
  int version;
};
const Since since[] = {
#include "test/sim/cuda/versions.inc"
};

int first_version(const char* name) noexcept {
  for (const Since& entry : since) {
    if (std::strcmp(entry.name, name) == 0) {
      return entry.version;
    }
  }
  return 0;
}

void* own_handle() noexcept {
  static void* const handle = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&first_version), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return handle;
}

void* find(const char* symbol, int version, bool per_thread) noexcept {
  void* found = nullptr;
  for (const char* number : {"", "_v2", "_v3", "_v4"}) {
    char name[128];
    std::snprintf(name, sizeof(name), "%s%s", symbol, number);
    if (first_version(name) > version) {
      continue;
    }
    for (const char* flavour : {"", "_ptds", "_ptsz"}) {
      char full[160];
      std::snprintf(full, sizeof(full), "%s%s", name, flavour);
      if (void* address = dlsym(own_handle(), full); address != nullptr && (per_thread || *flavour == '\0')) {
        found = address;
      }
    }
  }
  return found;
}

CUresult answer(const char* symbol, void** function, int version, cuuint64_t flags,
                CUdriverProcAddressQueryResult* result) noexcept {
  if (symbol == nullptr || function == nullptr || *symbol == '\0') {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *function = find(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  if (result != nullptr) {
    *result = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

FACE cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* result) {
  sim::logf("cuGetProcAddress_v2 '%s' %d %d", symbol == nullptr ? "(null)" : symbol, version, static_cast<int>(flags));
  return answer(symbol, function, version, flags, result);
}
FACE cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  sim::logf("cuGetProcAddress '%s' %d %d", symbol == nullptr ? "(null)" : symbol, version, static_cast<int>(flags));
  return answer(symbol, function, version, flags, nullptr);
}
