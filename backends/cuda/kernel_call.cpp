#include "backends/cuda/kernel_call.h"

#include <algorithm>
#include <cstddef>
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

bool may_begin_early(const capture::OperationView& operation) {
  KernelCall call;
  return operation.kind() == capture::OperationKind::kKernel && call.read(operation) &&
         std::ranges::any_of(call.attributes, [](const CUlaunchAttribute& attribute) {
           return id_of(attribute) == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                  attribute.value.programmaticStreamSerializationAllowed != 0;
         });
}

int id_of(const CUlaunchAttribute& attribute) noexcept {
  static_assert(sizeof(attribute.id) == sizeof(int));
  int id = 0;
  std::memcpy(&id, &attribute.id, sizeof(id));
  return id;
}

namespace {

constexpr std::size_t kUnknown = ~std::size_t{0};

/// How much of an attribute's value says something.
std::size_t value_bytes(int id) noexcept {
  using Value = CUlaunchAttributeValue;
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE: return 0;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return sizeof(Value::accessPolicyWindow);
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return sizeof(Value::cooperative);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: return sizeof(Value::clusterDim);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return sizeof(Value::clusterSchedulingPolicyPreference);
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      return sizeof(Value::programmaticStreamSerializationAllowed);
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return sizeof(Value::priority);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return sizeof(Value::memSyncDomainMap);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return sizeof(Value::memSyncDomain);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return sizeof(Value::preferredClusterDim);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return sizeof(Value::sharedMemCarveout);
    default: return kUnknown;
  }
}

}  // namespace

bool normalize(const CUlaunchAttribute& given, CUlaunchAttribute* result) noexcept {
  std::memset(result, 0, sizeof(*result));
  std::memcpy(&result->id, &given.id, sizeof(given.id));
  const std::size_t bytes = value_bytes(id_of(given));
  if (bytes == kUnknown) {
    return false;
  }
  std::memcpy(&result->value, &given.value, bytes);
  return true;
}

bool same_attributes(std::span<const CUlaunchAttribute> given, std::span<const std::byte> normalized) noexcept {
  const std::byte* known = normalized.data();
  const std::byte* const end = known + normalized.size();
  for (const CUlaunchAttribute& attribute : given) {
    const int id = id_of(attribute);
    if (id == CU_LAUNCH_ATTRIBUTE_IGNORE) {
      continue;
    }
    const std::size_t bytes = value_bytes(id);
    if (known == end || bytes == kUnknown || std::memcmp(known, &attribute.id, sizeof(id)) != 0 ||
        std::memcmp(known + offsetof(CUlaunchAttribute, value), &attribute.value, bytes) != 0) {
      return false;
    }
    known += sizeof(CUlaunchAttribute);
  }
  return known == end;
}

}  // namespace refrain::backends
