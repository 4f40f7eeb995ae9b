// For the layers that the tests put above and below Refrain: every typed slot of the dispatch table gets a
// wrapper made by a template.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace layer_support {

inline cl_icd_dispatch below{};
inline cl_icd_dispatch ours{};

/// Calls `visit(name, member pointer)` for each slot that is a function pointer.
template <class Visit>
void for_each_slot(Visit&& visit) {
#define SLOT_OF(f)                                                                         \
  if constexpr (std::is_function_v<std::remove_pointer_t<decltype(cl_icd_dispatch::f)>>) { \
    visit.template operator()<&cl_icd_dispatch::f>(#f);                                    \
  }
#define SUBMIT(f) SLOT_OF(f)
#define TRACKED(f) SLOT_OF(f)
#define NEUTRAL(f) SLOT_OF(f)
#define RESOLVE(f) SLOT_OF(f)
#define TYPED(f) SLOT_OF(f)
#define HOST(f) SLOT_OF(f)
#define MAKES(f) SLOT_OF(f)
#include "layer/opencl/entry_points.def"
#undef SUBMIT
#undef TRACKED
#undef NEUTRAL
#undef RESOLVE
#undef TYPED
#undef HOST
#undef MAKES
}

/// Copies the table below; slots stay as they are until they are replaced.
inline cl_int init(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                   const cl_icd_dispatch** dispatch_ret) {
  const std::size_t known = sizeof(cl_icd_dispatch) / sizeof(void*);
  const std::size_t count = entries < known ? entries : known;
  std::memcpy(&below, target, count * sizeof(void*));
  std::memcpy(&ours, target, count * sizeof(void*));
  *entries_ret = static_cast<cl_uint>(count);
  *dispatch_ret = &ours;
  return CL_SUCCESS;
}

inline cl_int info(cl_layer_info name, std::size_t size, void* value, std::size_t* size_ret) {
  if (name != CL_LAYER_API_VERSION) {
    return CL_INVALID_VALUE;
  }
  if (value != nullptr) {
    if (size < sizeof(cl_layer_api_version)) {
      return CL_INVALID_VALUE;
    }
    *static_cast<cl_layer_api_version*>(value) = CL_LAYER_API_VERSION_100;
  }
  if (size_ret != nullptr) {
    *size_ret = sizeof(cl_layer_api_version);
  }
  return CL_SUCCESS;
}

}  // namespace layer_support
