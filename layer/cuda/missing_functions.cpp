// What calls get where there is no driver, or no function of it.
#include "layer/cuda/cuda_headers.h"
#include "layer/cuda/real_library.h"

namespace refrain::layer::cuda {
namespace {

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

const interpose::NamedFunction without_driver[] = {
    {"cuDriverGetVersion", reinterpret_cast<void*>(&interpose::report_no_number<CUDA_ERROR_NO_DEVICE>)},
    {"cuDeviceGetCount", reinterpret_cast<void*>(&interpose::report_no_number<CUDA_ERROR_NO_DEVICE>)},
    {"cuGetErrorName", reinterpret_cast<void*>(&error_name)},
    {"cuGetErrorString", reinterpret_cast<void*>(&error_string)},
    {"cuGetProcAddress", reinterpret_cast<void*>(&no_address)},
    {"cuGetProcAddress_v2", reinterpret_cast<void*>(&no_address_v2)},
    {"cuGetExportTable", reinterpret_cast<void*>(&no_table)},
};

}  // namespace

const interpose::MissingFunctions missing_functions{
    .without_library = without_driver,
    .without_errors = {},
    .no_device = reinterpret_cast<void*>(&interpose::report<CUDA_ERROR_NO_DEVICE>),
    .not_supported = reinterpret_cast<void*>(&interpose::report<CUDA_ERROR_NOT_SUPPORTED>),
    .not_ready = reinterpret_cast<void*>(&interpose::report<CUDA_ERROR_NOT_INITIALIZED>),
};

}  // namespace refrain::layer::cuda
