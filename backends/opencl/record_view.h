// Handles and values of a record in OpenCL's types.
#pragma once

#include <type_traits>

#include "backends/opencl/opencl_headers.h"
#include "capture/operation.h"

namespace refrain::backends::opencl {

static_assert(std::is_same_v<std::size_t, std::uint64_t>, "numbers of records are passed to the driver as they are");

/// Null if the driver is to choose.
[[nodiscard]] inline const std::size_t* local_size(const capture::words::Kernel& shape) noexcept {
  return shape.local[0] != 0 ? shape.local.data() : nullptr;
}

class RecordView {
 public:
  explicit RecordView(const capture::OperationView& operation) noexcept : operation_(operation) {}

  [[nodiscard]] cl_mem memory(std::size_t argument) const noexcept {
    return reinterpret_cast<cl_mem>(operation_.handle_of(argument));
  }
  [[nodiscard]] void* pointer(std::size_t argument) const noexcept {
    return reinterpret_cast<void*>(operation_.handle_of(argument));
  }
  [[nodiscard]] const void* bytes(std::size_t argument) const noexcept { return operation_.value_of(argument).data(); }
  [[nodiscard]] std::size_t size(std::size_t argument) const noexcept { return operation_.arguments()[argument].size; }
  [[nodiscard]] cl_command_queue queue() const noexcept {
    return reinterpret_cast<cl_command_queue>(operation_.header().queue_handle);
  }

 private:
  capture::OperationView operation_;
};

}  // namespace refrain::backends::opencl
