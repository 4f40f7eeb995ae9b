// cl_khr_command_buffer, versions 0.9.0 to 0.9.8, and cl_khr_command_buffer_mutable_dispatch, versions
// 0.9.0 to 0.9.5, behind one set of calls. The only place that knows how the versions differ.
//
// Own names for everything: the headers of one version cannot describe the functions of another.
// Sources: OpenCL-Docs, "Version History" of api/cl_khr_command_buffer.asciidoc and
// api/cl_khr_command_buffer_mutable_dispatch.asciidoc; OpenCL-Headers, history of CL/cl_ext.h.
//   0.9.0  (2021-11)  first; clCommandNDRangeKernelKHR alone has a properties parameter
//   0.9.1  (2022-08)  a second finalize is an error
//   0.9.2  (2023-03)  context query
//   0.9.3  (2023-04)  state "invalid" removed
//   0.9.4  (2023-05)  clCommandSVMMemcpyKHR, clCommandSVMMemFillKHR (still without properties)
//   0.9.5  (2024-07)  a properties parameter for every clCommand… function, after the queue
//   0.9.6  (2024-10)  CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR takes the place of
//                     CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR (OpenCL-Docs pull request 850)
//   0.9.7  (2024-12)  queues given at enqueue need not have the same properties as at creation
//   0.9.8  (2025-07)  state "pending" removed: enqueue again at any time, as long as the submissions are
//                     ordered (an in-order queue is enough)
//   mutable dispatch 0.9.2 (2024-06): clUpdateMutableCommandsKHR takes arrays instead of a linked list, and
//                     the type and next members of the structures are gone
#pragma once

#include <cstdint>
#include <span>

#include "backends/opencl/opencl_headers.h"

struct _cl_command_buffer_khr;
struct _cl_mutable_command_khr;

namespace refrain::backends::opencl {

using CommandBufferHandle = _cl_command_buffer_khr*;
using MutableCommand = _cl_mutable_command_khr*;
using SyncPoint = cl_uint;

constexpr std::uint32_t make_version(std::uint32_t major, std::uint32_t minor, std::uint32_t patch) {
  return major << 22U | minor << 12U | patch;
}
inline constexpr std::uint32_t kOldestVersion = make_version(0, 9, 0);
inline constexpr std::uint32_t kNewestVersion = make_version(0, 9, 8);
inline constexpr std::uint32_t kOldestMutableVersion = make_version(0, 9, 0);
inline constexpr std::uint32_t kNewestMutableVersion = make_version(0, 9, 5);

// Numbers of the extension (xml/cl.xml in OpenCL-Docs); the same in all versions that have them.
inline constexpr cl_device_info kDeviceCapabilities = 0x12A9;
inline constexpr cl_device_info kDeviceRequiredQueueProperties = 0x12AA;
inline constexpr cl_device_info kDeviceSupportedQueueProperties = 0x129A;  // from 0.9.6
inline constexpr cl_device_info kDeviceMutableCapabilities = 0x12B0;
inline constexpr cl_bitfield kCapabilitySimultaneousUse = 1U << 2U;
inline constexpr cl_bitfield kCapabilityOutOfOrder = 1U << 3U;  // before 0.9.6
inline constexpr cl_ulong kPropertyFlags = 0x1293;
inline constexpr cl_ulong kFlagSimultaneousUse = 1U << 0U;
inline constexpr cl_ulong kFlagMutable = 1U << 1U;
inline constexpr cl_ulong kPropertyUpdatableFields = 0x12B1;
inline constexpr cl_int kInvalidCommandBuffer = -1138;
inline constexpr cl_int kInvalidSyncPointWaitList = -1139;
inline constexpr cl_int kIncompatibleCommandQueue = -1140;
inline constexpr cl_int kInvalidMutableCommand = -1141;

/// Where a command stands among the others of its command buffer.
struct CommandOrder {
  std::span<const SyncPoint> after;
  SyncPoint* made = nullptr;  ///< null: nobody waits for it
};

struct ArgumentUpdate {
  cl_uint index = 0;
  std::size_t size = 0;
  const void* value = nullptr;
};

/// Changes of one launch; null pointers: stays as it is.
struct LaunchUpdate {
  MutableCommand command = nullptr;
  cl_uint dimensions = 0;
  std::span<const ArgumentUpdate> arguments;
  std::span<const ArgumentUpdate> pointers;  ///< SVM; `size` does not count
  const std::size_t* offset = nullptr;
  const std::size_t* global = nullptr;
  const std::size_t* local = nullptr;
};

/// The entry points of one device. Copyable. As thread-safe as the driver's functions are.
class CommandBufferApi {
 public:
  /// Looks all functions up. `mutable_version` 0: the device has no mutable dispatch. False if a function
  /// that the version must have is missing, or the version is unknown.
  bool load(const cl_icd_dispatch& driver, cl_platform_id platform, std::uint32_t version,
            std::uint32_t mutable_version);
  [[nodiscard]] bool has_svm() const noexcept { return svm_copy_ != nullptr && svm_fill_ != nullptr; }
  [[nodiscard]] bool has_update() const noexcept { return update_ != nullptr; }

  CommandBufferHandle create(cl_command_queue queue, cl_ulong flags, cl_int* error) const;
  cl_int finalize(CommandBufferHandle buffer) const;
  void release(CommandBufferHandle buffer) const;
  cl_int enqueue(CommandBufferHandle buffer, std::span<const cl_event> waits, cl_event* done) const;

  /// `command` not null: the fields `updatable` of the launch can be changed later, and its handle is put there.
  cl_int kernel(CommandBufferHandle buffer, cl_kernel kernel, cl_uint dimensions, const std::size_t* offset,
                const std::size_t* global, const std::size_t* local, const CommandOrder& order, cl_ulong updatable,
                MutableCommand* command) const;
  cl_int barrier(CommandBufferHandle buffer, const CommandOrder& order) const;
  cl_int copy_buffer(CommandBufferHandle buffer, cl_mem source, cl_mem destination, std::size_t source_offset,
                     std::size_t destination_offset, std::size_t size, const CommandOrder& order) const;
  cl_int copy_buffer_rect(CommandBufferHandle buffer, cl_mem source, cl_mem destination,
                          const std::size_t* source_origin, const std::size_t* destination_origin,
                          const std::size_t* region, std::size_t source_row_pitch, std::size_t source_slice_pitch,
                          std::size_t destination_row_pitch, std::size_t destination_slice_pitch,
                          const CommandOrder& order) const;
  cl_int fill_buffer(CommandBufferHandle buffer, cl_mem memory, const void* pattern, std::size_t pattern_size,
                     std::size_t offset, std::size_t size, const CommandOrder& order) const;
  cl_int copy_image(CommandBufferHandle buffer, cl_mem source, cl_mem destination, const std::size_t* source_origin,
                    const std::size_t* destination_origin, const std::size_t* region, const CommandOrder& order) const;
  cl_int fill_image(CommandBufferHandle buffer, cl_mem image, const void* colour, const std::size_t* origin,
                    const std::size_t* region, const CommandOrder& order) const;
  cl_int copy_buffer_to_image(CommandBufferHandle buffer, cl_mem source, cl_mem image, std::size_t offset,
                              const std::size_t* origin, const std::size_t* region, const CommandOrder& order) const;
  cl_int copy_image_to_buffer(CommandBufferHandle buffer, cl_mem image, cl_mem destination, const std::size_t* origin,
                              const std::size_t* region, std::size_t offset, const CommandOrder& order) const;
  cl_int svm_copy(CommandBufferHandle buffer, void* destination, const void* source, std::size_t size,
                  const CommandOrder& order) const;
  cl_int svm_fill(CommandBufferHandle buffer, void* pointer, const void* pattern, std::size_t pattern_size,
                  std::size_t size, const CommandOrder& order) const;
  /// All or nothing, as the extension defines it.
  cl_int update(CommandBufferHandle buffer, std::span<const LaunchUpdate> updates) const;

 private:
  template <typename... Arguments>
  cl_int command(void* function, CommandBufferHandle buffer, const CommandOrder& order, Arguments... arguments) const;

  std::uint32_t version_ = 0;
  std::uint32_t mutable_version_ = 0;
  void* create_ = nullptr;
  void* finalize_ = nullptr;
  void* release_ = nullptr;
  void* enqueue_ = nullptr;
  void* barrier_ = nullptr;
  void* kernel_ = nullptr;
  void* copy_buffer_ = nullptr;
  void* copy_buffer_rect_ = nullptr;
  void* fill_buffer_ = nullptr;
  void* copy_image_ = nullptr;
  void* fill_image_ = nullptr;
  void* copy_buffer_to_image_ = nullptr;
  void* copy_image_to_buffer_ = nullptr;
  void* svm_copy_ = nullptr;
  void* svm_fill_ = nullptr;
  void* update_ = nullptr;
};

}  // namespace refrain::backends::opencl
