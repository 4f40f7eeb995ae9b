// cuGetProcAddress and cuGetExportTable: the driver answers, and gets our addresses put into its answer. Which
// version of a function a program gets, and whether the one for per-thread default streams, is never decided here.

#include "env/aside.h"
#include "layer/cuda/cudart.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/export_tables.h"
#include "layer/cuda/real_library.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"

namespace refrain::layer::cuda::wrap {
namespace {

// cudart's first look-up has an empty name; that and names the driver does not know give no address.
void put_ours(CUresult status, const char* symbol, void** function) noexcept {
  if (status != CUDA_SUCCESS || function == nullptr || *function == nullptr || symbol == nullptr) {
    return;
  }
  *function = real_library.address_for_program(*function, symbol, symbol);
}

/// From here on every call is the profiler's to see, by the name that the program called.
void stand_aside_for_profiler() noexcept {
  replay::Engine* running = engine();
  if (running == nullptr || !env::replays(running->settings()) || !running->settings().stand_aside) {
    return;
  }
  running->stand_aside({"the program, or a library of it, begins to use CUPTI", env::kAsideConsequence});
  running->flush_all_silently(entry::cuGetExportTable);
  stop_answering_runtime();
}

}  // namespace

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) noexcept {
  const CUresult status = driver.cuGetProcAddress(symbol, function, version, flags);
  put_ours(status, symbol, function);
  return status;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* found) noexcept {
  const CUresult status = driver.cuGetProcAddress_v2(symbol, function, version, flags, found);
  put_ours(status, symbol, function);
  return status;
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) noexcept {
  if (id != nullptr && is_profilers_table(*id)) {
    stand_aside_for_profiler();
  }
  const CUresult status = driver.cuGetExportTable(table, id);
  if (status == CUDA_SUCCESS && table != nullptr && *table != nullptr && id != nullptr) {
    *table = watched_table(*table, *id);
  }
  return status;
}

}  // namespace refrain::layer::cuda::wrap
