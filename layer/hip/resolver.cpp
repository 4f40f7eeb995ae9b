// Functions that hand out addresses of others: the runtime answers, and gets our addresses put into its answer. Which
// version of a function a program gets is never decided here.

#include "layer/hip/real_library.h"
#include "layer/hip/wrappers.h"

namespace refrain::layer::hip {
namespace {

void put_ours(hipError_t status, const char* symbol, void** function) noexcept {
  if (status == hipSuccess && function != nullptr && *function != nullptr && symbol != nullptr) {
    *function = real_library.address_for_program(*function, symbol, symbol);
  }
}

}  // namespace

#define RESOLVE_WITH_VERSION(name)                                                                                    \
  hipError_t wrap::name(const char* symbol, void** function, int version, std::uint64_t flags, int* found) noexcept { \
    const hipError_t status = library.name(symbol, function, version, flags, found);                                  \
    put_ours(status, symbol, function);                                                                               \
    return status;                                                                                                    \
  }
RESOLVE_WITH_VERSION(hipGetProcAddress)
RESOLVE_WITH_VERSION(hipGetProcAddress_spt)
#undef RESOLVE_WITH_VERSION

#define RESOLVE_ENTRY(name)                                                                                   \
  hipError_t wrap::name(const char* symbol, void** function, unsigned long long flags, int* found) noexcept { \
    const hipError_t status = library.name(symbol, function, flags, found);                                   \
    put_ours(status, symbol, function);                                                                       \
    return status;                                                                                            \
  }
RESOLVE_ENTRY(hipGetDriverEntryPoint)
RESOLVE_ENTRY(hipGetDriverEntryPoint_spt)
#undef RESOLVE_ENTRY

}  // namespace refrain::layer::hip
