#include "backends/level_zero/command_buffer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/level_zero/level_zero_backend.h"

namespace refrain::backends {

using capture::NodeIndex;
using capture::OperationKind;
using capture::OperationView;

void ListInstance::wait(const LevelZeroDriver& driver) const noexcept {
  if (submitted && !broken) {
    driver.zeEventHostSynchronize(finished, ~std::uint64_t{0});
    if (fence != nullptr) {
      driver.zeFenceHostSynchronize(fence, ~std::uint64_t{0});
    }
  }
}

ze_result_t ListInstance::reset(const LevelZeroDriver& driver) const noexcept {
  ze_result_t status = driver.zeEventHostReset(finished);
  if (status == ZE_RESULT_SUCCESS) {
    status = driver.zeEventHostReset(done);
  }
  if (status != ZE_RESULT_SUCCESS || fence == nullptr) {
    return status;
  }
  status = driver.zeEventHostReset(start);
  return status == ZE_RESULT_SUCCESS ? driver.zeFenceReset(fence) : status;
}

void ListInstance::destroy(const LevelZeroDriver& driver) noexcept {
  if (fence != nullptr) {
    destroy_object(driver.zeFenceDestroy, std::exchange(fence, nullptr));
  }
  if (list != nullptr) {
    destroy_object(driver.zeCommandListDestroy, std::exchange(list, nullptr));
  }
  for (ze_event_handle_t* event : {&start, &done, &finished}) {
    if (*event != nullptr) {
      destroy_object(driver.zeEventDestroy, std::exchange(*event, nullptr));
    }
  }
  if (pool != nullptr) {
    destroy_object(driver.zeEventPoolDestroy, std::exchange(pool, nullptr));
  }
}

LevelZeroCommandBuffer::~LevelZeroCommandBuffer() {
  backend_.retire(*this);
}

ze_result_t LevelZeroCommandBuffer::make(ListInstance& instance) {
  const LevelZeroDriver& driver = backend_.driver();
  instance.of = list_;
  ze_event_pool_desc_t pool{};
  pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool.count = 3;
  ze_device_handle_t device = list_->device;
  ze_result_t status = driver.zeEventPoolCreate(list_->context, &pool, 1, &device, &instance.pool);
  std::uint32_t index = 0;
  for (ze_event_handle_t* event : {&instance.start, &instance.done, &instance.finished}) {
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
    ze_event_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    description.index = index++;
    description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    status = driver.zeEventCreate(instance.pool, &description, event);
  }
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  if (list_->append == nullptr) {
    ze_fence_desc_t fence{};
    fence.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    status = driver.zeFenceCreate(list_->queue.load(std::memory_order_acquire), &fence, &instance.fence);
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
  }
  ze_command_list_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  description.commandQueueGroupOrdinal = list_->ordinal;
  description.flags = list_->in_order ? level_zero::kListInOrder : 0U;
  const level_zero::MutableListDescription changeable;
  description.pNext = mutable_ ? &changeable : nullptr;
  return driver.zeCommandListCreate(list_->context, list_->device, &description, &instance.list);
}

ze_result_t LevelZeroCommandBuffer::fill(ListInstance& instance, const capture::Graph& graph,
                                         std::span<const NodeIndex> nodes) {
  const LevelZeroDriver& driver = backend_.driver();
  const bool queued = list_->append == nullptr;
  ze_result_t status = ZE_RESULT_SUCCESS;
  if (queued) {
    status = driver.zeCommandListAppendBarrier(instance.list, nullptr, 1, &instance.start);
  }
  for (const NodeIndex node : nodes) {
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
    const OperationView operation = graph.operation(node);
    if (mutable_ && operation.kind() == OperationKind::kKernel) {
      instance.arguments.add(*list_->updates, instance.list, operation);
    }
    status = backend_.append_to(instance.list, list_->device, operation);
    backend_.graph_maker().goes_on();
  }
  if (queued && status == ZE_RESULT_SUCCESS) {
    status = driver.zeCommandListAppendBarrier(instance.list, instance.done, 0, nullptr);
  }
  return status != ZE_RESULT_SUCCESS ? status : driver.zeCommandListClose(instance.list);
}

ze_result_t LevelZeroCommandBuffer::record(const capture::Graph& graph, std::span<const NodeIndex> nodes) {
  list_ = &ImmediateList::of(graph.queue_of(nodes.front()).handle);
  list_id_ = graph.queue_of(nodes.front()).id;
  backend_.add(*this);
  for (const NodeIndex node : nodes) {
    const OperationView operation = graph.operation(node);
    const bool barrier = operation.kind() == OperationKind::kBarrier;
    comes_after_all_ = comes_after_all_ || (barrier && operation.arguments().size() == 1);  // its signal: no waits
    blocks_later_ = blocks_later_ || barrier || operation.kind() == OperationKind::kEventWait;
    if (list_->updates != nullptr && operation.kind() == OperationKind::kKernel) {
      kernels_.emplace(node, wanted_.size());
      wanted_.emplace_back(operation.bytes().begin(), operation.bytes().end());
    }
  }
  mutable_ = !wanted_.empty();
  for (ListInstance& instance : instances_) {
    ze_result_t status = make(instance);
    if (status == ZE_RESULT_SUCCESS) {
      status = fill(instance, graph, nodes);
    }
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
  }
  return ZE_RESULT_SUCCESS;
}

ListInstance* LevelZeroCommandBuffer::free_instance(bool current) noexcept {
  ListInstance* any = nullptr;
  for (std::size_t tried = 0; tried < kInstances; ++tried) {
    ListInstance& instance = instances_[(next_ + tried) % kInstances];
    if (usable(instance) && (any == nullptr || instance.version == version_) && !instance.running(backend_.driver())) {
      any = &instance;
      if (!current || instance.version == version_) {
        break;
      }
    }
  }
  return any;
}

/// An instance that is of no use runs for nobody: without any other, enqueue() says so.
bool LevelZeroCommandBuffer::busy() const noexcept {
  bool running = false;
  for (const ListInstance& instance : instances_) {
    if (usable(instance)) {
      if (!instance.running(backend_.driver())) {
        return false;
      }
      running = true;
    }
  }
  return running;
}

ze_result_t LevelZeroCommandBuffer::bring_up_to_date(ListInstance& instance) noexcept {
  if (instance.version == version_) {
    return ZE_RESULT_SUCCESS;
  }
  ze_result_t status = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  try {
    status = instance.arguments.change(backend_.driver(), *list_->updates, instance.list, wanted_);
    instance.spoilt = status != ZE_RESULT_SUCCESS;
    instance.version = version_;
  } catch (...) {
    // Nothing has happened.
  }
  return status;
}

ze_result_t LevelZeroCommandBuffer::submit_appended(ListInstance& instance) noexcept {
  const LevelZeroDriver& driver = backend_.driver();
  // Barriers in our list only cover our list: where the application's has no order, they are repeated there.
  if (comes_after_all_ && !list_->in_order) {
    if (const ze_result_t status = driver.zeCommandListAppendBarrier(list_->handle, nullptr, 0, nullptr);
        status != ZE_RESULT_SUCCESS) {
      return status;
    }
  }
  // `finished` belongs to the last command of ours: the program, which knows its own work to be done, may destroy its
  // list, and nothing may be in flight there then.
  const bool barrier_follows = blocks_later_ && !list_->in_order;
  const ze_result_t status =
      list_->append(list_->handle, 1, &instance.list, barrier_follows ? instance.done : instance.finished, 0, nullptr);
  if (status == ZE_RESULT_SUCCESS && barrier_follows &&
      driver.zeCommandListAppendBarrier(list_->handle, instance.finished, 0, nullptr) != ZE_RESULT_SUCCESS) {
    driver.zeEventHostSynchronize(instance.done, ~std::uint64_t{0});  // submitted: slow and right
    instance.broken = true;                                           // nobody sets `finished`
  }
  return status;
}

ze_result_t LevelZeroCommandBuffer::submit_queued(ListInstance& instance) noexcept {
  const LevelZeroDriver& driver = backend_.driver();
  ze_result_t status = list_->quiet() ? driver.zeEventHostSignal(instance.start)
                                      : driver.zeCommandListAppendBarrier(list_->handle, instance.start, 0, nullptr);
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  status = driver.zeCommandQueueExecuteCommandLists(list_->queue.load(std::memory_order_acquire), 1, &instance.list,
                                                    instance.fence);
  if (status != ZE_RESULT_SUCCESS) {
    instance.broken = true;  // `start` is or will be set
    return status;
  }
  // The work is submitted: from here on a failure must not make anybody submit it again.
  if (driver.zeCommandListAppendBarrier(list_->handle, instance.finished, 1, &instance.done) != ZE_RESULT_SUCCESS) {
    driver.zeFenceHostSynchronize(instance.fence, ~std::uint64_t{0});  // slow and right
    instance.broken = true;                                            // nobody sets `finished`
  }
  return ZE_RESULT_SUCCESS;
}

Status LevelZeroCommandBuffer::enqueue(std::span<const Event> /*waits*/, Event* /*done*/) noexcept {
  if (list_->id.load(std::memory_order_acquire) != list_id_) {
    return {static_cast<int>(ZE_RESULT_ERROR_INVALID_NULL_HANDLE)};
  }
  if (const ze_result_t refused = backend_.memory().events().before_list(); refused != ZE_RESULT_SUCCESS) {
    return {static_cast<int>(refused)};
  }
  ListInstance* instance = free_instance(true);
  if (instance == nullptr) {
    return {ZE_RESULT_NOT_READY};
  }
  if (const ze_result_t status = bring_up_to_date(*instance); status != ZE_RESULT_SUCCESS) {
    return {static_cast<int>(status)};
  }
  next_ = (static_cast<std::size_t>(instance - instances_) + 1) % kInstances;
  const LevelZeroDriver& driver = backend_.driver();
  if (instance->submitted) {
    instance->submitted = false;  // nobody sets `finished` now
    if (const ze_result_t status = instance->reset(driver); status != ZE_RESULT_SUCCESS) {
      instance->spoilt = true;  // some events are reset, and others are not
      return {static_cast<int>(status)};
    }
  }
  const ze_result_t status = list_->append != nullptr ? submit_appended(*instance) : submit_queued(*instance);
  instance->submitted = status == ZE_RESULT_SUCCESS;  // otherwise nobody sets `finished`
  list_->appended.fetch_add(1, std::memory_order_relaxed);
  return {static_cast<int>(status)};
}

Status LevelZeroCommandBuffer::update(std::span<const NodeUpdate> updates) noexcept try {
  if (!mutable_) {
    return {static_cast<int>(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)};
  }
  if (list_->id.load(std::memory_order_acquire) != list_id_) {
    return {static_cast<int>(ZE_RESULT_ERROR_INVALID_NULL_HANDLE)};
  }
  ListInstance* instance = free_instance(false);
  if (instance == nullptr) {
    return {ZE_RESULT_NOT_READY};
  }
  std::vector<std::pair<std::size_t, OwnRecord>> fresh;
  fresh.reserve(updates.size());
  for (const NodeUpdate& wanted : updates) {
    const auto known = kernels_.find(wanted.node);
    const bool can = known != kernels_.end() &&
                     std::all_of(std::begin(instances_), std::end(instances_),
                                 [&](const ListInstance& each) {
                                   return !usable(each) || each.arguments.changeable(known->second);
                                 }) &&
                     only_arguments_differ(OperationView(wanted_[known->second].data()), wanted.operation);
    if (!can) {
      return {static_cast<int>(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)};
    }
    // What comes behind the values (waits) is not compared, and not needed.
    const auto bytes = wanted.operation.comparable();
    OwnRecord& record = fresh.emplace_back(known->second, wanted_[known->second]).second;
    std::ranges::copy(bytes, record.begin() + sizeof(capture::OperationHeader));
  }
  for (auto& [place, record] : fresh) {
    std::swap(wanted_[place], record);
  }
  const std::uint64_t before = std::exchange(version_, ++newest_version_);
  const ze_result_t status = bring_up_to_date(*instance);
  if (status != ZE_RESULT_SUCCESS) {
    for (auto& [place, record] : fresh) {
      std::swap(wanted_[place], record);
    }
    version_ = before;
    return {static_cast<int>(status)};
  }
  next_ = static_cast<std::size_t>(instance - instances_);
  return {};
} catch (...) {
  return {static_cast<int>(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)};
}

}  // namespace refrain::backends
