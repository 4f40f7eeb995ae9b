// A layer underneath that makes the n-th call of the process fail, whatever function it is, and counts.
//
//   ERROR_LAYER_CALL    number of the call that fails, from 1; 0: none
//   ERROR_LAYER_ONLY    only calls of this function count (optional)
//   ERROR_LAYER_COUNT   file that gets the number of calls at exit
//   ERROR_LAYER_TRACE   1: names the failing call on stderr
//   ERROR_LAYER_STUCK   a function that never returns to threads whose names begin with "refrain-"
//   REFUSAL_FILE        what the program says it wants refused while it runs (test/support/refusal.h)

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/opencl/layer_support.h"
#include "test/support/refusal.h"

using layer_support::below;
using layer_support::ours;

namespace {

std::atomic<long> calls{0};
long failing = 0;
// Never destroyed: threads of Refrain's that are stuck in a call outlive the program's end.
std::string& only = *new std::string;
std::string& stuck = *new std::string;
constexpr cl_int kInjected = CL_OUT_OF_RESOURCES;

/// Clean-up and queries never fail in a driver for lack of resources in a way that a program could handle.
bool counts(const std::string& name) {
  if (name.rfind("clRelease", 0) == 0 || name.rfind("clRetain", 0) == 0 || name.rfind("clGet", 0) == 0) {
    return false;
  }
  return only.empty() || only == name;
}

/// ERROR_LAYER_STUCK.
void stay_if_stuck(const char* name) {
  char thread[16] = "";
  if (stuck != name || pthread_getname_np(pthread_self(), thread, sizeof(thread)) != 0 ||
      std::strncmp(thread, "refrain-", 8) != 0) {
    return;
  }
  std::fprintf(stderr, "error layer: %s does not return to %s\n", name, thread);
  while (true) {
    pause();
  }
}

bool fails(const char* name) {
  stay_if_stuck(name);
  if (support::Refusal* refusal = support::Refusal::find(); refusal != nullptr && refusal->refuses(name)) {
    return true;
  }
  const long number = calls.fetch_add(1) + 1;
  if (number != failing) {
    return false;
  }
  if (std::getenv("ERROR_LAYER_TRACE") != nullptr) {
    std::fprintf(stderr, "injected into %s\n", name);
  }
  return true;
}

template <class T>
void set_error(T) {}
void set_error(cl_int* place) {
  if (place != nullptr) {
    *place = kInjected;
  }
}

template <auto Member, class Pointer>
struct Failing;
template <auto Member, class Result, class... Parameters>
struct Failing<Member, Result (*)(Parameters...)> {
  static inline const char* name = "";
  static Result CL_API_CALL call(Parameters... parameters) {
    if (fails(name)) {
      if constexpr (std::is_same_v<Result, cl_int>) {
        return kInjected;
      } else if constexpr (!std::is_void_v<Result>) {
        (set_error(parameters), ...);
        return Result{};
      }
    }
    return (below.*Member)(parameters...);
  }
};

struct Install {
  template <auto Member>
  void operator()(const char* name) const {
    using Pointer = std::remove_reference_t<decltype(below.*Member)>;
    if (below.*Member != nullptr && (counts(name) || stuck == name)) {
      Failing<Member, Pointer>::name = name;
      ours.*Member = &Failing<Member, Pointer>::call;
    }
  }
};

/// Functions that are no slots of the table: those of command buffers that have the same parameters in every version.
struct Extension {
  const char* name;
  void* ours;
  void** below;
};
cl_command_buffer_khr(CL_API_CALL* create_below)(cl_uint, const cl_command_queue*, const cl_properties*, cl_int*);
cl_int(CL_API_CALL* finalize_below)(cl_command_buffer_khr);
cl_int(CL_API_CALL* release_below)(cl_command_buffer_khr);
cl_int(CL_API_CALL* enqueue_below)(cl_uint, cl_command_queue*, cl_command_buffer_khr, cl_uint, const cl_event*,
                                   cl_event*);

cl_command_buffer_khr CL_API_CALL create_buffer(cl_uint count, const cl_command_queue* queues,
                                                const cl_properties* properties, cl_int* error) {
  if (fails("clCreateCommandBufferKHR")) {
    set_error(error);
    return nullptr;
  }
  return create_below(count, queues, properties, error);
}
cl_int CL_API_CALL finalize_buffer(cl_command_buffer_khr buffer) {
  return fails("clFinalizeCommandBufferKHR") ? kInjected : finalize_below(buffer);
}
cl_int CL_API_CALL enqueue_buffer(cl_uint count, cl_command_queue* queues, cl_command_buffer_khr buffer, cl_uint waits,
                                  const cl_event* list, cl_event* event) {
  return fails("clEnqueueCommandBufferKHR") ? kInjected : enqueue_below(count, queues, buffer, waits, list, event);
}

cl_int CL_API_CALL release_buffer(cl_command_buffer_khr buffer) {
  stay_if_stuck("clReleaseCommandBufferKHR");
  return release_below(buffer);
}

void* CL_API_CALL find_extension(cl_platform_id platform, const char* name) {
  static const Extension all[] = {
      {"clCreateCommandBufferKHR", reinterpret_cast<void*>(&create_buffer), reinterpret_cast<void**>(&create_below)},
      {"clFinalizeCommandBufferKHR", reinterpret_cast<void*>(&finalize_buffer),
       reinterpret_cast<void**>(&finalize_below)},
      {"clReleaseCommandBufferKHR", reinterpret_cast<void*>(&release_buffer), reinterpret_cast<void**>(&release_below)},
      {"clEnqueueCommandBufferKHR", reinterpret_cast<void*>(&enqueue_buffer), reinterpret_cast<void**>(&enqueue_below)},
  };
  void* const found = below.clGetExtensionFunctionAddressForPlatform(platform, name);
  for (const Extension& each : all) {
    if (found != nullptr && std::strcmp(each.name, name) == 0) {
      *each.below = found;
      return each.ours;
    }
  }
  return found;
}

void write_count() {
  if (const char* file = std::getenv("ERROR_LAYER_COUNT"); file != nullptr) {
    if (std::FILE* out = std::fopen(file, "w"); out != nullptr) {
      std::fprintf(out, "%ld\n", calls.load());
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
  const char* number = std::getenv("ERROR_LAYER_CALL");
  failing = number == nullptr ? 0 : std::strtol(number, nullptr, 10);
  const char* function = std::getenv("ERROR_LAYER_ONLY");
  only = function == nullptr ? "" : function;
  const char* never = std::getenv("ERROR_LAYER_STUCK");
  stuck = never == nullptr ? "" : never;
  layer_support::init(entries, target, entries_ret, dispatch_ret);
  layer_support::for_each_slot(Install());
  if (below.clGetExtensionFunctionAddressForPlatform != nullptr) {
    ours.clGetExtensionFunctionAddressForPlatform = &find_extension;
  }
  std::atexit(&write_count);
  return CL_SUCCESS;
}
