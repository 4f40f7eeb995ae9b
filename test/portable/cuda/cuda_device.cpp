// The driver API of CUDA.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>

#include "test/portable/cuda/cuda_objects.h"
#include "test/portable/cuda/tagged_code.h"

namespace portable {
namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice() {
    CALL_CU(cuInit(0));
#ifndef PROGRAMS_ON_HIP  // which has one context for all
    CALL_CU(cuDeviceGetCount(&devices_));
    devices_ = std::min(devices_, static_cast<int>(kMostDevices));
#endif
    for (int number = devices_ - 1; number >= 0; --number) {  // that of the first one stays current
      Here& here = here_[static_cast<std::size_t>(number)];
      CALL_CU(cuDevicePrimaryCtxRetain(&here.context, number));
      current.enter(here.context);
      CALL_CU(cuModuleLoadData(&here.module, "kernels"));
      CALL_CU(cuModuleGetFunction(&here.await, here.module, "await"));
      CALL_CU(cuModuleGetFunction(&here.bump, here.module, "bump"));
    }
    for (CUevent& each : untimed_) {
      CALL_CU(cuEventCreate(&each, CU_EVENT_DISABLE_TIMING));
      CALL_CU(cuEventRecord(each, nullptr));
    }
    probe();
  }
  ~CudaDevice() override {
    CudaDevice::synchronize();
    for (CUevent each : untimed_) {
      CALL_CU(cuEventDestroy(each));
    }
#ifndef PROGRAMS_ON_HIP
    for (CUlibrary each : tagged_libraries_) {
      if (each != nullptr) {
        CALL_CU(cuLibraryUnload(each));
      }
    }
#endif
    for (int number = devices_ - 1; number >= 0; --number) {
      current.need(here_[static_cast<std::size_t>(number)].context);
      CALL_CU(cuModuleUnload(here_[static_cast<std::size_t>(number)].module));
      CALL_CU(cuDevicePrimaryCtxRelease(number));
    }
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

#ifdef PROGRAMS_ON_HIP  // in HIP's words, by test/hip/as_cuda
  [[nodiscard]] const char* api() const noexcept override {
    return "hip";
  }
#else
  [[nodiscard]] const char* api() const noexcept override {
    return "cuda";
  }
#endif
  [[nodiscard]] const char* cannot(Feature feature) const noexcept override {
    switch (feature) {
      case Feature::kOutOfOrder: return "streams are in order";
      case Feature::kOddPattern: return "fills take elements of 1, 2 and 4 bytes";
      case Feature::kWidePattern: return can_fill_rows_ ? nullptr : "this driver has no cuMemsetD2D32Async";
      case Feature::kRectangle: return can_copy_rows_ ? nullptr : "this driver has no cuMemcpy3DAsync";
      case Feature::kSetter: return here_[0].seen != nullptr ? nullptr : "no kernel of this driver sees what was set";
      case Feature::kPrefetch: return can_prefetch_ ? nullptr : "this driver has no cuMemPrefetchAsync";
      default: return nullptr;
    }
  }
  void enter_thread() override {
    current.enter(here_[0].context);
    used_ = 0;
  }
  [[nodiscard]] int devices() const noexcept override {
    return devices_;
  }
  void use_device(int number) override {
    used_ = static_cast<std::size_t>(number);
    current.need(here_[used_].context);
  }
  void allow_peers() override {
#ifndef PROGRAMS_ON_HIP
    for (std::size_t here = 0; !peers_allowed_ && here < kMostDevices; ++here) {
      current.need(here_[here].context);
      CALL_CU(cuCtxEnablePeerAccess(here_[kMostDevices - 1 - here].context, 0));
    }
    peers_allowed_ = true;
#endif
  }

  Queue* make_queue(QueueKind kind) override {
    auto* made = new CudaQueue;
    made->kind = kind;
    made->device = static_cast<int>(used_);
    made->context = here_[used_].context;
    current.need(made->context);
    if (kind == QueueKind::kThreadsOwn) {
      made->stream = CU_STREAM_PER_THREAD;
    } else if (kind != QueueKind::kDefault) {
      CALL_CU(cuStreamCreate(&made->stream, kind == QueueKind::kBlocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    }
    return made;
  }
  void release(Queue* queue) override {
    if (queue->kind != QueueKind::kDefault && queue->kind != QueueKind::kThreadsOwn) {
      CALL_CU(cuStreamDestroy(native(queue)));
    }
    delete static_cast<CudaQueue*>(queue);
  }
  Memory* allocate(Place place, std::size_t bytes) override {
    auto* made = new CudaMemory;
    made->place = place;
    made->bytes = bytes;
    made->device = static_cast<int>(used_);
    current.need(here_[used_].context);
    // By each call that makes such memory in turn, since nothing may depend on which it was.
    const unsigned turn = made_.fetch_add(1, std::memory_order_relaxed);
    std::size_t pitch = 0;
    if (place == Place::kDevice) {
      switch (turn % 4) {
        case 1: CALL_CU(cuMemAllocPitch(&made->address, &pitch, bytes, 1, 4)); break;
        case 2:
          CALL_CU(cuMemAllocManaged(&made->address, bytes, CU_MEM_ATTACH_GLOBAL));
          made->managed = true;
          break;
        default: CALL_CU(cuMemAlloc(&made->address, bytes));
      }
      return made;
    }
    switch (turn % 3) {
      case 1: CALL_CU(cuMemAllocHost(&made->host, bytes)); break;
      case 2: {
        const std::size_t whole = (bytes + kHostPage - 1) / kHostPage * kHostPage;
        made->registered = true;
        made->host = std::aligned_alloc(kHostPage, whole);
        CALL_CU(cuMemHostRegister(made->host, whole, 0));
        break;
      }
      default: CALL_CU(cuMemHostAlloc(&made->host, bytes, 0));
    }
    CALL_CU(cuMemHostGetDevicePointer(&made->address, made->host, 0));
    return made;
  }
  void release(Memory* memory) override {
    auto* own = static_cast<CudaMemory*>(memory);
    if (own->registered) {
      CALL_CU(cuMemHostUnregister(own->host));
      std::free(own->host);
    } else if (own->host != nullptr) {
      CALL_CU(cuMemFreeHost(own->host));
    } else {
      CALL_CU(cuMemFree(own->address));
    }
    delete own;
  }
  Memory* allocate_in_order(Queue* queue, std::size_t bytes) override {
    auto* made = new CudaMemory;
    made->bytes = bytes;
    made->device = queue->device;
    CALL_CU(cuMemAllocAsync(&made->address, bytes, native(queue)));
    return made;
  }
  void release_in_order(Queue* queue, Memory* memory) override {
    CALL_CU(cuMemFreeAsync(static_cast<CudaMemory*>(memory)->address, native(queue)));
    delete static_cast<CudaMemory*>(memory);
  }
  void ask_of_memory([[maybe_unused]] unsigned which) override {
#ifndef PROGRAMS_ON_HIP
    std::size_t unused = 0;
    std::size_t total = 0;
    CUmemoryPool pool = nullptr;
    cuuint64_t used = 0;
    switch (which % 3) {
      case 0: CALL_CU(cuMemGetInfo(&unused, &total)); break;
      case 1:
        CALL_CU(cuDeviceGetDefaultMemPool(&pool, 0));
        CALL_CU(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        break;
      default: CALL_CU(cuDeviceGetDefaultMemPool(&pool, 0)); CALL_CU(cuMemPoolTrimTo(pool, 0));
    }
#endif
  }
  std::byte* host(Memory* memory) override {
    return static_cast<std::byte*>(static_cast<CudaMemory*>(memory)->host);
  }
  Event* make_event(bool timed) override {
    auto* made = new CudaEvent;
    for (int number = devices_ - 1; number >= 0; --number) {
      const auto place = static_cast<std::size_t>(number);
      current.need(here_[place].context);
      CALL_CU(cuEventCreate(&made->of_device[place], timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING));
    }
    return made;
  }
  void release(Event* event) override {
    for (int number = 0; number < devices_; ++number) {
      CALL_CU(cuEventDestroy(static_cast<CudaEvent*>(event)->of_device[static_cast<std::size_t>(number)]));
    }
    delete static_cast<CudaEvent*>(event);
  }
  Kernel* find_kernel(const char* name) override {
    auto* made = new CudaKernel;
    for (int number = 0; number < devices_; ++number) {
      const auto place = static_cast<std::size_t>(number);
      CALL_CU(cuModuleGetFunction(&made->of_device[place], here_[place].module, name));
    }
    return made;
  }
  void release(Kernel* kernel) override {
    delete static_cast<CudaKernel*>(kernel);
  }

  void launch(Queue* queue, Kernel* kernel, unsigned threads, std::span<const Argument> arguments,
              const Order& order) override {
    const Ordered ordered(queue, order);
    CUdeviceptr addresses[16];
    void* values[17] = {};
    for (std::size_t i = 0; i < arguments.size() && i < 16; ++i) {
      const Argument& each = arguments[i];
      if (each.memory != nullptr) {
        addresses[i] = native(Range{each.memory, each.offset});
        values[i] = &addresses[i];
      } else {
        values[i] = const_cast<void*>(each.value);  // only read
      }
    }
    const unsigned block = threads % 4 == 0 ? 4 : threads;
    CALL_CU(cuLaunchKernel(static_cast<CudaKernel*>(kernel)->of_device[index_of(queue)], threads / block, 1, 1, block,
                           1, 1, 0, native(queue), values, nullptr));
    // Programs use such arrays again at once.
    std::memset(addresses, 0xEE, sizeof(addresses));
  }
  void copy(Queue* queue, Range to, Range from, std::size_t bytes, const Order& order) override {
    const Ordered ordered(queue, order);
    const bool on_devices = to.memory->place == Place::kDevice && from.memory->place == Place::kDevice;
#ifndef PROGRAMS_ON_HIP
    if (on_devices && to.memory->device != from.memory->device && bytes % 8 != 0) {  // by either call in turn
      CALL_CU(cuMemcpyPeerAsync(native(to), here_[static_cast<std::size_t>(to.memory->device)].context, native(from),
                                here_[static_cast<std::size_t>(from.memory->device)].context, bytes, native(queue)));
      return;
    }
#endif
    if (on_devices) {
      CALL_CU(cuMemcpyDtoDAsync(native(to), native(from), bytes, native(queue)));
    } else if (to.memory->place == Place::kDevice) {
      CALL_CU(cuMemcpyHtoDAsync(native(to), host(from.memory) + from.offset, bytes, native(queue)));
    } else if (from.memory->place == Place::kDevice) {
      CALL_CU(cuMemcpyDtoHAsync(host(to.memory) + to.offset, native(from), bytes, native(queue)));
    } else {
      CALL_CU(cuMemcpyAsync(native(to), native(from), bytes, native(queue)));
    }
  }
  void copy_rectangle(Queue* queue, const Rectangle& to, const Rectangle& from, const Extent& extent,
                      const Order& order) override {
    const Ordered ordered(queue, order);
    CALL_CU(cuMemcpy3DAsync(copy_of(to, from, extent).get(), native(queue)));
  }
  void fill(Queue* queue, Range to, std::span<const std::byte> pattern, std::size_t bytes,
            const Order& order) override {
    const Ordered ordered(queue, order);
    unsigned value = 0;
    std::memcpy(&value, pattern.data(), pattern.size() < 4 ? pattern.size() : 4);
    const std::size_t count = bytes / pattern.size();
    switch (pattern.size()) {
      case 1: CALL_CU(cuMemsetD8Async(native(to), static_cast<unsigned char>(value), count, native(queue))); break;
      case 2: CALL_CU(cuMemsetD16Async(native(to), static_cast<unsigned short>(value), count, native(queue))); break;
      case 4: CALL_CU(cuMemsetD32Async(native(to), value, count, native(queue))); break;
      default:  // column by column
        for (std::size_t at = 0; at < pattern.size(); at += 4) {
          std::memcpy(&value, pattern.data() + at, 4);
          CALL_CU(cuMemsetD2D32Async(native(to) + at, pattern.size(), value, 1, count, native(queue)));
        }
    }
  }
  void write(Queue* queue, Range to, const void* from, std::size_t bytes, const Order& order) override {
    const Ordered ordered(queue, order);
    CALL_CU(cuMemcpyHtoDAsync(native(to), from, bytes, native(queue)));
  }
  void read(Queue* queue, void* to, Range from, std::size_t bytes, const Order& order) override {
    const Ordered ordered(queue, order);
    CALL_CU(cuMemcpyDtoHAsync(to, native(from), bytes, native(queue)));
    CALL_CU(cuStreamSynchronize(native(queue)));
  }
  void host_function(Queue* queue, void (*function)(void*), void* data, const Order& order) override {
    const Ordered ordered(queue, order);
    CALL_CU(cuLaunchHostFunc(native(queue), function, data));
  }
  void prefetch(Queue* queue, Range what, std::size_t bytes, const Order& order) override {
    const Ordered ordered(queue, order);
    if (static_cast<const CudaMemory*>(what.memory)->managed) {  // the driver refuses any other
      const CUmemLocation to{what.offset % 8 == 0 ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST, 0};
      CALL_CU(cuMemPrefetchAsync(native(what), bytes, to, 0, native(queue)));
    }
  }
  void write_value(Queue* queue, Range to, Word value, const Order& order) override {
    const Ordered ordered(queue, order);
    CALL_CU(cuStreamWriteValue32(native(queue), native(to), value, 0));
  }
  void record(Queue* queue, Event* event) override {
    CALL_CU(cuEventRecord(native(event, queue), native(queue)));
  }
  void wait(Queue* queue, Event* event) override {
    CALL_CU(cuStreamWaitEvent(native(queue), native(event), 0));
  }
  void barrier(Queue*) override {}  // every stream is in order
  void flush(Queue*) override {}    // work starts by itself

  bool done(Event* event) override {
    return answer(cuEventQuery(native(event)), "cuEventQuery");
  }
  bool done(Queue* queue) override {
    return answer(cuStreamQuery(native(queue)), "cuStreamQuery");
  }
  void synchronize(Event* event) override {
    CALL_CU(cuEventSynchronize(native(event)));
  }
  void synchronize(Queue* queue) override {
    CALL_CU(cuStreamSynchronize(native(queue)));
  }
  void synchronize() override {
    for (int number = 0; number < devices_; ++number) {
      current.need(here_[static_cast<std::size_t>(number)].context);
      CALL_CU(cuCtxSynchronize());
    }
  }
  float elapsed(Event* from, Event* to) override {
    float ms = 0;
    CALL_CU(cuEventElapsedTime(&ms, native(from), native(to)));
    return ms;
  }
  int refused(Queue* queue, Memory* memory, unsigned which) override {
    count_call();
    CUdeviceptr address = native(Range{memory, 0});
    void* values[] = {&address};
    CUfunction none = nullptr;
    float ms = 0;
    const auto launch_bump = [&](unsigned blocks, unsigned threads, void** extra) {
      return cuLaunchKernel(here_[index_of(queue)].bump, blocks, 1, 1, threads, 1, 1, 0, native(queue), values, extra);
    };
    switch (which % kRefusals) {
      case 0: return launch_bump(1, 2048, nullptr);
      case 1: return launch_bump(0, 1, nullptr);
      case 2: return cuModuleGetFunction(&none, here_[0].module, "no_such_kernel");
      case 3: return cuEventElapsedTime(&ms, untimed_[0], untimed_[1]);
      default: {
        void* both[] = {CU_LAUNCH_PARAM_END};
        return launch_bump(1, 1, both);
      }
    }
  }
#ifdef PROGRAMS_ON_HIP
  void set(Queue*, bool, unsigned, unsigned) override {
    fail(-1, "set");
  }
  int launch_seen(Queue*, unsigned, Memory*, const Order&, unsigned) override {
    fail(-1, "launch_seen");
  }
#else
  void set(Queue* queue, bool all_queues, unsigned which, unsigned value) override {
    const auto few = static_cast<int>(value % 3);
    CUfunction seen = here_[index_of(queue)].seen;
    current.need(here_[index_of(queue)].context);
    if (!all_queues) {
      CUstreamAttrValue attribute{};
      attribute.memSyncDomain = value % 2 == 0 ? CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT : CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
      CALL_CU(cuStreamSetAttribute(native(queue), CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &attribute));
      return;
    }
    switch (which % 5) {
      case 0: CALL_CU(cuFuncSetAttribute(seen, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 10 * few)); break;
      case 1:
        CALL_CU(cuFuncSetAttribute(seen, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   value % 2 == 0 ? kManyBytes : kFewBytes));
        break;
      case 2: CALL_CU(cuFuncSetCacheConfig(seen, static_cast<CUfunc_cache>(few))); break;
      case 3: CALL_CU(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(few))); break;
      default: CALL_CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, std::size_t{1024} * (1 + value % 3))); break;
    }
  }
  int launch_seen(Queue* queue, unsigned shared_bytes, Memory* x, const Order& order, unsigned version) override {
    const Ordered ordered(queue, order);
    CUdeviceptr address = native(Range{x, 0});
    void* values[] = {&address};
    const bool one_of_many = version != 0 && index_of(queue) == 0;  // their code's variables are in one context
    CUfunction function = one_of_many ? version_of_tagged(version) : here_[index_of(queue)].seen;
    count_call();
    return cuLaunchKernel(function, 1, 1, 1, one_of_many ? 32 : 16, 1, 1, shared_bytes, native(queue), values, nullptr);
  }
#endif
  void ask_something() override {
    CUdevice device = 0;
    CALL_CU(cuCtxGetDevice(&device));
  }

  void begin_graph(Queue* queue) override {
    CALL_CU(cuStreamBeginCapture(native(queue), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  }
  Graph* end_graph(Queue* queue) override {
    CUgraph graph = nullptr;
    auto* made = new CudaGraph;
    CALL_CU(cuStreamEndCapture(native(queue), &graph));
    CALL_CU(cuGraphInstantiateWithFlags(&made->executable, graph, 0));
    CALL_CU(cuGraphDestroy(graph));
    return made;
  }
  void launch(Queue* queue, Graph* graph, const Order& order) override {
    const Ordered ordered(queue, order);
    CALL_CU(cuGraphLaunch(static_cast<CudaGraph*>(graph)->executable, native(queue)));
  }
  void release(Graph* graph) override {
    CALL_CU(cuGraphExecDestroy(static_cast<CudaGraph*>(graph)->executable));
    delete static_cast<CudaGraph*>(graph);
  }

  Gate* make_gate(bool) override {
    auto* made = new CudaGate;
    void* words = nullptr;
    CALL_CU(cuMemHostAlloc(&words, Counters::kBytes, 0));
    CALL_CU(cuMemHostGetDevicePointer(&made->address, words, 0));
    made->counters.start(words);
    return made;
  }
  void close(Queue* queue, Gate* gate) override {
    auto* own = static_cast<CudaGate*>(gate);
    own->counters.close();
    CUdeviceptr closed = own->address + Counters::kClosed;
    void* values[] = {&own->address, &closed};
    CALL_CU(cuLaunchKernel(here_[index_of(queue)].await, 1, 1, 1, 1, 1, 1, 0, native(queue), values, nullptr));
  }
  void open(Queue* queue, Gate* gate) override {
    void* values[] = {&static_cast<CudaGate*>(gate)->address};
    CALL_CU(cuLaunchKernel(here_[index_of(queue)].bump, 1, 1, 1, 1, 1, 1, 0, native(queue), values, nullptr));
  }
  void open(Gate* gate) override {
    static_cast<CudaGate*>(gate)->counters.open();
  }
  [[nodiscard]] bool is_open(Gate* gate) override {
    return static_cast<CudaGate*>(gate)->counters.is_open();
  }
  void release(Gate* gate) override {
    CALL_CU(cuMemFreeHost(static_cast<CudaGate*>(gate)->counters.words()));
    delete static_cast<CudaGate*>(gate);
  }

 private:
  static bool answer(CUresult status, const char* call) {
    count_call();
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY) {
      fail(status, call);
    }
    return status == CUDA_SUCCESS;
  }
  /// Small drivers lack some functions.
  static bool supported(CUresult status, const char* call) {
    count_call();
    if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_SUPPORTED && status != CUDA_ERROR_NOT_FOUND &&
        status != CUDA_ERROR_INVALID_DEVICE) {
      fail(status, call);
    }
    return status == CUDA_SUCCESS;
  }
  void probe() {
    Memory* memory = allocate(Place::kDevice, 64);
    const CUdeviceptr address = native(Range{memory, 0});
    CUstream stream = nullptr;
    CALL_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    can_fill_rows_ = supported(cuMemsetD2D32Async(address, 8, 1, 1, 2, stream), "cuMemsetD2D32Async");
    const auto rows = copy_of({memory, 0, 8, 0}, {memory, 32, 8, 0}, {4, 2, 1});
    can_copy_rows_ = supported(cuMemcpy3DAsync(rows.get(), stream), "cuMemcpy3DAsync");
#ifndef PROGRAMS_ON_HIP
    for (int number = 0; number < devices_; ++number) {
      Here& here = here_[static_cast<std::size_t>(number)];
      if (!supported(cuModuleGetFunction(&here.seen, here.module, "seen"), "cuModuleGetFunction")) {
        here.seen = nullptr;
      }
    }
#endif
    CUdeviceptr managed = 0;
    CALL_CU(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    can_prefetch_ = supported(cuMemPrefetchAsync(managed, 64, CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, stream),
                              "cuMemPrefetchAsync");
    CALL_CU(cuStreamSynchronize(stream));
    CALL_CU(cuStreamDestroy(stream));
    CALL_CU(cuMemFree(managed));
    release(memory);
  }
#ifndef PROGRAMS_ON_HIP
  /// Loaded when it is needed first; most may have much shared memory.
  CUfunction version_of_tagged(unsigned version) {
    const unsigned number = version % kVersions;  // whoever loads it, it is the same
    const std::lock_guard lock(tagged_mutex_);
    CUkernel& kernel = tagged_[number];
    if (kernel == nullptr) {
      CUlibrary& library = tagged_libraries_[number];
      CALL_CU(cuLibraryLoadData(&library, tagged_code(number).c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
      CALL_CU(cuLibraryGetKernel(&kernel, library, "tagged"));
      if (number % 5 != 0) {
        CALL_CU(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kManyBytes, kernel, 0));
      }
    }
    return reinterpret_cast<CUfunction>(kernel);
  }
#endif

  static constexpr std::size_t kHostPage = 4096;
  /// A device.
  struct Here {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction await = nullptr, bump = nullptr, seen = nullptr;
  };
  int devices_ = 1;
  std::array<Here, kMostDevices> here_;
  bool peers_allowed_ = false;
#ifndef PROGRAMS_ON_HIP
  std::mutex tagged_mutex_;
  std::array<CUkernel, kVersions> tagged_{};
  std::array<CUlibrary, kVersions> tagged_libraries_{};
#endif
  static thread_local std::size_t used_;                       ///< what this thread makes is of that device
  std::atomic<unsigned> made_{0};                              ///< allocations
  static constexpr int kManyBytes = 98304, kFewBytes = 49152;  ///< of dynamic shared memory
  CUevent untimed_[2] = {};
#ifdef PROGRAMS_ON_HIP  // takes arguments in both forms
  static constexpr unsigned kRefusals = 4;
#else
  static constexpr unsigned kRefusals = 5;
#endif
  bool can_fill_rows_ = false, can_copy_rows_ = false, can_prefetch_ = false;
};

thread_local std::size_t CudaDevice::used_ = 0;

}  // namespace

std::unique_ptr<Device> make_device() {
  return std::make_unique<CudaDevice>();
}

}  // namespace portable
