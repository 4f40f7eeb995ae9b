// A launch by the shared runtime that the calling thread's lane expects: held at once, without the runtime. What that
// does for a launch (it looks for the thread's state and its context, whether a tool listens, and passes everything on
// to cuLaunchKernel()) has no effect on one that was passed on before with the same kernel, stream and form, and
// PyTorch has thrown it out of the processor's caches by the next one.
//
// What nvcc makes of <<<>>> since CUDA 12.1 calls __cudaLaunchKernel() with the driver's own handle of the kernel, so
// that nothing has to be translated. A launch by the address of a function (cudaLaunchKernel()) goes to the runtime.
#pragma once

#include <atomic>
#include <climits>

#include "layer/cuda/cudart.h"
#include "layer/cuda/submission.h"
#include "layer/streams/launch.h"

namespace refrain::layer::cuda {

/// See answer_runtime().
extern constinit std::atomic<bool> launches_skip_runtime;

/// What __cudaLaunchKernel() is called with; the handles are those of the driver.
struct RuntimeLaunch {
  CUfunction kernel;
  backends::Grid grid, block;
  void** parameters;
  std::size_t shared_bytes;
  CUstream stream;
};

/// With launch.shared_bytes no more than UINT_MAX.
[[nodiscard, gnu::always_inline]] inline streams::Launch launch_of(const RuntimeLaunch& launch) noexcept {
  return {entry::cuLaunchKernel,
          handle_of(launch.kernel),
          launch.grid,
          launch.block,
          static_cast<unsigned>(launch.shared_bytes),
          launch.parameters,
          {},
          nullptr,
          {}};
}

/// A launch that is not just what is predicted: held if only its parameters differ, else for the runtime.
int runtime_launch_other(RuntimeVersion version, DefaultStream by_default, const RuntimeLaunch& launch) noexcept;

/// The driver said `status` (not success) when the launch was held, or what was held before was submitted. Has the
/// runtime report it as its own, and makes it what cudaGetLastError() returns. The launch is not submitted again.
int report_by_runtime(RuntimeVersion version, DefaultStream by_default, const RuntimeLaunch& launch,
                      CUresult status) noexcept;

/// While the calling thread is in report_by_runtime(): what its next launch is to be answered with instead of being
/// submitted. Success means nothing.
extern thread_local constinit CUresult launch_answer __attribute__((tls_model("initial-exec")));

/// The calling thread has made another context current, or none, since its last launch by the runtime.
extern thread_local constinit bool context_changed __attribute__((tls_model("initial-exec")));

/// __cudaLaunchKernel() of that version's runtime, or __cudaLaunchKernel_ptsz(): a cudaError_t. Thread-safe.
template <RuntimeVersion version, DefaultStream by_default>
[[gnu::always_inline]] inline int runtime_launch_kernel(const RuntimeLaunch& launch) noexcept {
  if (CUresult status = CUDA_SUCCESS;
      streams::predicts() && !context_changed && launch.parameters != nullptr && launch.shared_bytes <= UINT_MAX &&
      launches_skip_runtime.load(std::memory_order_relaxed) &&
      streams::hold_same<CudaLayer>(
          launch_of(launch), launch.stream, by_default, [](std::span<const std::byte> more) { return more.empty(); },
          &status)) [[likely]] {
    return status == CUDA_SUCCESS ? 0 : report_by_runtime(version, by_default, launch, status);
  }
  return runtime_launch_other(version, by_default, launch);
}

}  // namespace refrain::layer::cuda
