// What calls get where there is no runtime, or no function of it.
#include "backends/hip/hip_headers.h"
#include "layer/hip/real_library.h"

namespace refrain::layer::hip {
namespace {

void nothing() noexcept {}

// Constructors of programs call these, and use what they get.
void** no_modules() noexcept {
  static void* modules = nullptr;
  return &modules;
}

const char* no_text() noexcept {
  return "there is no HIP runtime";
}
const char* error_text(hipError_t error) noexcept {
  return error == hipSuccess ? "hipSuccess" : "hipErrorNoDevice";
}

const interpose::NamedFunction without_runtime[] = {
    {"hipDriverGetVersion", reinterpret_cast<void*>(&interpose::report_no_number<hipErrorNoDevice>)},
    {"hipRuntimeGetVersion", reinterpret_cast<void*>(&interpose::report_no_number<hipErrorNoDevice>)},
    {"hipGetDeviceCount", reinterpret_cast<void*>(&interpose::report_no_number<hipErrorNoDevice>)},
    {"hipGetErrorName", reinterpret_cast<void*>(&error_text)},
    {"hipGetErrorString", reinterpret_cast<void*>(&error_text)},
};
// What does not report errors, with or without a library.
const interpose::NamedFunction without_errors[] = {
    {"__hipRegisterFatBinary", reinterpret_cast<void*>(&no_modules)},
    {"__hipRegisterFunction", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterVar", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterManagedVar", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterSurface", reinterpret_cast<void*>(&nothing)},
    {"__hipRegisterTexture", reinterpret_cast<void*>(&nothing)},
    {"__hipUnregisterFatBinary", reinterpret_cast<void*>(&nothing)},
    {"hipApiName", reinterpret_cast<void*>(&no_text)},
    {"hipGetCmdName", reinterpret_cast<void*>(&no_text)},
    {"hipKernelNameRef", reinterpret_cast<void*>(&no_text)},
    {"hipKernelNameRefByPtr", reinterpret_cast<void*>(&no_text)},
    {"hiprtcGetErrorString", reinterpret_cast<void*>(&no_text)},
    {"amd_dbgapi_get_build_name", reinterpret_cast<void*>(&no_text)},
    {"amd_dbgapi_get_git_hash", reinterpret_cast<void*>(&no_text)},
};

}  // namespace

const interpose::MissingFunctions missing_functions{
    .without_library = without_runtime,
    .without_errors = without_errors,
    .no_device = reinterpret_cast<void*>(&interpose::report<hipErrorNoDevice>),
    .not_supported = reinterpret_cast<void*>(&interpose::report<hipErrorNotSupported>),
    .not_ready = reinterpret_cast<void*>(&interpose::report<hipErrorNotInitialized>),
};

}  // namespace refrain::layer::hip
