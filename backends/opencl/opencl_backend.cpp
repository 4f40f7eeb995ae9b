#include "backends/opencl/opencl_backend.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "backends/opencl/opencl_command_buffer.h"

namespace refrain::backends {
namespace {

cl_command_queue native_queue(const capture::QueueInfo& queue) {
  return reinterpret_cast<cl_command_queue>(queue.handle);
}

/// Whether the shared memory is still there that the operation names. Drivers look for it in their lists when it is
/// recorded, and not all look whether they found it. (A kernel's pointer may be to any memory of the process: then it
/// names none.)
bool has_all(const InventoryHeld& shared, const capture::OperationView& operation) noexcept {
  if (!shared) {
    return true;
  }
  const bool is_kernel = operation.kind() == capture::OperationKind::kKernel;
  for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
    const capture::ArgumentDescriptor& argument = operation.arguments()[i];
    if (argument.kind != capture::ArgumentKind::kPointer || (is_kernel && argument.object == 0)) {
      continue;
    }
    const auto found = shared->find(operation.handle_of(i));
    if (!found || found->id != argument.object) {
      return false;
    }
  }
  return true;
}

}  // namespace

OpenClBackend::OpenClBackend(const cl_icd_dispatch& driver, MemoryInventory* shared)
    : driver_(driver), shared_(shared), devices_(driver), kernels_(driver) {}

OpenClBackend::~OpenClBackend() {
  for (Leftover& left : leftovers_) {
    if (!left.running.empty()) {
      (void)driver_.clWaitForEvents(static_cast<cl_uint>(left.running.size()), left.running.data());
    }
    for (const cl_event event : left.running) {
      (void)driver_.clReleaseEvent(event);
    }
    release(left.objects);
  }
}

Capabilities OpenClBackend::capabilities(const capture::QueueInfo& queue) noexcept try {
  Capabilities result;
  const opencl::DeviceFacts* facts = devices_.of_queue(native_queue(queue));
  if (facts == nullptr) {
    result.why_not = "the driver does not know the queue";
    return result;
  }
  result.version = facts->version;
  result.native = facts->native;
  result.why_not = facts->why_not;
  if (!facts->native) {
    return result;
  }
  cl_command_queue_properties properties = 0;
  (void)driver_.clGetCommandQueueInfo(native_queue(queue), CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
                                      nullptr);
  const cl_bitfield order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  if ((properties & facts->required_queue_properties) != facts->required_queue_properties) {
    result.native = false;
    result.why_not = "the device's command buffers need queues with properties that this queue lacks";
  } else if ((properties & ~facts->supported_queue_properties & ~order) != 0) {
    result.native = false;
    result.why_not = "the device's command buffers do not support a property of this queue";
  }
  result.out_of_order = (facts->supported_queue_properties & order) != 0;
  result.update_arguments = (facts->updates & opencl::kUpdateArguments) != 0;
  result.update_sizes = (facts->updates & opencl::kUpdateGlobalSize) != 0;
  result.simultaneous_use =
      facts->simultaneous_use || (queue.in_order && facts->version >= opencl::make_version(0, 9, 8));
  return result;
} catch (...) {
  Capabilities none;
  none.why_not = "out of memory";
  return none;
}

Recordable OpenClBackend::can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept
    try {
  const Capabilities able = capabilities(queue);
  if (!able.native) {
    return {false, able.why_not};
  }
  if (!queue.in_order && !able.out_of_order) {
    return {false, "the device has no command buffers for out-of-order queues"};
  }
  const opencl::DeviceFacts* facts = devices_.of_queue(native_queue(queue));
  const char* why = facts != nullptr ? opencl::why_not_recordable(*facts, operation) : "the driver lost the queue";
  return {why == nullptr, why != nullptr ? why : ""};
} catch (...) {
  return {false, "out of memory"};
}

Status OpenClBackend::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                             std::unique_ptr<CommandBuffer>* result) noexcept try {
  sweep(true);
  if (nodes.empty()) {
    return {CL_INVALID_VALUE};
  }
  const capture::QueueInfo& queue = graph.queue_of(nodes[0]);
  const InventoryHeld shared(shared_, &graph_maker());  // nothing is freed meanwhile
  for (const capture::NodeIndex node : nodes) {
    if (graph.queue_of(node).id != queue.id) {
      return {CL_INVALID_VALUE};
    }
    if (!has_all(shared, graph.operation(node))) {
      return {CL_INVALID_VALUE, "memory that it names has been freed"};
    }
    if (!can_record(graph.operation(node), queue).ok) {
      return {CL_INVALID_OPERATION};
    }
  }
  const opencl::DeviceFacts* facts = devices_.of_queue(native_queue(queue));
  if (facts == nullptr) {
    return {CL_INVALID_COMMAND_QUEUE};
  }
  auto buffer = std::make_unique<opencl::OpenClCommandBuffer>(*this, *facts, queue);
  if (const cl_int status = buffer->record(graph, nodes); status != CL_SUCCESS) {
    return {status};
  }
  *result = std::move(buffer);
  return {};
} catch (...) {
  return {CL_OUT_OF_HOST_MEMORY};
}

Status OpenClBackend::flush(const capture::QueueInfo& queue) noexcept {
  return {driver_.clFlush(native_queue(queue))};
}

Status OpenClBackend::finish(const capture::QueueInfo& queue) noexcept {
  return {driver_.clFinish(native_queue(queue))};
}

bool OpenClBackend::finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point until,
                              bool /*held*/) noexcept {
  if (driver_.clEnqueueMarkerWithWaitList == nullptr) {
    return finish(queue).ok();
  }
  cl_event end = nullptr;
  if (driver_.clEnqueueMarkerWithWaitList(native_queue(queue), 0, nullptr, &end) != CL_SUCCESS) {
    return false;
  }
  const auto end_event = reinterpret_cast<Event>(end);
  bool done = flush(queue).ok();
  constexpr std::chrono::microseconds kLongest{500};
  for (std::chrono::microseconds pause{1}; done && !complete(end_event); pause = std::min(2 * pause, kLongest)) {
    done = std::chrono::steady_clock::now() < until;
    std::this_thread::sleep_for(pause);
  }
  release_event(end_event);
  return done;
}

void OpenClBackend::retain_event(Event event) noexcept {
  (void)driver_.clRetainEvent(reinterpret_cast<cl_event>(event));
}

void OpenClBackend::release_event(Event event) noexcept {
  (void)driver_.clReleaseEvent(reinterpret_cast<cl_event>(event));
}

bool OpenClBackend::complete(Event event) noexcept {
  cl_int state = CL_QUEUED;
  const cl_int status = driver_.clGetEventInfo(reinterpret_cast<cl_event>(event), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                               sizeof(state), &state, nullptr);
  return status != CL_SUCCESS || state <= CL_COMPLETE;
}

void OpenClBackend::forget_function(capture::FunctionId function) noexcept {
  try {
    kernels_.forget(function);
  } catch (...) {
    // Only a mutex that cannot be locked; the objects stay until the next call.
  }
}

void OpenClBackend::release(Objects& objects) noexcept {
  if (objects.buffer != nullptr) {
    objects.facts->api.release(objects.buffer);
  }
  for (const cl_kernel kernel : objects.kernels) {
    (void)driver_.clReleaseKernel(kernel);
  }
  for (const cl_mem memory : objects.memory) {
    (void)driver_.clReleaseMemObject(memory);
  }
  for (const cl_sampler sampler : objects.samplers) {
    (void)driver_.clReleaseSampler(sampler);
  }
  if (objects.queue != nullptr) {
    (void)driver_.clReleaseCommandQueue(objects.queue);
  }
  objects = {};
}

bool OpenClBackend::drop_complete(std::vector<cl_event>& running) noexcept {
  std::erase_if(running, [&](cl_event event) {
    const bool done = complete(reinterpret_cast<Event>(event));
    if (done) {
      (void)driver_.clReleaseEvent(event);
    }
    return done;
  });
  return running.empty();
}

// The extension does not make a command buffer retain the arguments of its kernels, so they, and all else,
// are kept until the last submission is complete. No callback is used: it would run in a thread of the
// driver's, at a time when the program may be ending.
void OpenClBackend::release_later(Objects objects, std::vector<cl_event> running) noexcept {
  sweep(false);
  if (drop_complete(running)) {
    release(objects);
    return;
  }
  try {
    const env::MutexLock lock(leftover_mutex_);
    leftovers_.push_back({std::move(objects), std::move(running)});
    leftover_count_.store(leftovers_.size(), std::memory_order_relaxed);
  } catch (...) {
    // Out of memory: they leak, which is safe.
  }
}

/// Not `buffers`: the calling thread is the program's, and drivers may never return from taking one back.
void OpenClBackend::sweep(bool buffers) noexcept {
  std::vector<Leftover> done;
  try {
    const env::MutexLock lock(leftover_mutex_);
    for (std::size_t i = 0; i < leftovers_.size();) {
      if ((buffers || leftovers_[i].objects.buffer == nullptr) && drop_complete(leftovers_[i].running)) {
        done.push_back(std::move(leftovers_[i]));
        leftovers_[i] = std::move(leftovers_.back());
        leftovers_.pop_back();
      } else {
        ++i;
      }
    }
    leftover_count_.store(leftovers_.size(), std::memory_order_relaxed);
  } catch (...) {
    // Out of memory: tried again next time.
  }
  for (Leftover& left : done) {
    release(left.objects);
  }
}

}  // namespace refrain::backends
