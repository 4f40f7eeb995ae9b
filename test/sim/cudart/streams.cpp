// Streams, events, captures.
#include "test/sim/cudart/runtime.h"

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return CALL(cuStreamCreate, stream, CU_STREAM_DEFAULT);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return CALL(cuStreamCreate, stream, flags);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return CALL(cuStreamCreateWithPriority, stream, flags, priority);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;  // as on an H200; the device has no priorities
  return cudart::note(cudart::ready());
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return CALL(cuStreamDestroy, stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return CALL(cuStreamSynchronize, stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return CALL(cuStreamQuery, stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return CALL(cuStreamWaitEvent, stream, event, flags);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return CALL(cuLaunchHostFunc, stream, function, data);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return CALL(cuStreamBeginCapture, stream, static_cast<CUstreamCaptureMode>(mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return CALL(cuStreamEndCapture, stream, graph);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return CALL(cuStreamIsCapturing, stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return CALL(cuEventCreate, event, CU_EVENT_DEFAULT);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return CALL(cuEventCreate, event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return CALL(cuEventDestroy, event);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return CALL(cuEventRecord, event, stream);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return CALL(cuEventRecordWithFlags, event, stream, flags);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return CALL(cuEventQuery, event);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return CALL(cuEventSynchronize, event);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return CALL(cuEventElapsedTime, milliseconds, start, end);
}
