// Modules and kernels. Setters are neutral: what a kernel is set to is copied when it is launched, by the driver and
// by us.

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/module_variables.h"
#include "layer/level_zero/submission.h"

namespace refrain::layer::level_zero {
namespace {

using capture::ArgumentDescriptor;
using capture::ArgumentKind;

const char* const kUnknownKernel = "the kernel is not known";

struct Names {
  env::Mutex mutex;
  std::unordered_map<capture::FunctionId, std::string> all REFRAIN_GUARDED_BY(mutex);
};
Names& names() noexcept {
  static Immortal<Names> instance;
  return *instance;
}

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

/// What an 8-byte value is: an address in memory of the driver, else plain bytes.
void recognise(ArgumentDescriptor& descriptor, const std::byte* value) noexcept {
  std::uint64_t address = 0;
  std::memcpy(&address, value, sizeof(address));
  const Place place = memory_at(address);
  descriptor.kind = place.id == 0 ? ArgumentKind::kValue : ArgumentKind::kPointer;
  descriptor.object = place.id;
}

void set_argument(KernelState& kernel, std::size_t index, std::size_t bytes, const void* value) {
  ArgumentDescriptor wanted;
  wanted.size = static_cast<std::uint32_t>(bytes);
  wanted.kind = value == nullptr ? ArgumentKind::kLocalMemory : ArgumentKind::kValue;
  ArgumentDescriptor& known = kernel.descriptors[index];
  const std::size_t stored = wanted.stored_bytes();
  if (stored != known.stored_bytes()) [[unlikely]] {
    repack(kernel, index, stored);
  }
  if (known.kind == ArgumentKind::kUnset) {
    --kernel.unset_count;
  }
  if (stored == 0) {
    known = wanted;
    return;
  }
  std::byte* place = kernel.values.data() + kernel.offsets[index];
  if (bytes == sizeof(std::uint64_t)) {
    // The same value again names the same object, as long as no memory came or went.
    if (known.size != wanted.size || std::memcmp(place, value, bytes) != 0) {
      std::memcpy(place, value, bytes);
      recognise(wanted, place);
      known = wanted;
    }
    return;
  }
  std::memset(place + stored - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
  std::memcpy(place, value, bytes);
  known = wanted;
}

void register_kernel(ze_module_handle_t module_handle, const char* name, ze_kernel_handle_t handle) noexcept {
  ModuleState* module = objects.modules.find(handle_of(module_handle));
  KernelState* made = module == nullptr || runtime.backend == nullptr ? nullptr : objects.kernels.make();
  if (made == nullptr) {
    return;  // launches of an unknown kernel are never held
  }
  try {
    ze_kernel_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
    if (runtime.driver.zeKernelGetProperties(handle, &properties) == ZE_RESULT_SUCCESS) {
      // In a capture a kernel is the same one in every run; otherwise it ends with its module.
      const std::uint64_t of_module = runtime.recorder != nullptr ? module->content : module->number;
      const std::uint64_t named = XXH3_64bits(name, std::strlen(name));
      made->function = mix(of_module, named) | 1U;
      made->identity = mix(module->number, named) | 1U;
      if (runtime.recorder != nullptr) {
        made->function = record_kernel(*module, name, made->function);
      }
      made->unset_count = properties.numKernelArgs;
      made->descriptors.assign(properties.numKernelArgs, {});
      made->offsets.assign(properties.numKernelArgs, 0);
      {
        const env::MutexLock guard(names().mutex);
        names().all.emplace(made->function, name);
        // Threads may make kernels of one module at once.
        if (std::find(module->functions.begin(), module->functions.end(), made->function) == module->functions.end()) {
          module->functions.push_back(made->function);
        }
      }
      runtime.backend->know_function(made->function, module_handle, name);
      if (objects.kernels.insert(made, handle_of(handle))) {
        return;
      }
    }
  } catch (...) {
    // An unknown kernel.
  }
  objects.kernels.recycle(made);
}

struct Launch {
  ze_kernel_handle_t kernel;
  const ze_group_count_t* groups;
  bool cooperative;
};

void describe(const Launch& launch, const KernelState* kernel, capture::OperationWriter& writer, Token token) {
  if (kernel == nullptr || launch.groups == nullptr) {
    writer.begin(OperationKind::kUnknown, token);
    return;
  }
  capture::OperationHeader& header = writer.begin(OperationKind::kKernel, token);
  header.function = kernel->function;
  header.function_handle = handle_of(launch.kernel);
  const std::uint32_t groups[3] = {launch.groups->groupCountX, launch.groups->groupCountY, launch.groups->groupCountZ};
  capture::words::Kernel shape{.dimensions = 3, .offset = {}, .global = {}, .local = {}};
  for (std::size_t i = 0; i < 3; ++i) {
    shape.offset[i] = kernel->offset[i];
    shape.global[i] = std::uint64_t{groups[i]} * kernel->group[i];
    shape.local[i] = kernel->group[i];
  }
  writer.words(shape);
  for (std::size_t i = 0; i < kernel->descriptors.size(); ++i) {
    const ArgumentDescriptor& argument = kernel->descriptors[i];
    if (argument.kind == ArgumentKind::kLocalMemory) {
      writer.argument_local(argument.size);
    } else {
      writer.argument(argument.kind, argument.object, {kernel->values.data() + kernel->offsets[i], argument.size});
    }
  }
  backends::KernelSettings settings = kernel->settings;
  settings.cooperative = launch.cooperative ? 1 : 0;
  writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&settings, 1)));
}

template <class Issue>
ze_result_t launch(Call call, const Launch& what, Issue&& issue) noexcept {
  KernelState* kernel = find_kernel(what.kernel);
  call.kind = OperationKind::kKernel;
  if (what.groups == nullptr) {
    call.unholdable = "it is a wrong call";
  } else {
    call.unholdable = reason_not_to_hold(kernel);
  }
  if (call.unholdable == nullptr) {
    const Token first = mix(mix(static_cast<Token>(OperationKind::kKernel), kernel->identity),
                            std::uint64_t{what.groups->groupCountX} << 32U | what.groups->groupCountY);
    const Token second = mix(mix(std::uint64_t{kernel->group[0]} << 32U | kernel->group[1],
                                 std::uint64_t{kernel->group[2]} << 32U | what.groups->groupCountZ),
                             mix(std::uint64_t{kernel->offset[0]} << 32U | kernel->offset[1],
                                 std::uint64_t{kernel->offset[2]} << 32U | (what.cooperative ? 1U : 0U)));
    const backends::KernelSettings& settings = kernel->settings;
    call.token = mix(mix(first, second), settings.indirect << 32U | settings.cache);
  } else {
    call.token = mix(static_cast<Token>(OperationKind::kKernel), handle_of(what.kernel));
  }
  return submit(
      call,
      [&](capture::OperationWriter& writer, Token token) {
        describe(what, call.unholdable == nullptr ? kernel : nullptr, writer, token);
      },
      issue);
}

}  // namespace

KernelState* find_kernel(ze_kernel_handle_t kernel) noexcept {
  return objects.kernels.find(handle_of(kernel));
}

const char* reason_not_to_hold(KernelState* kernel) noexcept {
  if (kernel == nullptr) {
    return kUnknownKernel;
  }
  if (kernel->unholdable != nullptr) {
    return kernel->unholdable;
  }
  if (kernel->unset_count != 0) {
    return "an argument of the kernel was never set";
  }
  if (kernel->group[0] == 0 || kernel->group[1] == 0 || kernel->group[2] == 0) {
    return "the kernel's group size was never set";
  }
  if (const std::uint64_t now = memory_epoch(); kernel->memory_epoch != now) [[unlikely]] {
    kernel->memory_epoch = now;
    for (std::size_t i = 0; i < kernel->descriptors.size(); ++i) {
      ArgumentDescriptor& argument = kernel->descriptors[i];
      if (argument.size == sizeof(std::uint64_t) && argument.kind != ArgumentKind::kLocalMemory) {
        recognise(argument, kernel->values.data() + kernel->offsets[i]);
      }
    }
  }
  return nullptr;
}

std::string name_of_function(capture::FunctionId function) noexcept {
  try {
    const env::MutexLock guard(names().mutex);
    const auto found = names().all.find(function);
    return found == names().all.end() ? std::string() : found->second;
  } catch (...) {
    return {};
  }
}

ze_result_t wrap::zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
                                 const ze_module_desc_t* description, ze_module_handle_t* module,
                                 ze_module_build_log_handle_t* log) noexcept {
  HostCall host_call(entry::zeModuleCreate);
  const ze_result_t status = next.zeModuleCreate(context, device, description, module, log);
  if (status == ZE_RESULT_SUCCESS) {
    note_module(*module, context, device, *description);
    if (ModuleState* made = objects.modules.make(); made != nullptr) {
      static std::atomic<std::uint64_t> modules{0};
      made->id = next_object_id();
      made->number = modules.fetch_add(1, std::memory_order_relaxed) + 1;
      made->content = XXH3_64bits(description->pInputModule, description->inputSize) | 1U;
      if (!objects.modules.insert(made, handle_of(*module))) {
        objects.modules.recycle(made);
      } else if (runtime.recorder != nullptr) {
        record_module(*made, *description);
      }
    }
  }
  return host_call.done(status);
}

ze_result_t wrap::zeModuleDestroy(ze_module_handle_t module) noexcept {
  HostCall host_call(entry::zeModuleDestroy);
  forget_module(module);
  ModuleState* known = objects.modules.find(handle_of(module));
  if (known == nullptr || runtime.backend == nullptr) {
    return host_call.done(next.zeModuleDestroy(module));
  }
  if (replay::Engine* running = engine_with_threads(); running != nullptr) {
    for (const capture::FunctionId function : known->functions) {
      running->object_gone(function);
    }
  }
  const backends::LevelZeroBackend::NoRecording recording(*runtime.backend);
  for (const capture::FunctionId function : known->functions) {
    runtime.backend->forget_function(function);
  }
  objects.modules.erase(known);
  objects.modules.recycle(known);
  return host_call.done(next.zeModuleDestroy(module));
}

ze_result_t wrap::zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t* description,
                                 ze_kernel_handle_t* kernel) noexcept {
  const ze_result_t status = next.zeKernelCreate(module, description, kernel);
  if (status == ZE_RESULT_SUCCESS) {
    note_module_in_use(module);
  }
  if (status == ZE_RESULT_SUCCESS && description->pNext == nullptr && description->flags == 0) {
    register_kernel(module, description->pKernelName, *kernel);
  }
  return status;
}

ze_result_t wrap::zeKernelDestroy(ze_kernel_handle_t kernel) noexcept {
  // Held launches have their arguments, and a kernel object of ours: nothing needs to be submitted.
  if (KernelState* known = find_kernel(kernel); known != nullptr) {
    objects.kernels.erase(known);
    objects.kernels.recycle(known);
  }
  return next.zeKernelDestroy(kernel);
}

ze_result_t wrap::zeKernelSetArgumentValue(ze_kernel_handle_t kernel, uint32_t index, size_t bytes,
                                           const void* value) noexcept {
  const ze_result_t status = next.zeKernelSetArgumentValue(kernel, index, bytes, value);
  KernelState* known = status == ZE_RESULT_SUCCESS ? find_kernel(kernel) : nullptr;
  if (known != nullptr && index < known->descriptors.size()) {
    try {
      set_argument(*known, index, bytes, value);
    } catch (...) {
      known->unholdable = "there was no memory to copy its arguments";
    }
  }
  return status;
}

ze_result_t wrap::zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) noexcept {
  const ze_result_t status = next.zeKernelSetGroupSize(kernel, x, y, z);
  if (KernelState* known = find_kernel(kernel); status == ZE_RESULT_SUCCESS && known != nullptr) {
    known->group[0] = x;
    known->group[1] = y;
    known->group[2] = z;
  }
  return status;
}

ze_result_t wrap::zeKernelSetGlobalOffsetExp(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) noexcept {
  const ze_result_t status = next.zeKernelSetGlobalOffsetExp(kernel, x, y, z);
  if (KernelState* known = find_kernel(kernel); status == ZE_RESULT_SUCCESS && known != nullptr) {
    known->offset[0] = x;
    known->offset[1] = y;
    known->offset[2] = z;
  }
  return status;
}

ze_result_t wrap::zeKernelSetIndirectAccess(ze_kernel_handle_t kernel,
                                            ze_kernel_indirect_access_flags_t flags) noexcept {
  const ze_result_t status = next.zeKernelSetIndirectAccess(kernel, flags);
  if (KernelState* known = find_kernel(kernel); status == ZE_RESULT_SUCCESS && known != nullptr) {
    known->settings.indirect = flags;
  }
  return status;
}

ze_result_t wrap::zeKernelSetCacheConfig(ze_kernel_handle_t kernel, ze_cache_config_flags_t flags) noexcept {
  const ze_result_t status = next.zeKernelSetCacheConfig(kernel, flags);
  if (KernelState* known = find_kernel(kernel); status == ZE_RESULT_SUCCESS && known != nullptr) {
    if (flags == 0 && known->settings.cache != 0) {
      known->unholdable = "its cache settings were taken back";
    }
    known->settings.cache = flags;
  }
  return status;
}

ze_result_t wrap::zeKernelSchedulingHintExp(ze_kernel_handle_t kernel, ze_scheduling_hint_exp_desc_t* hint) noexcept {
  const ze_result_t status = next.zeKernelSchedulingHintExp(kernel, hint);
  if (KernelState* known = find_kernel(kernel); known != nullptr) {
    known->unholdable = "it was given a scheduling hint";
  }
  return status;
}

ze_result_t wrap::zeCommandListAppendLaunchKernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                  const ze_group_count_t* groups, ze_event_handle_t signal,
                                                  uint32_t count, ze_event_handle_t* waits) noexcept {
  return launch({entry::zeCommandListAppendLaunchKernel, OperationKind::kKernel, list, signal, count, waits},
                {kernel, groups, false},
                [&] { return next.zeCommandListAppendLaunchKernel(list, kernel, groups, signal, count, waits); });
}

ze_result_t wrap::zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t list,
                                                                ze_kernel_handle_t kernel,
                                                                const ze_group_count_t* groups, const void* more,
                                                                ze_event_handle_t signal, uint32_t count,
                                                                ze_event_handle_t* waits) noexcept {
  const Call call{
      entry::zeCommandListAppendLaunchKernelWithParameters, OperationKind::kKernel, list, signal, count, waits};
  const auto issue = [&] {
    return next.zeCommandListAppendLaunchKernelWithParameters(list, kernel, groups, more, signal, count, waits);
  };
  return more != nullptr ? submit_unheld(call, kMoreParameters, issue) : launch(call, {kernel, groups, false}, issue);
}

ze_result_t wrap::zeCommandListAppendLaunchKernelWithArguments(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                               const ze_group_count_t groups,
                                                               const ze_group_size_t sizes, void** arguments,
                                                               const void* more, ze_event_handle_t signal,
                                                               uint32_t count, ze_event_handle_t* waits) noexcept {
  const Call call{
      entry::zeCommandListAppendLaunchKernelWithArguments, OperationKind::kKernel, list, signal, count, waits};
  KernelState* known = find_kernel(kernel);
  const ze_result_t status = submit_unheld(call, "it brings its arguments, whose sizes are not known", [&] {
    return next.zeCommandListAppendLaunchKernelWithArguments(list, kernel, groups, sizes, arguments, more, signal,
                                                             count, waits);
  });
  // What it brought stays set, and after an error some of it may be.
  if (known != nullptr) {
    known->forget_what_is_set();
  }
  return status;
}

ze_result_t wrap::zeCommandListAppendLaunchCooperativeKernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                             const ze_group_count_t* groups, ze_event_handle_t signal,
                                                             uint32_t count, ze_event_handle_t* waits) noexcept {
  return launch({entry::zeCommandListAppendLaunchCooperativeKernel, OperationKind::kKernel, list, signal, count, waits},
                {kernel, groups, true}, [&] {
                  return next.zeCommandListAppendLaunchCooperativeKernel(list, kernel, groups, signal, count, waits);
                });
}

ze_result_t wrap::zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                          const ze_group_count_t* groups, ze_event_handle_t signal,
                                                          uint32_t count, ze_event_handle_t* waits) noexcept {
  return submit_unheld(
      {entry::zeCommandListAppendLaunchKernelIndirect, OperationKind::kUnknown, list, signal, count, waits},
      "the launch reads its shape from memory when it runs",
      [&] { return next.zeCommandListAppendLaunchKernelIndirect(list, kernel, groups, signal, count, waits); });
}

}  // namespace refrain::layer::level_zero
