// A layer underneath that makes the n-th call of the process fail, whatever function it is, and counts.
//
//   ERROR_LAYER_CALL    number of the call that fails, from 1; 0: none
//   ERROR_LAYER_ONLY    only calls of this function count (optional)
//   ERROR_LAYER_COUNT   file that gets the number of calls at exit
//   ERROR_LAYER_TRACE   1: names the failing call on stderr

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "test/opencl/layer_support.h"

using layer_support::below;
using layer_support::ours;

namespace {

std::atomic<long> calls{0};
long failing = 0;
std::string only;
constexpr cl_int kInjected = CL_OUT_OF_RESOURCES;

/// Clean-up and queries never fail in a driver for lack of resources in a way that a program could handle.
bool counts(const std::string& name) {
  if (name.rfind("clRelease", 0) == 0 || name.rfind("clRetain", 0) == 0 || name.rfind("clGet", 0) == 0) {
    return false;
  }
  return only.empty() || only == name;
}

bool fails(const char* name) {
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
    if (below.*Member != nullptr && counts(name)) {
      Failing<Member, Pointer>::name = name;
      ours.*Member = &Failing<Member, Pointer>::call;
    }
  }
};

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
  layer_support::init(entries, target, entries_ret, dispatch_ret);
  layer_support::for_each_slot(Install());
  std::atexit(&write_count);
  return CL_SUCCESS;
}
