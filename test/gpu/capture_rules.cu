// Which calls disturb a stream capture that is under way: what a layer may call of its own while a program captures,
// and what the simulated device has to refuse. For each call one line: whether it succeeded, and whether the capture
// survived, when the capturing thread makes it (capture mode "thread local"), when another thread does (mode "global"),
// and the same with the calling thread set to "relaxed" (cuThreadExchangeStreamCaptureMode).
#include <functional>
#include <thread>

#include "cuda_check.h"

namespace {

__global__ void nothing() {}

struct Objects {
  cudaStream_t captured = nullptr, other = nullptr, blocking = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  void* memory = nullptr;

  Objects() {
    CHECK_CUDA(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreate(&blocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK_CUDA(cudaMalloc(&memory, 4096));
    nothing<<<1, 1, 0, other>>>();
    CHECK_CUDA(cudaEventRecord(event, other));
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(nothing);
    parameters.gridDim = parameters.blockDim = dim3(1);
    cudaGraphNode_t node = nullptr;
    CHECK_CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CHECK_CUDA(cudaDeviceSynchronize());
  }
};

using Call = std::function<cudaError_t(Objects&)>;

const std::pair<const char*, Call> kCalls[] = {
    {"cudaStreamQuery", [](Objects& o) { return cudaStreamQuery(o.other); }},
    {"cudaStreamQuery, blocking stream", [](Objects& o) { return cudaStreamQuery(o.blocking); }},
    {"cudaStreamQuery, default stream", [](Objects&) { return cudaStreamQuery(nullptr); }},
    {"cudaStreamQuery, the captured stream", [](Objects& o) { return cudaStreamQuery(o.captured); }},
    {"cudaEventQuery", [](Objects& o) { return cudaEventQuery(o.event); }},
    {"cudaStreamSynchronize", [](Objects& o) { return cudaStreamSynchronize(o.other); }},
    {"cudaEventSynchronize", [](Objects& o) { return cudaEventSynchronize(o.event); }},
    {"cudaDeviceSynchronize", [](Objects&) { return cudaDeviceSynchronize(); }},
    {"cudaEventRecord", [](Objects& o) { return cudaEventRecord(o.event, o.other); }},
    {"cudaStreamWaitEvent", [](Objects& o) { return cudaStreamWaitEvent(o.other, o.event, 0); }},
    {"cudaEventCreate",
     [](Objects&) {
       cudaEvent_t made;
       return cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
     }},
    {"cudaStreamCreate",
     [](Objects&) {
       cudaStream_t made;
       return cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
     }},
    {"cudaGraphLaunch", [](Objects& o) { return cudaGraphLaunch(o.executable, o.other); }},
    {"cudaGraphUpload", [](Objects& o) { return cudaGraphUpload(o.executable, o.other); }},
    {"cudaGraphInstantiate",
     [](Objects& o) {
       cudaGraphExec_t made;
       return cudaGraphInstantiate(&made, o.graph, 0);
     }},
    {"kernel launch",
     [](Objects& o) {
       nothing<<<1, 1, 0, o.other>>>();
       return cudaGetLastError();
     }},
    {"cudaMemcpyAsync",
     [](Objects& o) {
       return cudaMemcpyAsync(o.memory, static_cast<char*>(o.memory) + 64, 64, cudaMemcpyDeviceToDevice, o.other);
     }},
    {"cudaPointerGetAttributes",
     [](Objects& o) {
       cudaPointerAttributes found;
       return cudaPointerGetAttributes(&found, o.memory);
     }},
    {"cudaMalloc",
     [](Objects&) {
       void* made;
       return cudaMalloc(&made, 64);
     }},
};

/// Makes `call` while a stream is captured; in the capturing thread or in another one.
void attempt(const char* name, const Call& call, bool other_thread, bool relaxed) {
  Objects objects;
  CHECK_CUDA(cudaStreamBeginCapture(objects.captured,
                                    other_thread ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal));
  nothing<<<1, 1, 0, objects.captured>>>();
  cudaError_t result = cudaSuccess;
  const auto work = [&] {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    if (relaxed) CHECK_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    result = call(objects);
    if (relaxed) CHECK_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  };
  other_thread ? std::thread(work).join() : work();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK_CUDA(cudaStreamIsCapturing(objects.captured, &status));
  cudaGraph_t graph = nullptr;
  (void)cudaStreamEndCapture(objects.captured, &graph);
  (void)cudaGetLastError();
  std::printf("{\"call\": \"%s\", \"thread\": \"%s\", \"relaxed\": %s, \"result\": \"%s\", \"capture\": \"%s\"}\n",
              name, other_thread ? "another, mode global" : "capturing, mode thread local", relaxed ? "true" : "false",
              cudaGetErrorName(result), status == cudaStreamCaptureStatusActive ? "goes on" : "invalidated");
}

}  // namespace

int main() {
  for (const auto& [name, call] : kCalls)
    for (const bool other_thread : {false, true})
      for (const bool relaxed : {false, true}) attempt(name, call, other_thread, relaxed);
  return 0;
}
