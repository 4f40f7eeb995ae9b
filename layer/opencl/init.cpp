// What the loader calls. Nothing here touches a driver or calls an exported OpenCL function.

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include "env/child_environment.h"
#include "env/doctor_channel.h"
#include "env/log.h"
#include "env/mutex.h"
#include "env/preload.h"
#include "env/secure_process.h"
#include "layer/opencl/dispatch.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/lifecycle.h"
#include "layer/opencl/opencl_headers.h"
#include "layer/process.h"
#include "layer/start_up.h"

#define REFRAIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace refrain::layer::opencl {
namespace {

constexpr std::string_view kLayerName = "Refrain " REFRAIN_VERSION;
// Newer loaders define this one; its list of properties is empty so far.
using LayerProperties = cl_ulong;

env::Mutex init_mutex;
const cl_icd_dispatch* ours REFRAIN_GUARDED_BY(init_mutex) = nullptr;
const cl_icd_dispatch* below REFRAIN_GUARDED_BY(init_mutex) = nullptr;
cl_uint our_entries REFRAIN_GUARDED_BY(init_mutex) = 0;
std::atomic<bool> failed{false};  // a later loader gets nothing either

/// `refrain doctor` waits for this line: it is the proof that the layer is in, and whether it does anything.
void notify_doctor(bool active, cl_uint entries, cl_uint target_entries) {
  env::notify_doctor(std::string("refrain layer ") + (active ? "active" : "off") + " " REFRAIN_VERSION +
                     " opencl entries=" + std::to_string(entries) + " target=" + std::to_string(target_entries) + "\n");
}

cl_int init(cl_uint entries, const cl_icd_dispatch* target_dispatch, cl_uint* entries_ret,
            const cl_icd_dispatch** dispatch_ret) noexcept {
  if (entries == 0 || target_dispatch == nullptr || entries_ret == nullptr || dispatch_ret == nullptr) {
    return CL_INVALID_VALUE;
  }
  // Whatever happens, this is a valid answer.
  *entries_ret = entries;
  *dispatch_ret = target_dispatch;
  if (env::in_secure_process()) {  // loaders take the layer's name from the environment even there
    return CL_SUCCESS;
  }
  if (in_other_namespace("OpenCL")) {
    return CL_SUCCESS;
  }
  failed = !start_up("OpenCL", [&] {
    const env::MutexLock guard(init_mutex);
    if (failed) {
      return;
    }
    if (ours != nullptr) {
      if (target_dispatch == below) {
        *entries_ret = our_entries;
        *dispatch_ret = ours;
      } else {
        env::log_warning("a second OpenCL loader in this process is not watched");
      }
      return;
    }
    state.settings = read_settings();
    env::restore_environment(state.settings);
    env::restore_preload(state.settings);
    const bool active = state.settings.mode != env::Mode::kOff && state.settings.opencl;
    cl_uint built_entries = entries;
    const cl_icd_dispatch* const built = active ? build_dispatch(target_dispatch, entries, &built_entries) : nullptr;
    notify_doctor(active, built_entries, entries);
    if (active) {
      below = target_dispatch;
      ours = built;
      our_entries = built_entries;
      *entries_ret = our_entries;
      *dispatch_ret = ours;
    }
  }) || failed;
  return CL_SUCCESS;
}

template <class Write>
cl_int answer(std::size_t needed, std::size_t size, void* value, std::size_t* size_ret, Write&& write_value) noexcept {
  if (value != nullptr) {
    if (size < needed) {
      return CL_INVALID_VALUE;
    }
    write_value();
  }
  if (size_ret != nullptr) {
    *size_ret = needed;
  }
  return CL_SUCCESS;
}

}  // namespace
}  // namespace refrain::layer::opencl

REFRAIN_EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value,
                                                              size_t* size_ret) {
  using namespace refrain::layer::opencl;
  switch (name) {
    case CL_LAYER_API_VERSION:
      return answer(sizeof(cl_layer_api_version), size, value, size_ret, [value] {
        const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
        std::memcpy(value, &version, sizeof(version));
      });
    case CL_LAYER_NAME:
      return answer(kLayerName.size() + 1, size, value, size_ret,
                    [value] { std::memcpy(value, kLayerName.data(), kLayerName.size() + 1); });
    default: return CL_INVALID_VALUE;
  }
}

REFRAIN_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target_dispatch,
                                                           cl_uint* entries_ret, const cl_icd_dispatch** dispatch_ret) {
  return refrain::layer::opencl::init(entries, target_dispatch, entries_ret, dispatch_ret);
}

REFRAIN_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(
    cl_uint entries, const cl_icd_dispatch* target_dispatch, cl_uint* entries_ret, const cl_icd_dispatch** dispatch_ret,
    const refrain::layer::opencl::LayerProperties* properties) {
  if (properties != nullptr && *properties != 0) {
    return CL_INVALID_PROPERTY;  // none are known
  }
  return refrain::layer::opencl::init(entries, target_dispatch, entries_ret, dispatch_ret);
}

REFRAIN_EXPORT CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer() {
  refrain::layer::opencl::shut_down();
  return CL_SUCCESS;
}
