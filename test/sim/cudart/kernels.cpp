// Code that the compiler registers before main(), and launches of it.
#include <map>
#include <mutex>
#include <string>

#include "test/sim/cudart/runtime.h"

namespace cudart {
namespace {

/// What the compiler hands over (fatbinary_section.h).
struct Wrapper {
  int magic, version;
  const void* data;
  const void* more;
};

struct Binary {
  const void* image = nullptr;
  CUlibrary library = nullptr;
};
struct Function {
  Binary* binary = nullptr;
  std::string name;
  CUkernel kernel = nullptr;
};
struct Registered {
  std::mutex mutex;
  std::map<const void*, Function> functions;  ///< by the program's own functions
};
/// Programs register before main(), and unregister after it.
Registered& registered() noexcept {
  static Registered& all = *new Registered;
  return all;
}

struct Configuration {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<Configuration> configurations;

}  // namespace

CUresult kernel_of(const void* function, CUkernel* kernel) {
  if (const CUresult status = ready(); status != CUDA_SUCCESS) {
    return status;
  }
  Registered& all = registered();
  const std::lock_guard guard(all.mutex);
  const auto found = all.functions.find(function);
  if (found == all.functions.end()) {
    return static_cast<CUresult>(cudaErrorInvalidDeviceFunction);
  }
  Function& known = found->second;
  CUresult status = CUDA_SUCCESS;
  if (known.binary->library == nullptr) {
    status = driver().call_cuLibraryLoadData(&known.binary->library, known.binary->image, nullptr, nullptr, 0, nullptr,
                                             nullptr, 0);
  }
  if (status == CUDA_SUCCESS && known.kernel == nullptr) {
    status = driver().call_cuLibraryGetKernel(&known.kernel, known.binary->library, known.name.c_str());
  }
  *kernel = known.kernel;
  return status;
}

}  // namespace cudart

using cudart::note;

RUNTIME void** __cudaRegisterFatBinary(void* wrapper);
void** __cudaRegisterFatBinary(void* wrapper) {
  auto* binary = new cudart::Binary;
  binary->image = static_cast<const cudart::Wrapper*>(wrapper)->data;
  return reinterpret_cast<void**>(binary);
}
RUNTIME void __cudaRegisterFatBinaryEnd(void** binary);
void __cudaRegisterFatBinaryEnd(void**) {}
RUNTIME void __cudaRegisterFunction(void** binary, const char* function, char* device_function, const char* name,
                                    int thread_limit, void* tid, void* bid, void* block, void* grid, int* warp);
void __cudaRegisterFunction(void** binary, const char* function, char*, const char* name, int, void*, void*, void*,
                            void*, int*) {
  auto& all = cudart::registered();
  const std::lock_guard guard(all.mutex);
  all.functions[function] = {reinterpret_cast<cudart::Binary*>(binary), name, nullptr};
}
RUNTIME void __cudaUnregisterFatBinary(void** handle);
void __cudaUnregisterFatBinary(void** handle) {
  auto* binary = reinterpret_cast<cudart::Binary*>(handle);
  auto& all = cudart::registered();
  const std::lock_guard guard(all.mutex);
  std::erase_if(all.functions, [binary](const auto& each) { return each.second.binary == binary; });
  if (binary->library != nullptr) {
    cudart::driver().call_cuLibraryUnload(binary->library);
  }
  delete binary;
}

RUNTIME unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
  cudart::configurations.push_back({grid, block, shared, stream});
  return 0;
}
RUNTIME cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (cudart::configurations.empty()) {
    return note(cudaErrorInvalidValue);
  }
  const cudart::Configuration last = cudart::configurations.back();
  cudart::configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

RUNTIME cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return note(cudart::kernel_of(function, reinterpret_cast<CUkernel*>(kernel)));
}
RUNTIME cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                       cudaStream_t stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  return CALL(cuLaunchKernel, reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
              static_cast<unsigned>(shared), stream, arguments, nullptr);
}
RUNTIME cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                            std::size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                    cudaStream_t stream) {
  return CALL(cuLaunchKernel_ptsz, reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x, block.y,
              block.z, static_cast<unsigned>(shared), stream, arguments, nullptr);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  CUkernel kernel = nullptr;
  const CUresult status = cudart::kernel_of(function, &kernel);
  return status != CUDA_SUCCESS
             ? note(status)
             : __cudaLaunchKernel(reinterpret_cast<cudaKernel_t>(kernel), grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* wanted, const void* function, void** arguments) {
  CUkernel kernel = nullptr;
  if (const CUresult status = cudart::kernel_of(function, &kernel); status != CUDA_SUCCESS) {
    return note(status);
  }
  CUlaunchConfig config{};
  config.gridDimX = wanted->gridDim.x;
  config.gridDimY = wanted->gridDim.y;
  config.gridDimZ = wanted->gridDim.z;
  config.blockDimX = wanted->blockDim.x;
  config.blockDimY = wanted->blockDim.y;
  config.blockDimZ = wanted->blockDim.z;
  config.sharedMemBytes = static_cast<unsigned>(wanted->dynamicSmemBytes);
  config.hStream = wanted->stream;
  config.attrs = reinterpret_cast<CUlaunchAttribute*>(wanted->attrs);  // the runtime's type is made like the driver's
  config.numAttrs = wanted->numAttrs;
  return CALL(cuLaunchKernelEx, &config, reinterpret_cast<CUfunction>(kernel), arguments, nullptr);
}
cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return __cudaGetKernel(kernel, function);
}
/// Of what there is to know, nothing: programs call it to load their code.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  CUkernel kernel = nullptr;
  *attributes = {};
  return note(cudart::kernel_of(function, &kernel));
}
