#include "backends/level_zero/standalone_device.h"

#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "backends/built_code.h"
#include "backends/device_choice.h"
#include "backends/elf_size.h"
#include "backends/level_zero/extension_functions.h"
#include "backends/level_zero/level_zero_backend.h"
#include "backends/level_zero/module_build.h"
#include "backends/level_zero/standalone_events.h"
#include "backends/level_zero/system_loader.h"
#include "backends/spirv_contents.h"

namespace refrain::backends::level_zero {
namespace {

using capture::ArgumentKind;
using capture::Handle;
using capture::MemoryPlace;
using capture::OperationKind;
using capture::OperationView;

std::string device_name(const LevelZeroDriver& driver, ze_device_handle_t device) {
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  return driver.zeDeviceGetProperties(device, &properties) == ZE_RESULT_SUCCESS ? properties.name : std::string();
}

std::string driver_version(const LevelZeroDriver& driver, ze_driver_handle_t of) {
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  return driver.zeDriverGetProperties(of, &properties) == ZE_RESULT_SUCCESS ? std::to_string(properties.driverVersion)
                                                                            : std::string();
}

/// " (ZE_RESULT_…)"
std::string reason(ze_result_t status) {
  return std::string(" (") + backends::error_name(status) + ")";
}

struct BuiltModule {
  ze_module_handle_t handle = nullptr;
  std::unordered_map<std::string, std::vector<bool>> handles;  ///< ModuleContents::handles
};

/// What OperationHeader::function_handle is the address of.
struct CapturedKernel {
  std::uint32_t arguments = 0;
  std::vector<bool> handles;  ///< which of them; empty: the code does not tell
};

class LevelZeroDevice final : public StandaloneDevice {
 public:
  LevelZeroDevice(const SystemLoader& loader, ze_driver_handle_t driver, ze_device_handle_t device,
                  ze_context_handle_t context)
      : loader_(loader),
        driver_(loader.driver),
        device_(device),
        context_(context),
        append_(find_immediate_append(driver_)),
        updates_(find_mutable_lists(driver_, device)),
        backend_(driver_, &always),
        events_(driver_, context, device) {
    info_.api = "level_zero";
    info_.platform = "Level Zero";
    info_.name = device_name(driver_, device);
    info_.driver = driver_version(driver_, driver);
    info_.native = "command lists";
  }
  ~LevelZeroDevice() override {
    LevelZeroDevice::release_memory();
    for (const auto& [id, kernel] : kernels_) {
      backend_.forget_function(id);
    }
    modules_.for_each([this](BuiltModule* module) {
      (void)loader_.zeModuleDestroy(module->handle);
      delete module;
    });
    backend_.context_gone(context_);
    (void)loader_.zeContextDestroy(context_);
  }
  LevelZeroDevice(const LevelZeroDevice&) = delete;
  LevelZeroDevice& operator=(const LevelZeroDevice&) = delete;

  Backend& backend() noexcept override { return backend_; }
  const capture::DeviceInfo& info() const noexcept override { return info_; }

  bool make_queue(const capture::QueueInfo& wanted, capture::QueueInfo* made, std::string* why) override {
    const auto like = std::bit_cast<ImmediateList::Made>(wanted.detail);
    const std::uint32_t queues = queues_of_group(like.ordinal);
    if (queues == 0) {
      *why = "the device has no group of queues " + std::to_string(like.ordinal) + ", in which the captured one was";
      return false;
    }
    auto list = std::make_unique<ImmediateList>();
    list->context = context_;
    list->device = device_;
    list->ordinal = like.ordinal;
    list->index = like.index % queues;
    list->in_order = (like.flags & ImmediateList::kUnordered) == 0;
    list->synchronous = (like.flags & ImmediateList::kSynchronous) != 0;
    list->append = append_;
    list->updates = updates_ ? &*updates_ : nullptr;
    ze_command_queue_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    description.ordinal = list->ordinal;
    description.index = list->index;
    description.flags = list->in_order ? kQueueInOrder : 0U;
    description.mode = list->synchronous ? ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS : ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    if (const ze_result_t status =
            driver_.zeCommandListCreateImmediate == nullptr
                ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
                : driver_.zeCommandListCreateImmediate(context_, device_, &description, &list->handle);
        status != ZE_RESULT_SUCCESS) {
      *why = "the device refuses a command list like the captured one" + reason(status);
      return false;
    }
    list->id.store(wanted.id, std::memory_order_release);
    *made = wanted;
    made->handle = reinterpret_cast<Handle>(list.get());
    lists_.push_back(std::move(list));
    return true;
  }

  Handle make_memory(const capture::BufferInfo& wanted, Handle /*parent*/, std::string* why) override {
    constexpr std::size_t kAlignment = 4096;
    ze_device_mem_alloc_desc_t of_device{};
    of_device.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    ze_host_mem_alloc_desc_t of_host{};
    of_host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    const auto place =
        wanted.description.empty() ? MemoryPlace::kDevice : static_cast<MemoryPlace>(wanted.description[0]);
    void* made = nullptr;
    ze_result_t status = ZE_RESULT_SUCCESS;
    switch (place) {
      case MemoryPlace::kHost:
        status = driver_.zeMemAllocHost(context_, &of_host, wanted.size, kAlignment, &made);
        break;
      case MemoryPlace::kManaged:
        status = loader_.zeMemAllocShared(context_, &of_device, &of_host, wanted.size, kAlignment, device_, &made);
        break;
      default: status = loader_.zeMemAllocDevice(context_, &of_device, wanted.size, kAlignment, device_, &made); break;
    }
    if (status != ZE_RESULT_SUCCESS) {
      *why = "the device refuses " + std::to_string(wanted.size) + " bytes of memory" + reason(status);
      return 0;
    }
    memory_.push_back(made);
    return reinterpret_cast<Handle>(made);
  }

  Handle make_function(const capture::FunctionInfo& function, capture::CodeKind kind, std::span<const std::byte> code,
                       std::string* why) override {
    if (const auto known = kernels_.find(function.id); known != kernels_.end()) {
      return reinterpret_cast<Handle>(known->second.get());
    }
    const BuiltModule* const module = modules_.find_or_build(
        function.code, function.build_options, why,
        [&](std::string* why_not) { return build(function.build_options, kind, code, why_not); });
    if (module == nullptr) {
      return 0;
    }
    ze_kernel_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
    description.pKernelName = function.name.c_str();
    ze_kernel_handle_t kernel = nullptr;
    ze_kernel_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
    ze_result_t status = driver_.zeKernelCreate(module->handle, &description, &kernel);
    if (status == ZE_RESULT_SUCCESS) {
      status = driver_.zeKernelGetProperties(kernel, &properties);
      destroy_object(driver_.zeKernelDestroy, kernel);
    }
    if (status != ZE_RESULT_SUCCESS) {
      *why = status == ZE_RESULT_ERROR_INVALID_KERNEL_NAME
                 ? "the captured code has no kernel '" + function.name + "'"
                 : "the kernel '" + function.name + "' cannot be used here" + reason(status);
      return 0;
    }
    auto made = std::make_unique<CapturedKernel>();
    made->arguments = properties.numKernelArgs;
    if (const auto told = module->handles.find(function.name); told != module->handles.end()) {
      made->handles = told->second;
    }
    backend_.know_function(function.id, module->handle, function.name);
    return reinterpret_cast<Handle>(kernels_.emplace(function.id, std::move(made)).first->second.get());
  }

  bool does(const OperationView& operation) const noexcept override { return arguments_before_events(operation) >= 0; }
  void adapt(std::vector<std::byte>* record) override { has_events_ = events_.replace(record, &refused_); }
  bool prepare_run(std::string* why) override {
    const ze_result_t status = events_.put_back();
    if (status != ZE_RESULT_SUCCESS) {
      *why = "the events cannot be made what they were" + reason(status);
    }
    return status == ZE_RESULT_SUCCESS;
  }

  bool fits(const OperationView& operation, std::string* why) override {
    if (!has_events_ || !events_.made_all_of(operation)) {
      *why = has_events_ ? "it names events of the captured program" : refused_;
      return false;
    }
    switch (operation.kind()) {
      case OperationKind::kKernel: return launch_fits(operation, why);
      case OperationKind::kPointerMigrate: return prefetch_fits(operation, why);
      default: return true;
    }
  }

  void release_memory() noexcept override {
    for (const auto& list : lists_) {
      if (const capture::ObjectId id = list->id.load(std::memory_order_acquire); id != 0) {
        capture::QueueInfo queue;
        queue.id = id;
        queue.handle = reinterpret_cast<Handle>(list.get());
        (void)backend_.finish(queue);
        {
          const LevelZeroBackend::NoRecording recording(backend_);
          backend_.list_gone(*list);
        }
        destroy_object(driver_.zeCommandListDestroy, list->handle);
      }
    }
    for (void* const memory : memory_) {
      (void)driver_.zeMemFree(context_, memory);
    }
    memory_.clear();
    events_.clear();
  }

 private:
  static bool always(ArgumentKind /*kind*/, Handle /*handle*/, capture::ObjectId /*object*/) noexcept { return true; }

  /// 0: there is no such group.
  [[nodiscard]] std::uint32_t queues_of_group(std::uint32_t ordinal) const {
    std::uint32_t count = 0;
    if (loader_.zeDeviceGetCommandQueueGroupProperties(device_, &count, nullptr) != ZE_RESULT_SUCCESS ||
        ordinal >= count) {
      return 0;
    }
    std::vector<ze_command_queue_group_properties_t> groups(count);
    for (ze_command_queue_group_properties_t& group : groups) {
      group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    }
    return loader_.zeDeviceGetCommandQueueGroupProperties(device_, &count, groups.data()) == ZE_RESULT_SUCCESS
               ? groups[ordinal].numQueues
               : 0;
  }

  BuiltModule* build(const std::string& options, capture::CodeKind kind, std::span<const std::byte> code,
                     std::string* why) {
    const std::optional<ModuleBuild> wanted = read_build(options);
    auto made = std::make_unique<BuiltModule>();
    ze_module_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    if (!wanted) {
      *why = "the captured code is damaged: its build options make no sense";
      return nullptr;
    }
    if (kind == capture::CodeKind::kIntermediate) {
      // Compilers were not made for damaged code.
      ModuleContents contents = contents_of_spirv(code);
      if (!contents.known) {
        *why = "the captured code is damaged: it is no SPIR-V";
        return nullptr;
      }
      made->handles = std::move(contents.handles);
      description.format = ZE_MODULE_FORMAT_IL_SPIRV;
    } else if (kind == capture::CodeKind::kBinary) {
      constexpr char kElf[] = {0x7F, 'E', 'L', 'F'};
      if (code.size() >= sizeof(kElf) && std::memcmp(code.data(), kElf, sizeof(kElf)) == 0 && elf_size(code) == 0) {
        *why = "the captured code is damaged: an ELF file that is cut off";
        return nullptr;
      }
      description.format = ZE_MODULE_FORMAT_NATIVE;
    } else {
      *why = "the captured code is neither SPIR-V nor code of a device";
      return nullptr;
    }
    std::vector<std::uint32_t> ids;
    std::vector<const void*> values;
    for (const ModuleBuild::Constant& constant : wanted->constants) {
      ids.push_back(constant.id);
      values.push_back(constant.value.data());
    }
    const ze_module_constants_t constants{static_cast<std::uint32_t>(ids.size()), ids.data(), values.data()};
    description.inputSize = code.size();
    description.pInputModule = reinterpret_cast<const std::uint8_t*>(code.data());
    description.pBuildFlags = wanted->flags.c_str();
    description.pConstants = ids.empty() ? nullptr : &constants;
    ze_module_build_log_handle_t log = nullptr;
    const ze_result_t status = loader_.zeModuleCreate(context_, device_, &description, &made->handle, &log);
    const std::string told = first_line_of(log);
    if (status == ZE_RESULT_SUCCESS) {
      return made.release();
    }
    *why = (kind == capture::CodeKind::kBinary
                ? "the driver does not take the captured code, which was made for the device of the capture"
                : "the captured code does not build here") +
           reason(status) + (told.empty() ? "" : ": " + told);
    return nullptr;
  }

  /// And gives the log back.
  [[nodiscard]] std::string first_line_of(ze_module_build_log_handle_t log) const {
    std::string text;
    std::size_t bytes = 0;
    if (log != nullptr && loader_.zeModuleBuildLogGetString(log, &bytes, nullptr) == ZE_RESULT_SUCCESS && bytes > 1) {
      text.resize(bytes);
      if (loader_.zeModuleBuildLogGetString(log, &bytes, text.data()) != ZE_RESULT_SUCCESS) {
        text.clear();
      }
    }
    if (log != nullptr) {
      (void)loader_.zeModuleBuildLogDestroy(log);
    }
    return text.substr(0, text.find_first_of(std::string_view("\n\0", 2)));
  }

  /// Whether it has the arguments of the kernel, of which none is a handle of the captured program: the driver follows
  /// those.
  [[nodiscard]] bool launch_fits(const OperationView& operation, std::string* why) const {
    const auto* const kernel = reinterpret_cast<const CapturedKernel*>(operation.header().function_handle);
    const auto arguments = operation.arguments();
    const auto count = static_cast<std::size_t>(arguments_before_events(operation)) - 1;
    if (arguments[count].kind != ArgumentKind::kValue || arguments[count].size != sizeof(KernelSettings)) {
      *why = "the capture does not tell the kernel's settings as this version does; capture the program again";
      return false;
    }
    if (count != kernel->arguments) {
      *why = "its arguments are not those of the captured kernel";
      return false;
    }
    const std::byte* value = operation.values().data();
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i].kind == ArgumentKind::kValue && arguments[i].size == sizeof(Handle)) {
        Handle handle = 0;
        std::memcpy(&handle, value, sizeof(handle));
        const bool is_handle = i < kernel->handles.size() && kernel->handles[i];
        if (is_handle || (kernel->handles.empty() && may_be_handle(handle))) {
          *why = "argument " + std::to_string(i) +
                 (is_handle ? " is an image or a sampler, which captures do not hold"
                            : " may be an image or a sampler: the captured code does not tell");
          return false;
        }
      }
      value += arguments[i].stored_bytes();
    }
    return true;
  }
  /// Handles are addresses on the host's heap. Memory that the capture describes was given its new address before.
  [[nodiscard]] bool may_be_handle(Handle value) const {
    constexpr Handle kLowest = Handle{1} << 44U;   // limit
    constexpr Handle kHighest = Handle{1} << 47U;  // limit
    void* start = nullptr;
    std::size_t bytes = 0;
    return value >= kLowest && value < kHighest &&
           driver_.zeMemGetAddressRange(context_, reinterpret_cast<const void*>(value), &start, &bytes) !=
               ZE_RESULT_SUCCESS;
  }

  [[nodiscard]] bool prefetch_fits(const OperationView& operation, std::string* why) const {
    const auto* const numbers = operation.find<capture::words::PointerPrefetch>();
    const Handle address = operation.handle_of(0);
    void* start = nullptr;
    std::size_t bytes = 0;
    if (numbers == nullptr ||
        driver_.zeMemGetAddressRange(context_, reinterpret_cast<const void*>(address), &start, &bytes) !=
            ZE_RESULT_SUCCESS ||
        numbers->bytes > bytes - (address - reinterpret_cast<Handle>(start))) {
      *why = "it names more memory than the capture describes";
      return false;
    }
    return true;
  }

  const SystemLoader& loader_;
  const LevelZeroDriver& driver_;
  const ze_device_handle_t device_;
  const ze_context_handle_t context_;
  const ImmediateAppend append_;
  const std::optional<MutableLists> updates_;
  LevelZeroBackend backend_;
  StandaloneEvents events_;
  bool has_events_ = true;  ///< the newest record
  std::string refused_;     ///< why not
  capture::DeviceInfo info_;
  std::vector<std::unique_ptr<ImmediateList>> lists_;  ///< as long as we live: command buffers name them
  std::vector<void*> memory_;
  BuiltCode<BuiltModule*> modules_;
  std::unordered_map<capture::FunctionId, std::unique_ptr<CapturedKernel>> kernels_;
};

}  // namespace

std::unique_ptr<StandaloneDevice> open_device(const DeviceChoice& choice, std::string* why) {
  const SystemLoader* const loader = system_loader(why);
  if (loader == nullptr) {
    return nullptr;
  }
  const auto refuse = [&](const std::string& what, ze_result_t status) {
    *why = what + reason(status);
    return nullptr;
  };
  std::uint32_t count = 0;
  ze_result_t status = loader->driver.zeDriverGet(&count, nullptr);
  std::vector<ze_driver_handle_t> drivers(count);
  if (status == ZE_RESULT_SUCCESS) {
    status = loader->driver.zeDriverGet(&count, drivers.data());
  }
  if (status != ZE_RESULT_SUCCESS) {
    return refuse("this machine's Level Zero loader does not tell its drivers", status);
  }
  std::vector<std::vector<ze_device_handle_t>> devices;
  std::vector<std::uint32_t> counts;
  for (ze_driver_handle_t driver : drivers) {
    std::uint32_t here = 0;
    std::vector<ze_device_handle_t>& all = devices.emplace_back();
    if (loader->driver.zeDeviceGet(driver, &here, nullptr) == ZE_RESULT_SUCCESS) {
      all.resize(here);
      if (loader->driver.zeDeviceGet(driver, &here, all.data()) != ZE_RESULT_SUCCESS) {
        all.clear();
      }
    }
    counts.push_back(static_cast<std::uint32_t>(all.size()));
  }
  const std::optional<DevicePlace> chosen = choose_device(
      choice, "Level Zero", counts,
      [&](DevicePlace place) { return device_name(loader->driver, devices[place.platform][place.device]); }, why);
  if (!chosen) {
    return nullptr;
  }
  ze_driver_handle_t driver = drivers[chosen->platform];
  ze_device_handle_t device = devices[chosen->platform][chosen->device];
  ze_context_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  ze_context_handle_t context = nullptr;
  if (status = loader->zeContextCreate(driver, &description, &context); status != ZE_RESULT_SUCCESS) {
    return refuse("the device '" + device_name(loader->driver, device) + "' cannot be used", status);
  }
  return std::make_unique<LevelZeroDevice>(*loader, driver, device, context);
}

}  // namespace refrain::backends::level_zero
