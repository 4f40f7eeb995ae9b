#include "backends/level_zero/level_zero_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace refrain::backends {

using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;

Capabilities LevelZeroBackend::capabilities(const capture::QueueInfo& queue) noexcept {
  Capabilities result;
  result.native = true;
  result.out_of_order = true;
  result.update_arguments = ImmediateList::of(queue.handle).updates != nullptr;
  result.keeps_order = true;
  return result;
}

Recordable LevelZeroBackend::can_record(const OperationView& operation, const capture::QueueInfo& queue) noexcept {
  if (ImmediateList::of(queue.handle).synchronous) {
    return {false, "its command list is synchronous: each call returns when the work is done"};
  }
  if (arguments_before_events(operation) < 0) {
    return {false, "operations of this kind are not recorded"};
  }
  for (const auto& argument : operation.arguments()) {
    if (argument.kind == ArgumentKind::kHostPointer) {
      return {false, "it names memory that the driver did not allocate"};
    }
  }
  return {};
}

Status LevelZeroBackend::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                                std::unique_ptr<CommandBuffer>* result) noexcept {
  try {
    const env::MutexLock guard(recording_);
    sweep();
    for (const capture::NodeIndex node : nodes) {
      const capture::QueueInfo& queue = graph.queue_of(node);
      if (ImmediateList::of(queue.handle).id.load(std::memory_order_acquire) != queue.id) {
        return {static_cast<int>(ZE_RESULT_ERROR_INVALID_NULL_HANDLE)};  // destroyed while the graph waited to be built
      }
      const OperationView operation = graph.operation(node);
      const std::byte* value = operation.values().data();
      for (const auto& argument : operation.arguments()) {
        capture::Handle handle = 0;
        if (argument.object != 0) {
          std::memcpy(&handle, value, sizeof(handle));
          if (!alive_(argument.kind, handle, argument.object)) {
            return {static_cast<int>(ZE_RESULT_ERROR_INVALID_NULL_HANDLE)};
          }
        }
        value += argument.stored_bytes();
      }
    }
    auto made = std::make_unique<LevelZeroCommandBuffer>(*this);
    ze_result_t status = prepare(ImmediateList::of(graph.queue_of(nodes.front()).handle));
    if (status == ZE_RESULT_SUCCESS) {
      status = made->record(graph, nodes);
    }
    if (status == ZE_RESULT_SUCCESS) {
      *result = std::move(made);
    }
    return {static_cast<int>(status)};
  } catch (...) {
    return {static_cast<int>(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)};
  }
}

Status LevelZeroBackend::issue(const OperationView& operation, std::span<const Event> /*waits*/,
                               Event* /*done*/) noexcept {
  try {
    ImmediateList& list = ImmediateList::of(operation.header().queue_handle);
    if (const ze_result_t refused = memory_.events().before(operation); refused != ZE_RESULT_SUCCESS) {
      return {static_cast<int>(refused)};
    }
    const ze_result_t status = append_to(list.handle, list.device, operation);
    list.appended.fetch_add(1, std::memory_order_relaxed);
    return {static_cast<int>(status)};
  } catch (...) {
    return {static_cast<int>(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)};
  }
}

Status LevelZeroBackend::finish(const capture::QueueInfo& queue) noexcept {
  ze_result_t status = end_of(queue, std::chrono::steady_clock::time_point::max());
  // A list of ours has ended before the application's list has; its fence may be set a little later.
  ze_command_queue_handle_t ours = ImmediateList::of(queue.handle).queue.load(std::memory_order_acquire);
  if (status == ZE_RESULT_SUCCESS && ours != nullptr) {
    status = driver_.zeCommandQueueSynchronize(ours, ~std::uint64_t{0});
  }
  return {static_cast<int>(status)};
}

bool LevelZeroBackend::finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point until,
                                 bool /*held*/) noexcept {
  return end_of(queue, until) == ZE_RESULT_SUCCESS;
}

ze_result_t LevelZeroBackend::end_of(const capture::QueueInfo& queue,
                                     std::chrono::steady_clock::time_point until) noexcept {
  ImmediateList& list = ImmediateList::of(queue.handle);
  // One that was destroyed was idle.
  const ze_result_t status =
      list.id.load(std::memory_order_acquire) == queue.id ? ends_.finish_by(list, until) : ZE_RESULT_SUCCESS;
  if (status == ZE_RESULT_SUCCESS) {
    memory_.events().run_ended();
  }
  return status;
}

std::uint64_t LevelZeroBackend::size_of(ArgumentKind /*kind*/, capture::Handle /*handle*/) noexcept {
  return 0;  // records name no memory but by address
}

Status LevelZeroBackend::read(const capture::QueueInfo& queue, ArgumentKind kind, capture::Handle handle,
                              std::span<std::byte> into) noexcept {
  return with_copies(queue, kind, [&]() REFRAIN_REQUIRES(copies_mutex_) { return copies_.read(handle, into); });
}

Status LevelZeroBackend::write(const capture::QueueInfo& queue, ArgumentKind kind, capture::Handle handle,
                               std::span<const std::byte> from) noexcept {
  return with_copies(queue, kind, [&]() REFRAIN_REQUIRES(copies_mutex_) { return copies_.write(handle, from); });
}

template <class Copy>
Status LevelZeroBackend::with_copies(const capture::QueueInfo& queue, ArgumentKind kind, Copy&& copy) noexcept {
  if (kind != ArgumentKind::kPointer || !can_compare(driver_)) {
    return {static_cast<int>(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)};
  }
  const env::MutexLock guard(copies_mutex_);
  ze_result_t status = copies_.prepare(ImmediateList::of(queue.handle));
  if (status == ZE_RESULT_SUCCESS) {
    status = copy();
  }
  return {static_cast<int>(status)};
}

void LevelZeroBackend::context_gone(ze_context_handle_t context) noexcept {
  const env::MutexLock guard(copies_mutex_);
  copies_.context_gone(context);
}

const char* LevelZeroBackend::error_name(int code) const noexcept {
  return backends::error_name(static_cast<ze_result_t>(code));
}

void LevelZeroBackend::know_function(capture::FunctionId function, ze_module_handle_t module, const std::string& name) {
  const env::MutexLock guard(kernels_mutex_);
  Function& known = functions_[function];
  if (known.module == nullptr) {
    known.module = module;
    known.name = name;
  }
}

void LevelZeroBackend::forget_function(capture::FunctionId function) noexcept {
  const env::MutexLock guard(kernels_mutex_);
  const auto found = functions_.find(function);
  if (found == functions_.end()) {
    return;
  }
  if (found->second.kernel != nullptr) {
    destroy_object(driver_.zeKernelDestroy, found->second.kernel);
  }
  functions_.erase(found);
}

ze_result_t LevelZeroBackend::append_to(ze_command_list_handle_t list, ze_device_handle_t device,
                                        const OperationView& operation) {
  if (operation.kind() != OperationKind::kKernel) {
    return append(driver_, operation, device, list, nullptr);
  }
  const env::MutexLock guard(kernels_mutex_);
  const auto found = functions_.find(operation.header().function);
  if (found == functions_.end()) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  Function& function = found->second;
  if (function.kernel == nullptr) {
    ze_kernel_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
    description.pKernelName = function.name.c_str();
    const ze_result_t status = driver_.zeKernelCreate(function.module, &description, &function.kernel);
    if (status != ZE_RESULT_SUCCESS) {
      function.kernel = nullptr;
      return status;
    }
  }
  return append(driver_, operation, device, list, function.kernel);
}

/// Makes the list's queue, if graphs cannot be appended to the list itself.
ze_result_t LevelZeroBackend::prepare(ImmediateList& list) noexcept {
  if (list.append != nullptr || list.queue.load(std::memory_order_relaxed) != nullptr) {
    return ZE_RESULT_SUCCESS;
  }
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.ordinal = list.ordinal;
  description.index = list.index;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  description.priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
  ze_command_queue_handle_t made = nullptr;
  const ze_result_t status = driver_.zeCommandQueueCreate(list.context, list.device, &description, &made);
  if (status == ZE_RESULT_SUCCESS) {
    list.queue.store(made, std::memory_order_release);
  }
  return status;
}

void LevelZeroBackend::add(LevelZeroCommandBuffer& buffer) {
  const env::MutexLock guard(buffers_mutex_);
  retired_.reserve(retired_.size() + (buffers_.size() + 1) * LevelZeroCommandBuffer::kInstances);
  buffers_.insert(&buffer);
}

void LevelZeroBackend::retire(LevelZeroCommandBuffer& buffer) noexcept {
  {
    const env::MutexLock guard(buffers_mutex_);
    removals_.begin();
    buffers_.erase(&buffer);
    for (ListInstance& instance : buffer.instances_) {
      if (instance.broken || instance.running(driver_)) {
        retired_.push_back(std::exchange(instance, {}));  // there is room: see add()
      }
    }
  }
  for (ListInstance& instance : buffer.instances_) {
    instance.destroy(driver_);
  }
  const env::MutexLock guard(buffers_mutex_);
  removals_.end();
}

/// Gives back what has ended.
void LevelZeroBackend::sweep() noexcept {
  while (true) {
    ListInstance ended;
    {
      const env::MutexLock guard(buffers_mutex_);
      const auto found = std::ranges::find_if(
          retired_, [&](const ListInstance& instance) { return !instance.broken && !instance.running(driver_); });
      if (found == retired_.end()) {
        return;
      }
      ended = std::move(*found);
      retired_.erase(found);
    }
    ended.destroy(driver_);
  }
}

/// Waits for instances and gives them back.
template <class Of>
void LevelZeroBackend::give_back_those(Of&& of) noexcept {
  env::UniqueLock lock(buffers_mutex_);
  removals_.wait(lock);
  for (LevelZeroCommandBuffer* buffer : buffers_) {
    for (ListInstance& instance : buffer->instances_) {
      if (of(instance)) {
        instance.wait(driver_);
        instance.destroy(driver_);
        instance = {};
      }
    }
  }
  std::erase_if(retired_, [&](ListInstance& instance) {
    if (!of(instance)) {
      return false;
    }
    instance.wait(driver_);
    instance.destroy(driver_);
    return true;
  });
}

void LevelZeroBackend::list_gone(ImmediateList& list) noexcept {
  list.id.store(0, std::memory_order_release);
  // A list may only be destroyed when it is idle, and so are broken instances then.
  give_back_those([&](const ListInstance& instance) { return instance.of == &list; });
  ends_.list_gone(list);
  if (ze_command_queue_handle_t queue = list.queue.exchange(nullptr); queue != nullptr) {
    driver_.zeCommandQueueSynchronize(queue, ~std::uint64_t{0});
    destroy_object(driver_.zeCommandQueueDestroy, queue);
  }
}

}  // namespace refrain::backends
