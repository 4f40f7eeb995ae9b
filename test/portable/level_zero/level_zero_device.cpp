// Level Zero through the system's loader: immediate command lists are the queues, waits and events stand in the calls.
#include "test/portable/level_zero/level_zero_device.h"

namespace portable {
namespace {

using namespace level_zero;

class ZeDevice : public Device {
 public:
  ZeDevice() {
    CALL_ZE(zeInit(ZE_INIT_FLAG_GPU_ONLY));
    std::uint32_t count = 1;
    CALL_ZE(zeDriverGet(&count, &driver_));
    count = 1;
    CALL_ZE(zeDeviceGet(driver_, &count, &device_));
    newer_.find(driver_);
    const auto context = describe<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
    CALL_ZE(zeContextCreate(driver_, &context, &context_));
    static const std::uint32_t image[] = {0x07230203, 0x00010000, 0, 1, 0};  // SPIR-V without any instruction
    auto module = describe<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
    module.format = ZE_MODULE_FORMAT_IL_SPIRV;
    module.inputSize = sizeof(image);
    module.pInputModule = reinterpret_cast<const std::uint8_t*>(image);
    CALL_ZE(zeModuleCreate(context_, device_, &module, &module_, nullptr));
    events_.open(context_, device_);
  }
  ~ZeDevice() override {
    events_.close();
    CALL_ZE(zeModuleDestroy(module_));
    CALL_ZE(zeContextDestroy(context_));
  }
  ZeDevice(const ZeDevice&) = delete;
  ZeDevice& operator=(const ZeDevice&) = delete;

  [[nodiscard]] const char* api() const noexcept override { return "level_zero"; }
  [[nodiscard]] const char* cannot(Feature feature) const noexcept override {
    switch (feature) {
      case Feature::kBlockingQueue: return "there is no default queue";
      case Feature::kHostFunction:
        return newer_.host_function != nullptr ? nullptr : "the driver has no zeCommandListAppendHostFunction";
      case Feature::kWriteValue: return "a list writes no values but those of fills and copies";
      case Feature::kFreeInOrder: return "memory is allocated and freed at once";
      case Feature::kOwnGraph:
      case Feature::kGraphFill:
      case Feature::kGraphInFlight:
        return newer_.append_graph != nullptr ? nullptr : "the driver has no ZE_extension_record_replay_graph";
      case Feature::kSetter: return "nothing that is set changes what a kernel does";
      case Feature::kOddPattern: return "the size of a pattern is a power of two";
      case Feature::kTimedEvent: return "taking times is a property of an event pool";
      case Feature::kQueryQueue: return "only events and fences can be asked";
      case Feature::kWriteIsCopied: return "a copy reads host memory when it runs";
      case Feature::kReleaseWaits: return "zeMemFree frees at once, whatever uses it";
      case Feature::kReleaseQueue: return "a command list may not be destroyed with work in flight";
      default: return nullptr;
    }
  }
  void enter_thread() override {}

  Queue* make_queue(QueueKind kind) override {
    auto* made = new ZeQueue;
    made->kind = kind;
    auto description = describe<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    description.flags = kind == QueueKind::kOutOfOrder ? 0 : kInOrderFlag;
    description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    CALL_ZE(zeCommandListCreateImmediate(context_, device_, &description, &made->list));
    const std::lock_guard lock(mutex_);
    made->with_parameters = newer_.launch != nullptr && made_++ % 2 == 1;
    alive_.push_back(made);
    return made;
  }
  void release(Queue* queue) override {
    synchronize(queue);
    {
      const std::lock_guard lock(mutex_);
      std::erase(alive_, queue);
    }
    CALL_ZE(zeCommandListDestroy(native(queue)));
    delete static_cast<ZeQueue*>(queue);
  }
  Memory* allocate(Place place, std::size_t bytes) override {
    auto* made = new ZeMemory;
    made->place = place;
    made->bytes = bytes;
    void* address = nullptr;
    if (place == Place::kPinned) {
      const auto description = describe<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
      CALL_ZE(zeMemAllocHost(context_, &description, bytes, 64, &address));
    } else {
      const auto description = describe<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
      CALL_ZE(zeMemAllocDevice(context_, &description, bytes, 64, device_, &address));
    }
    made->address = static_cast<std::byte*>(address);
    return made;
  }
  void release(Memory* memory) override {
    CALL_ZE(zeMemFree(context_, static_cast<ZeMemory*>(memory)->address));
    delete static_cast<ZeMemory*>(memory);
  }
  Memory* allocate_in_order(Queue*, std::size_t) override { fail(-1, "allocate_in_order"); }
  void release_in_order(Queue*, Memory*) override { fail(-1, "release_in_order"); }
  std::byte* host(Memory* memory) override { return static_cast<ZeMemory*>(memory)->address; }
  Event* make_event(bool) override { return new ZeEvent; }
  void release(Event* event) override {
    events_.replace(static_cast<ZeEvent*>(event)->event);
    delete static_cast<ZeEvent*>(event);
  }
  Kernel* find_kernel(const char* name) override {
    auto* made = new ZeKernel;
    made->kernel = kernel_of(name);
    return made;
  }
  void release(Kernel* kernel) override {
    CALL_ZE(zeKernelDestroy(static_cast<ZeKernel*>(kernel)->kernel));
    delete static_cast<ZeKernel*>(kernel);
  }

  void launch(Queue* queue, Kernel* kernel, unsigned threads, std::span<const Argument> arguments,
              const Order& order) override {
    ze_kernel_handle_t used = static_cast<ZeKernel*>(kernel)->kernel;
    std::uint32_t index = 0;
    for (const Argument& each : arguments) {
      if (each.memory == nullptr) {
        CALL_ZE(zeKernelSetArgumentValue(used, index++, each.bytes, each.value));
      } else {
        std::byte* address = native(Range{each.memory, each.offset});
        CALL_ZE(zeKernelSetArgumentValue(used, index++, sizeof(address), &address));
      }
    }
    const unsigned group = threads % 4 == 0 ? 4 : threads;
    CALL_ZE(zeKernelSetGroupSize(used, group, 1, 1));
    const ze_group_count_t groups{threads / group, 1, 1};
    Ordered o(events_, queue, order);
    if (static_cast<ZeQueue*>(queue)->with_parameters) {
      CALL_ZE(newer_.launch(native(queue), used, &groups, nullptr, o.event(), o.count(), o.list()));
    } else {
      CALL_ZE(zeCommandListAppendLaunchKernel(native(queue), used, &groups, o.event(), o.count(), o.list()));
    }
  }
  void copy(Queue* queue, Range to, Range from, std::size_t bytes, const Order& order) override {
    Ordered o(events_, queue, order);
    if (static_cast<ZeQueue*>(queue)->with_parameters) {
      CALL_ZE(newer_.copy(native(queue), native(to), native(from), bytes, nullptr, o.event(), o.count(), o.list()));
    } else {
      CALL_ZE(zeCommandListAppendMemoryCopy(native(queue), native(to), native(from), bytes, o.event(), o.count(),
                                            o.list()));
    }
  }
  void copy_rectangle(Queue* queue, const Rectangle& to, const Rectangle& from, const Extent& extent,
                      const Order& order) override {
    Ordered o(events_, queue, order);
    const auto size = [](std::size_t number) { return static_cast<std::uint32_t>(number); };
    const ze_copy_region_t region{0, 0, 0, size(extent.width), size(extent.height), size(extent.depth)};
    CALL_ZE(zeCommandListAppendMemoryCopyRegion(native(queue), native(Range{to.memory, to.offset}), &region,
                                                size(to.pitch), size(to.slice_pitch),
                                                native(Range{from.memory, from.offset}), &region, size(from.pitch),
                                                size(from.slice_pitch), o.event(), o.count(), o.list()));
  }
  void fill(Queue* queue, Range to, std::span<const std::byte> pattern, std::size_t bytes,
            const Order& order) override {
    Ordered o(events_, queue, order);
    if (static_cast<ZeQueue*>(queue)->with_parameters) {
      CALL_ZE(newer_.fill(native(queue), native(to), pattern.data(), pattern.size(), bytes, nullptr, o.event(),
                          o.count(), o.list()));
    } else {
      CALL_ZE(zeCommandListAppendMemoryFill(native(queue), native(to), pattern.data(), pattern.size(), bytes, o.event(),
                                            o.count(), o.list()));
    }
  }
  void write(Queue* queue, Range to, const void* from, std::size_t bytes, const Order& order) override {
    move(queue, native(to), from, bytes, order);
  }
  void read(Queue* queue, void* to, Range from, std::size_t bytes, const Order& order) override {
    move(queue, to, native(from), bytes, order);
  }
  void host_function(Queue* queue, void (*function)(void*), void* data, const Order& order) override {
    Ordered o(events_, queue, order);
    CALL_ZE(newer_.host_function(native(queue), function, data, nullptr, o.event(), o.count(), o.list()));
  }
  void prefetch(Queue* queue, Range what, std::size_t bytes, const Order& order) override {
    for (Event* each : order.after) {
      wait(queue, each);
    }
    {
      const Ordered o(events_, queue, {});
      if (what.offset % 8 == 0) {
        CALL_ZE(zeCommandListAppendMemoryPrefetch(native(queue), native(what), bytes));
      } else {
        CALL_ZE(zeCommandListAppendMemAdvise(native(queue), device_, native(what), bytes,
                                             ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION));
      }
    }
    if (order.event != nullptr) {
      record(queue, order.event);
    }
  }
  void record(Queue* queue, Event* event) override {
    Ordered o(events_, queue, Order{{}, event});
    if (queue->kind == QueueKind::kOutOfOrder) {
      CALL_ZE(zeCommandListAppendBarrier(native(queue), o.event(), 0, nullptr));
    } else {
      CALL_ZE(zeCommandListAppendSignalEvent(native(queue), o.event()));
    }
  }
  void wait(Queue* queue, Event* event) override {
    Event* const events[] = {event};
    Ordered o(events_, queue, Order{events, nullptr});
    if (o.count() != 0) {
      CALL_ZE(zeCommandListAppendBarrier(native(queue), nullptr, o.count(), o.list()));
    }
  }
  void barrier(Queue* queue) override {
    const Ordered o(events_, queue, {});
    CALL_ZE(zeCommandListAppendBarrier(native(queue), nullptr, 0, nullptr));
  }
  void flush(Queue*) override {}  // work starts by itself

  bool done(Event* event) override {
    ze_event_handle_t used = static_cast<ZeEvent*>(event)->event;
    if (used == nullptr) {
      return true;
    }
    count_call();
    const ze_result_t status = zeEventQueryStatus(used);
    if (status != ZE_RESULT_SUCCESS && status != ZE_RESULT_NOT_READY) {
      fail(status, "zeEventQueryStatus");
    }
    return status == ZE_RESULT_SUCCESS;
  }
  bool done(Queue*) override { fail(-1, "done(queue)"); }
  void synchronize(Event* event) override {
    if (ze_event_handle_t used = static_cast<ZeEvent*>(event)->event; used != nullptr) {
      CALL_ZE(zeEventHostSynchronize(used, kForEver));
    }
  }
  void synchronize(Queue* queue) override { finish(static_cast<ZeQueue*>(queue)); }
  void synchronize() override {
    const std::vector<ze_event_handle_t> replaced = events_.take_replaced();
    const std::lock_guard lock(mutex_);
    for (Queue* each : alive_) {
      finish(static_cast<ZeQueue*>(each));
    }
    for (ze_event_handle_t each : replaced) {
      events_.give_back(each);
    }
  }
  float elapsed(Event*, Event*) override { fail(-1, "elapsed"); }
  int refused(Queue* queue, Memory* memory, unsigned which) override {
    Ordered o(events_, queue, {});
    count_call();
    void* address = native(Range{memory, 0});
    const Word pattern = 1;
    switch (which % 3) {
      case 0: return zeCommandListAppendMemoryCopy(native(queue), nullptr, address, 64, nullptr, 0, nullptr);
      case 1: return zeCommandListAppendMemoryFill(native(queue), address, &pattern, 3, 12, nullptr, 0, nullptr);
      default: return zeCommandListAppendMemoryFill(native(queue), address, nullptr, 4, 64, nullptr, 0, nullptr);
    }
  }
  void set(Queue*, bool, unsigned, unsigned) override { fail(-1, "set"); }
  int launch_seen(Queue*, unsigned, Memory*, const Order&, unsigned) override { fail(-1, "launch_seen"); }
  void ask_something() override {
    auto properties = describe<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
    CALL_ZE(zeDeviceGetProperties(device_, &properties));
  }

  void begin_graph(Queue* queue) override {
    const Ordered o(events_, queue, {});
    CALL_ZE(newer_.begin(native(queue), nullptr));
  }
  Graph* end_graph(Queue* queue) override {
    auto* made = new ZeGraph;
    const Ordered o(events_, queue, {});
    CALL_ZE(newer_.end(native(queue), nullptr, &made->graph));
    CALL_ZE(newer_.instantiate(made->graph, nullptr, &made->executable));
    return made;
  }
  void launch(Queue* queue, Graph* graph, const Order& order) override {
    auto* own = static_cast<ZeGraph*>(graph);
    {
      const std::lock_guard lock(own->mutex);
      own->queues.push_back(static_cast<ZeQueue*>(queue));
    }
    Ordered o(events_, queue, order);
    CALL_ZE(newer_.append_graph(native(queue), own->executable, nullptr, o.event(), o.count(), o.list()));
  }
  void release(Graph* graph) override {
    auto* own = static_cast<ZeGraph*>(graph);
    std::sort(own->queues.begin(), own->queues.end());
    own->queues.erase(std::unique(own->queues.begin(), own->queues.end()), own->queues.end());
    for (ZeQueue* each : own->queues) {  // it may not run
      mutex_.lock();
      const bool alive = std::ranges::find(alive_, each) != alive_.end();
      mutex_.unlock();
      if (alive) {
        finish(each);
      }
    }
    CALL_ZE(newer_.destroy_executable(own->executable));
    CALL_ZE(newer_.destroy(own->graph));
    delete own;
  }

  Gate* make_gate(bool by_queue) override {
    auto* made = new ZeGate;
    if (by_queue) {
      const auto host = describe<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
      const auto device = describe<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
      void* words = nullptr;
      CALL_ZE(zeMemAllocShared(context_, &device, &host, Counters::kBytes, 64, device_, &words));
      made->counters.start(words);
      auto* closed = static_cast<std::byte*>(words) + Counters::kClosed;
      made->await = kernel_of("await");
      made->bump = kernel_of("bump");
      CALL_ZE(zeKernelSetArgumentValue(made->await, 0, sizeof(words), &words));
      CALL_ZE(zeKernelSetArgumentValue(made->await, 1, sizeof(closed), &closed));
      CALL_ZE(zeKernelSetArgumentValue(made->bump, 0, sizeof(words), &words));
      CALL_ZE(zeKernelSetGroupSize(made->await, 1, 1, 1));
      CALL_ZE(zeKernelSetGroupSize(made->bump, 1, 1, 1));
    }
    return made;
  }
  void close(Queue* queue, Gate* gate) override {
    auto* own = static_cast<ZeGate*>(gate);
    Ordered o(events_, queue, {});
    if (own->await != nullptr) {
      own->counters.close();
      const ze_group_count_t one{1, 1, 1};
      CALL_ZE(zeCommandListAppendLaunchKernel(native(queue), own->await, &one, nullptr, 0, nullptr));
      return;
    }
    ze_event_handle_t event = events_.take();
    own->event.store(event);
    CALL_ZE(zeCommandListAppendWaitOnEvents(native(queue), 1, &event));
  }
  void open(Queue* queue, Gate* gate) override {
    Ordered o(events_, queue, {});
    const ze_group_count_t one{1, 1, 1};
    CALL_ZE(
        zeCommandListAppendLaunchKernel(native(queue), static_cast<ZeGate*>(gate)->bump, &one, nullptr, 0, nullptr));
  }
  void open(Gate* gate) override {
    auto* own = static_cast<ZeGate*>(gate);
    if (own->await != nullptr) {
      own->counters.open();
    } else if (ze_event_handle_t event = own->event.exchange(nullptr); event != nullptr) {
      CALL_ZE(zeEventHostSignal(event));
      events_.replace(event);
    }
  }
  [[nodiscard]] bool is_open(Gate* gate) override {
    auto* own = static_cast<ZeGate*>(gate);
    return own->await != nullptr ? own->counters.is_open() : own->event.load() == nullptr;
  }
  void release(Gate* gate) override {
    auto* own = static_cast<ZeGate*>(gate);
    if (own->await != nullptr) {
      CALL_ZE(zeKernelDestroy(own->await));
      CALL_ZE(zeKernelDestroy(own->bump));
      CALL_ZE(zeMemFree(context_, own->counters.words()));
    }
    delete own;
  }

 private:
  ze_kernel_handle_t kernel_of(const char* name) {
    auto description = describe<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
    description.pKernelName = name;
    ze_kernel_handle_t made = nullptr;
    CALL_ZE(zeKernelCreate(module_, &description, &made));
    return made;
  }
  /// Everything in the list so far.
  void finish(ZeQueue* queue) {
    ze_event_handle_t event = events_.take();
    {
      const std::lock_guard appending(queue->appending);
      CALL_ZE(zeCommandListAppendBarrier(queue->list, event, 0, nullptr));
    }
    CALL_ZE(zeEventHostSynchronize(event, kForEver));
    events_.give_back(event);
    // Of another thread's list nobody knows whether more has come meanwhile.
    if (queue->user.load() == std::this_thread::get_id() && queue->busy.exchange(false) &&
        events_.idle.busy_queues.fetch_sub(1) == 1) {
      events_.idle.times.fetch_add(1);
      for (ze_event_handle_t each : events_.take_replaced()) {
        events_.give_back(each);
      }
    }
  }
  /// With pageable memory, which has to stay as it is until the end.
  void move(Queue* queue, void* to, const void* from, std::size_t bytes, const Order& order) {
    Event* target = order.event;
    ze_event_handle_t done = events_.take();
    {
      Ordered o(events_, queue, Order{order.after, nullptr});
      CALL_ZE(zeCommandListAppendMemoryCopy(native(queue), to, from, bytes, done, o.count(), o.list()));
    }
    CALL_ZE(zeEventHostSynchronize(done, kForEver));
    events_.give_back(done);
    if (target != nullptr) {
      record(queue, target);
    }
  }

  ze_driver_handle_t driver_ = nullptr;
  ze_device_handle_t device_ = nullptr;
  ze_context_handle_t context_ = nullptr;
  ze_module_handle_t module_ = nullptr;
  Newer newer_;
  Events events_;
  std::mutex mutex_;
  std::vector<Queue*> alive_;
  unsigned made_ = 0;  ///< queues
};

}  // namespace

std::unique_ptr<Device> make_device() {
  return std::make_unique<ZeDevice>();
}

}  // namespace portable
