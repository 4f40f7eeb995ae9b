// Copies and fills, with and without a stream, and memory in stream order.
#include "test/cuda/fake_driver/memory.h"
#include "test/cuda/fake_driver/twice.h"

namespace fake {
namespace {

enum class Side { kAny, kDevice, kHost };

/// What a copy may name: host memory of both kinds, and memory of the device, whole.
CUresult check_side(CUdeviceptr address, std::size_t bytes, Side side, bool* pageable) {
  const Allocation* found = find_allocation(address);
  *pageable = found == nullptr;
  if (found != nullptr) {
    if (within(*found, address, bytes)) {
      return CUDA_SUCCESS;
    }
    violation("a copy or fill beyond the end of the memory");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (was_freed(address)) {
    violation("a copy or fill of freed memory");
    return CUDA_ERROR_INVALID_VALUE;
  }
  return side == Side::kDevice ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

struct Copy {
  CUdeviceptr to = 0;
  Side to_side = Side::kAny;
  CUdeviceptr from = 0;
  Side from_side = Side::kAny;
  std::size_t bytes = 0;
};

CUresult copy(const Copy& wanted, CUstream stream_handle, bool per_thread, bool synchronous) {
  Lock lock;
  Stream* stream = nullptr;
  CUresult status = find_stream(stream_handle, per_thread, &stream);
  if (status != CUDA_SUCCESS || wanted.bytes == 0) {
    return status;
  }
  Task task;
  task.kind = Task::Kind::kCopy;
  task.to = wanted.to;
  task.from = wanted.from;
  task.bytes = wanted.bytes;
  status = check_side(wanted.to, wanted.bytes, wanted.to_side, &task.to_pageable);
  if (status == CUDA_SUCCESS) {
    status = check_side(wanted.from, wanted.bytes, wanted.from_side, &task.from_pageable);
  }
  if (status == CUDA_SUCCESS && synchronous) {
    status = forbidden_in_captures();
  }
  if (status != CUDA_SUCCESS) {
    return status;
  }
  if (task.from_pageable && stream->capture == nullptr) {
    const auto* from = reinterpret_cast<const std::byte*>(wanted.from);
    task.staged = std::make_shared<std::vector<std::byte>>(from, from + wanted.bytes);
  }
  const bool wait = stream->capture == nullptr && (synchronous || task.to_pageable);
  status = put(lock, *stream, std::move(task));
  if (status == CUDA_SUCCESS && wait) {
    const OperationRef copied = stream->tail;
    wait_for(lock, copied);
  }
  return status;
}

CUresult fill(CUdeviceptr to, unsigned value, unsigned element, std::size_t count, CUstream stream_handle,
              bool per_thread) {
  Lock lock;
  Stream* stream = nullptr;
  CUresult status = find_stream(stream_handle, per_thread, &stream);
  if (status != CUDA_SUCCESS || count == 0) {
    return status;
  }
  bool pageable = false;
  status = to % element != 0 ? CUDA_ERROR_INVALID_VALUE : check_side(to, count * element, Side::kDevice, &pageable);
  if (status != CUDA_SUCCESS) {
    return status;
  }
  Task task;
  task.kind = Task::Kind::kFill;
  task.to = to;
  task.value = value;
  task.element = element;
  task.bytes = count * element;
  return put(lock, *stream, std::move(task));
}

CUresult allocate_in_order(CUdeviceptr* address, std::size_t bytes, CUstream stream_handle, bool per_thread) {
  const Lock lock;
  Stream* stream = nullptr;
  const CUresult status = find_stream(stream_handle, per_thread, &stream);
  return status != CUDA_SUCCESS ? status : allocate(stream->context, bytes, CU_MEMORYTYPE_DEVICE, address);
}

CUresult free_in_order(CUdeviceptr address, CUstream stream_handle, bool per_thread) {
  Lock lock;
  Stream* stream = nullptr;
  if (const CUresult status = find_stream(stream_handle, per_thread, &stream); status != CUDA_SUCCESS) {
    return status;
  }
  const Allocation* found = find_allocation(address);
  if (found == nullptr || found->start != address) {
    violation("cuMemFreeAsync of what was not allocated");
    return CUDA_ERROR_INVALID_VALUE;
  }
  Task task;
  task.kind = Task::Kind::kFree;
  task.to = address;
  return put(lock, *stream, std::move(task));
}

CUdeviceptr number(const void* address) noexcept {
  return reinterpret_cast<CUdeviceptr>(address);
}

}  // namespace
}  // namespace fake

using fake::Side;

SUBMIT_TWICE(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
             fake::copy({to, Side::kAny, from, Side::kAny, bytes}, stream, per_thread, false))
SUBMIT_TWICE(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream),
             fake::copy({to, Side::kDevice, fake::number(from), Side::kHost, bytes}, stream, per_thread, false))
SUBMIT_TWICE(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream),
             fake::copy({fake::number(to), Side::kHost, from, Side::kDevice, bytes}, stream, per_thread, false))
SUBMIT_TWICE(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
             fake::copy({to, Side::kDevice, from, Side::kDevice, bytes}, stream, per_thread, false))
SUBMIT_TWICE_PTDS(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
                  fake::copy({to, Side::kAny, from, Side::kAny, bytes}, nullptr, per_thread, true))
SUBMIT_TWICE_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, std::size_t bytes),
                  fake::copy({to, Side::kDevice, fake::number(from), Side::kHost, bytes}, nullptr, per_thread, true))
SUBMIT_TWICE_PTDS(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, std::size_t bytes),
                  fake::copy({fake::number(to), Side::kHost, from, Side::kDevice, bytes}, nullptr, per_thread, true))
SUBMIT_TWICE_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
                  fake::copy({to, Side::kDevice, from, Side::kDevice, bytes}, nullptr, per_thread, false))

SUBMIT_TWICE(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream),
             fake::fill(to, value, 1, count, stream, per_thread))
SUBMIT_TWICE(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream),
             fake::fill(to, value, 2, count, stream, per_thread))
SUBMIT_TWICE(cuMemsetD32Async, (CUdeviceptr to, unsigned value, std::size_t count, CUstream stream),
             fake::fill(to, value, 4, count, stream, per_thread))
SUBMIT_TWICE_PTDS(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, std::size_t count),
                  fake::fill(to, value, 1, count, nullptr, per_thread))
SUBMIT_TWICE_PTDS(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, std::size_t count),
                  fake::fill(to, value, 4, count, nullptr, per_thread))

SUBMIT_TWICE(cuMemAllocAsync, (CUdeviceptr * address, std::size_t bytes, CUstream stream),
             fake::allocate_in_order(address, bytes, stream, per_thread))
SUBMIT_TWICE(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), fake::free_in_order(address, stream, per_thread))
