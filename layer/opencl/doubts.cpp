#include "layer/opencl/doubts.h"

#include <array>
#include <cstdint>

#include "layer/opencl/layer.h"

namespace refrain::layer::opencl {
namespace {

const char* const kUnknownObject = "it names an object that Refrain did not see made";
const char* const kOtherContext = "its queue, objects and events may belong to different contexts";
const char* const kOutOfRange = "it reaches beyond an object, or its ranges overlap";
const char* const kSize = "its sizes are not valid";
const char* const kNoMigration = "it names no memory, or flags that are not known";
constexpr cl_mem_migration_flags kMigrations = CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;

/// The records of what a command names; a doubt if they are unknown, of another context, or not for every device.
const char* find(const QueueState& queue, cl_mem handle, capture::ArgumentKind kind,
                 const MemoryState** found) noexcept {
  const MemoryState* memory = objects.memory.find(handle_of(handle));
  *found = memory;
  if (memory == nullptr || memory->kind != kind) {
    return kUnknownObject;
  }
  return doubtful_argument(*memory, queue.slot.info.context) ? kOtherContext : nullptr;
}

/// a * b + c, or the largest number if that is too much.
std::size_t multiply_add(std::size_t a, std::size_t b, std::size_t c) noexcept {
  std::size_t product = 0;
  std::size_t sum = 0;
  return __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum) ? ~std::size_t{0} : sum;
}

bool fits(std::size_t offset, std::size_t size, std::size_t whole) noexcept {
  return offset <= whole && size <= whole - offset;
}

/// The buffer that the bytes belong to, and where in it.
struct Place {
  ObjectId buffer;
  std::size_t offset;
};
Place place_of(const MemoryState& memory, std::size_t offset) noexcept {
  return memory.info.parent != 0 ? Place{memory.info.parent, memory.info.offset + offset} : Place{memory.id, offset};
}

bool overlap(const Place& a, const Place& b, std::size_t bytes_a, std::size_t bytes_b) noexcept {
  return a.buffer == b.buffer && a.offset < b.offset + bytes_b && b.offset < a.offset + bytes_a;
}

bool empty(const size_t* region) noexcept {
  return region == nullptr || region[0] == 0 || region[1] == 0 || region[2] == 0;
}

/// First byte of a rectangle and the one behind its last; a doubt if its pitches do not fit it.
const char* span_of(const Rectangle& rectangle, const size_t* region, std::size_t* first, std::size_t* end) noexcept {
  const std::size_t row = rectangle.row_pitch != 0 ? rectangle.row_pitch : region[0];
  const std::size_t slice = rectangle.slice_pitch != 0 ? rectangle.slice_pitch : multiply_add(row, region[1], 0);
  if (rectangle.origin == nullptr || row < region[0] || slice < multiply_add(row, region[1], 0) || slice % row != 0) {
    return kSize;
  }
  const size_t* origin = rectangle.origin;
  *first = multiply_add(origin[2], slice, multiply_add(origin[1], row, origin[0]));
  const std::size_t last_row = multiply_add(region[2] - 1, slice, multiply_add(region[1] - 1, row, region[0]));
  *end = multiply_add(1, *first, last_row);
  return *end == ~std::size_t{0} ? kOutOfRange : nullptr;
}

/// How far an image goes in each direction: layers come behind its dimensions.
std::array<std::size_t, 3> extent(const MemoryState& image) noexcept {
  const auto& description = image.info.description;
  const std::size_t width = description[3];
  const std::size_t height = description[4];
  switch (description[2]) {
    case CL_MEM_OBJECT_IMAGE1D:
    case CL_MEM_OBJECT_IMAGE1D_BUFFER: return {width, 1, 1};
    case CL_MEM_OBJECT_IMAGE1D_ARRAY: return {width, description[6], 1};
    case CL_MEM_OBJECT_IMAGE2D: return {width, height, 1};
    case CL_MEM_OBJECT_IMAGE2D_ARRAY: return {width, height, description[6]};
    case CL_MEM_OBJECT_IMAGE3D: return {width, height, description[5]};
    default: return {};
  }
}

const char* find_box(const QueueState& queue, const Box& box, const size_t* region,
                     const MemoryState** found) noexcept {
  if (const char* doubt = find(queue, box.image, capture::ArgumentKind::kImage, found); doubt != nullptr) {
    return doubt;
  }
  const MemoryState& image = **found;
  if (image.info.description[9] > 1 || image.info.description[10] != 0) {
    return "an image has several levels or samples";
  }
  if (box.origin == nullptr || empty(region)) {
    return kSize;
  }
  const auto whole = extent(image);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!fits(box.origin[i], region[i], whole[i])) {
      return kOutOfRange;
    }
  }
  return nullptr;
}

/// A doubt if the bytes are not all in one allocation of the context's shared memory.
const char* doubt_shared(const QueueState& queue, const void* pointer, std::size_t size) noexcept {
  const auto start = reinterpret_cast<std::uint64_t>(pointer);
  const auto memory = state.shared_memory.find(start);
  if (!memory) {
    return "it names memory that is not known to be shared virtual memory";
  }
  if (memory->device != static_cast<int>(queue.slot.info.context)) {
    return kOtherContext;
  }
  return fits(start - memory->start, size, memory->bytes) ? nullptr : kOutOfRange;
}

bool is_pattern(const void* pattern, std::size_t size) noexcept {
  return pattern != nullptr && size != 0 && size <= sizeof(cl_double16) && (size & (size - 1)) == 0;
}

}  // namespace

ObjectId context_id(cl_context context) noexcept {
  const ContextState* known = objects.contexts.find(handle_of(context));
  return known != nullptr ? known->id : 0;
}

bool doubtful_argument(const MemoryState& memory, ObjectId context) noexcept {
  return memory.info.context != context || context == 0 || memory.device_dependent;
}

const char* doubt_launch(const QueueState& queue, KernelState& kernel, const LaunchShape& shape) noexcept {
  if (kernel.accepted_queue.load(std::memory_order_relaxed) != queue.id) [[unlikely]] {
    if (kernel.context != queue.slot.info.context || kernel.context == 0) {
      return kOtherContext;
    }
    if ((kernel.built & queue.device_bit) == 0) {
      return "its program may not be built for the queue's device";
    }
    kernel.accepted_queue.store(queue.id, std::memory_order_relaxed);
  }
  if (kernel.doubtful_arguments != 0) [[unlikely]] {
    return kOtherContext;
  }
  if (shape.dimensions - 1 > 2 || shape.global == nullptr) [[unlikely]] {
    return kSize;
  }
  for (cl_uint i = 0; i < shape.dimensions; ++i) {
    if (shape.global[i] == 0 || (shape.local != nullptr && shape.local[i] == 0)) [[unlikely]] {
      return kSize;
    }
  }
  return nullptr;
}

const char* doubt_copy(const QueueState& queue, const Range& from, const Range& to, std::size_t size) noexcept {
  const MemoryState* source = nullptr;
  const MemoryState* destination = nullptr;
  const char* doubt = find(queue, from.buffer, capture::ArgumentKind::kBuffer, &source);
  doubt = doubt != nullptr ? doubt : find(queue, to.buffer, capture::ArgumentKind::kBuffer, &destination);
  if (doubt != nullptr) {
    return doubt;
  }
  if (size == 0) {
    return kSize;
  }
  return !fits(from.offset, size, source->info.size) || !fits(to.offset, size, destination->info.size) ||
                 overlap(place_of(*source, from.offset), place_of(*destination, to.offset), size, size)
             ? kOutOfRange
             : nullptr;
}

const char* doubt_fill(const QueueState& queue, const Range& to, const void* pattern, std::size_t pattern_size,
                       std::size_t size) noexcept {
  const MemoryState* destination = nullptr;
  if (const char* doubt = find(queue, to.buffer, capture::ArgumentKind::kBuffer, &destination); doubt != nullptr) {
    return doubt;
  }
  if (!is_pattern(pattern, pattern_size)) {
    return "its pattern is not valid";
  }
  if (size == 0 || size % pattern_size != 0 || to.offset % pattern_size != 0) {
    return kSize;
  }
  return fits(to.offset, size, destination->info.size) ? nullptr : kOutOfRange;
}

const char* doubt_pointer_copy(const QueueState& queue, const void* to, const void* from, std::size_t size) noexcept {
  const char* doubt = doubt_shared(queue, to, size);
  doubt = doubt != nullptr ? doubt : doubt_shared(queue, from, size);
  if (doubt != nullptr) {
    return doubt;
  }
  if (size == 0) {
    return kSize;
  }
  const auto destination = reinterpret_cast<std::uint64_t>(to);
  const auto source = reinterpret_cast<std::uint64_t>(from);
  return destination < source + size && source < destination + size ? kOutOfRange : nullptr;
}

const char* doubt_pointer_fill(const QueueState& queue, const void* pointer, const void* pattern,
                               std::size_t pattern_size, std::size_t size) noexcept {
  if (const char* doubt = doubt_shared(queue, pointer, size); doubt != nullptr) {
    return doubt;
  }
  if (!is_pattern(pattern, pattern_size)) {
    return "its pattern is not valid";
  }
  const bool aligned = reinterpret_cast<std::uintptr_t>(pointer) % pattern_size == 0;
  return aligned && size != 0 && size % pattern_size == 0 ? nullptr : kSize;
}

const char* doubt_copy_rectangle(const QueueState& queue, const Rectangle& from, const Rectangle& to,
                                 const size_t* region) noexcept {
  const MemoryState* source = nullptr;
  const MemoryState* destination = nullptr;
  const char* doubt = find(queue, from.buffer, capture::ArgumentKind::kBuffer, &source);
  doubt = doubt != nullptr ? doubt : find(queue, to.buffer, capture::ArgumentKind::kBuffer, &destination);
  if (doubt != nullptr) {
    return doubt;
  }
  if (empty(region)) {
    return kSize;
  }
  std::size_t first_from = 0, end_from = 0, first_to = 0, end_to = 0;
  doubt = span_of(from, region, &first_from, &end_from);
  doubt = doubt != nullptr ? doubt : span_of(to, region, &first_to, &end_to);
  if (doubt != nullptr) {
    return doubt;
  }
  return end_from > source->info.size || end_to > destination->info.size ||
                 overlap(place_of(*source, first_from), place_of(*destination, first_to), end_from - first_from,
                         end_to - first_to)
             ? kOutOfRange
             : nullptr;
}

const char* doubt_copy_image(const QueueState& queue, const Box& from, const Box& to, const size_t* region) noexcept {
  const MemoryState* source = nullptr;
  const MemoryState* destination = nullptr;
  const char* doubt = find_box(queue, from, region, &source);
  doubt = doubt != nullptr ? doubt : find_box(queue, to, region, &destination);
  if (doubt != nullptr) {
    return doubt;
  }
  const auto& a = source->info.description;
  const auto& b = destination->info.description;
  if (a[0] != b[0] || a[1] != b[1]) {
    return "its images have different formats";
  }
  return source == destination ? kOutOfRange : nullptr;
}

const char* doubt_copy_between(const QueueState& queue, const Box& box, const Range& range,
                               const size_t* region) noexcept {
  const MemoryState* image = nullptr;
  const MemoryState* buffer = nullptr;
  const char* doubt = find_box(queue, box, region, &image);
  doubt = doubt != nullptr ? doubt : find(queue, range.buffer, capture::ArgumentKind::kBuffer, &buffer);
  if (doubt != nullptr) {
    return doubt;
  }
  const std::size_t bytes =
      multiply_add(multiply_add(region[0], image->element_bytes, 0), multiply_add(region[1], region[2], 0), 0);
  return image->element_bytes != 0 && fits(range.offset, bytes, buffer->info.size) ? nullptr : kOutOfRange;
}

const char* doubt_fill_image(const QueueState& queue, const Box& to, const void* colour,
                             const size_t* region) noexcept {
  const MemoryState* image = nullptr;
  const char* doubt = find_box(queue, to, region, &image);
  return doubt != nullptr || colour != nullptr ? doubt : "it has no colour";
}

const char* doubt_migrate(const QueueState& queue, std::span<const cl_mem> memory,
                          cl_mem_migration_flags flags) noexcept {
  if (memory.empty() || (flags & ~kMigrations) != 0) {
    return kNoMigration;
  }
  for (const cl_mem handle : memory) {
    const MemoryState* known = objects.memory.find(handle_of(handle));
    if (known == nullptr) {
      return kUnknownObject;
    }
    if (doubtful_argument(*known, queue.slot.info.context)) {
      return kOtherContext;
    }
  }
  return nullptr;
}

const char* doubt_pointer_migrate(const QueueState& queue, std::span<const void* const> pointers,
                                  std::span<const std::size_t> sizes, cl_mem_migration_flags flags) noexcept {
  if (pointers.empty() || (flags & ~kMigrations) != 0) {
    return kNoMigration;
  }
  const char* doubt = nullptr;
  for (std::size_t i = 0; i < pointers.size() && doubt == nullptr; ++i) {
    doubt = doubt_shared(queue, pointers[i], sizes.empty() ? 0 : sizes[i]);
  }
  return doubt;
}

const char* doubt_wait(const QueueState& queue, EventState& event) noexcept {
  ObjectId context = event.context_number.load(std::memory_order_relaxed);
  if (context == 0) {
    cl_context owner = nullptr;
    if (target.clGetEventInfo(native<cl_event>(event.handle.load(std::memory_order_relaxed)), CL_EVENT_CONTEXT,
                              sizeof(owner), &owner, nullptr) == CL_SUCCESS) {
      context = context_id(owner);
      event.context_number.store(context, std::memory_order_relaxed);
    }
  }
  return context != queue.slot.info.context || context == 0 ? kOtherContext : nullptr;
}

}  // namespace refrain::layer::opencl
