#include "backends/cuda/kernel_call.h"

#include <cstring>

namespace refrain::backends {

bool KernelCall::read(const capture::OperationView& operation) {
  attributes = {};
  if (!KernelLaunch::read(operation) || more.size() % sizeof(CUlaunchAttribute) != 0) {
    return false;
  }
  attributes = {reinterpret_cast<CUlaunchAttribute*>(more.data()), more.size() / sizeof(CUlaunchAttribute)};
  return true;
}

int id_of(const CUlaunchAttribute& attribute) noexcept {
  static_assert(sizeof(attribute.id) == sizeof(int));
  int id = 0;
  std::memcpy(&id, &attribute.id, sizeof(id));
  return id;
}

bool normalize(const CUlaunchAttribute& given, CUlaunchAttribute* result) noexcept {
  std::memset(result, 0, sizeof(*result));
  std::memcpy(&result->id, &given.id, sizeof(given.id));
  const auto copy = [&](std::size_t bytes) {
    std::memcpy(&result->value, &given.value, bytes);
    return true;
  };
  switch (id_of(given)) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE: return true;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return copy(sizeof(given.value.accessPolicyWindow));
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return copy(sizeof(given.value.cooperative));
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: return copy(sizeof(given.value.clusterDim));
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return copy(sizeof(given.value.clusterSchedulingPolicyPreference));
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      return copy(sizeof(given.value.programmaticStreamSerializationAllowed));
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return copy(sizeof(given.value.priority));
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return copy(sizeof(given.value.memSyncDomainMap));
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return copy(sizeof(given.value.memSyncDomain));
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return copy(sizeof(given.value.preferredClusterDim));
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return copy(sizeof(given.value.sharedMemCarveout));
    default: return false;
  }
}

}  // namespace refrain::backends
