// Kernel launches and host functions.
#include <algorithm>
#include <cstring>

#include "test/cuda/fake_driver/objects.h"
#include "test/cuda/fake_driver/twice.h"

namespace fake {

CUresult read_arguments(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>* arguments) {
  arguments->assign(kernel.bytes(), std::byte{});
  if (kernel.parameters.empty()) {
    return CUDA_SUCCESS;
  }
  if ((parameters == nullptr) == (extra == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (parameters != nullptr) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      std::memcpy(arguments->data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].size);
    }
    return CUDA_SUCCESS;
  }
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = *static_cast<const std::size_t*>(extra[1]);
    }
  }
  if (bytes < kernel.bytes()) {
    violation("%s is launched with %zu bytes of arguments", kernel.name, bytes);
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(arguments->data(), buffer, kernel.bytes());
  return CUDA_SUCCESS;
}

namespace {

CUresult launch(CUfunction handle, unsigned blocks, unsigned threads, CUstream stream_handle, bool per_thread,
                void** parameters, void** extra) {
  Lock lock;
  Stream* stream = nullptr;
  if (const CUresult status = find_stream(stream_handle, per_thread, &stream); status != CUDA_SUCCESS) {
    return status;
  }
  const Function* function = find_function(handle);
  if (function == nullptr) {
    violation("launch of a kernel that is none");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (function->context != nullptr && function->context != stream->context) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (blocks == 0 || threads == 0 || threads > 1024) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Task task;
  task.kind = Task::Kind::kKernel;
  task.kernel = function->kernel;
  task.threads = blocks * threads;
  const CUresult status = read_arguments(*function->kernel, parameters, extra, &task.arguments);
  return status != CUDA_SUCCESS ? status : put(lock, *stream, std::move(task));
}

CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, bool per_thread, void** parameters,
                   void** extra) {
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id < 0 || config->attrs[i].id >= CU_LAUNCH_ATTRIBUTE_MAX) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return launch(function, config->gridDimX * config->gridDimY * config->gridDimZ,
                config->blockDimX * config->blockDimY * config->blockDimZ, config->hStream, per_thread, parameters,
                extra);
}

CUresult launch_host(CUstream handle, bool per_thread, CUhostFn function, void* data) {
  Lock lock;
  Stream* stream = nullptr;
  if (const CUresult status = find_stream(handle, per_thread, &stream); status != CUDA_SUCCESS) {
    return status;
  }
  Task task;
  task.kind = Task::Kind::kHost;
  task.function = function;
  task.data = data;
  return put(lock, *stream, std::move(task));
}

}  // namespace
}  // namespace fake

SUBMIT_TWICE(cuLaunchKernel,
             (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
              unsigned, CUstream stream, void** parameters, void** extra),
             fake::launch(function, gx* gy* gz, bx* by* bz, stream, per_thread, parameters, extra))
SUBMIT_TWICE(cuLaunchCooperativeKernel,
             (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
              unsigned, CUstream stream, void** parameters),
             fake::launch(function, gx* gy* gz, bx* by* bz, stream, per_thread, parameters, nullptr))
SUBMIT_TWICE(cuLaunchKernelEx, (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),
             fake::launch_ex(config, function, per_thread, parameters, extra))
SUBMIT_TWICE(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
             fake::launch_host(stream, per_thread, function, data))
