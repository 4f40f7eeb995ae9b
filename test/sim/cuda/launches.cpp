// Kernel launches.
#include "test/sim/cuda/face.h"

namespace sim::cuda {

Status read_arguments(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>* arguments) {
  if (parameters != nullptr || extra == nullptr || kernel.parameters.empty()) {
    return parameters != nullptr && extra != nullptr && !kernel.parameters.empty()
               ? Status::kInvalidValue
               : sim::read_arguments(kernel, parameters, arguments);
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
  return read_argument_block(kernel, buffer, bytes, arguments);
}

namespace {

Status launch(CUfunction handle, const Shape& shape, CUstream stream, bool per_thread, void** parameters, void** extra,
              const std::map<int, std::uint64_t>& attributes = {}, bool early = false) {
  const AmongOthers inside;
  std::vector<std::byte> arguments;
  {
    const Lock lock;
    if (const Function* function = find_function(handle); function != nullptr) {
      const Status status = read_arguments(*function->kernel, parameters, extra, &arguments);
      if (status != Status::kOk) {
        return status;
      }
    }
  }
  return launch_kernel(handle, shape, std::move(arguments), stream, per_thread, attributes, early);
}

Status launch_ex(const CUlaunchConfig* config, CUfunction function, bool per_thread, void** parameters, void** extra) {
  std::map<int, std::uint64_t> attributes;
  bool early = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id < 0 || config->attrs[i].id >= CU_LAUNCH_ATTRIBUTE_MAX) {
      return Status::kInvalidValue;
    }
    early = early || (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                      config->attrs[i].value.programmaticStreamSerializationAllowed != 0);
    if (const std::uint64_t number = number_of(config->attrs[i].id, config->attrs[i].value); number != 0) {
      attributes[config->attrs[i].id] = number;
    }
  }
  const Shape shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                       {config->blockDimX, config->blockDimY, config->blockDimZ},
                       config->sharedMemBytes};
  return launch(function, shape, config->hStream, per_thread, parameters, extra, attributes, early);
}

const std::map<int, std::uint64_t> kCooperative = {{CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1}};

}  // namespace

std::uint64_t number_of(int id, const CUlaunchAttributeValue& value) noexcept {
  const auto& window = value.accessPolicyWindow;
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return window.num_bytes + 5 * static_cast<std::uint64_t>(window.hitRatio * 100) +
             std::uint64_t{700} * window.hitProp + std::uint64_t{9000} * window.missProp;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return value.cooperative != 0 ? 1 : 0;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return value.clusterDim.x + 100 * value.clusterDim.y + 10000 * value.clusterDim.z;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return static_cast<std::uint64_t>(value.priority);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return value.memSyncDomainMap.default_ + 100 * value.memSyncDomainMap.remote;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return value.memSyncDomain;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: return value.launchCompletionEvent.event != nullptr ? 1 : 0;
    default: return 0;
  }
}

}  // namespace sim::cuda

SUBMIT_TWICE(cuLaunchKernel,
             (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
              unsigned shared, CUstream stream, void** parameters, void** extra),
             sim::cuda::launch(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, per_thread, parameters, extra))
SUBMIT_TWICE(cuLaunchCooperativeKernel,
             (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
              unsigned shared, CUstream stream, void** parameters),
             sim::cuda::launch(function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, per_thread, parameters, nullptr,
                               sim::cuda::kCooperative))
SUBMIT_TWICE(cuLaunchKernelEx, (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),
             sim::cuda::launch_ex(config, function, per_thread, parameters, extra))
