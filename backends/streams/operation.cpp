#include "backends/streams/operation.h"

namespace refrain::backends {

using capture::ArgumentKind;

namespace {

unsigned ratio(std::uint64_t threads, std::uint64_t block) noexcept {
  return block == 0 ? 0 : static_cast<unsigned>(threads / block);
}

}  // namespace

bool KernelLaunch::read(const capture::OperationView& operation) {
  const auto* const shape = operation.find<capture::words::Kernel>();
  const auto arguments = operation.arguments();
  if (shape == nullptr) {
    return false;
  }
  const auto& [dimensions, offset, global, local] = *shape;
  block = {static_cast<unsigned>(local[0]), static_cast<unsigned>(local[1]), static_cast<unsigned>(local[2])};
  grid = {ratio(global[0], local[0]), ratio(global[1], local[1]), ratio(global[2], local[2])};
  parameters.clear();
  more = {};
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
  if (index + 2 != arguments.size() || last.kind != ArgumentKind::kValue) {
    return false;
  }
  more = {value, last.size};
  return true;
}

bool HostFunction::read(const capture::OperationView& operation) noexcept {
  const auto arguments = operation.arguments();
  if (operation.kind() != capture::OperationKind::kHostFunction || arguments.size() != 2 ||
      arguments[0].kind != ArgumentKind::kHostPointer || arguments[1].kind != ArgumentKind::kHostPointer) {
    return false;
  }
  function = reinterpret_cast<void (*)(void*)>(operation.handle_of(0));
  data = reinterpret_cast<void*>(operation.handle_of(1));
  return function != nullptr;
}

}  // namespace refrain::backends
