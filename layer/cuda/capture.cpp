#include "layer/cuda/capture.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "backends/cuda/issue.h"
#include "env/log.h"
#include "env/mutex.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/runtime.h"
#include "layer/immortal.h"
#include "layer/streams/waits.h"

namespace refrain::layer::cuda {
namespace {

using capture::ArgumentKind;
using capture::MemoryPlace;

/// Larger allocations are stored without contents: the capture would become unreadably large.
constexpr std::uint64_t kLargestContents = std::uint64_t{1} << 30U;
/// So long the program's own work may run before contents are read; then they are left out.
constexpr auto kLongestWait = std::chrono::seconds(2);
/// No memory is below, and every address that a device knows is a canonical one of user space.
constexpr std::uint64_t kLowestAddress = 0x10000;
constexpr std::uint64_t kHighestAddress = std::uint64_t{1} << 57U;
/// Values that turned out to be no addresses; forgotten when there are too many.
constexpr std::size_t kMostOthers = 1U << 16U;

struct Allocation {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  unsigned long long id = 0;  ///< never given again, unlike the address
  MemoryPlace place = MemoryPlace::kDevice;
  int device = 0;
};

struct Tables {
  env::Mutex mutex;
  /// Ranges told and still there: start → size.
  std::map<std::uint64_t, std::uint64_t> known REFRAIN_GUARDED_BY(mutex);
  /// Values that are no addresses of memory.
  std::unordered_set<std::uint64_t> others REFRAIN_GUARDED_BY(mutex);
  std::unordered_set<ObjectId> recorded REFRAIN_GUARDED_BY(mutex);
  std::map<CUdevice, ObjectId> devices REFRAIN_GUARDED_BY(mutex);
  /// That anything was submitted to; records of streams stay.
  std::unordered_set<const StreamState*> streams REFRAIN_GUARDED_BY(mutex);
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

bool find_allocation(std::uint64_t address, Allocation* found) noexcept {
  unsigned type = 0;
  unsigned managed = 0;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  std::array<CUpointer_attribute, 5> wanted = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                               CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                               CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 5> answers = {&type, &start, &size, &found->id, &found->device};
  if (driver.cuPointerGetAttributes(static_cast<unsigned>(wanted.size()), wanted.data(), answers.data(), address) !=
          CUDA_SUCCESS ||
      (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_HOST) || size == 0 || address < start ||
      address - start >= size) {
    return false;
  }
  if (found->id == 0) {  // a kind of memory that has none: where it is must do
    found->id = capture::mix(start, size);
  }
  CUpointer_attribute is_managed = CU_POINTER_ATTRIBUTE_IS_MANAGED;
  void* answer = &managed;
  if (driver.cuPointerGetAttributes(1, &is_managed, &answer, address) != CUDA_SUCCESS) {
    managed = 0;
  }
  found->address = start;
  found->size = size;
  found->place = managed != 0                 ? MemoryPlace::kManaged
                 : type == CU_MEMORYTYPE_HOST ? MemoryPlace::kHost
                                              : MemoryPlace::kDevice;
  return true;
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
bool read(const Allocation& memory, std::vector<std::byte>* into) {
  into->resize(memory.size);
  if (memory.place == MemoryPlace::kHost) {
    std::memcpy(into->data(), reinterpret_cast<const void*>(memory.address), memory.size);
    return true;
  }
  CUstream stream = nullptr;  // waits for no stream of the program's
  if (driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) {
    return false;
  }
  const bool good = driver.cuMemcpyDtoHAsync_v2(into->data(), memory.address, memory.size, stream) == CUDA_SUCCESS &&
                    driver.cuStreamSynchronize(stream) == CUDA_SUCCESS;
  driver.cuStreamDestroy_v2(stream);
  return good;
}

/// Any stream may be writing it, and copies that have returned may still be on their way.
void record_contents(const std::vector<Allocation>& fresh, const std::vector<const StreamState*>& streams,
                     CUcontext context) {
  const backends::ContextScope scope(runtime.driver, context);
  const backends::RelaxedCapture relaxed(runtime.driver);
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  const bool ready =
      done(CU_STREAM_LEGACY, end) && std::ranges::all_of(streams, [&](const StreamState* stream) {
        return stream->stream.context != context || stream->stream.id.load() == 0 || done(stream->stream.handle, end);
      });
  for (const Allocation& memory : fresh) {
    if (memory.size > kLargestContents) {
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
void record_memory(const StreamState& stream, std::uint64_t address, std::vector<Allocation>* fresh)
    REFRAIN_REQUIRES(tables().mutex) {
  const auto after = tables().known.upper_bound(address);
  if (after != tables().known.begin()) {
    const auto& [start, size] = *std::prev(after);
    if (address - start < size) {
      return;
    }
  }
  if (tables().others.contains(address)) {
    return;
  }
  Allocation memory;
  if (!find_allocation(address, &memory)) {
    if (tables().others.size() >= kMostOthers) {
      tables().others.clear();
    }
    tables().others.insert(address);
    return;
  }
  tables().known[memory.address] = memory.size;
  if (!tables().recorded.insert(memory.id).second) {
    return;
  }
  capture::BufferInfo info;
  info.id = memory.id;
  info.context = stream.slot.info.context;
  info.size = memory.size;
  info.address = memory.address;
  info.description = {static_cast<std::uint64_t>(memory.place), static_cast<std::uint64_t>(memory.device)};
  runtime.recorder->define(info);
  fresh->push_back(memory);
}

void forget_memory() noexcept {
  const env::MutexLock guard(tables().mutex);
  tables().known.clear();
  tables().others.clear();  // new memory may be where there was none
}

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) noexcept {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.substr(0, beginning.size()) == beginning; });
}

}  // namespace

void notify_recorder(const StreamState& stream, const replay::EntryPoint& entry_point,
                     const capture::OperationView& operation) noexcept {
  try {
    if (operation.kind() == OperationKind::kOther || operation.kind() == OperationKind::kHostFunction) {
      watch_memory(entry_point);
    }
    std::vector<Allocation> fresh;
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

void watch_memory(const replay::EntryPoint& entry_point) noexcept {
  const std::string_view name = entry_point.name;
  if (begins_with_any(name, {"cuMemFree", "cuMemUnmap", "cuMemMap", "cuMemRelease", "cuMemHostUnregister",
                             "cuMemHostRegister", "cuMemPoolDestroy", "cuIpcClose", "cuMemAlloc"})) {
    forget_memory();
  }
}

ObjectId record_device(CUcontext context) {
  CUdevice device = 0;
  {
    const backends::ContextScope scope(runtime.driver, context);
    if (scope.status() != CUDA_SUCCESS || driver.cuCtxGetDevice(&device) != CUDA_SUCCESS) {
      return 0;
    }
  }
  const env::MutexLock guard(tables().mutex);
  if (const auto known = tables().devices.find(device); known != tables().devices.end()) {
    return known->second;
  }
  std::array<char, 256> name{};
  int version = 0;
  int major = 0;
  int minor = 0;
  driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
  driver.cuDriverGetVersion(&version);
  driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  capture::DeviceInfo info;
  info.id = next_object_id();
  info.api = "cuda";
  info.platform = "NVIDIA CUDA";
  info.name = name.data();
  info.driver = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  const char* missing = nullptr;
  if (backends::can_replay(runtime.driver, &missing)) {
    info.native = "CUDA graphs, compute capability " + std::to_string(major) + "." + std::to_string(minor);
  }
  runtime.recorder->define(info);
  tables().devices[device] = info.id;
  return info.id;
}

}  // namespace refrain::layer::cuda
