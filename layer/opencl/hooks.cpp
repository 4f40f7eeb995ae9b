#include "layer/opencl/hooks.h"

#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"

namespace refrain::layer::opencl {
namespace {

using capture::ArgumentKind;

struct Function {
  std::string name;
  bool prints = false;
};
struct Functions {
  env::Mutex mutex;
  std::unordered_map<capture::FunctionId, Function> of REFRAIN_GUARDED_BY(mutex);
};
Functions& functions() noexcept {
  static Immortal<Functions> all;
  return *all;
}

/// Retains the object of an argument or says that it is gone. Other arguments: nothing to do.
bool retain_argument(ArgumentKind kind, Handle handle, ObjectId id) noexcept {
  switch (kind) {
    case ArgumentKind::kBuffer:
    case ArgumentKind::kImage:
      return objects.memory.with(handle, [&](MemoryState& memory) {
        return memory.id == id && target.clRetainMemObject(native<cl_mem>(handle)) == CL_SUCCESS;
      });
    case ArgumentKind::kSampler:
      return objects.samplers.with(handle, [&](SamplerState& sampler) {
        return sampler.id == id && target.clRetainSampler(native<cl_sampler>(handle)) == CL_SUCCESS;
      });
    case ArgumentKind::kPointer: return shared_memory_at(handle) == id;
    default: return true;
  }
}

void release_argument(ArgumentKind kind, Handle handle) noexcept {
  switch (kind) {
    case ArgumentKind::kBuffer:
    case ArgumentKind::kImage: target.clReleaseMemObject(native<cl_mem>(handle)); break;
    case ArgumentKind::kSampler: target.clReleaseSampler(native<cl_sampler>(handle)); break;
    default: break;
  }
}

/// Calls `use(kind, handle, id)` for each argument with a value, until it returns false.
template <class Use>
std::size_t for_arguments(const capture::OperationView& operation, std::size_t count, Use&& use) noexcept {
  const auto descriptors = operation.arguments();
  const std::byte* value = operation.values().data();
  for (std::size_t i = 0; i < count; ++i) {
    Handle handle = 0;
    if (descriptors[i].stored_bytes() == sizeof(handle)) {
      std::memcpy(&handle, value, sizeof(handle));
    }
    value += descriptors[i].stored_bytes();
    if (descriptors[i].object != 0 && !use(descriptors[i].kind, handle, descriptors[i].object)) {
      return i;
    }
  }
  return count;
}

}  // namespace

void Hooks::fulfil(const capture::OperationView& operation, backends::Event event, int status) noexcept {
  if (operation.header().promise != 0) {
    fulfil_promise(*reinterpret_cast<EventState*>(operation.header().promise), event, status);
  }
}

bool Hooks::retain_objects(const capture::OperationView& operation) noexcept {
  const capture::OperationHeader& header = operation.header();
  const bool queue = objects.queues.with(header.queue_handle, [&](QueueState& known) {
    return known.id == header.queue &&
           target.clRetainCommandQueue(native<cl_command_queue>(header.queue_handle)) == CL_SUCCESS;
  });
  if (!queue) {
    return false;
  }
  bool kernel = true;
  if (header.function_handle != 0) {
    kernel = objects.kernels.with(header.function_handle, [&](KernelState& known) {
      return known.function == header.function &&
             target.clRetainKernel(native<cl_kernel>(header.function_handle)) == CL_SUCCESS;
    });
  }
  std::size_t retained_arguments = 0;
  const std::size_t count = operation.arguments().size();
  if (kernel) {
    retained_arguments = for_arguments(operation, count, &retain_argument);
    if (retained_arguments == count) {
      return true;
    }
    if (header.function_handle != 0) {
      target.clReleaseKernel(native<cl_kernel>(header.function_handle));
    }
  }
  for_arguments(operation, retained_arguments, [](ArgumentKind kind, Handle handle, ObjectId) {
    release_argument(kind, handle);
    return true;
  });
  target.clReleaseCommandQueue(native<cl_command_queue>(header.queue_handle));
  return false;
}

void Hooks::release_objects(const capture::OperationView& operation) noexcept {
  const capture::OperationHeader& header = operation.header();
  for_arguments(operation, operation.arguments().size(), [](ArgumentKind kind, Handle handle, ObjectId) {
    release_argument(kind, handle);
    return true;
  });
  if (header.function_handle != 0) {
    target.clReleaseKernel(native<cl_kernel>(header.function_handle));
  }
  target.clReleaseCommandQueue(native<cl_command_queue>(header.queue_handle));
}

backends::Event Hooks::acquire_event(capture::WaitRef wait) noexcept {
  backends::Event found = backends::kNoEvent;
  objects.events.with(wait, [&](EventState& event) {
    Handle handle = wait;
    if (event.promise) {
      if (const Handle kept = event.native.load(std::memory_order_acquire); kept != 0) {
        handle = kept;
      }
    }
    if (target.clRetainEvent(native<cl_event>(handle)) == CL_SUCCESS) {
      found = handle;
    }
    return true;
  });
  return found;
}

bool Hooks::may_wait() noexcept {
  return state.unset_user_events.load(std::memory_order_relaxed) == 0;
}

replay::LayerHooks::Device Hooks::device_of(const capture::QueueInfo& queue) {
  cl_device_id device = nullptr;
  if (target.clGetCommandQueueInfo(native<cl_command_queue>(queue.handle), CL_QUEUE_DEVICE, sizeof(device),
                                   static_cast<void*>(&device), nullptr) != CL_SUCCESS) {
    return {};
  }
  const auto text_of = [device](cl_device_info what) {
    std::array<char, 512> text{};
    const bool told = target.clGetDeviceInfo(device, what, text.size() - 1, text.data(), nullptr) == CL_SUCCESS;
    return std::string(told ? text.data() : "");
  };
  return {text_of(CL_DEVICE_NAME), text_of(CL_DRIVER_VERSION), handle_of(device)};
}

std::string Hooks::function_name(capture::FunctionId function) noexcept {
  try {
    const env::MutexLock guard(functions().mutex);
    const auto found = functions().of.find(function);
    return found == functions().of.end() ? std::string() : found->second.name;
  } catch (...) {
    return {};
  }
}

bool Hooks::prints(capture::FunctionId function) noexcept {
  const env::MutexLock guard(functions().mutex);
  const auto found = functions().of.find(function);
  return found == functions().of.end() || found->second.prints;
}

void remember_function(capture::FunctionId function, const std::string& name, bool prints) noexcept {
  try {
    const env::MutexLock guard(functions().mutex);
    functions().of.emplace(function, Function{name, prints});
  } catch (...) {
    // Reports will say "unknown" for it.
  }
}

}  // namespace refrain::layer::opencl
