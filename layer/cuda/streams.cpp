#include "layer/cuda/streams.h"

#include <map>
#include <memory>
#include <mutex>

#include "layer/cuda/capture.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/functions.h"
#include "layer/cuda/images.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"

namespace refrain::layer::cuda {

Objects& objects = *new Objects;

ObjectId next_object_id() noexcept {
  static std::atomic<ObjectId> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace {

using backends::StreamKind;

struct Tables {
  std::mutex mutex;
  std::map<CUcontext, std::unique_ptr<ContextState>> contexts;
  std::vector<StreamState*> live;
};
Tables& tables() noexcept {
  static Tables& all = *new Tables;
  return all;
}

// Keys of default streams: no handle is an odd number or ends like this.
constexpr std::uint64_t kLegacyKey = 1;
constexpr std::uint64_t kPerThreadKey = 2;

std::uint64_t per_thread_key(CUcontext context) noexcept {
  thread_local const char mark = 0;
  return capture::mix(handle_of(context), reinterpret_cast<std::uint64_t>(&mark)) << 2U | kPerThreadKey;
}

bool describe(backends::CudaStream& stream, CUstream handle, StreamKind kind) noexcept {
  const backends::CudaDriver& driver = runtime.driver;
  stream.handle = handle;
  stream.kind = kind;
  if (driver.cuStreamGetCtx(handle, &stream.context) != CUDA_SUCCESS || stream.context == nullptr) {
    return false;
  }
  unsigned flags = 0;
  if (kind == StreamKind::kBlocking) {
    if (driver.cuStreamGetFlags(handle, &flags) != CUDA_SUCCESS) {
      return false;
    }
    stream.kind = (flags & CU_STREAM_NON_BLOCKING) != 0 ? StreamKind::kNonBlocking : StreamKind::kBlocking;
  }
  return driver.cuStreamGetPriority(handle, &stream.priority) == CUDA_SUCCESS;
}

capture::DefaultOrder order_of(StreamKind kind) noexcept {
  switch (kind) {
    case StreamKind::kLegacy: return capture::DefaultOrder::kIsDefault;
    case StreamKind::kBlocking:
    case StreamKind::kPerThread: return capture::DefaultOrder::kWithDefault;
    case StreamKind::kNonBlocking: break;
  }
  return capture::DefaultOrder::kNone;
}

StreamState* adopt(std::uint64_t key, CUstream handle, StreamKind kind) noexcept {
  replay::Engine* running = engine();
  StreamState* made = running == nullptr ? nullptr : objects.streams.make();
  if (made == nullptr || !describe(made->stream, handle, kind)) {
    return nullptr;  // a few hundred bytes that nobody uses again: the handle was invalid
  }
  try {
    const std::lock_guard guard(tables().mutex);
    if (StreamState* other = objects.streams.find(key); other != nullptr) {
      return other;
    }
    auto& context = tables().contexts[made->stream.context];
    if (context == nullptr) {
      context = std::make_unique<ContextState>();
      context->handle = made->stream.context;
      context->id = next_object_id();
    }
    made->context = context.get();
    capture::QueueInfo& info = made->slot.info;
    info.id = next_object_id();
    info.handle = handle_of(&made->stream);
    info.context = context->id;
    info.device = runtime.recorder != nullptr ? tell_device(made->stream.context) : context->id;
    // The default stream is the same one in every run, whoever comes first.
    info.role = made->stream.kind == StreamKind::kLegacy ? 0 : ++context->roles;
    info.default_order = order_of(made->stream.kind);
    made->stream.id.store(info.id, std::memory_order_release);
    made->token_seed =
        capture::mix(capture::mix(context->id, info.role), static_cast<std::uint64_t>(made->stream.kind));
    if (made->stream.kind == StreamKind::kPerThread) {
      made->unholdable = "its stream is the thread's default stream, which other threads cannot name";
    }
    running->adopt_queue(made->slot);
    if (made->unholdable == nullptr && !made->slot.capabilities.native) {
      made->unholdable = made->slot.capabilities.why_not;
    }
    tables().live.push_back(made);
    if (!objects.streams.insert(made, key)) {
      tables().live.pop_back();
      return nullptr;
    }
    if (made->stream.kind == StreamKind::kLegacy) {
      context->legacy.store(made, std::memory_order_release);
    }
    return made;
  } catch (...) {
    return nullptr;
  }
}

/// Under no_recording(), after everything held was flushed.
void forget(StreamState* stream) noexcept {
  objects.streams.erase(stream);
  runtime.backend->links().forget(stream->stream);
  if (StreamState* expected = stream; stream->stream.kind == StreamKind::kLegacy) {
    stream->context->legacy.compare_exchange_strong(expected, nullptr);
  }
  stream->stream.id.store(0, std::memory_order_release);
}

/// Everything that is known of streams and kernels goes, and every graph: before `context` is destroyed (null: any
/// may be).
void forget_all(CUcontext context) noexcept {
  forget_functions();
  std::vector<StreamState*> gone;
  {
    const std::lock_guard guard(tables().mutex);
    gone.swap(tables().live);
  }
  replay::Engine* running = engine();
  for (StreamState* stream : gone) {
    if (running != nullptr) {
      running->queue_gone(stream->slot);
    }
  }
  const auto recording = runtime.backend->no_recording();
  for (StreamState* stream : gone) {
    forget(stream);
  }
  runtime.backend->context_gone(context);
}

template <class Destroy>
CUresult destroy_stream(const replay::EntryPoint& entry_point, CUstream handle, Destroy&& destroy) noexcept {
  HostCall host_call(entry_point, false);
  StreamState* stream = objects.streams.find(handle_of(handle));
  if (stream == nullptr || engine() == nullptr) {
    return host_call.done(destroy(), false);
  }
  {
    const std::lock_guard guard(tables().mutex);
    std::erase(tables().live, stream);
  }
  engine()->queue_gone(stream->slot);
  const auto recording = runtime.backend->no_recording();
  forget(stream);
  return host_call.done(destroy(), false);
}

template <class Destroy>
CUresult destroy_context(const replay::EntryPoint& entry_point, CUcontext context, Destroy&& destroy) noexcept {
  HostCall host_call(entry_point);
  if (engine() != nullptr) {
    forget_all(context);
  }
  return host_call.done(destroy(), true);
}

/// A device's primary context; null if that cannot be known.
CUcontext primary_of(CUdevice device) noexcept {
  const backends::CudaDriver& calls = runtime.driver;
  CUcontext context = nullptr;
  unsigned flags = 0;
  int active = 0;
  if (calls.cuDevicePrimaryCtxGetState == nullptr || calls.cuDevicePrimaryCtxRetain == nullptr ||
      calls.cuDevicePrimaryCtxRelease_v2 == nullptr ||
      calls.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
      calls.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  calls.cuDevicePrimaryCtxRelease_v2(device);  // the program's own reference is left
  return context;
}

template <class Unload>
CUresult unload(const replay::EntryPoint& entry_point, Unload&& call) noexcept {
  HostCall host_call(entry_point, false);
  if (engine() == nullptr) {
    return host_call.done(call(), false);
  }
  forget_functions();
  const auto recording = runtime.backend->no_recording();
  return host_call.done(call(), false);
}

}  // namespace

StreamState* find_stream(CUstream handle, DefaultStream by_default) noexcept {
  const auto value = handle_of(handle);
  if (value > 2) [[likely]] {
    StreamState* known = objects.streams.find(value);
    return known != nullptr ? known : adopt(value, handle, StreamKind::kBlocking);
  }
  CUcontext context = nullptr;
  if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) {
    return nullptr;
  }
  const bool legacy = value == 1 || (value == 0 && by_default == DefaultStream::kLegacy);
  const std::uint64_t key = legacy ? handle_of(context) | kLegacyKey : per_thread_key(context);
  StreamState* known = objects.streams.find(key);
  if (known != nullptr) [[likely]] {
    return known;
  }
  return legacy ? adopt(key, CU_STREAM_LEGACY, StreamKind::kLegacy)
                : adopt(key, CU_STREAM_PER_THREAD, StreamKind::kPerThread);
}

void settle(replay::Engine& running, StreamState& stream) noexcept {
  running.settle(stream.slot);
  if (!running.anything_held()) {
    return;
  }
  switch (stream.slot.info.default_order) {
    case capture::DefaultOrder::kNone: break;
    case capture::DefaultOrder::kIsDefault: running.settle_others(); break;
    case capture::DefaultOrder::kWithDefault:
      if (StreamState* legacy = stream.context->legacy.load(std::memory_order_acquire); legacy != nullptr) {
        running.settle(legacy->slot);
      }
      break;
  }
}

CUresult wrap::cuStreamDestroy(CUstream stream) noexcept {
  return destroy_stream(entry::cuStreamDestroy, stream, [&] { return driver.cuStreamDestroy(stream); });
}
CUresult wrap::cuStreamDestroy_v2(CUstream stream) noexcept {
  return destroy_stream(entry::cuStreamDestroy_v2, stream, [&] { return driver.cuStreamDestroy_v2(stream); });
}

CUresult wrap::cuModuleUnload(CUmodule module) noexcept {
  forget_image(module);
  return unload(entry::cuModuleUnload, [&] { return driver.cuModuleUnload(module); });
}
CUresult wrap::cuLibraryUnload(CUlibrary library) noexcept {
  forget_image(library);
  return unload(entry::cuLibraryUnload, [&] { return driver.cuLibraryUnload(library); });
}

CUresult wrap::cuCtxDestroy(CUcontext context) noexcept {
  return destroy_context(entry::cuCtxDestroy, context, [&] { return driver.cuCtxDestroy(context); });
}
CUresult wrap::cuCtxDestroy_v2(CUcontext context) noexcept {
  return destroy_context(entry::cuCtxDestroy_v2, context, [&] { return driver.cuCtxDestroy_v2(context); });
}
CUresult wrap::cuCtxDetach(CUcontext context) noexcept {
  return destroy_context(entry::cuCtxDetach, context, [&] { return driver.cuCtxDetach(context); });
}
CUresult wrap::cuGreenCtxDestroy(CUgreenCtx context) noexcept {
  return destroy_context(entry::cuGreenCtxDestroy, nullptr, [&] { return driver.cuGreenCtxDestroy(context); });
}
CUresult wrap::cuDevicePrimaryCtxRelease(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxRelease, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxRelease(device); });
}
CUresult wrap::cuDevicePrimaryCtxRelease_v2(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxRelease_v2, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxRelease_v2(device); });
}
CUresult wrap::cuDevicePrimaryCtxReset(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxReset, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxReset(device); });
}
CUresult wrap::cuDevicePrimaryCtxReset_v2(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxReset_v2, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxReset_v2(device); });
}

}  // namespace refrain::layer::cuda
