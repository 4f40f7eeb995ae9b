// OpenCL through the system's loader: the first device of the first platform.
#include "test/portable/opencl/opencl_device.h"

#include <array>
#include <mutex>

namespace portable {
namespace opencl {
namespace {

class ClDevice : public Device {
 public:
  ClDevice() {
    CALL_CL(clGetPlatformIDs(1, &platform_, nullptr));
    CALL_CL(clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr));
    MAKE_CL(context_, clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status));
    const char* text = kSource;
    MAKE_CL(program_, clCreateProgramWithSource(context_, 1, &text, nullptr, &status));
    CALL_CL(clBuildProgram(program_, 1, &device_, "", nullptr, nullptr));
    CALL_CL(clGetDeviceInfo(device_, CL_DEVICE_SVM_CAPABILITIES, sizeof(shared_), &shared_, nullptr));
    CALL_CL(clGetDeviceInfo(device_, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(execution_), &execution_, nullptr));
    CALL_CL(clGetDeviceInfo(device_, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, sizeof(queues_), &queues_, nullptr));
    buffers_ = std::make_unique<CommandBuffers>(platform_, device_);
    MAKE_CL(own_, clCreateBuffer(context_, CL_MEM_READ_WRITE, kOwnBytes, nullptr, &status));
  }
  ~ClDevice() override {
    CALL_CL(clReleaseMemObject(own_));
    CALL_CL(clReleaseProgram(program_));
    CALL_CL(clReleaseContext(context_));
  }
  ClDevice(const ClDevice&) = delete;
  ClDevice& operator=(const ClDevice&) = delete;

  [[nodiscard]] const char* api() const noexcept override { return "opencl"; }
  [[nodiscard]] const char* cannot(Feature feature) const noexcept override {
    switch (feature) {
      case Feature::kBlockingQueue: return "there is no default queue";
      case Feature::kOutOfOrder:
        return (queues_ & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 ? nullptr
                                                                       : "the device has in-order queues only";
      case Feature::kHostFunction:
        return (execution_ & CL_EXEC_NATIVE_KERNEL) != 0 ? nullptr : "the device runs no native kernels";
      case Feature::kWriteValue: return "a queue writes no values but those of fills and copies";
      case Feature::kFreeInOrder: return shared_ != 0 ? nullptr : "the device has no shared virtual memory";
      case Feature::kOwnGraph:
      case Feature::kGraphFill: return buffers_->there() ? nullptr : "the device has no cl_khr_command_buffer";
      case Feature::kGraphInFlight: return "a command buffer that runs may not be enqueued";
      case Feature::kSetter: return "nothing that is set changes what a kernel does";
      case Feature::kOddPattern: return "the size of a pattern is a power of two";
      case Feature::kTimedEvent: return "taking times is a property of a queue, not of an event";
      case Feature::kQueryQueue: return "only events can be asked";
      case Feature::kPointerOffset: return "a buffer is an argument as a whole";
      case Feature::kGateByQueue: return "kernels may not wait for one another";
      case Feature::kWriteIsCopied: return "clEnqueueWriteBuffer reads host memory when it runs, or waits";
      default: return nullptr;
    }
  }
  void enter_thread() override {}

  Queue* make_queue(QueueKind kind) override {
    auto* made = new ClQueue;
    made->kind = kind;
    const cl_queue_properties unordered[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    MAKE_CL(made->queue, clCreateCommandQueueWithProperties(
                             context_, device_, kind == QueueKind::kOutOfOrder ? unordered : nullptr, &status));
    const std::lock_guard lock(mutex_);
    alive_.push_back(made->queue);
    return made;
  }
  void release(Queue* queue) override {
    // What is in it is waited for by synchronize().
    cl_event last = nullptr;
    CALL_CL(clEnqueueMarkerWithWaitList(native(queue), 0, nullptr, &last));
    {
      const std::lock_guard lock(mutex_);
      std::erase(alive_, native(queue));
      left_.push_back(last);
    }
    CALL_CL(clReleaseCommandQueue(native(queue)));
    delete static_cast<ClQueue*>(queue);
  }
  Memory* allocate(Place place, std::size_t bytes) override {
    if (place == Place::kPinned) {
      return allocate_shared(bytes);
    }
    auto* made = new ClMemory;
    made->place = place;
    made->bytes = bytes;
    MAKE_CL(made->buffer, clCreateBuffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &status));
    return made;
  }
  void release(Memory* memory) override {
    ClMemory* own = native(memory);
    if (own->buffer != nullptr) {
      CALL_CL(clReleaseMemObject(own->buffer));
    } else {
      count_call();
      clSVMFree(context_, own->shared);
    }
    delete own;
  }
  Memory* allocate_in_order(Queue*, std::size_t bytes) override { return allocate_shared(bytes); }
  void release_in_order(Queue* queue, Memory* memory) override {
    void* pointers[] = {native(memory)->shared};
    CALL_CL(clEnqueueSVMFree(native(queue), 1, pointers, nullptr, nullptr, 0, nullptr, nullptr));
    delete native(memory);
  }
  std::byte* host(Memory* memory) override { return native(memory)->shared; }
  Event* make_event(bool) override { return new ClEvent; }
  void release(Event* event) override {
    auto* own = static_cast<ClEvent*>(event);
    if (own->event != nullptr) {
      CALL_CL(clReleaseEvent(own->event));
    }
    delete own;
  }
  Kernel* find_kernel(const char* name) override {
    auto* made = new ClKernel;
    MAKE_CL(made->kernel, clCreateKernel(program_, name, &status));
    return made;
  }
  void release(Kernel* kernel) override {
    CALL_CL(clReleaseKernel(static_cast<ClKernel*>(kernel)->kernel));
    delete static_cast<ClKernel*>(kernel);
  }

  void launch(Queue* queue, Kernel* kernel, unsigned threads, std::span<const Argument> arguments,
              const Order& order) override {
    cl_kernel used = static_cast<ClKernel*>(kernel)->kernel;
    cl_uint index = 0;
    for (const Argument& each : arguments) {
      if (each.memory == nullptr) {
        CALL_CL(clSetKernelArg(used, index, each.bytes, each.value));
      } else if (native(each.memory)->buffer != nullptr) {
        CALL_CL(clSetKernelArg(used, index, sizeof(cl_mem), &native(each.memory)->buffer));
      } else {
        CALL_CL(clSetKernelArgSVMPointer(used, index, native(each.memory)->shared + each.offset));
      }
      ++index;
    }
    const std::size_t size = threads;
    if (buffers_->records(queue)) {
      buffers_->launch(used, size);
      return;
    }
    Ordered ordered(order);
    CALL_CL(clEnqueueNDRangeKernel(native(queue), used, 1, nullptr, &size, nullptr, ordered.count(), ordered.list(),
                                   ordered.event()));
  }
  void copy(Queue* queue, Range to, Range from, std::size_t bytes, const Order& order) override {
    const ClMemory& target = *native(to.memory);
    const ClMemory& source = *native(from.memory);
    if (buffers_->records(queue)) {
      buffers_->copy(target.buffer, to.offset, source.buffer, from.offset, bytes);
      return;
    }
    Ordered o(order);
    cl_command_queue used = native(queue);
    if (target.buffer != nullptr && source.buffer != nullptr) {
      CALL_CL(clEnqueueCopyBuffer(used, source.buffer, target.buffer, from.offset, to.offset, bytes, o.count(),
                                  o.list(), o.event()));
    } else if (target.buffer != nullptr) {
      CALL_CL(clEnqueueWriteBuffer(used, target.buffer, CL_FALSE, to.offset, bytes, source.shared + from.offset,
                                   o.count(), o.list(), o.event()));
    } else if (source.buffer != nullptr) {
      CALL_CL(clEnqueueReadBuffer(used, source.buffer, CL_FALSE, from.offset, bytes, target.shared + to.offset,
                                  o.count(), o.list(), o.event()));
    } else {
      CALL_CL(clEnqueueSVMMemcpy(used, CL_FALSE, target.shared + to.offset, source.shared + from.offset, bytes,
                                 o.count(), o.list(), o.event()));
    }
  }
  void copy_rectangle(Queue* queue, const Rectangle& to, const Rectangle& from, const Extent& extent,
                      const Order& order) override {
    Ordered o(order);
    const auto origin = [](const Rectangle& side) {
      return std::array<std::size_t, 3>{side.offset % side.pitch, side.offset / side.pitch, 0};
    };
    const auto to_origin = origin(to);
    const auto from_origin = origin(from);
    const std::size_t region[] = {extent.width, extent.height, extent.depth};
    CALL_CL(clEnqueueCopyBufferRect(native(queue), native(from.memory)->buffer, native(to.memory)->buffer,
                                    from_origin.data(), to_origin.data(), region, from.pitch, from.slice_pitch,
                                    to.pitch, to.slice_pitch, o.count(), o.list(), o.event()));
  }
  void fill(Queue* queue, Range to, std::span<const std::byte> pattern, std::size_t bytes,
            const Order& order) override {
    const ClMemory& target = *native(to.memory);
    if (buffers_->records(queue)) {
      buffers_->fill(target.buffer, to.offset, pattern, bytes);
      return;
    }
    Ordered o(order);
    if (target.buffer != nullptr) {
      CALL_CL(clEnqueueFillBuffer(native(queue), target.buffer, pattern.data(), pattern.size(), to.offset, bytes,
                                  o.count(), o.list(), o.event()));
    } else {
      CALL_CL(clEnqueueSVMMemFill(native(queue), target.shared + to.offset, pattern.data(), pattern.size(), bytes,
                                  o.count(), o.list(), o.event()));
    }
  }
  void write(Queue* queue, Range to, const void* from, std::size_t bytes, const Order& order) override {
    Ordered o(order);
    if (cl_mem buffer = native(to.memory)->buffer; buffer != nullptr) {
      CALL_CL(
          clEnqueueWriteBuffer(native(queue), buffer, CL_TRUE, to.offset, bytes, from, o.count(), o.list(), o.event()));
    } else {
      CALL_CL(clEnqueueSVMMemcpy(native(queue), CL_TRUE, native(to.memory)->shared + to.offset, from, bytes, o.count(),
                                 o.list(), o.event()));
    }
  }
  void read(Queue* queue, void* to, Range from, std::size_t bytes, const Order& order) override {
    Ordered o(order);
    if (cl_mem buffer = native(from.memory)->buffer; buffer != nullptr) {
      CALL_CL(
          clEnqueueReadBuffer(native(queue), buffer, CL_TRUE, from.offset, bytes, to, o.count(), o.list(), o.event()));
    } else {
      CALL_CL(clEnqueueSVMMemcpy(native(queue), CL_TRUE, to, native(from.memory)->shared + from.offset, bytes,
                                 o.count(), o.list(), o.event()));
    }
  }
  void host_function(Queue* queue, void (*function)(void*), void* data, const Order& order) override {
    struct Call {
      void (*function)(void*);
      void* data;
    };
    Call call{function, data};
    Ordered o(order);
    CALL_CL(clEnqueueNativeKernel(
        native(queue),
        [](void* raw) {
          const Call* made = static_cast<Call*>(raw);
          made->function(made->data);
        },
        &call, sizeof(call), 0, nullptr, nullptr, o.count(), o.list(), o.event()));
  }
  void prefetch(Queue* queue, Range what, std::size_t bytes, const Order& order) override {
    Ordered o(order);
    const ClMemory& memory = *native(what.memory);
    const cl_mem_migration_flags to = what.offset % 8 == 0 ? 0 : CL_MIGRATE_MEM_OBJECT_HOST;
    if (memory.shared == nullptr) {
      CALL_CL(clEnqueueMigrateMemObjects(native(queue), 1, &memory.buffer, to, o.count(), o.list(), o.event()));
      return;
    }
    const void* start = memory.shared + what.offset;
    CALL_CL(clEnqueueSVMMigrateMem(native(queue), 1, &start, &bytes, to, o.count(), o.list(), o.event()));
  }
  void record(Queue* queue, Event* event) override {
    Ordered o(Order{{}, event});
    CALL_CL(clEnqueueMarkerWithWaitList(native(queue), 0, nullptr, o.event()));
  }
  void wait(Queue* queue, Event* event) override {
    Event* const events[] = {event};
    Ordered o(Order{events, nullptr});
    if (o.count() != 0) {
      CALL_CL(clEnqueueBarrierWithWaitList(native(queue), o.count(), o.list(), nullptr));
    }
  }
  void barrier(Queue* queue) override { CALL_CL(clEnqueueBarrierWithWaitList(native(queue), 0, nullptr, nullptr)); }
  void flush(Queue* queue) override { CALL_CL(clFlush(native(queue))); }

  bool done(Event* event) override {
    cl_int state = CL_COMPLETE;
    if (cl_event native_event = static_cast<ClEvent*>(event)->event; native_event != nullptr) {
      CALL_CL(clGetEventInfo(native_event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr));
    }
    if (state < 0) {
      fail(state, "a command");
    }
    return state == CL_COMPLETE;
  }
  bool done(Queue*) override { fail(-1, "done(queue)"); }
  void synchronize(Event* event) override {
    if (cl_event native_event = static_cast<ClEvent*>(event)->event; native_event != nullptr) {
      CALL_CL(clWaitForEvents(1, &native_event));
    }
  }
  void synchronize(Queue* queue) override { CALL_CL(clFinish(native(queue))); }
  void synchronize() override {
    std::vector<cl_command_queue> all;
    std::vector<cl_event> left;
    {
      const std::lock_guard lock(mutex_);
      all = alive_;
      left.swap(left_);
      for (cl_command_queue each : all) {
        CALL_CL(clRetainCommandQueue(each));
      }
    }
    for (cl_command_queue each : all) {
      CALL_CL(clFinish(each));
      CALL_CL(clReleaseCommandQueue(each));
    }
    for (cl_event each : left) {
      CALL_CL(clWaitForEvents(1, &each));
      CALL_CL(clReleaseEvent(each));
    }
  }
  float elapsed(Event*, Event*) override { fail(-1, "elapsed"); }
  int refused(Queue* queue, Memory*, unsigned which) override {
    count_call();
    cl_command_queue used = native(queue);
    const Word pattern = 1;
    switch (which % 4) {
      case 0: return clEnqueueFillBuffer(used, own_, &pattern, 3, 0, 12, 0, nullptr, nullptr);
      case 1: return clEnqueueFillBuffer(used, own_, &pattern, 4, kOwnBytes, 64, 0, nullptr, nullptr);
      case 2: return clEnqueueReadBuffer(used, own_, CL_FALSE, 0, 64, nullptr, 0, nullptr, nullptr);
      default: return clEnqueueCopyBuffer(used, own_, own_, 0, kOwnBytes, 64, 0, nullptr, nullptr);
    }
  }
  void set(Queue*, bool, unsigned, unsigned) override { fail(-1, "set"); }
  int launch_seen(Queue*, unsigned, Memory*, const Order&, unsigned) override { fail(-1, "launch_seen"); }
  void ask_something() override {
    cl_uint units = 0;
    CALL_CL(clGetDeviceInfo(device_, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, nullptr));
  }

  void begin_graph(Queue* queue) override { buffers_->begin(queue); }
  Graph* end_graph(Queue*) override { return buffers_->end(); }
  void launch(Queue* queue, Graph* graph, const Order& order) override {
    Ordered ordered(order);
    buffers_->enqueue(queue, graph, ordered);
  }
  void release(Graph* graph) override { buffers_->release(graph); }

  Gate* make_gate(bool) override { return new ClGate; }
  void close(Queue* queue, Gate* gate) override {
    cl_event event = nullptr;
    MAKE_CL(event, clCreateUserEvent(context_, &status));
    static_cast<ClGate*>(gate)->event.store(event);
    CALL_CL(clEnqueueBarrierWithWaitList(native(queue), 1, &event, nullptr));
  }
  void open(Queue*, Gate*) override { fail(-1, "open(queue, gate)"); }
  void open(Gate* gate) override {
    if (cl_event event = static_cast<ClGate*>(gate)->event.exchange(nullptr); event != nullptr) {
      CALL_CL(clSetUserEventStatus(event, CL_COMPLETE));
      CALL_CL(clReleaseEvent(event));
    }
  }
  [[nodiscard]] bool is_open(Gate* gate) override { return static_cast<ClGate*>(gate)->event.load() == nullptr; }
  void release(Gate* gate) override { delete static_cast<ClGate*>(gate); }

 private:
  Memory* allocate_shared(std::size_t bytes) {
    auto* made = new ClMemory;
    made->place = Place::kPinned;
    made->bytes = bytes;
    const bool fine = (shared_ & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
    count_call();
    made->shared = static_cast<std::byte*>(clSVMAlloc(
        context_, CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : cl_svm_mem_flags{0}), bytes, 0));
    if (made->shared == nullptr) {
      fail(CL_OUT_OF_HOST_MEMORY, "clSVMAlloc");
    }
    return made;
  }

  cl_platform_id platform_ = nullptr;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_program program_ = nullptr;
  static constexpr std::size_t kOwnBytes = 256;
  cl_mem own_ = nullptr;  ///< for calls that are refused
  cl_device_svm_capabilities shared_ = 0;
  cl_device_exec_capabilities execution_ = 0;
  cl_command_queue_properties queues_ = 0;
  std::unique_ptr<CommandBuffers> buffers_;
  std::mutex mutex_;
  std::vector<cl_command_queue> alive_;  ///< of this device's queues
  std::vector<cl_event> left_;           ///< the last of queues that are gone
};

}  // namespace
}  // namespace opencl

std::unique_ptr<Device> make_device() {
  return std::make_unique<opencl::ClDevice>();
}

}  // namespace portable
