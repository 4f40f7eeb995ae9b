// Functions of modules and libraries, and their launches: every image has all kernels (core/kernel.h).
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "test/sim/core/calls.h"
#include "test/sim/core/memory.h"
#include "test/sim/streams/objects.h"

namespace sim {

void read_image(Module& module, const void* image, const Context* owner) {
  const auto* text = static_cast<const char*>(image);
  if (text != nullptr && text[0] == '.' && std::strstr(text, ".global") != nullptr) {
    module.variable = allocate(owner, sizeof(std::uint32_t), MemoryType::kDevice);
    const char* const value = std::strstr(text, "calls = ");
    const auto number = static_cast<std::uint32_t>(value == nullptr ? 0 : std::strtoul(value + 8, nullptr, 10));
    std::memcpy(host(module.variable), &number, sizeof(number));
  }
}

Function* function_of(Module& module, Handles<Function>& handles, const char* name) {
  const auto known = std::find_if(module.functions.begin(), module.functions.end(), [name](const Function* function) {
    return std::strcmp(function->kernel->name, name) == 0;
  });
  if (known != module.functions.end()) {
    return *known;
  }
  const Kernel* kernel = find_kernel(name);
  if (kernel == nullptr) {
    return nullptr;
  }
  Function* made = handles.make();
  made->kernel = kernel;
  made->module = &module;
  made->context = module.context;
  module.functions.push_back(made);
  return made;
}

Status unload(Lock& lock, Handles<Module>& modules, Handles<Function>& functions, const void* handle,
              const char* name) {
  Module* module = modules.find(const_cast<void*>(handle));
  if (module == nullptr) {
    violation("%s of what is none", name);
    return Status::kInvalidHandle;
  }
  wait_for_device(lock);
  for (Function* function : module->functions) {
    functions.destroy(function);
  }
  // With its context it is gone already.
  if (const Allocation* variable = find_allocation(module->variable);
      variable != nullptr && variable->start == module->variable) {
    release(module->variable);
  }
  modules.destroy(module);
  return Status::kOk;
}

Function* find_function(const void* handle) {
  Function* function = state().functions.find(const_cast<void*>(handle));
  return function != nullptr ? function : state().kernels.find(const_cast<void*>(handle));
}

Status read_arguments(const Kernel& kernel, const void* const* parameters, std::vector<std::byte>* arguments) {
  arguments->assign(kernel.bytes(), std::byte{});
  if (parameters == nullptr) {
    return kernel.parameters.empty() ? Status::kOk : Status::kInvalidValue;
  }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    std::memcpy(arguments->data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].size);
  }
  return Status::kOk;
}

Status read_argument_block(const Kernel& kernel, const void* block, std::size_t bytes,
                           std::vector<std::byte>* arguments) {
  if (bytes < kernel.bytes()) {
    violation("%s is launched with %zu bytes of arguments", kernel.name, bytes);
    return Status::kInvalidValue;
  }
  const auto* first = static_cast<const std::byte*>(block);
  arguments->assign(first, first + kernel.bytes());
  return Status::kOk;
}

Status launch_kernel(const void* handle, const Shape& shape, std::vector<std::byte> arguments,
                     const void* stream_handle, bool per_thread, const std::map<int, std::uint64_t>& attributes,
                     bool early) {
  Lock lock;
  Stream* stream = nullptr;
  if (const Status status = find_stream(stream_handle, per_thread, &stream); status != Status::kOk) {
    return status;
  }
  const Function* function = find_function(handle);
  if (function == nullptr) {
    violation("launch of a kernel that is none");
    return Status::kInvalidHandle;
  }
  if (function->context != nullptr && function->context != stream->context) {
    return Status::kInvalidHandle;
  }
  if (!function->kernel->takes(shape)) {
    return Status::kInvalidValue;
  }
  Task task;
  task.kind = Task::Kind::kKernel;
  task.kernel = function->kernel;
  task.shape = shape;
  task.arguments = std::move(arguments);
  task.early = early;
  if (const Status status = launched_with(*function, &task); status != Status::kOk) {
    return status;
  }
  for (const auto& [id, attribute] : stream->attributes) {
    give_attribute(&task, id, attribute.number);
  }
  for (const auto& [id, value] : attributes) {
    give_attribute(&task, id, value);
  }
  const Status status = put(lock, *stream, std::move(task));
  return status == Status::kOk ? end_launch(lock, *stream) : status;
}

}  // namespace sim
