#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "test/portable/opencl/opencl_device.h"

namespace portable::opencl {

const char* const kSource = R"(
typedef struct { uint values[64]; } Wide;
kernel void scale(global uint* x, uint n, uint a, uint b) {
  uint i = get_global_id(0);
  if (i < n) x[i] = x[i] * a + b;
}
kernel void mix_in(global uint* x, global const uint* y, uint n, uint a) {
  uint i = get_global_id(0);
  if (i < n) x[i] = x[i] * 31u + y[i] + a;
}
kernel void odd(uchar a, global uint* x, ushort b, ulong c) {
  uint i = get_global_id(0);
  x[i] = x[i] * 3u + a + 7u * b + (uint)(c % 1000003ul);
}
kernel void wide(Wide values, global uint* x) {
  uint i = get_global_id(0);
  if (i < 64) x[i] = x[i] * 5u + values.values[i];
}
kernel void store(global uint* x, uint value) { x[0] = value; }
kernel void busy(global uint* x, uint us) {
  volatile uint turns = 0;
  for (uint i = 0; i < us * 100; ++i) turns += i;
  x[0] = x[0] * 3u + 1u;
}
)";

CommandBuffers::CommandBuffers(cl_platform_id platform, cl_device_id device) {
  std::size_t bytes = 0;
  CALL_CL(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &bytes));
  std::vector<cl_name_version> extensions(bytes / sizeof(cl_name_version));
  CALL_CL(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, bytes, extensions.data(), nullptr));
  const auto extension = std::ranges::find_if(
      extensions, [](const cl_name_version& each) { return std::string_view(each.name) == "cl_khr_command_buffer"; });
  if (extension == extensions.end()) {
    return;
  }
  have_properties_ = extension->version >= CL_MAKE_VERSION(0, 9, 5);
  const auto find = [platform](const char* name, auto* function) {
    count_call();
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(
        clGetExtensionFunctionAddressForPlatform(platform, name));
  };
  find("clCreateCommandBufferKHR", &create_);
  find("clFinalizeCommandBufferKHR", &finalize_);
  find("clReleaseCommandBufferKHR", &release_);
  find("clEnqueueCommandBufferKHR", &enqueue_);
  find("clCommandNDRangeKernelKHR", &kernel_);
  find("clCommandCopyBufferKHR", &copy_);
  find("clCommandFillBufferKHR", &fill_);
}

void CommandBuffers::begin(Queue* queue) {
  queue_ = queue;
  has_last_ = false;
  const cl_command_queue used = native(queue);
  MAKE_CL(buffer_, create_(1, &used, nullptr, &status));
}

Graph* CommandBuffers::end() {
  CALL_CL(finalize_(buffer_));
  auto* made = new ClGraph;
  made->buffer = std::exchange(buffer_, nullptr);
  queue_ = nullptr;
  return made;
}

void CommandBuffers::launch(cl_kernel kernel, std::size_t threads) {
  cl_sync_point_khr point = 0;
  CALL_CL(kernel_(buffer_, nullptr, nullptr, kernel, 1, nullptr, &threads, nullptr, count(), list(), &point, nullptr));
  last_ = point;
  has_last_ = true;
}

template <class... Arguments>
void CommandBuffers::command(void* function, Arguments... arguments) {
  using Buffer = cl_command_buffer_khr;
  using Queue = cl_command_queue;
  using Point = cl_sync_point_khr;
  using Older = cl_int(CL_API_CALL*)(Buffer, Queue, Arguments..., cl_uint, const Point*, Point*, void*);
  using Newer = cl_int(CL_API_CALL*)(Buffer, Queue, const void*, Arguments..., cl_uint, const Point*, Point*, void*);
  Point point = 0;
  if (have_properties_) {
    CALL_CL(
        reinterpret_cast<Newer>(function)(buffer_, nullptr, nullptr, arguments..., count(), list(), &point, nullptr));
  } else {
    CALL_CL(reinterpret_cast<Older>(function)(buffer_, nullptr, arguments..., count(), list(), &point, nullptr));
  }
  last_ = point;
  has_last_ = true;
}

void CommandBuffers::copy(cl_mem to, std::size_t to_offset, cl_mem from, std::size_t from_offset, std::size_t bytes) {
  command(copy_, from, to, from_offset, to_offset, bytes);
}

void CommandBuffers::fill(cl_mem to, std::size_t offset, std::span<const std::byte> pattern, std::size_t bytes) {
  command(fill_, to, static_cast<const void*>(pattern.data()), pattern.size(), offset, bytes);
}

void CommandBuffers::enqueue(Queue* queue, Graph* graph, Ordered& ordered) {
  cl_command_queue used = native(queue);
  cl_command_buffer_khr buffer = static_cast<ClGraph*>(graph)->buffer;
  // PoCL 3.1 sets the event of a command buffer, and a moment later the buffer back to executable: who has seen the
  // event and is quick is told that it is pending.
  const auto enqueue_command_buffer = [&] {
    cl_int status = CL_INVALID_OPERATION;
    for (int tries = 0; tries < 1000 && status == CL_INVALID_OPERATION; ++tries) {
      if (tries != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      status = enqueue_(1, &used, buffer, ordered.count(), ordered.list(), ordered.event());
    }
    return status;
  };
  CALL_CL(enqueue_command_buffer());
}

void CommandBuffers::release(Graph* graph) {
  CALL_CL(release_(static_cast<ClGraph*>(graph)->buffer));
  delete static_cast<ClGraph*>(graph);
}

}  // namespace portable::opencl
