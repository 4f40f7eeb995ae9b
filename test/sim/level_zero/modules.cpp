// Modules and kernels: every image has all kernels of the device, and some a variable.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "test/sim/core/checks.h"
#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {
namespace {

constexpr const char kBroken[] = "broken";
constexpr std::string_view kVariable = "calls";
char build_log_object;

ze_result_t zeModuleCreate(ze_context_handle_t context_handle, ze_device_handle_t, const ze_module_desc_t* description,
                           ze_module_handle_t* result, ze_module_build_log_handle_t* log) {
  ENTER_SUBMISSION(zeModuleCreate);
  const Lock lock;
  Context* context = find_or_complain(state().contexts, context_handle, "zeModuleCreate");
  if (context == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (description->pInputModule == nullptr || description->inputSize == 0) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  if (log != nullptr) {
    *log = reinterpret_cast<ze_module_build_log_handle_t>(&build_log_object);
  }
  if (description->inputSize >= sizeof(kBroken) - 1 &&
      std::memcmp(description->pInputModule, kBroken, sizeof(kBroken) - 1) == 0) {
    return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  }
  if (description->pBuildFlags != nullptr && *description->pBuildFlags != '\0') {
    logf("zeModuleCreate: flags %s", description->pBuildFlags);
  }
  for (std::uint32_t i = 0; description->pConstants != nullptr && i < description->pConstants->numConstants; ++i) {
    logf("zeModuleCreate: constant %u begins with %u", description->pConstants->pConstantIds[i],
         *static_cast<const unsigned char*>(description->pConstants->pConstantValues[i]));
  }
  Module* made = state().modules.make();
  made->context = context;
  const std::string_view image(reinterpret_cast<const char*>(description->pInputModule), description->inputSize);
  if (image.find(kVariable) != std::string_view::npos) {
    made->variable = allocate(context, sizeof(std::uint32_t), MemoryType::kDevice);
    std::memset(host(made->variable), 0, sizeof(std::uint32_t));
  }
  *result = reinterpret_cast<ze_module_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleDestroy(ze_module_handle_t handle) {
  ENTER(zeModuleDestroy);
  const Lock lock;
  Module* module = find_or_complain(state().modules, handle, "zeModuleDestroy");
  if (module == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (module->kernels != 0) {
    violation("zeModuleDestroy while %u of its kernels exist", module->kernels);
  }
  if (module->variable != 0) {
    release(module->variable);
  }
  state().modules.destroy(module);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleGetGlobalPointer(ze_module_handle_t handle, const char* name, std::size_t* bytes, void** address) {
  ENTER(zeModuleGetGlobalPointer);
  const Lock lock;
  const Module* module = find_or_complain(state().modules, handle, "zeModuleGetGlobalPointer");
  if (module == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (module->variable == 0 || name != kVariable) {
    return ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
  }
  if (bytes != nullptr) {
    *bytes = sizeof(std::uint32_t);
  }
  if (address != nullptr) {
    *address = host(module->variable);
  }
  return ZE_RESULT_SUCCESS;
}

/// Nothing here is imported from another module.
ze_result_t zeModuleDynamicLink(std::uint32_t, ze_module_handle_t*, ze_module_build_log_handle_t*) {
  ENTER(zeModuleDynamicLink);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t) {
  ENTER(zeModuleBuildLogDestroy);
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t, std::size_t* bytes, char* text) {
  ENTER(zeModuleBuildLogGetString);
  if (text != nullptr && *bytes != 0) {
    *text = '\0';
  }
  *bytes = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelCreate(ze_module_handle_t handle, const ze_kernel_desc_t* description, ze_kernel_handle_t* result) {
  ENTER_SUBMISSION(zeKernelCreate);
  const Lock lock;
  Module* module = find_or_complain(state().modules, handle, "zeKernelCreate");
  if (module == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  const Kernel* kernel = find_kernel(description->pKernelName);
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
  }
  KernelObject* made = state().kernels.make();
  made->module = module;
  made->kernel = kernel;
  made->arguments.assign(kernel->bytes(), std::byte{});
  made->set.assign(kernel->parameters.size(), false);
  made->open = std::make_shared<OpenWork>();
  made->serial = ++state().last_serial;
  ++module->kernels;
  *result = reinterpret_cast<ze_kernel_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelDestroy(ze_kernel_handle_t handle) {
  ENTER(zeKernelDestroy);
  const Lock lock;
  KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelDestroy");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  must_be_idle(lock, kernel->open, "zeKernelDestroy");
  --kernel->module->kernels;
  state().kernels.destroy(kernel);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetArgumentValue(ze_kernel_handle_t handle, std::uint32_t index, std::size_t bytes,
                                     const void* value) {
  ENTER(zeKernelSetArgumentValue);
  const Lock lock;
  KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelSetArgumentValue");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (index >= kernel->kernel->parameters.size()) {
    return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
  }
  const Parameter& parameter = kernel->kernel->parameters[index];
  if (bytes != parameter.size) {
    return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
  }
  if (value != nullptr) {
    std::memcpy(kernel->arguments.data() + parameter.offset, value, bytes);
  } else {
    std::memset(kernel->arguments.data() + parameter.offset, 0, bytes);
  }
  kernel->set[index] = true;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t handle, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  ENTER(zeKernelSetGroupSize);
  const Lock lock;
  KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelSetGroupSize");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (x == 0 || y == 0 || z == 0 || std::uint64_t{x} * y * z > 1024) {
    return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  }
  kernel->group[0] = x;
  kernel->group[1] = y;
  kernel->group[2] = z;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSuggestGroupSize(ze_kernel_handle_t, std::uint32_t x, std::uint32_t, std::uint32_t,
                                     std::uint32_t* gx, std::uint32_t* gy, std::uint32_t* gz) {
  ENTER(zeKernelSuggestGroupSize);
  *gx = std::min(x, 64U);
  *gy = *gz = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetGlobalOffsetExp(ze_kernel_handle_t handle, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  ENTER(zeKernelSetGlobalOffsetExp);
  const Lock lock;
  KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelSetGlobalOffsetExp");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  kernel->offset[0] = x;
  kernel->offset[1] = y;
  kernel->offset[2] = z;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSchedulingHintExp(ze_kernel_handle_t, ze_scheduling_hint_exp_desc_t*) {
  ENTER(zeKernelSchedulingHintExp);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetIndirectAccess(ze_kernel_handle_t handle, ze_kernel_indirect_access_flags_t flags) {
  ENTER(zeKernelSetIndirectAccess);
  const Lock lock;
  KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelSetIndirectAccess");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  kernel->indirect = flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetIndirectAccess(ze_kernel_handle_t handle, ze_kernel_indirect_access_flags_t* flags) {
  ENTER(zeKernelGetIndirectAccess);
  const Lock lock;
  const KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelGetIndirectAccess");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  *flags = kernel->indirect;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelSetCacheConfig(ze_kernel_handle_t handle, ze_cache_config_flags_t flags) {
  ENTER(zeKernelSetCacheConfig);
  const Lock lock;
  KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelSetCacheConfig");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  kernel->cache = flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetProperties(ze_kernel_handle_t handle, ze_kernel_properties_t* properties) {
  ENTER(zeKernelGetProperties);
  const Lock lock;
  const KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelGetProperties");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  properties->numKernelArgs = static_cast<std::uint32_t>(kernel->kernel->parameters.size());
  properties->requiredGroupSizeX = properties->requiredGroupSizeY = properties->requiredGroupSizeZ = 0;
  properties->requiredNumSubGroups = properties->requiredSubgroupSize = 0;
  properties->maxSubgroupSize = 16;
  properties->maxNumSubgroups = 64;
  properties->localMemSize = properties->privateMemSize = properties->spillMemSize = 0;
  std::memset(&properties->uuid, 5, sizeof(properties->uuid));
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeKernelGetName(ze_kernel_handle_t handle, std::size_t* bytes, char* name) {
  ENTER(zeKernelGetName);
  const Lock lock;
  const KernelObject* kernel = find_or_complain(state().kernels, handle, "zeKernelGetName");
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  const std::size_t needed = std::strlen(kernel->kernel->name) + 1;
  if (name != nullptr) {
    std::memcpy(name, kernel->kernel->name, std::min(*bytes, needed));
  }
  *bytes = needed;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill(ze_module_dditable_t& table) noexcept {
  table.pfnCreate = zeModuleCreate;
  table.pfnDestroy = zeModuleDestroy;
  table.pfnDynamicLink = zeModuleDynamicLink;
  table.pfnGetGlobalPointer = zeModuleGetGlobalPointer;
}
void fill(ze_module_build_log_dditable_t& table) noexcept {
  table.pfnDestroy = zeModuleBuildLogDestroy;
  table.pfnGetString = zeModuleBuildLogGetString;
}
void fill(ze_kernel_dditable_t& table) noexcept {
  table.pfnCreate = zeKernelCreate;
  table.pfnDestroy = zeKernelDestroy;
  table.pfnSetCacheConfig = zeKernelSetCacheConfig;
  table.pfnSetGroupSize = zeKernelSetGroupSize;
  table.pfnSuggestGroupSize = zeKernelSuggestGroupSize;
  table.pfnSetArgumentValue = zeKernelSetArgumentValue;
  table.pfnSetIndirectAccess = zeKernelSetIndirectAccess;
  table.pfnGetIndirectAccess = zeKernelGetIndirectAccess;
  table.pfnGetProperties = zeKernelGetProperties;
  table.pfnGetName = zeKernelGetName;
}
void fill(ze_kernel_exp_dditable_t& table) noexcept {
  table.pfnSetGlobalOffsetExp = zeKernelSetGlobalOffsetExp;
  table.pfnSchedulingHintExp = zeKernelSchedulingHintExp;
}

}  // namespace sim::level_zero
