#include "layer/cuda/missing_driver.h"

#include <cstring>

#include "layer/cuda/cuda_headers.h"

namespace refrain::layer::cuda {
namespace {

// Called with any arguments: on x86-64 the caller cleans up, so that it need not know them.
CUresult no_device() noexcept {
  return CUDA_ERROR_NO_DEVICE;
}
CUresult not_supported() noexcept {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult not_ready() noexcept {
  return CUDA_ERROR_NOT_INITIALIZED;
}

CUresult no_number(int* number) noexcept {
  if (number != nullptr) {
    *number = 0;
  }
  return CUDA_ERROR_NO_DEVICE;
}

// Programs print the name of an error without looking whether they got one.
CUresult error_name(CUresult error, const char** text) noexcept {
  if (text == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_NO_DEVICE";
  return CUDA_SUCCESS;
}
CUresult error_string(CUresult error, const char** text) noexcept {
  if (text == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *text = error == CUDA_SUCCESS ? "no error" : "no CUDA driver was found";
  return CUDA_SUCCESS;
}

CUresult no_address(const char*, void** function, int, cuuint64_t) noexcept {
  if (function != nullptr) {
    *function = nullptr;
  }
  return CUDA_ERROR_NO_DEVICE;
}
CUresult no_address_v2(const char*, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* found) noexcept {
  if (found != nullptr) {
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return no_address(nullptr, function, 0, 0);
}
CUresult no_table(const void** table, const CUuuid*) noexcept {
  if (table != nullptr) {
    *table = nullptr;
  }
  return CUDA_ERROR_NO_DEVICE;
}

struct Special {
  const char* name;
  void* function;
};
const Special specials[] = {
    {"cuDriverGetVersion", reinterpret_cast<void*>(&no_number)},
    {"cuDeviceGetCount", reinterpret_cast<void*>(&no_number)},
    {"cuGetErrorName", reinterpret_cast<void*>(&error_name)},
    {"cuGetErrorString", reinterpret_cast<void*>(&error_string)},
    {"cuGetProcAddress", reinterpret_cast<void*>(&no_address)},
    {"cuGetProcAddress_v2", reinterpret_cast<void*>(&no_address_v2)},
    {"cuGetExportTable", reinterpret_cast<void*>(&no_table)},
};

}  // namespace

void* no_driver_function(const char* name) noexcept {
  for (const Special& special : specials) {
    if (name != nullptr && std::strcmp(name, special.name) == 0) {
      return special.function;
    }
  }
  return reinterpret_cast<void*>(&no_device);
}

void* missing_function() noexcept {
  return reinterpret_cast<void*>(&not_supported);
}

void* not_ready_function() noexcept {
  return reinterpret_cast<void*>(&not_ready);
}

}  // namespace refrain::layer::cuda
