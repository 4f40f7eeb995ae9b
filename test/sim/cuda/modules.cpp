// Modules and libraries: every image has all kernels.
#include <cstring>

#include "test/sim/cuda/face.h"

namespace sim::cuda {
namespace {

CUresult load_module(CUmodule* module, const void* image) {
  const Lock lock;
  Context* context = nullptr;
  if (const Status status = current(&context); status != Status::kOk) {
    return result(status);
  }
  Module* made = state().modules.make();
  made->context = context;
  read_image(*made, image, context);
  *module = reinterpret_cast<CUmodule>(made);
  return CUDA_SUCCESS;
}

CUresult variable_of(const Module* module, const char* name, CUdeviceptr* address, std::size_t* bytes) {
  if (module == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (module->variable == 0 || std::strcmp(name, "calls") != 0) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *address = module->variable;
  if (bytes != nullptr) {
    *bytes = sizeof(std::uint32_t);
  }
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

/// `device`: kernels see what was set for any.
CUresult set_attribute(const Handles<Function>& own, void* handle, int attribute, int value, CUdevice device = 0) {
  const Lock lock;
  Function* function = own.find(handle);
  if (function == nullptr) {
    violation("an attribute of a kernel that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  constexpr int kOfDevice = 1000;
  (*function->attributes)[attribute + kOfDevice * device] = value;
  return CUDA_SUCCESS;
}

CUresult get_attribute(const Handles<Function>& own, void* handle, int attribute, int* value) {
  const Lock lock;
  const Function* function = own.find(handle);
  if (function == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const auto set = function->attributes->find(attribute);
  *value = set != function->attributes->end()                             ? set->second
           : attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK         ? static_cast<int>(function->kernel->threads)
           : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? kMostSharedAtFirst
                                                                          : 0;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sim::cuda

using sim::Lock;
using sim::state;

FACE cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  sim::log("cuModuleGetLoadingMode");
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
FACE cuModuleLoadData(CUmodule* module, const void* image) {
  ENTER(cuModuleLoadData);
  return sim::cuda::load_module(module, image);
}
FACE cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  ENTER(cuModuleLoadDataEx);
  return sim::cuda::load_module(module, image);
}
FACE cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
  ENTER(cuModuleGetGlobal_v2);
  const Lock lock;
  return sim::cuda::variable_of(state().modules.find(module), name, address, bytes);
}
FACE cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library, const char* name) {
  ENTER(cuLibraryGetGlobal);
  const Lock lock;
  return sim::cuda::variable_of(state().libraries.find(library), name, address, bytes);
}
FACE cuLibraryGetManaged(CUdeviceptr*, std::size_t*, CUlibrary, const char*) {
  ENTER(cuLibraryGetManaged);
  return CUDA_ERROR_NOT_FOUND;
}
FACE cuModuleGetFunction(CUfunction* result, CUmodule handle, const char* name) {
  ENTER(cuModuleGetFunction);
  const Lock lock;
  sim::Module* module = state().modules.find(handle);
  sim::Function* found = module == nullptr ? nullptr : sim::function_of(*module, state().functions, name);
  *result = reinterpret_cast<CUfunction>(found);
  return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
FACE cuModuleUnload(CUmodule module) {
  ENTER(cuModuleUnload);
  Lock lock;
  return sim::cuda::result(sim::unload(lock, state().modules, state().functions, module, "cuModuleUnload"));
}
/// Its variable is in the calling thread's context, if there is one: programs here use a library in one only.
FACE cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                       unsigned) {
  ENTER(cuLibraryLoadData);
  const Lock lock;
  sim::Module* made = state().libraries.make();
  if (sim::Context* context = nullptr; sim::current(&context) == sim::Status::kOk) {
    sim::read_image(*made, image, context);
  }
  *library = reinterpret_cast<CUlibrary>(made);
  return CUDA_SUCCESS;
}
FACE cuLibraryGetKernel(CUkernel* result, CUlibrary handle, const char* name) {
  ENTER(cuLibraryGetKernel);
  const Lock lock;
  sim::Module* library = state().libraries.find(handle);
  sim::Function* found = library == nullptr ? nullptr : sim::function_of(*library, state().kernels, name);
  *result = reinterpret_cast<CUkernel>(found);
  return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
/// Another handle of the same kernel, for the calling thread's context.
FACE cuKernelGetFunction(CUfunction* result, CUkernel handle) {
  ENTER(cuKernelGetFunction);
  const Lock lock;
  const sim::Function* kernel = state().kernels.find(handle);
  sim::Context* context = nullptr;
  if (kernel == nullptr || sim::current(&context) != sim::Status::kOk) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  sim::Function* made = state().functions.make();
  *made = *kernel;
  made->context = context;
  *result = reinterpret_cast<CUfunction>(made);
  return CUDA_SUCCESS;
}
FACE cuLibraryUnload(CUlibrary library) {
  ENTER(cuLibraryUnload);
  Lock lock;
  return sim::cuda::result(sim::unload(lock, state().libraries, state().kernels, library, "cuLibraryUnload"));
}
FACE cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* size) {
  ENTER(cuFuncGetParamInfo);
  return sim::cuda::parameter(state().functions, state().kernels, function, index, offset, size);
}
FACE cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset, std::size_t* size) {
  ENTER(cuKernelGetParamInfo);
  return sim::cuda::parameter(state().kernels, state().functions, kernel, index, offset, size);
}
FACE cuFuncGetName(const char** name, CUfunction function) {
  ENTER(cuFuncGetName);
  return sim::cuda::name_of(state().functions, function, name);
}
FACE cuFuncGetModule(CUmodule* module, CUfunction handle) {
  ENTER(cuFuncGetModule);
  const Lock lock;
  const sim::Function* function = state().functions.find(handle);
  if (function == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *module = reinterpret_cast<CUmodule>(function->module);
  return CUDA_SUCCESS;
}
FACE cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  ENTER(cuKernelGetLibrary);
  const Lock lock;
  const sim::Function* function = state().kernels.find(kernel);
  if (function == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *library = reinterpret_cast<CUlibrary>(function->module);
  return CUDA_SUCCESS;
}
FACE cuKernelGetName(const char** name, CUkernel kernel) {
  ENTER(cuKernelGetName);
  return sim::cuda::name_of(state().kernels, kernel, name);
}
FACE cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  ENTER(cuFuncSetAttribute);
  return sim::cuda::set_attribute(state().functions, function, attribute, value);
}
FACE cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  ENTER(cuKernelSetAttribute);
  return sim::cuda::set_attribute(state().kernels, kernel, attribute, value, device);
}
FACE cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  ENTER(cuFuncSetCacheConfig);
  return sim::cuda::set_attribute(state().functions, function, -1, config);
}
FACE cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
  ENTER(cuKernelSetCacheConfig);
  return sim::cuda::set_attribute(state().kernels, kernel, -1, config, device);
}
FACE cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
  ENTER(cuFuncSetSharedMemConfig);
  return sim::cuda::set_attribute(state().functions, function, -2, config);
}
FACE cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  ENTER(cuFuncGetAttribute);
  return sim::cuda::get_attribute(state().functions, handle, attribute, value);
}
FACE cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  ENTER(cuKernelGetAttribute);
  return sim::cuda::get_attribute(state().kernels, kernel, attribute, value);
}
