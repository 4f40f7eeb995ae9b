// Graphs.
#include "test/sim/cudart/runtime.h"

using cudart::note;
using cudart::number;

namespace {

CUresult convert(const cudaKernelNodeParams& wanted, CUDA_KERNEL_NODE_PARAMS* node) {
  *node = {};
  node->gridDimX = wanted.gridDim.x;
  node->gridDimY = wanted.gridDim.y;
  node->gridDimZ = wanted.gridDim.z;
  node->blockDimX = wanted.blockDim.x;
  node->blockDimY = wanted.blockDim.y;
  node->blockDimZ = wanted.blockDim.z;
  node->sharedMemBytes = wanted.sharedMemBytes;
  node->kernelParams = wanted.kernelParams;
  node->extra = wanted.extra;
  return cudart::kernel_of(wanted.func, &node->kern);
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return CALL(cuGraphCreate, graph, flags);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return CALL(cuGraphDestroy, graph);
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   std::size_t count, const cudaKernelNodeParams* wanted) {
  CUDA_KERNEL_NODE_PARAMS parameters;
  const CUresult status = convert(*wanted, &parameters);
  return status != CUDA_SUCCESS ? note(status) : CALL(cuGraphAddKernelNode, node, graph, before, count, &parameters);
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                     std::size_t count, void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = number(to);
  copy.srcDevice = number(from);
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return CALL(cuGraphAddMemcpyNode, node, graph, before, count, &copy, cudart::driver().context);
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   std::size_t count, const cudaMemsetParams* wanted) {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = number(wanted->dst);
  fill.pitch = wanted->pitch;
  fill.value = wanted->value;
  fill.elementSize = wanted->elementSize;
  fill.width = wanted->width;
  fill.height = wanted->height;
  return CALL(cuGraphAddMemsetNode, node, graph, before, count, &fill, cudart::driver().context);
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                 std::size_t count, const cudaHostNodeParams* wanted) {
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = wanted->fn;
  host.userData = wanted->userData;
  return CALL(cuGraphAddHostNode, node, graph, before, count, &host);
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                  std::size_t count) {
  return CALL(cuGraphAddEmptyNode, node, graph, before, count);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, std::size_t count) {
  return CALL(cuGraphAddDependencies, graph, from, to, nullptr, count);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return CALL(cuGraphInstantiateWithFlags, executable, graph, flags);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return CALL(cuGraphExecDestroy, executable);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return CALL(cuGraphLaunch, executable, stream);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return CALL(cuGraphUpload, executable, stream);
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* wanted) {
  CUDA_KERNEL_NODE_PARAMS parameters;
  const CUresult status = convert(*wanted, &parameters);
  return status != CUDA_SUCCESS ? note(status) : CALL(cuGraphExecKernelNodeSetParams, executable, node, &parameters);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  CUgraphExecUpdateResultInfo answer{};
  const cudaError_t status = CALL(cuGraphExecUpdate, executable, graph, &answer);
  *info = {};
  info->result = static_cast<cudaGraphExecUpdateResult>(answer.result);
  return status;
}
