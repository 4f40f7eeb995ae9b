// A stream as every thread can name it. For APIs whose queues are streams and whose command buffers are graphs launched
// on them: CUDA and HIP.
//
// What these APIs call differently is in one structure for each (CudaApi, HipApi), the parameter of the templates:
//
//   Driver, Status, StreamHandle, ContextHandle, EventHandle, GraphHandle, NodeHandle, ExecHandle
//   kSuccess, kNotReady, kOutOfMemory, kInvalidHandle, kNotSupported, kCaptureWrongThread, kCaptureUnmatched  (Status)
//   kNoContext                                                            "none", where all are meant: "any"
//   number_of(context)              the same number for the same context
//   Scope(driver, context)          makes a context current while it lives; status()
//   RelaxedCapture(driver)          while it lives, calls of this thread do not disturb captures of the program
//   per_thread_stream()             the calling thread's own default stream
//   create_event … destroy_graph    one call of the driver each; Refrain's own, which leave no trace in what the
//                                   program can ask (HIP keeps the last error of a thread)
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/operation.h"

namespace refrain::backends {

enum class StreamKind : std::uint8_t {
  kNonBlocking,
  kBlocking,   ///< in order with the legacy default stream of its context
  kLegacy,     ///< the legacy default stream: waits for all blocking streams, and they for it
  kPerThread,  ///< a thread's own default stream: only that thread can name it (layer/streams/proxy_stream.h)
};

/// Never freed, only used for another stream: a graph that outlives its stream finds `id` changed, not freed memory.
/// capture::QueueInfo::handle and OperationHeader::queue_handle are its address.
template <class Api>
struct Stream {
  std::atomic<capture::ObjectId> id{0};  ///< 0: the application destroyed it
  /// For the functions that take default streams of no thread. Of a thread's own default stream it is what stands in
  /// for it, once anything of it is held (see IdleMoment::change_handle()).
  typename Api::StreamHandle handle = {};
  typename Api::ContextHandle context = Api::kNoContext;
  StreamKind kind = StreamKind::kNonBlocking;
  std::atomic<bool> watched{false};  ///< see IdleMoment
  /// The layer's: what setters have set of it and around it (capture::OperationHeader::state).
  std::atomic<std::uint64_t> state{0};
  std::atomic<bool> attributes{false};  ///< it has some that are not those of a new stream
  /// The layer's: a stream of another thread has waited for an event that was recorded in it.
  std::atomic<bool> awaited{false};

  [[nodiscard]] static Stream& of(capture::Handle handle) noexcept { return *reinterpret_cast<Stream*>(handle); }
};

}  // namespace refrain::backends
