#include "layer/cuda/capture.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "backends/cuda/issue.h"
#include "capture/limits.h"
#include "env/log.h"
#include "env/mutex.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/inventory.h"
#include "layer/cuda/runtime.h"
#include "layer/immortal.h"
#include "layer/streams/waits.h"

namespace refrain::layer::cuda {
namespace {

using backends::LiveMemory;
using capture::ArgumentKind;
using capture::MemoryPlace;

/// So long the program's own work may run before contents are read; then they are left out.
constexpr auto kLongestWait = std::chrono::seconds(2);
/// No memory is below, and every address that a device knows is a canonical one of user space.
constexpr std::uint64_t kLowestAddress = 0x10000;
constexpr std::uint64_t kHighestAddress = std::uint64_t{1} << 57U;
/// Values that turned out to be no addresses; forgotten when there are too many.
constexpr std::size_t kMostOthers = 1U << 16U;

struct Tables {
  env::Mutex mutex;
  /// Values that are no addresses of memory, as long as no memory is made or freed.
  std::unordered_set<std::uint64_t> others REFRAIN_GUARDED_BY(mutex);
  std::uint64_t others_at REFRAIN_GUARDED_BY(mutex) = 0;  ///< MemoryInventory::changes()
  std::unordered_set<ObjectId> recorded REFRAIN_GUARDED_BY(mutex);
  std::map<CUdevice, ObjectId> devices REFRAIN_GUARDED_BY(mutex);
  /// That anything was submitted to; records of streams stay.
  std::unordered_set<const StreamState*> streams REFRAIN_GUARDED_BY(mutex);
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

/// Waits for everything that was submitted to a stream, but not beyond `end`: it may wait for what the program does
/// next.
bool done(CUstream stream, std::chrono::steady_clock::time_point end) {
  for (;;) {
    CUresult status = CUDA_ERROR_NOT_READY;
    {
      // A stream that the program captures may not even be asked: none begins to be captured meanwhile.
      const env::MutexLock guard(streams::Captures<CudaLayer>::all().mutex);
      if (runtime.captures.load(std::memory_order_relaxed) == 0) {
        status = driver.cuStreamQuery(stream);
      }
    }
    if (status != CUDA_ERROR_NOT_READY) {
      return status == CUDA_SUCCESS;
    }
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// The context must be current, and the program's work done.
bool read(const LiveMemory& memory, std::vector<std::byte>* into) {
  into->resize(memory.bytes);
  if (memory.place == MemoryPlace::kHost) {
    std::memcpy(into->data(), reinterpret_cast<const void*>(memory.start), memory.bytes);
    return true;
  }
  CUstream stream = nullptr;  // waits for no stream of the program's
  if (driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) {
    return false;
  }
  const bool good = driver.cuMemcpyDtoHAsync_v2(into->data(), memory.start, memory.bytes, stream) == CUDA_SUCCESS &&
                    driver.cuStreamSynchronize(stream) == CUDA_SUCCESS;
  driver.cuStreamDestroy_v2(stream);
  return good;
}

/// Any stream may be writing it, and copies that have returned may still be on their way.
void record_contents(const std::vector<LiveMemory>& fresh, const std::vector<const StreamState*>& streams,
                     CUcontext context) {
  const backends::ContextScope scope(runtime.driver, context);
  const backends::RelaxedCapture relaxed(runtime.driver);
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  const bool ready =
      done(CU_STREAM_LEGACY, end) && std::ranges::all_of(streams, [&](const StreamState* stream) {
        return stream->stream.context != context || stream->stream.id.load() == 0 || done(stream->stream.handle, end);
      });
  for (const LiveMemory& memory : fresh) {
    if (memory.bytes > capture::format::kMaxContents) {
      runtime.recorder->leave_out_contents(memory.bytes);
      continue;
    }
    std::vector<std::byte> contents;
    if (ready && read(memory, &contents)) {
      runtime.recorder->contents(memory.id, contents);
      continue;
    }
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      env::log_warning("capture: the contents of some memory could not be read; the bench makes them up");
    }
  }
}

/// `fresh` gets what was told for the first time.
void record_memory(const StreamState& stream, std::uint64_t address, std::vector<LiveMemory>* fresh)
    REFRAIN_REQUIRES(tables().mutex) {
  std::optional<LiveMemory> memory = runtime.inventory->find(address);
  if (!memory) {
    std::unordered_set<std::uint64_t>& others = tables().others;
    if (const std::uint64_t changes = runtime.inventory->changes();
        tables().others_at != changes || others.size() >= kMostOthers) {
      others.clear();
      tables().others_at = changes;
    }
    if (others.contains(address)) {
      return;
    }
    // What was there before Refrain was, or what a call made that nobody knows here, the driver does know.
    memory.emplace();
    if (!CudaLayer::describe_memory(address, &*memory)) {
      others.insert(address);
      return;
    }
    runtime.inventory->add(*memory);
  }
  if (!tables().recorded.insert(memory->id).second) {
    return;
  }
  capture::BufferInfo info;
  info.id = memory->id;
  info.context = stream.slot.info.context;
  info.size = memory->bytes;
  info.address = memory->start;
  info.description = {static_cast<std::uint64_t>(memory->place), static_cast<std::uint64_t>(memory->device)};
  runtime.recorder->define(info);
  fresh->push_back(*memory);
}

}  // namespace

void notify_recorder(const StreamState& stream, const replay::EntryPoint& /*entry_point*/,
                     const capture::OperationView& operation) noexcept {
  try {
    std::vector<LiveMemory> fresh;
    std::vector<const StreamState*> streams;
    {
      const env::MutexLock guard(tables().mutex);
      tables().streams.insert(&stream);
      const std::byte* value = operation.values().data();
      for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
        if (argument.kind == ArgumentKind::kValue || argument.kind == ArgumentKind::kPointer) {
          // What a parameter means is not known: any aligned word of it may be an address.
          for (std::size_t at = 0; at + sizeof(std::uint64_t) <= argument.size; at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, value + at, sizeof(word));
            if (word >= kLowestAddress && word < kHighestAddress) {
              record_memory(stream, word, &fresh);
            }
          }
        }
        value += argument.stored_bytes();
      }
      if (!fresh.empty() && runtime.recorder->wants_contents()) {
        streams.assign(tables().streams.begin(), tables().streams.end());
      }
    }
    if (!streams.empty()) {  // without the lock: what is waited for may need other threads
      record_contents(fresh, streams, stream.stream.context);
    }
  } catch (...) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      env::log_error("out of memory: the capture lacks some buffers and cannot be benchmarked");
    }
  }
}

namespace {

bool find_device(CUcontext context, CUdevice* device) {
  const backends::ContextScope scope(runtime.driver, context);
  return scope.status() == CUDA_SUCCESS && driver.cuCtxGetDevice(device) == CUDA_SUCCESS;
}

replay::LayerHooks::Device name_of(CUdevice device) {
  std::array<char, 256> name{};
  int version = 0;
  driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
  driver.cuDriverGetVersion(&version);
  return {name.data(), "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10),
          static_cast<std::uint64_t>(device)};
}

}  // namespace

replay::LayerHooks::Device CudaLayer::device_of(CUcontext context) {
  CUdevice device = 0;
  return find_device(context, &device) ? name_of(device) : replay::LayerHooks::Device{};
}

ObjectId record_device(CUcontext context) {
  CUdevice device = 0;
  if (!find_device(context, &device)) {
    return 0;
  }
  const env::MutexLock guard(tables().mutex);
  if (const auto known = tables().devices.find(device); known != tables().devices.end()) {
    return known->second;
  }
  int major = 0;
  int minor = 0;
  const replay::LayerHooks::Device named = name_of(device);
  driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  capture::DeviceInfo info;
  info.id = next_object_id();
  info.api = "cuda";
  info.platform = "NVIDIA CUDA";
  info.name = named.name;
  info.driver = named.driver;
  const char* missing = nullptr;
  if (backends::can_replay(runtime.driver, &missing)) {
    info.updates = info.keeps_order = true;
    info.native = "CUDA graphs, compute capability " + std::to_string(major) + "." + std::to_string(minor);
  }
  runtime.recorder->define(info);
  tables().devices[device] = info.id;
  return info.id;
}

}  // namespace refrain::layer::cuda
