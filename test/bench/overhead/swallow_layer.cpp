// An OpenCL layer for the bottom of the stack that answers the calls of overhead_calls at once, so that what
// remains is the loader, the call, and whatever layer stands above. Command buffers are answered as well:
// Refrain can record and replay all it likes, and no time goes into the driver. Everything else is the
// driver's.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>

namespace {

cl_icd_dispatch target{};
cl_icd_dispatch ours{};

/// What stands for a command buffer: enough to know the queue that its submission's event belongs to.
struct CommandBuffer {
  cl_command_queue queue;
  std::atomic<int> references{1};
};
CommandBuffer* mine(cl_command_buffer_khr buffer) {
  return reinterpret_cast<CommandBuffer*>(buffer);
}

/// Whoever asks for an event gets a real one that is complete as soon as the queue comes to it.
cl_int answer(cl_command_queue queue, cl_event* event) {
  return event == nullptr ? CL_SUCCESS : target.clEnqueueMarkerWithWaitList(queue, 0, nullptr, event);
}

cl_int CL_API_CALL set_kernel_arg(cl_kernel, cl_uint, size_t, const void*) {
  return CL_SUCCESS;
}
cl_int CL_API_CALL get_kernel_info(cl_kernel kernel, cl_kernel_info what, size_t size, void* value, size_t* needed) {
  return what == CL_KERNEL_REFERENCE_COUNT ? CL_SUCCESS : target.clGetKernelInfo(kernel, what, size, value, needed);
}
cl_int CL_API_CALL get_event_info(cl_event, cl_event_info, size_t, void*, size_t*) {
  return CL_SUCCESS;
}
cl_int CL_API_CALL flush(cl_command_queue) {
  return CL_SUCCESS;
}
cl_int CL_API_CALL finish(cl_command_queue) {
  return CL_SUCCESS;
}
cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel, cl_uint, const size_t*, const size_t*,
                                  const size_t*, cl_uint, const cl_event*, cl_event* event) {
  return answer(queue, event);
}

cl_command_buffer_khr CL_API_CALL create_buffer(cl_uint queues, const cl_command_queue* queue,
                                                const cl_command_buffer_properties_khr*, cl_int* status) {
  auto* buffer = queues == 0 ? nullptr : new (std::nothrow) CommandBuffer{queue[0]};
  if (status != nullptr) *status = queues == 0 ? CL_INVALID_VALUE : buffer ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  return reinterpret_cast<cl_command_buffer_khr>(buffer);
}
cl_int CL_API_CALL finalize_buffer(cl_command_buffer_khr) {
  return CL_SUCCESS;
}
cl_int CL_API_CALL retain_buffer(cl_command_buffer_khr buffer) {
  ++mine(buffer)->references;
  return CL_SUCCESS;
}
cl_int CL_API_CALL release_buffer(cl_command_buffer_khr buffer) {
  if (--mine(buffer)->references == 0) delete mine(buffer);
  return CL_SUCCESS;
}
cl_int CL_API_CALL enqueue_buffer(cl_uint queues, cl_command_queue* queue, cl_command_buffer_khr buffer, cl_uint,
                                  const cl_event*, cl_event* event) {
  return answer(queues == 0 ? mine(buffer)->queue : queue[0], event);
}
cl_int CL_API_CALL record_kernel(cl_command_buffer_khr, cl_command_queue, const void* /*properties*/, cl_kernel,
                                 cl_uint, const size_t*, const size_t*, const size_t*, cl_uint,
                                 const cl_sync_point_khr*, cl_sync_point_khr* sync_point,
                                 cl_mutable_command_khr* command) {
  if (sync_point != nullptr) *sync_point = 1;
  if (command != nullptr) *command = nullptr;
  return CL_SUCCESS;
}

void* swallowed(std::string_view name) {
  if (name == "clCreateCommandBufferKHR") return reinterpret_cast<void*>(create_buffer);
  if (name == "clFinalizeCommandBufferKHR") return reinterpret_cast<void*>(finalize_buffer);
  if (name == "clRetainCommandBufferKHR") return reinterpret_cast<void*>(retain_buffer);
  if (name == "clReleaseCommandBufferKHR") return reinterpret_cast<void*>(release_buffer);
  if (name == "clEnqueueCommandBufferKHR") return reinterpret_cast<void*>(enqueue_buffer);
  if (name == "clCommandNDRangeKernelKHR") return reinterpret_cast<void*>(record_kernel);
  return nullptr;
}

void* CL_API_CALL address_for_platform(cl_platform_id platform, const char* name) {
  void* found = swallowed(name);
  return found != nullptr ? found : target.clGetExtensionFunctionAddressForPlatform(platform, name);
}
void* CL_API_CALL address(const char* name) {
  void* found = swallowed(name);
  return found != nullptr ? found : target.clGetExtensionFunctionAddress(name);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value, size_t* size_needed) {
  constexpr char kName[] = "swallow";
  constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  const void* source = name == CL_LAYER_NAME ? static_cast<const void*>(kName) : &kVersion;
  const size_t length = name == CL_LAYER_NAME ? sizeof kName : sizeof kVersion;
  if (name != CL_LAYER_NAME && name != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (value != nullptr && size < length) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, source, length);
  if (size_needed != nullptr) *size_needed = length;
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* below, cl_uint* our_entries,
                                      const cl_icd_dispatch** table) {
  const cl_uint count = std::min<cl_uint>(entries, sizeof(cl_icd_dispatch) / sizeof(void*));
  std::memcpy(&target, below, count * sizeof(void*));
  ours = target;
  ours.clSetKernelArg = set_kernel_arg;
  ours.clGetKernelInfo = get_kernel_info;
  ours.clGetEventInfo = get_event_info;
  ours.clFlush = flush;
  ours.clFinish = finish;
  ours.clEnqueueNDRangeKernel = enqueue_kernel;
  ours.clGetExtensionFunctionAddressForPlatform = address_for_platform;
  ours.clGetExtensionFunctionAddress = address;
  *our_entries = count;
  *table = &ours;
  return CL_SUCCESS;
}
