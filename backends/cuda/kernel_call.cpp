#include "backends/cuda/kernel_call.h"

#include <cstring>

namespace refrain::backends {

using capture::ArgumentKind;

namespace {

unsigned ratio(std::uint64_t threads, std::uint64_t block) noexcept {
  return block == 0 ? 0 : static_cast<unsigned>(threads / block);
}

}  // namespace

bool KernelCall::read(const capture::OperationView& operation) {
  const auto words = operation.words();
  const auto arguments = operation.arguments();
  if (operation.kind() != capture::OperationKind::kKernel || words.size() != capture::words::kKernelCount) {
    return false;
  }
  const auto local = words.subspan(capture::words::kLocal, 3);
  const auto global = words.subspan(capture::words::kGlobal, 3);
  block = {static_cast<unsigned>(local[0]), static_cast<unsigned>(local[1]), static_cast<unsigned>(local[2])};
  grid = {ratio(global[0], local[0]), ratio(global[1], local[1]), ratio(global[2], local[2])};
  parameters.clear();
  attributes = {};
  auto* value = const_cast<std::byte*>(operation.values().data());
  std::size_t index = 0;
  for (; index < arguments.size() && arguments[index].kind != ArgumentKind::kLocalMemory; ++index) {
    parameters.push_back(value);
    value += arguments[index].stored_bytes();
  }
  if (index == arguments.size()) {
    return false;
  }
  shared_bytes = arguments[index].size;
  if (index + 1 == arguments.size()) {
    return true;
  }
  const auto& last = arguments[index + 1];
  if (index + 2 != arguments.size() || last.kind != ArgumentKind::kValue ||
      last.size % sizeof(CUlaunchAttribute) != 0) {
    return false;
  }
  attributes = {reinterpret_cast<CUlaunchAttribute*>(value), last.size / sizeof(CUlaunchAttribute)};
  return true;
}

std::array<std::uint64_t, capture::words::kKernelCount> shape_words(const Grid& grid, const Grid& block) noexcept {
  return {3,
          0,
          0,
          0,
          std::uint64_t{grid.x} * block.x,
          std::uint64_t{grid.y} * block.y,
          std::uint64_t{grid.z} * block.z,
          block.x,
          block.y,
          block.z};
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
