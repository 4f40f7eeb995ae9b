// What the parts of the OpenCL implementation share.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <atomic>

#include "test/portable/calls.h"
#include "test/portable/device.h"

#define CALL_CL(call) PORTABLE_CALL(call)
/// For functions that return an object, and the error through a pointer to `status`.
#define MAKE_CL(result, call)          \
  do {                                 \
    ::portable::count_call();          \
    cl_int status = CL_SUCCESS;        \
    (result) = (call);                 \
    if (status != CL_SUCCESS) {        \
      ::portable::fail(status, #call); \
    }                                  \
  } while (false)

namespace portable::opencl {

struct ClQueue : Queue {
  cl_command_queue queue = nullptr;
};
/// A buffer, or shared virtual memory.
struct ClMemory : Memory {
  cl_mem buffer = nullptr;
  std::byte* shared = nullptr;
};
struct ClEvent : Event {
  cl_event event = nullptr;  ///< of the last record; null before the first
};
struct ClKernel : Kernel {
  cl_kernel kernel = nullptr;
};
struct ClGraph : Graph {
  cl_command_buffer_khr buffer = nullptr;
};
struct ClGate : Gate {
  std::atomic<cl_event> event{nullptr};  ///< the user's, while it is closed
};

inline cl_command_queue native(const Queue* queue) {
  return static_cast<const ClQueue*>(queue)->queue;
}
inline ClMemory* native(Memory* memory) {
  return static_cast<ClMemory*>(memory);
}

/// The wait list and the event of a submission.
class Ordered {
 public:
  explicit Ordered(const Order& order) : event_(static_cast<ClEvent*>(order.event)) {
    for (Event* each : order.after) {
      if (cl_event event = static_cast<ClEvent*>(each)->event; event != nullptr) {
        waits_.push_back(event);
      }
    }
  }
  ~Ordered() {
    if (event_ != nullptr) {
      if (event_->event != nullptr) {
        CALL_CL(clReleaseEvent(event_->event));
      }
      event_->event = made_;
    }
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;
  [[nodiscard]] cl_uint count() const { return static_cast<cl_uint>(waits_.size()); }
  [[nodiscard]] const cl_event* list() const { return waits_.empty() ? nullptr : waits_.data(); }
  [[nodiscard]] cl_event* event() { return event_ == nullptr ? nullptr : &made_; }

 private:
  std::vector<cl_event> waits_;
  ClEvent* event_;
  cl_event made_ = nullptr;
};

/// Command buffers of the program's own.
class CommandBuffers {
 public:
  explicit CommandBuffers(cl_platform_id platform, cl_device_id device);
  [[nodiscard]] bool there() const { return create_ != nullptr; }
  /// Whether `queue` is recording.
  [[nodiscard]] bool records(const Queue* queue) const { return queue_ == queue && queue != nullptr; }
  void begin(Queue* queue);
  Graph* end();
  void launch(cl_kernel kernel, std::size_t threads);
  void copy(cl_mem to, std::size_t to_offset, cl_mem from, std::size_t from_offset, std::size_t bytes);
  void fill(cl_mem to, std::size_t offset, std::span<const std::byte> pattern, std::size_t bytes);
  void enqueue(Queue* queue, Graph* graph, Ordered& ordered);
  void release(Graph* graph);

 private:
  template <class... Arguments>
  void command(void* function, Arguments... arguments);
  [[nodiscard]] cl_uint count() const { return has_last_ ? 1 : 0; }
  [[nodiscard]] const cl_sync_point_khr* list() const { return has_last_ ? &last_ : nullptr; }

  clCreateCommandBufferKHR_fn create_ = nullptr;
  clFinalizeCommandBufferKHR_fn finalize_ = nullptr;
  clReleaseCommandBufferKHR_fn release_ = nullptr;
  clEnqueueCommandBufferKHR_fn enqueue_ = nullptr;
  clCommandNDRangeKernelKHR_fn kernel_ = nullptr;
  // Whatever the headers say: from version 0.9.5 on commands have properties behind the queue.
  void* copy_ = nullptr;
  void* fill_ = nullptr;
  bool have_properties_ = false;
  // One thread at a time makes a graph.
  Queue* queue_ = nullptr;
  cl_command_buffer_khr buffer_ = nullptr;
  cl_sync_point_khr last_ = 0;
  bool has_last_ = false;
};

extern const char* const kSource;

}  // namespace portable::opencl
