#include "layer/cuda/cudart_launch.h"

#include <utility>

namespace refrain::layer::cuda {

thread_local constinit CUresult launch_answer __attribute__((tls_model("initial-exec"))) = CUDA_SUCCESS;
thread_local constinit bool context_changed __attribute__((tls_model("initial-exec"))) = false;

namespace {

using LaunchKernel = int (*)(CUfunction kernel, backends::Grid grid, backends::Grid block, void** parameters,
                             std::size_t shared_bytes, CUstream stream);

int launch_by_runtime(RuntimeVersion version, DefaultStream by_default, const RuntimeLaunch& launch) noexcept {
  const auto function = reinterpret_cast<LaunchKernel>(
      runtime_function(version, by_default == DefaultStream::kPerThread ? RuntimeFunction::kLaunchKernelPerThread
                                                                        : RuntimeFunction::kLaunchKernel));
  if (function == nullptr) {
    return kInitializationError;
  }
  const int status =
      function(launch.kernel, launch.grid, launch.block, launch.parameters, launch.shared_bytes, launch.stream);
  context_changed = context_changed && status != 0;  // the runtime may have changed it itself
  return status;
}

/// Whether only parameters may differ. Another kernel is the runtime's: the lane is told of the misprediction once.
bool is_predicted_kernel(const RuntimeLaunch& launch) noexcept {
  if (!streams::predicts() || context_changed || launch.parameters == nullptr || launch.shared_bytes > UINT_MAX ||
      !launches_skip_runtime.load(std::memory_order_relaxed)) {
    return false;
  }
  const capture::OperationView known = replay::Lane::current->predicted();
  const streams::Launch same = launch_of(launch);
  return known && streams::same_kernel(same, known, [&same] { return CudaLayer::function_of(same.function); });
}

}  // namespace

[[gnu::hot, gnu::noinline]] int runtime_launch_other(RuntimeVersion version, DefaultStream by_default,
                                                     const RuntimeLaunch& launch) noexcept {
  if (CUresult status = CUDA_SUCCESS;
      is_predicted_kernel(launch) &&
      streams::hold_predicted<CudaLayer>(launch_of(launch), launch.stream, by_default, &status)) {
    return status == CUDA_SUCCESS ? 0 : report_by_runtime(version, by_default, launch, status);
  }
  return launch_by_runtime(version, by_default, launch);
}

[[gnu::cold, gnu::noinline]] int report_by_runtime(RuntimeVersion version, DefaultStream by_default,
                                                   const RuntimeLaunch& launch, CUresult status) noexcept {
  // Without a lane the launch comes to where the answer is looked at, whatever is predicted.
  replay::Lane* const lane = std::exchange(replay::Lane::current, nullptr);
  launch_answer = status;
  const int reported = launch_by_runtime(version, by_default, launch);
  launch_answer = CUDA_SUCCESS;  // the runtime may have found a reason of its own
  replay::Lane::current = lane;
  return reported != 0 ? reported : static_cast<int>(status);
}

}  // namespace refrain::layer::cuda
