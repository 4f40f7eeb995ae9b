// Events: made, recorded, waited for by streams.
//
// A held record reaches the driver when its work does (Hooks::fulfil): until then every function that could
// look at the event flushes first. Inside a graph, record and wait are an edge.

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/submission.h"

namespace refrain::layer::cuda {
namespace {

const char* const kUnknownEvent = "it uses an event that Refrain did not see made";
const char* const kWaitedFor = "an earlier wait for the same event has not been submitted yet";
const char* const kFlags = "the event is recorded or waited for with flags";

/// Waits further back than this share one token.
constexpr std::uint64_t kFarBack = 4096;

EventState* find_event(CUevent event) noexcept {
  return objects.events.find(handle_of(event));
}

/// Held work of another thread that names the event is submitted first.
void settle(replay::Engine& running, const EventState& event) noexcept {
  if (!running.anything_held()) {
    return;
  }
  const std::uint64_t own = running.lane().number();
  for (const auto* lane : {&event.lane, &event.waiting_lane}) {
    const std::uint64_t number = lane->load(std::memory_order_relaxed);
    if (number != 0 && number != own) {
      running.settle_lane(number);
    }
  }
}

template <class Issue>
CUresult record(const replay::EntryPoint& entry_point, CUevent handle, CUstream stream, DefaultStream by_default,
                unsigned flags, Issue&& issue) noexcept {
  replay::Engine* running = engine();
  EventState* event = find_event(handle);
  if (CUresult status = CUDA_SUCCESS; short_way(entry_point, &status, issue)) {
    if (event != nullptr) {  // nothing is known of its place
      event->lane.store(0, std::memory_order_relaxed);
      event->set_point({});
    }
    return status;
  }
  const char* unholdable = flags != 0 ? kFlags : nullptr;
  if (event == nullptr) {
    unholdable = kUnknownEvent;
  } else if (running != nullptr) {
    settle(*running, *event);
    const replay::Lane& lane = running->lane();
    if (event->waiting_lane.load(std::memory_order_relaxed) == lane.number() &&
        lane.is_held(event->waiting_sequence.load(std::memory_order_relaxed))) {
      unholdable = kWaitedFor;
    }
  }
  const bool timing = event == nullptr || event->timing;
  const Call call{entry_point, OperationKind::kEventRecord,
                  mix(static_cast<Token>(OperationKind::kEventRecord), timing ? 1 : 0), unholdable};
  StreamState* known = find_stream(stream, by_default);
  return submit(
      call, known,
      [&](capture::OperationWriter& writer, Token token, bool) {
        capture::OperationHeader& header = writer.begin(OperationKind::kEventRecord, token);
        header.promise = reinterpret_cast<std::uint64_t>(event);
        writer.word(timing ? 1 : 0);
        writer.finish();
      },
      issue,
      [&](std::uint64_t sequence, bool held) {
        if (event == nullptr) {
          return;
        }
        // Numbers of submissions only compare within a lane. What another one held of the event was settled above.
        const std::uint64_t own = running->lane().number();
        if (event->lane.exchange(own, std::memory_order_relaxed) != own) {
          event->recorded_sequence.store(0, std::memory_order_relaxed);
        }
        event->sequence.store(sequence, std::memory_order_relaxed);
        if (!held) {
          event->recorded_sequence.store(sequence, std::memory_order_relaxed);
          event->set_point(backends::CudaStreamOrder::now(known->stream));
        } else {
          event->set_point({});
        }
      });
}

template <class Issue>
CUresult wait(const replay::EntryPoint& entry_point, CUstream stream, CUevent handle, unsigned flags,
              DefaultStream by_default, Issue&& issue) noexcept {
  if (CUresult status = CUDA_SUCCESS; short_way(entry_point, &status, issue)) {
    return status;
  }
  replay::Engine* running = engine();
  EventState* event = find_event(handle);
  const char* unholdable = flags != 0 ? kFlags : nullptr;
  Token token = mix(static_cast<Token>(OperationKind::kEventWait), 0);
  bool own = false;
  if (event == nullptr) {
    unholdable = kUnknownEvent;
  } else if (running != nullptr) {
    const replay::Lane& lane = running->lane();
    own = event->lane.load(std::memory_order_relaxed) == lane.number();
    if (own) {
      const std::uint64_t distance = lane.next_sequence() - event->sequence.load(std::memory_order_relaxed);
      token = mix(token, std::min(distance, kFarBack));
    } else {
      settle(*running, *event);
    }
  }
  const Call call{entry_point, OperationKind::kEventWait, token, unholdable};
  StreamState* known = find_stream(stream, by_default);
  return submit(
      call, known,
      [&](capture::OperationWriter& writer, Token whole, bool held) {
        writer.begin(OperationKind::kEventWait, whole);
        const std::uint64_t recorded = event == nullptr ? 0 : event->sequence.load(std::memory_order_relaxed);
        // What was already submitted is named by its event; only the order inside what is held, or inside what
        // is remembered, can become an edge.
        const bool inside = own && (held ? running->lane().is_held(recorded) : true);
        writer.wait(inside ? capture::kInternalWait | recorded : handle_of(handle));
        if (held && !inside) {
          event->waiting_lane.store(running->lane().number(), std::memory_order_relaxed);
          event->waiting_sequence.store(running->lane().next_sequence() - 1, std::memory_order_relaxed);
        }
        writer.finish();
      },
      issue,
      [&](std::uint64_t, bool held) {
        if (!held && event != nullptr) {
          runtime.backend->order().waits_for(known->stream, event->point());
        }
      });
}

template <class Destroy>
CUresult destroy(const replay::EntryPoint& entry_point, CUevent handle, Destroy&& call) noexcept {
  HostCall host_call(entry_point, false);
  if (EventState* event = find_event(handle); event != nullptr) {
    objects.events.erase(event);
    objects.events.recycle(event);
  }
  return host_call.done(call(), false);
}

}  // namespace

CUresult wrap::cuEventCreate(CUevent* event, unsigned flags) noexcept {
  const CUresult status = driver.cuEventCreate(event, flags);
  if (status == CUDA_SUCCESS && event != nullptr && (flags & CU_EVENT_INTERPROCESS) == 0) {
    if (EventState* made = objects.events.make(); made != nullptr) {
      made->timing = (flags & CU_EVENT_DISABLE_TIMING) == 0;
      if (!objects.events.insert(made, handle_of(*event))) {
        objects.events.recycle(made);
      }
    }
  }
  return status;
}

CUresult wrap::cuEventDestroy(CUevent event) noexcept {
  return destroy(entry::cuEventDestroy, event, [&] { return driver.cuEventDestroy(event); });
}
CUresult wrap::cuEventDestroy_v2(CUevent event) noexcept {
  return destroy(entry::cuEventDestroy_v2, event, [&] { return driver.cuEventDestroy_v2(event); });
}

CUresult wrap::cuEventRecord(CUevent event, CUstream stream) noexcept {
  return record(entry::cuEventRecord, event, stream, DefaultStream::kLegacy, 0,
                [&] { return driver.cuEventRecord(event, stream); });
}
CUresult wrap::cuEventRecord_ptsz(CUevent event, CUstream stream) noexcept {
  return record(entry::cuEventRecord_ptsz, event, stream, DefaultStream::kPerThread, 0,
                [&] { return driver.cuEventRecord_ptsz(event, stream); });
}
CUresult wrap::cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) noexcept {
  return record(entry::cuEventRecordWithFlags, event, stream, DefaultStream::kLegacy, flags,
                [&] { return driver.cuEventRecordWithFlags(event, stream, flags); });
}
CUresult wrap::cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) noexcept {
  return record(entry::cuEventRecordWithFlags_ptsz, event, stream, DefaultStream::kPerThread, flags,
                [&] { return driver.cuEventRecordWithFlags_ptsz(event, stream, flags); });
}

CUresult wrap::cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) noexcept {
  return wait(entry::cuStreamWaitEvent, stream, event, flags, DefaultStream::kLegacy,
              [&] { return driver.cuStreamWaitEvent(stream, event, flags); });
}
CUresult wrap::cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags) noexcept {
  return wait(entry::cuStreamWaitEvent_ptsz, stream, event, flags, DefaultStream::kPerThread,
              [&] { return driver.cuStreamWaitEvent_ptsz(stream, event, flags); });
}

}  // namespace refrain::layer::cuda
