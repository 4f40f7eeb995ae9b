// Extension functions: known ones typed, every other one wrapped by a stub of its own, the same address
// for the same function each time.

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "env/log.h"
#include "layer/immortal.h"
#include "layer/interpose/anonymous_stubs.h"
#include "layer/opencl/dispatch.h"
#include "layer/opencl/kernels.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/stubs.h"
#include "layer/opencl/wrappers.h"

namespace refrain::layer::opencl {
namespace {

/// Extension functions that neither wait for work, nor see its results, nor start any.
constexpr std::array<std::string_view, 12> kNeutral = {
    "clIcdGetPlatformIDsKHR", "clGetKernelSubGroupInfoKHR", "clGetGLContextInfoKHR",
    "clGetLayerInfo",         "clCreateSubDevicesEXT",      "clRetainDeviceEXT",
    "clReleaseDeviceEXT",     "clGetCommandBufferInfoKHR",  "clGetKernelSuggestedLocalWorkSizeKHR",
    "clGetMemAllocInfoINTEL", "clGetSupportedImageFormats", "clGetKernelSuggestedLocalWorkSizeINTEL"};

struct Extensions {
  interpose::AnonymousStubs stubs{kSlotStubs};
  std::atomic<clSetKernelArgMemPointerINTEL_fn> set_usm_pointer{nullptr};  ///< set once
};
Extensions& extensions() noexcept {
  static Immortal<Extensions> all;
  return *all;
}

/// A kernel argument that is a unified shared memory pointer.
cl_int CL_API_CALL set_kernel_arg_mem_pointer(cl_kernel kernel, cl_uint index, const void* pointer) noexcept {
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): nobody is given this function before that one is known
  const cl_int status = extensions().set_usm_pointer.load(std::memory_order_relaxed)(kernel, index, pointer);
  if (status == CL_SUCCESS) {
    track_usm_pointer(kernel, index, pointer);
  }
  return status;
}

/// Whether `real` is the one that set_kernel_arg_mem_pointer() calls: the first that was asked for.
bool is_usm_setter(void* real) noexcept {
  clSetKernelArgMemPointerINTEL_fn known = nullptr;
  const auto wanted = reinterpret_cast<clSetKernelArgMemPointerINTEL_fn>(real);
  return extensions().set_usm_pointer.compare_exchange_strong(known, wanted) || known == wanted;
}

bool makes_objects(std::string_view name) noexcept {
  return name.find("Create") != std::string_view::npos || name.find("Import") != std::string_view::npos;
}

/// What to give to the application for a function of the driver.
void* wrapped(const char* name, void* real) noexcept {
  if (real == nullptr || name == nullptr) {
    return real;
  }
  const std::string_view function = name;
  for (const EntryDescription& description : entry_descriptions()) {
    if (function == description.name) {
      if (description.wrapper != nullptr) {
        // The wrapper calls the dispatch table; without an entry there it could not.
        void* below = nullptr;
        std::memcpy(&below, reinterpret_cast<const char*>(&target) + description.slot * sizeof(void*), sizeof(below));
        if (below != nullptr) {
          return description.wrapper;
        }
      } else if (description.entry_class == EntryClass::kNeutral) {
        return real;
      }
      break;
    }
  }
  for (const std::string_view neutral : kNeutral) {
    if (function == neutral) {
      return real;
    }
  }
  if (function == "clSetKernelArgMemPointerINTEL" && is_usm_setter(real)) {
    return reinterpret_cast<void*>(&set_kernel_arg_mem_pointer);
  }
  const auto index = extensions().stubs.find(real, function);
  if (!index) {
    if (replay::Engine* running = engine(); running != nullptr) {
      running->fail("the program asked for more extension functions than Refrain can watch");
    }
    return real;
  }
  set_makes_objects(*index, makes_objects(function));
  return interpose::HostStubs::address(*index);
}

}  // namespace

void* wrap::clGetExtensionFunctionAddress(const char* name) noexcept {
  return wrapped(name, target.clGetExtensionFunctionAddress(name));
}

void* wrap::clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) noexcept {
  return wrapped(name, target.clGetExtensionFunctionAddressForPlatform(platform, name));
}

}  // namespace refrain::layer::opencl
