#include "layer/opencl/kernels.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "env/log.h"
#include "layer/opencl/doubts.h"
#include "layer/opencl/hooks.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/programs.h"
#include "layer/opencl/wrappers.h"

namespace refrain::layer::opencl {
namespace {

using capture::ArgumentDescriptor;
using capture::ArgumentKind;

/// The record this thread used last. Records are never freed, and lose their handle when recycled.
thread_local KernelState* last_kernel __attribute__((tls_model("initial-exec"))) = nullptr;

/// Makes room for `stored` bytes at argument `index`. Only when an argument's size changes: rare.
void repack(KernelState& kernel, std::size_t index, std::size_t stored) {
  const std::size_t before = kernel.descriptors[index].stored_bytes();
  const auto place = kernel.values.begin() + kernel.offsets[index];
  if (stored > before) {
    kernel.values.insert(place + static_cast<std::ptrdiff_t>(before), stored - before, std::byte{0});
  } else {
    kernel.values.erase(place + static_cast<std::ptrdiff_t>(stored), place + static_cast<std::ptrdiff_t>(before));
  }
  for (std::size_t later = index + 1; later < kernel.offsets.size(); ++later) {
    kernel.offsets[later] = static_cast<std::uint32_t>(kernel.offsets[later] + stored - before);
  }
}

capture::Token local_token(const ArgumentDescriptor& argument, std::size_t index) noexcept {
  return argument.kind == ArgumentKind::kLocalMemory ? capture::mix(index + 1, argument.size) : 0;
}

void set_argument(KernelState& kernel, std::size_t index, const ArgumentDescriptor& wanted, const void* value) {
  ArgumentDescriptor& known = kernel.descriptors[index];
  const std::size_t stored = wanted.stored_bytes();
  if (stored != known.stored_bytes()) [[unlikely]] {
    repack(kernel, index, stored);
  }
  // How much local memory there is decides whether a launch is accepted.
  kernel.local_memory += local_token(wanted, index) - local_token(known, index);
  if (known.kind == ArgumentKind::kUnset) [[unlikely]] {
    --kernel.unset_count;
  }
  known = wanted;
  if (stored != 0) {
    std::byte* place = kernel.values.data() + kernel.offsets[index];
    std::memset(place + stored - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
    std::memcpy(place, value, wanted.size);
  }
}

/// Whether the driver may refuse the kernel for an argument. Bits are for the first ones alone; a doubt about one
/// behind them stays.
void note_doubt(KernelState& kernel, std::size_t index, bool doubtful) noexcept {
  constexpr std::size_t kLast = 63;
  const std::uint64_t bit = std::uint64_t{1} << std::min(index, kLast);
  if (doubtful) {
    kernel.doubtful_arguments |= bit;
  } else if (index < kLast) {
    kernel.doubtful_arguments &= ~bit;
  }
}

/// What argument `index` with an 8-byte value is: a handle if we know the object, else plain bytes.
ArgumentDescriptor recognise(KernelState& kernel, std::size_t index, std::uint64_t value) noexcept {
  bool* const recorded = &kernel.arguments_recorded;
  ArgumentDescriptor descriptor;
  descriptor.size = sizeof(value);
  descriptor.kind = ArgumentKind::kValue;
  if (const MemoryState* memory = objects.memory.find(value); memory != nullptr) {
    descriptor.kind = memory->kind;
    descriptor.object = memory->id;
    *recorded = *recorded && memory->recorded.load(std::memory_order_relaxed);
    note_doubt(kernel, index, doubtful_argument(*memory, kernel.context));
  } else if (const SamplerState* sampler = objects.samplers.find(value); sampler != nullptr) {
    descriptor.kind = ArgumentKind::kSampler;
    descriptor.object = sampler->id;
    *recorded = *recorded && sampler->recorded.load(std::memory_order_relaxed);
    note_doubt(kernel, index, sampler->info.context != kernel.context);
  }
  return descriptor;
}

/// The usual case: an argument of at most 8 bytes that was set before. The descriptor is written as two
/// words: made of smaller stores and then copied, it would stall the processor for longer than all the rest.
bool track_small_argument(KernelState& kernel, cl_uint index, std::size_t size, const void* value) noexcept {
  ArgumentDescriptor& known = kernel.descriptors[index];
  if (value == nullptr || known.stored_bytes() != sizeof(std::uint64_t)) {
    return false;
  }
  std::uint64_t padded = 0;
  std::uint64_t words[2] = {std::uint64_t{size} | static_cast<std::uint64_t>(ArgumentKind::kValue) << 32U, 0};
  if (size == sizeof(std::uint64_t)) {
    std::memcpy(&padded, value, sizeof(std::uint64_t));
    if (kernel.doubtful_arguments != 0) [[unlikely]] {
      note_doubt(kernel, index, false);
    }
    if (objects.memory.may_contain(padded) || objects.samplers.may_contain(padded)) {
      const ArgumentDescriptor found = recognise(kernel, index, padded);
      words[0] = std::uint64_t{size} | static_cast<std::uint64_t>(found.kind) << 32U;
      words[1] = found.object;
    }
  } else if (size == sizeof(std::uint32_t)) {
    std::uint32_t half = 0;
    std::memcpy(&half, value, sizeof(half));
    padded = half;
  } else {
    return false;
  }
  static_assert(sizeof(words) == sizeof(known));
  std::memcpy(static_cast<void*>(&known), words, sizeof(words));
  std::memcpy(kernel.values.data() + kernel.offsets[index], &padded, sizeof(padded));
  return true;
}

void track_argument(KernelState& kernel, cl_uint index, std::size_t size, const void* value) noexcept {
  if (index >= kernel.descriptors.size() || track_small_argument(kernel, index, size, value)) [[likely]] {
    return;
  }
  ArgumentDescriptor descriptor;
  note_doubt(kernel, index, false);
  if (size == sizeof(std::uint64_t) && value != nullptr) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, value, sizeof(bytes));
    descriptor = recognise(kernel, index, bytes);
  } else {
    descriptor.size = static_cast<std::uint32_t>(size);
    // Without a value: local memory, or a null buffer; the driver is told both in the same way.
    descriptor.kind = value == nullptr ? ArgumentKind::kLocalMemory : ArgumentKind::kValue;
  }
  try {
    set_argument(kernel, index, descriptor, value);
  } catch (...) {
    kernel.unholdable = "there was no memory to copy its arguments";
  }
}

void track_pointer(KernelState& kernel, cl_uint index, const void* pointer) noexcept {
  if (index >= kernel.descriptors.size()) {
    return;
  }
  note_doubt(kernel, index, false);
  ArgumentDescriptor descriptor;
  descriptor.size = sizeof(pointer);
  descriptor.kind = ArgumentKind::kPointer;
  descriptor.object = shared_memory_at(handle_of(pointer));
  try {
    set_argument(kernel, index, descriptor, &pointer);
  } catch (...) {
    kernel.unholdable = "there was no memory to copy its arguments";
  }
}

/// Registers a kernel the driver has just made. `copy_of`: arguments to start with.
void register_kernel(cl_kernel kernel, ProgramState* program, const char* name, const KernelState* copy_of) noexcept {
  KernelState* record = objects.kernels.make();
  if (record == nullptr) {
    return;  // launches of an unknown kernel are never held
  }
  try {
    record->begin();
    if (copy_of != nullptr) {
      record->function = copy_of->function;
      record->code = copy_of->code;
      record->program = copy_of->program;
      record->name = copy_of->name;
      record->options = copy_of->options;
      record->unholdable = copy_of->unholdable;
      record->unset_count = copy_of->unset_count;
      record->descriptors = copy_of->descriptors;
      record->offsets = copy_of->offsets;
      record->values = copy_of->values;
      record->context = copy_of->context;
      record->built = copy_of->built;
      record->doubtful_arguments = copy_of->doubtful_arguments;
      record->local_memory = copy_of->local_memory;
    } else {
      cl_uint count = 0;
      if (target.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr) != CL_SUCCESS) {
        objects.kernels.recycle(record);
        return;
      }
      record->name = name;
      record->context = context_id(program->context);
      ProgramBuild build = build_of(*program);
      record->built = build.devices;
      record->function = function_id(*program, build, record->name);
      record->code = program->code;
      record->program = program->id;
      record->options = std::move(build.options);
      record->unset_count = count;
      record->descriptors.assign(count, {});
      record->offsets.assign(count, 0);
      remember_function(record->function, record->name, build.prints);
    }
    if (objects.kernels.insert(record, handle_of(kernel))) {
      kernel_made(record->program, record->function);
      return;
    }
  } catch (...) {
    env::log_warning("out of memory for a kernel's arguments; its launches pass through");
  }
  objects.kernels.recycle(record);
}

std::string name_of(cl_kernel kernel) {
  std::size_t bytes = 0;
  if (target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) {
    return {};
  }
  std::string name(bytes, '\0');
  if (target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, bytes, name.data(), nullptr) != CL_SUCCESS) {
    return {};
  }
  name.resize(std::strlen(name.c_str()));
  return name;
}

cl_int release_kernel(Handle handle) noexcept {
  return target.clReleaseKernel(native<cl_kernel>(handle));
}

}  // namespace

KernelState* find_kernel(cl_kernel kernel) noexcept {
  KernelState* last = last_kernel;
  if (last != nullptr && last->handle.load(std::memory_order_acquire) == handle_of(kernel) && kernel != nullptr) {
    return last;
  }
  KernelState* found = objects.kernels.find(handle_of(kernel));
  if (found != nullptr) {
    last_kernel = found;
  }
  return found;
}

const char* unholdable_kernel(const KernelState& kernel) noexcept {
  if (kernel.unholdable != nullptr) {
    return kernel.unholdable;
  }
  if (kernel.unset_count != 0) {
    return "an argument of the kernel was never set";
  }
  if (state.foreign_objects.load(std::memory_order_relaxed)) [[unlikely]] {
    for (std::size_t i = 0; i < kernel.descriptors.size(); ++i) {
      const ArgumentDescriptor& argument = kernel.descriptors[i];
      std::uint64_t value = 0;
      if (argument.kind == ArgumentKind::kValue && argument.size == sizeof(value)) {
        std::memcpy(&value, kernel.values.data() + kernel.offsets[i], sizeof(value));
        if (value != 0) {
          return "an argument may be an object that Refrain did not see made";
        }
      }
    }
  }
  if (state.device_queues.load(std::memory_order_relaxed)) [[unlikely]] {
    return "kernels may submit work themselves: there is a queue on the device";
  }
  return nullptr;
}

cl_kernel wrap::clCreateKernel(cl_program program, const char* name, cl_int* error) noexcept {
  cl_kernel kernel = target.clCreateKernel(program, name, error);
  if (ProgramState* known = objects.programs.find(handle_of(program)); kernel != nullptr && known != nullptr) {
    register_kernel(kernel, known, name, nullptr);
  }
  return kernel;
}

cl_int wrap::clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* kernels,
                                      cl_uint* count_made) noexcept {
  cl_uint made = 0;
  const cl_int status = target.clCreateKernelsInProgram(program, count, kernels, &made);
  if (count_made != nullptr && status == CL_SUCCESS) {
    *count_made = made;
  }
  ProgramState* known = objects.programs.find(handle_of(program));
  if (status == CL_SUCCESS && kernels != nullptr && known != nullptr) {
    for (cl_uint i = 0; i < made && i < count; ++i) {
      try {
        register_kernel(kernels[i], known, name_of(kernels[i]).c_str(), nullptr);
      } catch (...) {
        // An unknown kernel: its launches pass through.
      }
    }
  }
  return status;
}

cl_kernel wrap::clCloneKernel(cl_kernel kernel, cl_int* error) noexcept {
  cl_kernel clone = target.clCloneKernel(kernel, error);
  if (const KernelState* known = find_kernel(kernel); clone != nullptr && known != nullptr) {
    register_kernel(clone, nullptr, nullptr, known);
  }
  return clone;
}

cl_int wrap::clRetainKernel(cl_kernel kernel) noexcept {
  const cl_int status = target.clRetainKernel(kernel);
  if (status == CL_SUCCESS) {
    retained(objects.kernels, handle_of(kernel));
  }
  return status;
}

cl_int wrap::clReleaseKernel(cl_kernel kernel) noexcept {
  KernelState* known = objects.kernels.find(handle_of(kernel));
  if (known == nullptr || known->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return target.clReleaseKernel(kernel);
  }
  const EntryScope scope;
  const std::uint64_t holder = known->holder.load(std::memory_order_relaxed);
  const ObjectId program = known->program;
  objects.kernels.erase(known);
  objects.kernels.recycle(known);
  const cl_int status = release_later<&release_kernel>(holder, handle_of(kernel));
  kernel_gone(program, holder);
  return status;
}

cl_int wrap::clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) noexcept {
  const cl_int status = target.clSetKernelArg(kernel, index, size, value);
  if (status == CL_SUCCESS) [[likely]] {
    if (KernelState* known = find_kernel(kernel); known != nullptr) [[likely]] {
      track_argument(*known, index, size, value);
    }
  }
  return status;
}

cl_int wrap::clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void* pointer) noexcept {
  const cl_int status = target.clSetKernelArgSVMPointer(kernel, index, pointer);
  if (KernelState* known = find_kernel(kernel); status == CL_SUCCESS && known != nullptr) {
    track_pointer(*known, index, pointer);
  }
  return status;
}

cl_int wrap::clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info name, size_t size, const void* value) noexcept {
  const cl_int status = target.clSetKernelExecInfo(kernel, name, size, value);
  if (KernelState* known = find_kernel(kernel); status == CL_SUCCESS && known != nullptr) {
    known->unholdable = "clSetKernelExecInfo was called for the kernel";
  }
  return status;
}

void track_usm_pointer(cl_kernel kernel, cl_uint index, const void* pointer) noexcept {
  if (KernelState* known = find_kernel(kernel); known != nullptr) {
    track_pointer(*known, index, pointer);
    known->unholdable = "it is given a unified shared memory pointer";
  }
}

}  // namespace refrain::layer::opencl
