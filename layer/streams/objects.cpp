#include "layer/streams/objects.h"

namespace refrain::layer::streams {

void FunctionState::add_parameter(std::uint32_t size, std::uint32_t buffer_offset) {
  capture::ArgumentDescriptor descriptor;
  descriptor.kind = capture::ArgumentKind::kValue;
  descriptor.size = size;
  descriptors.push_back(descriptor);
  buffer_offsets.push_back(buffer_offset);
  value_bytes += static_cast<std::uint32_t>(descriptor.stored_bytes());
}

void FunctionState::end_parameters() {
  capture::ArgumentDescriptor shared;
  shared.kind = capture::ArgumentKind::kLocalMemory;
  descriptors.push_back(shared);
}

}  // namespace refrain::layer::streams
