#include "test/sim/cuda/face.h"

FACE cuEventCreate(CUevent* event, unsigned flags) {
  ENTER_SUBMISSION(cuEventCreate);
  const sim::Alone inside;
  sim::Event* made = nullptr;
  const sim::Status status = sim::make_event(flags, &made);
  if (status == sim::Status::kOk) {
    *event = reinterpret_cast<CUevent>(made);
  }
  return sim::cuda::result(status);
}
FACE cuEventDestroy_v2(CUevent event) {
  ENTER(cuEventDestroy_v2);
  return sim::cuda::result(sim::destroy_event(event));
}
SUBMIT_TWICE(cuEventRecord, (CUevent event, CUstream stream), sim::record_event(event, stream, per_thread))
SUBMIT_TWICE(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned),
             sim::record_event(event, stream, per_thread))
FACE cuEventQuery(CUevent event) {
  ENTER(cuEventQuery);
  return sim::cuda::result(sim::look_at_event(event, false));
}
FACE cuEventSynchronize(CUevent event) {
  ENTER(cuEventSynchronize);
  return sim::cuda::result(sim::look_at_event(event, true));
}
FACE cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  ENTER(cuEventElapsedTime);
  return sim::cuda::result(sim::elapsed(milliseconds, start, end));
}
FACE cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  ENTER(cuEventElapsedTime_v2);
  return sim::cuda::result(sim::elapsed(milliseconds, start, end));
}
