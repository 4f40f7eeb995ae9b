// An OpenCL layer that does one thing wrong now and then, as FAULT says. It stands in for Refrain in
// self_test, which shows that `run` notices each of these faults.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

cl_icd_dispatch target{};
cl_icd_dispatch ours{};
std::atomic<unsigned> arguments{0}, writes{0}, launches{0};

bool fault_is(const char* name) {
  static const char* const fault = ::getenv("FAULT");
  return fault != nullptr && std::strcmp(fault, name) == 0;
}

cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  if (fault_is("stale_argument") && ++arguments % 997 == 0) return CL_SUCCESS;
  return target.clSetKernelArg(kernel, index, size, value);
}

cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                 const void* from, cl_uint waits, const cl_event* wait_list, cl_event* event) {
  if (fault_is("dropped_write") && writes++ % 50 == 0) {
    return target.clEnqueueMarkerWithWaitList(queue, waits, wait_list, event);
  }
  return target.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, waits, wait_list, event);
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                  const size_t* global, const size_t* local, cl_uint waits, const cl_event* wait_list,
                                  cl_event* event) {
  const unsigned number = ++launches;
  if (fault_is("dropped_launch") && number % 1000 == 0) {
    return target.clEnqueueMarkerWithWaitList(queue, waits, wait_list, event);
  }
  if (fault_is("wrong_status") && number == 1000) return CL_OUT_OF_RESOURCES;
  if (fault_is("crash") && number == 1000) ::abort();
  while (fault_is("hang") && number >= 1000) ::pause();
  return target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
}

/// The report that `run` looks for; "lazy" replays nothing, "wrong_mode" is in another mode.
struct Report {
  ~Report() {
    const char* pattern = ::getenv("REFRAIN_REPORT_FILE");
    const char* mode = ::getenv("REFRAIN_MODE");
    if (pattern == nullptr || mode == nullptr) return;
    std::string path = pattern;
    if (const auto place = path.find("%p"); place != std::string::npos) {
      path.replace(place, 2, std::to_string(::getpid()));
    }
    if (std::FILE* file = std::fopen(path.c_str(), "w")) {
      std::fprintf(file, R"({"mode": "%s", "submissions": %u, "replayed": %u, "differences": %d})",
                   fault_is("wrong_mode") ? "observe" : mode, launches.load(), fault_is("lazy") ? 0 : launches.load(),
                   fault_is("difference") ? 1 : 0);
      std::fclose(file);
    }
  }
} report;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info, size_t size, void* value, size_t* size_needed) {
  constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  if (value != nullptr && size >= sizeof kVersion) std::memcpy(value, &kVersion, sizeof kVersion);
  if (size_needed != nullptr) *size_needed = sizeof kVersion;
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* below, cl_uint* our_entries,
                                      const cl_icd_dispatch** table) {
  const cl_uint count = std::min<cl_uint>(entries, sizeof(cl_icd_dispatch) / sizeof(void*));
  std::memcpy(&target, below, count * sizeof(void*));
  ours = target;
  ours.clSetKernelArg = set_kernel_arg;
  ours.clEnqueueWriteBuffer = enqueue_write;
  ours.clEnqueueNDRangeKernel = enqueue_kernel;
  *our_entries = count;
  *table = &ours;
  return CL_SUCCESS;
}
