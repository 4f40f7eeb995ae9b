// Whole contents of buffers and images.
#include <array>
#include <limits>

#include "backends/opencl/opencl_backend.h"

namespace refrain::backends {
namespace {

using capture::ArgumentKind;

cl_mem native(capture::Handle handle) {
  return reinterpret_cast<cl_mem>(handle);
}
cl_command_queue native_queue(const capture::QueueInfo& queue) {
  return reinterpret_cast<cl_command_queue>(queue.handle);
}

std::size_t number(const cl_icd_dispatch& driver, cl_mem image, cl_image_info what) {
  std::size_t value = 0;
  (void)driver.clGetImageInfo(image, what, sizeof(value), &value, nullptr);
  return value;
}

struct ImageShape {
  std::array<std::size_t, 3> region{};
  std::size_t element = 0;
  [[nodiscard]] std::uint64_t bytes() const {
    const __uint128_t total = static_cast<__uint128_t>(region[0]) * region[1] * region[2] * element;
    return total > std::numeric_limits<std::uint64_t>::max() ? 0 : static_cast<std::uint64_t>(total);
  }
};

ImageShape shape_of(const cl_icd_dispatch& driver, cl_mem image) {
  cl_mem_object_type type = 0;
  if (driver.clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, nullptr) != CL_SUCCESS) {
    return {};
  }
  ImageShape shape;
  shape.element = number(driver, image, CL_IMAGE_ELEMENT_SIZE);
  shape.region = {number(driver, image, CL_IMAGE_WIDTH), 1, 1};
  switch (type) {
    case CL_MEM_OBJECT_IMAGE1D:
    case CL_MEM_OBJECT_IMAGE1D_BUFFER: break;
    case CL_MEM_OBJECT_IMAGE1D_ARRAY: shape.region[1] = number(driver, image, CL_IMAGE_ARRAY_SIZE); break;
    case CL_MEM_OBJECT_IMAGE2D: shape.region[1] = number(driver, image, CL_IMAGE_HEIGHT); break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      shape.region[1] = number(driver, image, CL_IMAGE_HEIGHT);
      shape.region[2] = number(driver, image, CL_IMAGE_ARRAY_SIZE);
      break;
    case CL_MEM_OBJECT_IMAGE3D:
      shape.region[1] = number(driver, image, CL_IMAGE_HEIGHT);
      shape.region[2] = number(driver, image, CL_IMAGE_DEPTH);
      break;
    default: return {};
  }
  return shape;
}

constexpr std::array<std::size_t, 3> kOrigin{};

// Buffers that the host may not touch are copied to or from one that it may.
template <typename Transfer>
cl_int through_copy(const cl_icd_dispatch& d, cl_command_queue queue, cl_mem buffer, std::size_t size, bool reading,
                    Transfer&& transfer) {
  cl_context context = nullptr;
  cl_int status = d.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, nullptr);
  cl_mem copy = status == CL_SUCCESS ? d.clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, &status) : nullptr;
  if (copy == nullptr) {
    return status;
  }
  cl_event copied = nullptr;
  if (!reading) {
    status = transfer(copy, 0U, static_cast<const cl_event*>(nullptr));
  }
  if (status == CL_SUCCESS) {
    status =
        d.clEnqueueCopyBuffer(queue, reading ? buffer : copy, reading ? copy : buffer, 0, 0, size, 0, nullptr, &copied);
  }
  if (status == CL_SUCCESS) {
    status = reading ? transfer(copy, 1U, static_cast<const cl_event*>(&copied)) : d.clWaitForEvents(1, &copied);
  }
  if (copied != nullptr) {
    (void)d.clReleaseEvent(copied);
  }
  (void)d.clReleaseMemObject(copy);
  return status;
}

}  // namespace

std::uint64_t OpenClBackend::size_of(ArgumentKind kind, capture::Handle handle) noexcept {
  if (handle == 0) {
    return 0;
  }
  if (kind == ArgumentKind::kImage) {
    return shape_of(driver_, native(handle)).bytes();
  }
  if (kind == ArgumentKind::kPointer) {
    const auto known = shared_ != nullptr ? shared_->find(handle) : std::nullopt;
    return known && known->start == handle ? known->bytes : 0;
  }
  std::size_t size = 0;
  if (kind == ArgumentKind::kBuffer) {
    (void)driver_.clGetMemObjectInfo(native(handle), CL_MEM_SIZE, sizeof(size), &size, nullptr);
  }
  return size;
}

Status OpenClBackend::read(const capture::QueueInfo& queue, ArgumentKind kind, capture::Handle handle,
                           std::span<std::byte> into) noexcept {
  if (into.empty() || size_of(kind, handle) != into.size()) {
    return {CL_INVALID_VALUE};
  }
  const cl_command_queue on = native_queue(queue);
  if (kind == ArgumentKind::kPointer) {
    return {driver_.clEnqueueSVMMemcpy(on, CL_TRUE, into.data(), reinterpret_cast<const void*>(handle), into.size(), 0,
                                       nullptr, nullptr)};
  }
  if (kind == ArgumentKind::kImage) {
    const ImageShape shape = shape_of(driver_, native(handle));
    return {driver_.clEnqueueReadImage(on, native(handle), CL_TRUE, kOrigin.data(), shape.region.data(), 0, 0,
                                       into.data(), 0, nullptr, nullptr)};
  }
  const auto transfer = [&](cl_mem from, cl_uint count, const cl_event* waits) {
    return driver_.clEnqueueReadBuffer(on, from, CL_TRUE, 0, into.size(), into.data(), count, waits, nullptr);
  };
  const cl_int status = transfer(native(handle), 0, nullptr);
  return {status == CL_INVALID_OPERATION ? through_copy(driver_, on, native(handle), into.size(), true, transfer)
                                         : status};
}

Status OpenClBackend::write(const capture::QueueInfo& queue, ArgumentKind kind, capture::Handle handle,
                            std::span<const std::byte> from) noexcept {
  if (from.empty() || size_of(kind, handle) != from.size()) {
    return {CL_INVALID_VALUE};
  }
  const cl_command_queue on = native_queue(queue);
  if (kind == ArgumentKind::kPointer) {
    return {driver_.clEnqueueSVMMemcpy(on, CL_TRUE, reinterpret_cast<void*>(handle), from.data(), from.size(), 0,
                                       nullptr, nullptr)};
  }
  if (kind == ArgumentKind::kImage) {
    const ImageShape shape = shape_of(driver_, native(handle));
    return {driver_.clEnqueueWriteImage(on, native(handle), CL_TRUE, kOrigin.data(), shape.region.data(), 0, 0,
                                        from.data(), 0, nullptr, nullptr)};
  }
  const auto transfer = [&](cl_mem to, cl_uint count, const cl_event* waits) {
    return driver_.clEnqueueWriteBuffer(on, to, CL_TRUE, 0, from.size(), from.data(), count, waits, nullptr);
  };
  const cl_int status = transfer(native(handle), 0, nullptr);
  return {status == CL_INVALID_OPERATION ? through_copy(driver_, on, native(handle), from.size(), false, transfer)
                                         : status};
}

}  // namespace refrain::backends
