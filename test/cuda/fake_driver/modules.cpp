// Modules and libraries: every image has all kernels of kernels.cpp.
#include <algorithm>
#include <cstring>

#include "test/cuda/fake_driver/objects.h"

namespace fake {
namespace {

CUresult load_module(const char* name, CUmodule* result) {
  if (const CUresult status = enter(name); status != CUDA_SUCCESS) {
    return status;
  }
  const Lock lock;
  Context* context = nullptr;
  if (const CUresult status = current(&context); status != CUDA_SUCCESS) {
    return status;
  }
  Module* made = state().modules.make();
  made->context = context;
  *result = reinterpret_cast<CUmodule>(made);
  return CUDA_SUCCESS;
}

/// The function of this name, the same one each time.
Function* function_of(Module& module, Handles<Function>& handles, const char* name) {
  const auto known = std::find_if(module.functions.begin(), module.functions.end(), [name](const Function* function) {
    return std::strcmp(function->kernel->name, name) == 0;
  });
  if (known != module.functions.end()) {
    return *known;
  }
  const Kernel* kernel = find_kernel(name);
  if (kernel == nullptr) {
    return nullptr;
  }
  Function* made = handles.make();
  made->kernel = kernel;
  made->context = module.context;
  module.functions.push_back(made);
  return made;
}

CUresult unload(Lock& lock, Handles<Module>& modules, Handles<Function>& functions, void* handle, const char* name) {
  Module* module = modules.find(handle);
  if (module == nullptr) {
    violation("%s of what is none", name);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  wait_for_device(lock);
  for (Function* function : module->functions) {
    functions.destroy(function);
  }
  modules.destroy(module);
  return CUDA_SUCCESS;
}

/// `other`: where handles of the other kind are, which is an error that the driver reports; anything else is a handle
/// that was destroyed.
CUresult parameter(const Handles<Function>& own, const Handles<Function>& other, void* handle, std::size_t index,
                   std::size_t* offset, std::size_t* size) {
  const Lock lock;
  const Function* function = own.find(handle);
  if (function == nullptr) {
    if (other.find(handle) == nullptr) {
      violation("parameters of a kernel that is none");
    }
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (index >= function->kernel->parameters.size()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *offset = function->kernel->parameters[index].offset;
  if (size != nullptr) {
    *size = function->kernel->parameters[index].size;
  }
  return CUDA_SUCCESS;
}

CUresult name_of(const Handles<Function>& own, void* handle, const char** name) {
  const Lock lock;
  const Function* function = own.find(handle);
  *name = function == nullptr ? nullptr : function->kernel->name;
  return function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult set_attribute(const Handles<Function>& own, void* handle, int attribute, int value) {
  const Lock lock;
  Function* function = own.find(handle);
  if (function == nullptr) {
    violation("an attribute of a kernel that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  function->attributes[attribute] = value;
  return CUDA_SUCCESS;
}

}  // namespace

Function* find_function(CUfunction handle) {
  Function* function = state().functions.find(handle);
  return function != nullptr ? function : state().kernels.find(handle);
}

}  // namespace fake

using fake::Lock;
using fake::state;

FAKE cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  fake::log("cuModuleGetLoadingMode");
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
FAKE cuModuleLoadData(CUmodule* module, const void*) {
  return fake::load_module("cuModuleLoadData", module);
}
FAKE cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
  return fake::load_module("cuModuleLoadDataEx", module);
}
FAKE cuModuleGetFunction(CUfunction* result, CUmodule handle, const char* name) {
  ENTER(cuModuleGetFunction);
  const Lock lock;
  fake::Module* module = state().modules.find(handle);
  fake::Function* found = module == nullptr ? nullptr : fake::function_of(*module, state().functions, name);
  *result = reinterpret_cast<CUfunction>(found);
  return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
FAKE cuModuleUnload(CUmodule module) {
  ENTER(cuModuleUnload);
  Lock lock;
  return fake::unload(lock, state().modules, state().functions, module, "cuModuleUnload");
}
FAKE cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                       unsigned) {
  ENTER(cuLibraryLoadData);
  const Lock lock;
  *library = reinterpret_cast<CUlibrary>(state().libraries.make());
  return CUDA_SUCCESS;
}
FAKE cuLibraryGetKernel(CUkernel* result, CUlibrary handle, const char* name) {
  ENTER(cuLibraryGetKernel);
  const Lock lock;
  fake::Module* library = state().libraries.find(handle);
  fake::Function* found = library == nullptr ? nullptr : fake::function_of(*library, state().kernels, name);
  *result = reinterpret_cast<CUkernel>(found);
  return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
FAKE cuLibraryUnload(CUlibrary library) {
  ENTER(cuLibraryUnload);
  Lock lock;
  return fake::unload(lock, state().libraries, state().kernels, library, "cuLibraryUnload");
}
FAKE cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* size) {
  ENTER(cuFuncGetParamInfo);
  return fake::parameter(state().functions, state().kernels, function, index, offset, size);
}
FAKE cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset, std::size_t* size) {
  ENTER(cuKernelGetParamInfo);
  return fake::parameter(state().kernels, state().functions, kernel, index, offset, size);
}
FAKE cuFuncGetName(const char** name, CUfunction function) {
  ENTER(cuFuncGetName);
  return fake::name_of(state().functions, function, name);
}
FAKE cuKernelGetName(const char** name, CUkernel kernel) {
  ENTER(cuKernelGetName);
  return fake::name_of(state().kernels, kernel, name);
}
FAKE cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  ENTER(cuFuncSetAttribute);
  return fake::set_attribute(state().functions, function, attribute, value);
}
FAKE cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  ENTER(cuKernelSetAttribute);
  return fake::set_attribute(state().kernels, kernel, attribute, value);
}
FAKE cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  ENTER(cuFuncSetCacheConfig);
  return fake::set_attribute(state().functions, function, -1, config);
}
FAKE cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  ENTER(cuFuncGetAttribute);
  const Lock lock;
  const fake::Function* function = state().functions.find(handle);
  if (function == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const auto set = function->attributes.find(attribute);
  *value = set == function->attributes.end() ? 0 : set->second;
  return CUDA_SUCCESS;
}
