// The numbers and handles of a record in OpenCL's types.
#pragma once

#include <array>

#include "backends/opencl/opencl_headers.h"
#include "capture/operation.h"

namespace refrain::backends::opencl {

static_assert(sizeof(std::size_t) == sizeof(std::uint64_t), "records hold 64-bit sizes");

class RecordView {
 public:
  explicit RecordView(const capture::OperationView& operation) noexcept : operation_(operation) {}

  [[nodiscard]] std::size_t word(std::size_t index) const noexcept { return operation_.words()[index]; }
  /// Three numbers from `index` on, as the API takes origins and regions.
  [[nodiscard]] const std::size_t* triple(std::size_t index) const noexcept {
    return reinterpret_cast<const std::size_t*>(operation_.words().data() + index);
  }
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

  // Kernels.
  [[nodiscard]] cl_uint dimensions() const noexcept { return static_cast<cl_uint>(word(capture::words::kDimensions)); }
  [[nodiscard]] const std::size_t* offset() const noexcept { return triple(capture::words::kOffset); }
  [[nodiscard]] const std::size_t* global() const noexcept { return triple(capture::words::kGlobal); }
  /// Null if the driver is to choose.
  [[nodiscard]] const std::size_t* local() const noexcept {
    return word(capture::words::kLocal) != 0 ? triple(capture::words::kLocal) : nullptr;
  }

 private:
  capture::OperationView operation_;
};

}  // namespace refrain::backends::opencl
