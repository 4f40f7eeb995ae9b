// A second layer, to be stacked above and below Refrain: counts the calls that come through it, and has a
// shorter table than the loader if it is told to.
//
//   COUNTING_LAYER_FILE     file that gets "name count" lines at exit; %d is replaced by nothing
//   COUNTING_LAYER_ENTRIES  number of entries it claims to have (optional)

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "test/opencl/layer_support.h"

using layer_support::below;
using layer_support::ours;

namespace {

std::atomic<long> launches{0};
std::atomic<long> arguments{0};

cl_int CL_API_CALL counted_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                  const size_t* global, const size_t* local, cl_uint count, const cl_event* waits,
                                  cl_event* event) {
  launches.fetch_add(1);
  return below.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits, event);
}

cl_int CL_API_CALL counted_argument(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  arguments.fetch_add(1);
  return below.clSetKernelArg(kernel, index, size, value);
}

void write_counts() {
  if (const char* file = std::getenv("COUNTING_LAYER_FILE"); file != nullptr) {
    if (std::FILE* out = std::fopen(file, "w"); out != nullptr) {
      std::fprintf(out, "%ld %ld\n", launches.load(), arguments.load());
      std::fclose(out);
    }
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size,
                                                                                    void* value, size_t* size_ret) {
  return layer_support::info(name, size, value, size_ret);
}

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint entries,
                                                                                 const cl_icd_dispatch* target,
                                                                                 cl_uint* entries_ret,
                                                                                 const cl_icd_dispatch** dispatch_ret) {
  layer_support::init(entries, target, entries_ret, dispatch_ret);
  ours.clEnqueueNDRangeKernel = &counted_launch;
  ours.clSetKernelArg = &counted_argument;
  if (const char* number = std::getenv("COUNTING_LAYER_ENTRIES"); number != nullptr) {
    *entries_ret = static_cast<cl_uint>(std::strtoul(number, nullptr, 10));
  }
  std::atexit(&write_counts);
  return CL_SUCCESS;
}
