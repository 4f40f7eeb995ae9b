// Kernel launches, native kernels.

#include "layer/opencl/enqueue.h"
#include "layer/opencl/kernels.h"

namespace refrain::layer::opencl {
namespace {

/// Missing arrays mean what the API says they mean.
words::Kernel shape_of(const LaunchShape& launch) noexcept {
  const auto [dimensions, offset, global, local] = launch;
  words::Kernel shape{.dimensions = dimensions, .offset = {}, .global = {}, .local = {}};
  for (cl_uint i = 0; i < 3; ++i) {
    const bool used = i < dimensions;
    shape.offset[i] = used && offset != nullptr ? offset[i] : 0;
    shape.global[i] = used && global != nullptr ? global[i] : 1;
    shape.local[i] = local == nullptr ? 0 : (used ? local[i] : 1);
  }
  return shape;
}

Token mixed(const words::Kernel& shape, Token seed) noexcept {
  // Two chains, so that the processor can work on both at once.
  Token first = mix(seed, shape.dimensions);
  Token second = mix(shape.offset[0], shape.offset[1]);
  first = mix(first, shape.offset[2]);
  second = mix(second, shape.global[0]);
  first = mix(first, shape.global[1]);
  second = mix(second, shape.global[2]);
  first = mix(first, shape.local[0]);
  second = mix(second, shape.local[1]);
  return mix(mix(first, shape.local[2]), second);
}

/// Whether no driver would refuse one such global size where it took another one, and do something else with it than if
/// it were launched. A size that a group size does not divide may be refused. Where the driver chooses the group size,
/// it keeps in what is recorded what it chose for another global size, and kernels see that.
bool any_size_goes(const words::Kernel& shape) noexcept {
  constexpr std::uint64_t kMost = 0x7FFFFFFF;
  for (std::size_t i = 0; i < 3; ++i) {
    if (shape.global[i] - 1 >= kMost || (shape.local[i] == 0 || shape.global[i] % shape.local[i] != 0)) {
      return false;
    }
  }
  return true;
}

/// Of the kernel and its shape. Global sizes that keep changing are left out where they can be changed in what is
/// recorded.
Token launch_token(KernelState* kernel, cl_command_queue queue, const words::Kernel& shape, Token seed) noexcept {
  const Token token = mixed(shape, seed);
  if (kernel == nullptr || !state.resizes.load(std::memory_order_relaxed)) [[likely]] {
    return token;
  }
  const QueueState* known = objects.queues.find(handle_of(queue));
  const replay::Lane* lane = replay::Lane::current;
  if (known == nullptr || !known->slot.capabilities.update_sizes || lane == nullptr ||
      !kernel->sizes.note(token, lane->stretch()) || !any_size_goes(shape)) {
    return token;
  }
  words::Kernel open = shape;
  open.global = {};  // as no launch has it
  return mixed(open, seed);
}

template <class Issue>
cl_int launch(const replay::EntryPoint& entry_point, cl_command_type command, cl_command_queue queue, cl_kernel handle,
              const LaunchShape& arguments, cl_uint count, const cl_event* waits, cl_event* event,
              Issue&& issue) noexcept {
  if (replay::Lane* lane = dormant_lane(count, waits); lane != nullptr) {
    return enqueue_dormant(*lane, false, event, issue);
  }
  KernelState* kernel = find_kernel(handle);
  const words::Kernel shape = shape_of(arguments);
  const Token seed =
      mix(static_cast<Token>(OperationKind::kKernel), kernel == nullptr ? 0 : kernel->function + kernel->local_memory);
  const Call call{
      entry_point, OperationKind::kKernel, launch_token(kernel, queue, shape, seed), command,
      kernel == nullptr ? "the kernel was made in a way that Refrain does not know" : unholdable_kernel(*kernel)};
  return enqueue(
      call, queue, count, waits, event,
      [&](capture::OperationWriter& writer, Token token) {
        const std::span<const capture::ArgumentDescriptor> descriptors =
            kernel != nullptr ? std::span<const capture::ArgumentDescriptor>(kernel->descriptors)
                              : std::span<const capture::ArgumentDescriptor>();
        const std::span<const std::byte> values =
            kernel != nullptr ? std::span<const std::byte>(kernel->values) : std::span<const std::byte>();
        capture::OperationHeader& header = writer.begin_kernel(token, shape, descriptors, values);
        header.function = kernel != nullptr ? kernel->function : 0;
        header.function_handle = handle_of(handle);
      },
      issue,
      [&](const QueueState& known) { return kernel == nullptr ? nullptr : doubt_launch(known, *kernel, arguments); });
}

}  // namespace

cl_int wrap::clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                    const size_t* global, const size_t* local, cl_uint count, const cl_event* waits,
                                    cl_event* event) noexcept {
  return launch(entry::clEnqueueNDRangeKernel, CL_COMMAND_NDRANGE_KERNEL, queue, kernel,
                {dimensions, offset, global, local}, count, waits, event,
                [&](const cl_event* driver_waits, cl_event* result) {
                  return target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count,
                                                       driver_waits, result);
                });
}

cl_int wrap::clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event* waits,
                           cl_event* event) noexcept {
  const size_t one = 1;
  return launch(entry::clEnqueueTask, CL_COMMAND_TASK, queue, kernel, {1, nullptr, &one, &one}, count, waits, event,
                [&](const cl_event* driver_waits, cl_event* result) {
                  return target.clEnqueueTask(queue, kernel, count, driver_waits, result);
                });
}

cl_int wrap::clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK* function)(void*), void* arguments,
                                   size_t bytes, cl_uint objects_count, const cl_mem* memory, const void** locations,
                                   cl_uint count, const cl_event* waits, cl_event* event) noexcept {
  const Token token = mix(mix(static_cast<Token>(OperationKind::kHostFunction), bytes), objects_count);
  const Call call{entry::clEnqueueNativeKernel, OperationKind::kHostFunction, token, CL_COMMAND_NATIVE_KERNEL,
                  "a native kernel is a function of the program"};
  return enqueue(
      call, queue, count, waits, event,
      [&](capture::OperationWriter& writer, Token whole) {
        writer.begin(OperationKind::kHostFunction, whole);
        ArgumentList list;
        list.handle(capture::ArgumentKind::kHostPointer, reinterpret_cast<const void*>(function));
        list.write(writer);
      },
      [&](const cl_event* driver_waits, cl_event* result) {
        return target.clEnqueueNativeKernel(queue, function, arguments, bytes, objects_count, memory, locations, count,
                                            driver_waits, result);
      },
      &no_doubt);
}

}  // namespace refrain::layer::opencl
