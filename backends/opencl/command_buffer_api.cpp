#include "backends/opencl/command_buffer_api.h"

#include <vector>

namespace refrain::backends::opencl {
namespace {

using Properties = const cl_ulong*;

// cl_mutable_dispatch_arg_khr and cl_mutable_dispatch_config_khr, before and from version 0.9.2.
struct NativeArgument {
  cl_uint arg_index;
  std::size_t arg_size;
  const void* arg_value;
};

struct NativeConfig {
  MutableCommand command;
  cl_uint num_args;
  cl_uint num_svm_args;
  cl_uint num_exec_infos;
  cl_uint work_dim;
  const NativeArgument* arg_list;
  const NativeArgument* arg_svm_list;
  const void* exec_info_list;
  const std::size_t* global_work_offset;
  const std::size_t* global_work_size;
  const std::size_t* local_work_size;
};

struct NativeListedConfig {
  cl_uint type;
  const void* next;
  NativeConfig config;
};
static_assert(sizeof(NativeListedConfig) == sizeof(NativeConfig) + 16);

struct NativeBaseConfig {
  cl_uint type;
  const void* next;
  cl_uint num_mutable_dispatch;
  const NativeListedConfig* mutable_dispatch_list;
};
constexpr cl_uint kListedBaseType = 0;  // before 0.9.2
constexpr cl_uint kListedDispatchType = 1;
constexpr cl_uint kArrayDispatchType = 0;  // from 0.9.2

template <typename Function>
Function as(void* function) {
  return reinterpret_cast<Function>(function);
}

template <typename T>
const T* or_null(std::span<const T> list) {
  return list.empty() ? nullptr : list.data();
}

}  // namespace

bool CommandBufferApi::load(const cl_icd_dispatch& driver, cl_platform_id platform, std::uint32_t version,
                            std::uint32_t mutable_version) {
  if (version < kOldestVersion || version > kNewestVersion ||
      driver.clGetExtensionFunctionAddressForPlatform == nullptr) {
    return false;
  }
  version_ = version;
  mutable_version_ = mutable_version;
  bool all = true;
  const auto find = [&](const char* name, bool needed) {
    void* function = driver.clGetExtensionFunctionAddressForPlatform(platform, name);
    all = all && (function != nullptr || !needed);
    return function;
  };
  create_ = find("clCreateCommandBufferKHR", true);
  finalize_ = find("clFinalizeCommandBufferKHR", true);
  release_ = find("clReleaseCommandBufferKHR", true);
  enqueue_ = find("clEnqueueCommandBufferKHR", true);
  barrier_ = find("clCommandBarrierWithWaitListKHR", true);
  kernel_ = find("clCommandNDRangeKernelKHR", true);
  copy_buffer_ = find("clCommandCopyBufferKHR", true);
  copy_buffer_rect_ = find("clCommandCopyBufferRectKHR", true);
  fill_buffer_ = find("clCommandFillBufferKHR", true);
  copy_image_ = find("clCommandCopyImageKHR", true);
  fill_image_ = find("clCommandFillImageKHR", true);
  copy_buffer_to_image_ = find("clCommandCopyBufferToImageKHR", true);
  copy_image_to_buffer_ = find("clCommandCopyImageToBufferKHR", true);
  if (version >= make_version(0, 9, 4)) {
    svm_copy_ = find("clCommandSVMMemcpyKHR", false);
    svm_fill_ = find("clCommandSVMMemFillKHR", false);
  }
  if (mutable_version >= kOldestMutableVersion && mutable_version <= kNewestMutableVersion) {
    update_ = find("clUpdateMutableCommandsKHR", false);
  }
  return all;
}

CommandBufferHandle CommandBufferApi::create(cl_command_queue queue, cl_ulong flags, cl_int* error) const {
  const cl_ulong properties[] = {kPropertyFlags, flags, 0};
  const auto function =
      as<CommandBufferHandle(CL_API_CALL*)(cl_uint, const cl_command_queue*, Properties, cl_int*)>(create_);
  return function(1, &queue, flags != 0 ? properties : nullptr, error);
}

cl_int CommandBufferApi::finalize(CommandBufferHandle buffer) const {
  return as<cl_int(CL_API_CALL*)(CommandBufferHandle)>(finalize_)(buffer);
}

void CommandBufferApi::release(CommandBufferHandle buffer) const {
  (void)as<cl_int(CL_API_CALL*)(CommandBufferHandle)>(release_)(buffer);
}

cl_int CommandBufferApi::enqueue(CommandBufferHandle buffer, std::span<const cl_event> waits, cl_event* done) const {
  const auto function =
      as<cl_int(CL_API_CALL*)(cl_uint, cl_command_queue*, CommandBufferHandle, cl_uint, const cl_event*, cl_event*)>(
          enqueue_);
  return function(0, nullptr, buffer, static_cast<cl_uint>(waits.size()), or_null(waits), done);
}

cl_int CommandBufferApi::kernel(CommandBufferHandle buffer, cl_kernel kernel, cl_uint dimensions,
                                const std::size_t* offset, const std::size_t* global, const std::size_t* local,
                                const CommandOrder& order, cl_ulong updatable, MutableCommand* mutable_command) const {
  const cl_ulong properties[] = {kPropertyUpdatableFields, updatable, 0};
  const auto function = as<cl_int(CL_API_CALL*)(CommandBufferHandle, cl_command_queue, Properties, cl_kernel, cl_uint,
                                                const std::size_t*, const std::size_t*, const std::size_t*, cl_uint,
                                                const SyncPoint*, SyncPoint*, MutableCommand*)>(kernel_);
  return function(buffer, nullptr, mutable_command != nullptr ? properties : nullptr, kernel, dimensions, offset,
                  global, local, static_cast<cl_uint>(order.after.size()), or_null(order.after), order.made,
                  mutable_command);
}

template <typename... Arguments>
cl_int CommandBufferApi::command(void* function, CommandBufferHandle buffer, const CommandOrder& order,
                                 Arguments... arguments) const {
  const auto count = static_cast<cl_uint>(order.after.size());
  if (version_ >= make_version(0, 9, 5)) {
    return as<cl_int(CL_API_CALL*)(CommandBufferHandle, cl_command_queue, Properties, Arguments..., cl_uint,
                                   const SyncPoint*, SyncPoint*, MutableCommand*)>(function)(
        buffer, nullptr, nullptr, arguments..., count, or_null(order.after), order.made, nullptr);
  }
  return as<cl_int(CL_API_CALL*)(CommandBufferHandle, cl_command_queue, Arguments..., cl_uint, const SyncPoint*,
                                 SyncPoint*, MutableCommand*)>(function)(buffer, nullptr, arguments..., count,
                                                                         or_null(order.after), order.made, nullptr);
}

cl_int CommandBufferApi::barrier(CommandBufferHandle buffer, const CommandOrder& order) const {
  return command(barrier_, buffer, order);
}

cl_int CommandBufferApi::copy_buffer(CommandBufferHandle buffer, cl_mem source, cl_mem destination,
                                     std::size_t source_offset, std::size_t destination_offset, std::size_t size,
                                     const CommandOrder& order) const {
  return command(copy_buffer_, buffer, order, source, destination, source_offset, destination_offset, size);
}

cl_int CommandBufferApi::copy_buffer_rect(CommandBufferHandle buffer, cl_mem source, cl_mem destination,
                                          const std::size_t* source_origin, const std::size_t* destination_origin,
                                          const std::size_t* region, std::size_t source_row_pitch,
                                          std::size_t source_slice_pitch, std::size_t destination_row_pitch,
                                          std::size_t destination_slice_pitch, const CommandOrder& order) const {
  return command(copy_buffer_rect_, buffer, order, source, destination, source_origin, destination_origin, region,
                 source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch);
}

cl_int CommandBufferApi::fill_buffer(CommandBufferHandle buffer, cl_mem memory, const void* pattern,
                                     std::size_t pattern_size, std::size_t offset, std::size_t size,
                                     const CommandOrder& order) const {
  return command(fill_buffer_, buffer, order, memory, pattern, pattern_size, offset, size);
}

cl_int CommandBufferApi::copy_image(CommandBufferHandle buffer, cl_mem source, cl_mem destination,
                                    const std::size_t* source_origin, const std::size_t* destination_origin,
                                    const std::size_t* region, const CommandOrder& order) const {
  return command(copy_image_, buffer, order, source, destination, source_origin, destination_origin, region);
}

cl_int CommandBufferApi::fill_image(CommandBufferHandle buffer, cl_mem image, const void* colour,
                                    const std::size_t* origin, const std::size_t* region,
                                    const CommandOrder& order) const {
  return command(fill_image_, buffer, order, image, colour, origin, region);
}

cl_int CommandBufferApi::copy_buffer_to_image(CommandBufferHandle buffer, cl_mem source, cl_mem image,
                                              std::size_t offset, const std::size_t* origin, const std::size_t* region,
                                              const CommandOrder& order) const {
  return command(copy_buffer_to_image_, buffer, order, source, image, offset, origin, region);
}

cl_int CommandBufferApi::copy_image_to_buffer(CommandBufferHandle buffer, cl_mem image, cl_mem destination,
                                              const std::size_t* origin, const std::size_t* region, std::size_t offset,
                                              const CommandOrder& order) const {
  return command(copy_image_to_buffer_, buffer, order, image, destination, origin, region, offset);
}

cl_int CommandBufferApi::svm_copy(CommandBufferHandle buffer, void* destination, const void* source, std::size_t size,
                                  const CommandOrder& order) const {
  return command(svm_copy_, buffer, order, destination, source, size);
}

cl_int CommandBufferApi::svm_fill(CommandBufferHandle buffer, void* pointer, const void* pattern,
                                  std::size_t pattern_size, std::size_t size, const CommandOrder& order) const {
  return command(svm_fill_, buffer, order, pointer, pattern, pattern_size, size);
}

cl_int CommandBufferApi::update(CommandBufferHandle buffer, std::span<const LaunchUpdate> updates) const {
  std::size_t total = 0;
  for (const LaunchUpdate& update : updates) {
    total += update.arguments.size() + update.pointers.size();
  }
  std::vector<NativeArgument> arguments;
  arguments.reserve(total);  // the configs point into it
  std::vector<NativeListedConfig> configs;
  configs.reserve(updates.size());
  const auto add = [&](std::span<const ArgumentUpdate> list) -> const NativeArgument* {
    const std::size_t start = arguments.size();
    for (const ArgumentUpdate& argument : list) {
      arguments.push_back({argument.index, argument.size, argument.value});
    }
    return list.empty() ? nullptr : arguments.data() + start;
  };
  for (const LaunchUpdate& update : updates) {
    const NativeArgument* values = add(update.arguments);
    const NativeArgument* pointers = add(update.pointers);
    configs.push_back(
        {kListedDispatchType,
         nullptr,
         {update.command, static_cast<cl_uint>(update.arguments.size()), static_cast<cl_uint>(update.pointers.size()),
          0, update.dimensions, values, pointers, nullptr, update.offset, update.global, update.local}});
  }
  if (mutable_version_ >= make_version(0, 9, 2)) {
    const std::vector<cl_uint> types(configs.size(), kArrayDispatchType);
    std::vector<const void*> list;
    for (const NativeListedConfig& config : configs) {
      list.push_back(&config.config);
    }
    return as<cl_int(CL_API_CALL*)(CommandBufferHandle, cl_uint, const cl_uint*, const void**)>(update_)(
        buffer, static_cast<cl_uint>(list.size()), types.data(), list.data());
  }
  const NativeBaseConfig base{kListedBaseType, nullptr, static_cast<cl_uint>(configs.size()), configs.data()};
  return as<cl_int(CL_API_CALL*)(CommandBufferHandle, const NativeBaseConfig*)>(update_)(buffer, &base);
}

}  // namespace refrain::backends::opencl
