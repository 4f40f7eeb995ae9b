#include "backends/cuda/graph_uploader.h"

#include <utility>

namespace refrain::backends {

bool GraphUploader::make_stand_in(const CudaDriver& driver) noexcept {
  if (tried_) {
    return stand_in_ != nullptr;
  }
  tried_ = true;
  constexpr std::size_t kBytes = 4;  // of each place
  CUdeviceptr memory = 0;
  CUcontext context = nullptr;
  if (driver.cuMemAlloc_v2 == nullptr || driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
      driver.cuMemAlloc_v2(&memory, 2 * kBytes) != CUDA_SUCCESS) {
    return false;
  }
  CUDA_MEMCPY3D_v2 copy{};
  copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = memory;
  copy.srcDevice = memory + kBytes;
  copy.WidthInBytes = kBytes;
  copy.Height = copy.Depth = 1;
  CUgraph graph = nullptr;
  CUgraphNode first = nullptr;
  CUgraphNode second = nullptr;
  // Filled, so that no tool finds a copy of something that was never written.
  CUresult status = driver.cuMemsetD8Async(memory, 0, 2 * kBytes, stream_);
  if (status == CUDA_SUCCESS) {
    status = driver.cuGraphCreate(&graph, 0);
  }
  if (status == CUDA_SUCCESS) {
    status = driver.cuGraphAddMemcpyNode(&first, graph, nullptr, 0, &copy, context);
  }
  if (status == CUDA_SUCCESS) {
    status = driver.cuGraphAddMemcpyNode(&second, graph, &first, 1, &copy, context);
  }
  if (status == CUDA_SUCCESS) {
    stand_in_ = graph;
  } else if (graph != nullptr) {
    static_cast<void>(driver.cuGraphDestroy(graph));  // the memory stays: freeing it would wait for the whole device
  }
  return stand_in_ != nullptr;
}

CUresult GraphUploader::upload(const CudaDriver& driver, CUgraphExec executable) noexcept {
  if (stream_ == nullptr) {
    const CUresult status = driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0);
    if (status != CUDA_SUCCESS) {
      stream_ = nullptr;
      return status;
    }
  }
  // A new one each time: an upload counts only before the first launch.
  CUgraphExec& stand_in = stand_in_executable_;
  if (!make_stand_in(driver) || driver.cuGraphInstantiateWithFlags(&stand_in, stand_in_, 0) != CUDA_SUCCESS) {
    stand_in = nullptr;
  }
  const bool uploaded = stand_in != nullptr && driver.cuGraphUpload(stand_in, stream_) == CUDA_SUCCESS;
  const CUresult status = driver.cuGraphUpload(executable, stream_);
  if (uploaded) {
    static_cast<void>(driver.cuGraphLaunch(stand_in, stream_));
  }
  return status;
}

CUresult GraphUploader::wait(const CudaDriver& driver) noexcept {
  if (stream_ == nullptr) {  // would be the program's default stream
    return CUDA_SUCCESS;
  }
  const CUresult status = driver.cuStreamSynchronize(stream_);
  if (stand_in_executable_ != nullptr) {
    static_cast<void>(driver.cuGraphExecDestroy(std::exchange(stand_in_executable_, nullptr)));
  }
  return status;
}

}  // namespace refrain::backends
