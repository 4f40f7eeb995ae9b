#include "backends/cuda/graph_uploader.h"

#include <utility>

namespace refrain::backends {

namespace {

/// One call, let in.
template <class Call>
CUresult let_in(ExclusiveCallYield& exclusive_call_yield, const Call& call) noexcept {
  const ExclusiveCallYield::Claim claim(exclusive_call_yield);
  return call();
}

}  // namespace

bool GraphUploader::make_sentinel(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept {
  if (tried_) {
    return sentinel_ != nullptr;
  }
  tried_ = true;
  constexpr std::size_t kBytes = 4;  // of each place
  // Two do where nothing else is submitted meanwhile. Where the program launches in another stream then, launching two
  // does not end the slowness and eight do; 64 take five times as long to make.
  constexpr int kCopies = 8;
  CUdeviceptr memory = 0;
  CUcontext context = nullptr;
  if (driver.cuMemAlloc_v2 == nullptr || driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
      let_in(exclusive_call_yield, [&] { return driver.cuMemAlloc_v2(&memory, 2 * kBytes); }) != CUDA_SUCCESS) {
    return false;
  }
  CUDA_MEMCPY3D_v2 copy{};
  copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = memory;
  copy.srcDevice = memory + kBytes;
  copy.WidthInBytes = kBytes;
  copy.Height = copy.Depth = 1;
  CUgraph graph = nullptr;
  CUgraphNode last = nullptr;
  // Filled, so that no tool finds a copy of something that was never written.
  CUresult status =
      let_in(exclusive_call_yield, [&] { return driver.cuMemsetD8Async(memory, 0, 2 * kBytes, stream_); });
  if (status == CUDA_SUCCESS) {
    status = driver.cuGraphCreate(&graph, 0);
  }
  for (int i = 0; i < kCopies && status == CUDA_SUCCESS; ++i) {
    const CUgraphNode before = last;
    status = driver.cuGraphAddMemcpyNode(&last, graph, i > 0 ? &before : nullptr, i > 0 ? 1 : 0, &copy, context);
  }
  if (status == CUDA_SUCCESS) {
    sentinel_ = graph;
  } else if (graph != nullptr) {
    static_cast<void>(driver.cuGraphDestroy(graph));  // the memory stays: freeing it would wait for the whole device
  }
  return sentinel_ != nullptr;
}

CUresult GraphUploader::make_stream(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept {
  if (stream_ != nullptr) {
    return CUDA_SUCCESS;
  }
  const CUresult status = let_in(
      exclusive_call_yield, [&] { return driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0); });
  if (status != CUDA_SUCCESS) {
    stream_ = nullptr;
  }
  return status;
}

void GraphUploader::prepare(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept {
  if (make_stream(driver, exclusive_call_yield) == CUDA_SUCCESS) {
    static_cast<void>(make_sentinel(driver, exclusive_call_yield));
  }
}

/// A new one for each upload: it counts only before the first launch.
void GraphUploader::instantiate(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept {
  CUgraphExec& sentinel = sentinel_executable_;
  if (sentinel != nullptr || sentinel_ == nullptr) {
    return;
  }
  if (let_in(exclusive_call_yield, [&] { return driver.cuGraphInstantiateWithFlags(&sentinel, sentinel_, 0); }) !=
      CUDA_SUCCESS) {
    sentinel = nullptr;
  }
}

CUresult GraphUploader::upload(const CudaDriver& driver, std::span<const CUgraphExec> executables,
                               ExclusiveCallYield& exclusive_call_yield) noexcept {
  if (const CUresult status = make_stream(driver, exclusive_call_yield); status != CUDA_SUCCESS) {
    return status;
  }
  CUgraphExec const sentinel = sentinel_executable_;
  const bool uploaded = sentinel != nullptr && let_in(exclusive_call_yield, [&] {
                                                 return driver.cuGraphUpload(sentinel, stream_);
                                               }) == CUDA_SUCCESS;
  CUresult status = CUDA_SUCCESS;
  for (CUgraphExec const executable : executables) {
    const CUresult each = let_in(exclusive_call_yield, [&] { return driver.cuGraphUpload(executable, stream_); });
    status = status != CUDA_SUCCESS ? status : each;
  }
  if (uploaded) {
    static_cast<void>(let_in(exclusive_call_yield, [&] { return driver.cuGraphLaunch(sentinel, stream_); }));
  }
  return status;
}

void GraphUploader::context_gone(const CudaDriver& driver) noexcept {
  if (sentinel_ != nullptr) {
    static_cast<void>(driver.cuGraphDestroy(std::exchange(sentinel_, nullptr)));
  }
}

bool GraphUploader::done(const CudaDriver& driver) const noexcept {
  return stream_ == nullptr || driver.cuStreamQuery(stream_) != CUDA_ERROR_NOT_READY;
}

CUresult GraphUploader::wait(const CudaDriver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept {
  if (stream_ == nullptr) {  // would be the program's default stream
    return CUDA_SUCCESS;
  }
  const CUresult status = driver.cuStreamSynchronize(stream_);
  if (sentinel_executable_ != nullptr) {
    CUgraphExec sentinel = std::exchange(sentinel_executable_, nullptr);
    static_cast<void>(let_in(exclusive_call_yield, [&] { return driver.cuGraphExecDestroy(sentinel); }));
  }
  return status;
}

}  // namespace refrain::backends
