// What the driver would refuse at once must not be held: the program would be told too late, or, where replays and late
// submissions take other ways, not at all. So whatever a driver may refuse goes to it at once, and it decides. Each
// function returns why there is a doubt, with static lifetime, or null. The rules are those of the OpenCL
// specification's lists of errors; where it is not worth while to be exact, there is a doubt too many.
//
// That an operation was accepted before is known of what its token is made of (kind, sizes, pitches, shape, device):
// refused ones are never part of what repeats. These functions are about the rest.
#pragma once

#include <span>

#include "layer/opencl/objects.h"

namespace refrain::layer::opencl {

/// Number of a context; 0: not known.
[[nodiscard]] ObjectId context_id(cl_context context) noexcept;

/// An argument that is `memory`, in a kernel of a program of this context.
[[nodiscard]] bool doubtful_argument(const MemoryState& memory, ObjectId context) noexcept;

struct LaunchShape {
  cl_uint dimensions;
  const size_t* offset;
  const size_t* global;
  const size_t* local;
};
[[nodiscard]] const char* doubt_launch(const QueueState& queue, KernelState& kernel, const LaunchShape& shape) noexcept;

/// A part of a buffer that a command names.
struct Range {
  cl_mem buffer;
  std::size_t offset;
};
[[nodiscard]] const char* doubt_copy(const QueueState& queue, const Range& from, const Range& to,
                                     std::size_t size) noexcept;
[[nodiscard]] const char* doubt_fill(const QueueState& queue, const Range& to, const void* pattern,
                                     std::size_t pattern_size, std::size_t size) noexcept;
[[nodiscard]] const char* doubt_pointer_copy(const QueueState& queue, const void* to, const void* from,
                                             std::size_t size) noexcept;
[[nodiscard]] const char* doubt_pointer_fill(const QueueState& queue, const void* pointer, const void* pattern,
                                             std::size_t pattern_size, std::size_t size) noexcept;

/// A rectangle in a buffer.
struct Rectangle {
  cl_mem buffer;
  const size_t* origin;
  std::size_t row_pitch;
  std::size_t slice_pitch;
};
[[nodiscard]] const char* doubt_copy_rectangle(const QueueState& queue, const Rectangle& from, const Rectangle& to,
                                               const size_t* region) noexcept;

/// A box in an image.
struct Box {
  cl_mem image;
  const size_t* origin;
};
[[nodiscard]] const char* doubt_copy_image(const QueueState& queue, const Box& from, const Box& to,
                                           const size_t* region) noexcept;
/// Between an image and a buffer, in whichever direction.
[[nodiscard]] const char* doubt_copy_between(const QueueState& queue, const Box& box, const Range& range,
                                             const size_t* region) noexcept;
[[nodiscard]] const char* doubt_fill_image(const QueueState& queue, const Box& to, const void* colour,
                                           const size_t* region) noexcept;

/// A command buffer leaves migrations out, and the driver is not asked.
[[nodiscard]] const char* doubt_migrate(const QueueState& queue, std::span<const cl_mem> memory,
                                        cl_mem_migration_flags flags) noexcept;
/// `sizes`: none, or one for each pointer.
[[nodiscard]] const char* doubt_pointer_migrate(const QueueState& queue, std::span<const void* const> pointers,
                                                std::span<const std::size_t> sizes,
                                                cl_mem_migration_flags flags) noexcept;

/// An event in a wait list. Asks the driver for the event's context if that is not known yet.
[[nodiscard]] const char* doubt_wait(const QueueState& queue, EventState& event) noexcept;

}  // namespace refrain::layer::opencl
