// libcuda.so.1 on the simulated device (../core, ../streams): as nasty as the driver API allows. Pinned memory is read
// when a copy runs, pageable memory at the call; kernels read their arguments from copies made at the launch. It has
// SIM_DEVICES devices, whose memory is memory of the process. What the environment says: ../core/settings.h.
//
// Functions that nobody wrote (defaults.cpp) report CUDA_ERROR_NOT_SUPPORTED, and are logged as well.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "test/sim/core/calls.h"
#include "test/sim/core/crowd.h"
#include "test/sim/streams/objects.h"

#define FACE extern "C" __attribute__((visibility("default"))) CUresult

namespace sim::cuda {

/// The two agree in their numbers.
constexpr CUresult result(Status status) noexcept {
  return static_cast<CUresult>(status);
}

inline CUresult entered(Entered how) noexcept {
  return how == Entered::kOk         ? CUDA_SUCCESS
         : how == Entered::kInjected ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
         : how == Entered::kEnded    ? CUDA_ERROR_DEINITIALIZED
                                     : CUDA_ERROR_NOT_INITIALIZED;
}

// The beginning of every call that needs cuInit(): logs it. An error in a child that was forked.
#define ENTER(name)                                                                                    \
  if (const CUresult entered_so = sim::cuda::entered(sim::enter(#name)); entered_so != CUDA_SUCCESS) { \
    return entered_so;                                                                                 \
  }                                                                                                    \
  static_assert(true)
// The same for calls that submit work, or make something that submitting needs: one of them may be told to fail.
#define ENTER_SUBMISSION(name)                                                                                    \
  if (const CUresult entered_so = sim::cuda::entered(sim::enter_submission(#name)); entered_so != CUDA_SUCCESS) { \
    return entered_so;                                                                                            \
  }                                                                                                               \
  static_assert(true)

// Functions with a stream exist twice: with the suffix, 0 means the default stream of the thread.
#define FACE_TWICE(begin, name, suffix, parameters, call) \
  FACE name parameters {                                  \
    begin(name);                                          \
    [[maybe_unused]] constexpr bool per_thread = false;   \
    return sim::cuda::result(call);                       \
  }                                                       \
  FACE name##suffix parameters {                          \
    begin(name##suffix);                                  \
    [[maybe_unused]] constexpr bool per_thread = true;    \
    return sim::cuda::result(call);                       \
  }
#define TWICE(name, parameters, call) FACE_TWICE(ENTER, name, _ptsz, parameters, call)
#define SUBMIT_TWICE(name, parameters, call) FACE_TWICE(ENTER_SUBMISSION, name, _ptsz, parameters, call)
#define SUBMIT_TWICE_PTDS(name, parameters, call) FACE_TWICE(ENTER_SUBMISSION, name, _ptds, parameters, call)

/// "c693336e-1121-df11-a8c3-68f355d89593".
struct TableName {
  char text[40];
};
TableName table_name(const CUuuid& id) noexcept;

/// The arguments of a launch as one block, from one of the two forms.
Status read_arguments(const Kernel& kernel, void** parameters, void** extra, std::vector<std::byte>* arguments);

/// What a kernel sees of an attribute of its launch, its stream or its node; 0: nothing.
std::uint64_t number_of(int id, const CUlaunchAttributeValue& value) noexcept;

/// A kernel node's task. Under the lock.
Status kernel_task(const CUDA_KERNEL_NODE_PARAMS_v2& wanted, Task* task);

/// Whether work of one context may use memory of the other one, which must not be null.
[[nodiscard]] bool may_use(const Context* here, const Context* owner);

/// What a copy descriptor names.
Status read_copy(const CUDA_MEMCPY3D& wanted, Copy* copy);

}  // namespace sim::cuda
