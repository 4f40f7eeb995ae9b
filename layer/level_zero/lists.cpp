// Command lists and queues: made, executed, waited for, destroyed. And contexts.

#include <algorithm>
#include <vector>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/graphs.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/resolver.h"
#include "layer/level_zero/submission.h"

namespace refrain::layer::level_zero {

namespace {
Immortal<Objects> only_objects;
}  // namespace
Objects& objects = *only_objects;

namespace {

const char* const kSynchronous = "its command list is synchronous: each call returns when the work is done";
const char* const kFlags = "its command list has flags that are not known here";

struct Context {
  ze_context_handle_t handle = nullptr;
  ObjectId id = 0;
  std::uint64_t number = 0;  ///< in tokens: never given again, and the same in every run
};

struct Tables {
  env::Mutex mutex;
  std::vector<ListState*> immediate REFRAIN_GUARDED_BY(mutex);
  std::vector<Context> contexts REFRAIN_GUARDED_BY(mutex);
  std::uint64_t numbers REFRAIN_GUARDED_BY(mutex) = 0;  ///< of contexts, given so far
  std::uint32_t roles REFRAIN_GUARDED_BY(mutex) = 0;
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

Context known_context(ze_context_handle_t context) REFRAIN_REQUIRES(tables().mutex) {
  auto& all = tables().contexts;
  const auto known = std::ranges::find(all, context, &Context::handle);
  if (known != all.end()) {
    return *known;
  }
  all.push_back({context, next_object_id(), ++tables().numbers});
  return all.back();
}

void adopt_immediate(ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t& description,
                     ze_command_list_handle_t handle) noexcept {
  replay::Engine* running = engine();
  ListState* made = running == nullptr ? nullptr : objects.lists.make();
  if (made == nullptr) {
    return;
  }
  try {
    const env::MutexLock guard(tables().mutex);
    made->immediate = true;
    made->list.handle = handle;
    made->list.context = context;
    made->list.device = device;
    made->list.ordinal = description.ordinal;
    made->list.index = description.index;
    made->list.device_number = runtime.inventory != nullptr ? device_number(device) : 0;
    made->list.synchronous = description.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    made->list.in_order = (description.flags & backends::level_zero::kQueueInOrder) != 0;
    made->list.append = immediate_append();
    made->list.updates = mutable_lists(device);
    if (made->list.synchronous) {
      made->synchronous = true;
      made->unholdable = kSynchronous;
    } else if (description.pNext != nullptr ||
               (description.flags & ~(backends::level_zero::kQueueInOrder |
                                      ze_command_queue_flags_t{ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY})) != 0) {
      made->unholdable = kFlags;
    }
    capture::QueueInfo& info = made->slot.info;
    info.id = next_object_id();
    info.handle = handle_of(&made->list);
    const Context owner = known_context(context);
    info.context = owner.id;
    info.device = runtime.recorder != nullptr ? record_device(device) : info.context;
    info.role = ++tables().roles;
    // Commands go into recorded lists in the order of the calls; the lists leave open what the application's leave
    // open.
    info.in_order = true;
    info.detail = made->list.detail();
    made->list.id.store(info.id, std::memory_order_release);
    made->token_seed = mix(mix(owner.number, info.role), made->list.in_order ? 1 : 0);
    running->adopt_queue(made->slot);
    tables().immediate.push_back(made);
    if (!objects.lists.insert(made, handle_of(handle))) {
      tables().immediate.pop_back();
    }
  } catch (...) {
    // A list that is not known: what is appended to it passes through.
  }
}

template <class Create>
ze_result_t make_context(Create&& create) noexcept {
  start();
  return create();
}

}  // namespace

bool is_alive(capture::ArgumentKind kind, Handle handle, ObjectId object) noexcept {
  if (kind == capture::ArgumentKind::kOtherHandle) {
    const EventState* event = objects.events.find(handle);
    return event != nullptr && event->id == object;
  }
  return memory_at(handle).id == object;
}

void note_execution(std::uint32_t count, ze_command_list_handle_t* lists) noexcept {
  for (std::uint32_t i = 0; lists != nullptr && i < count; ++i) {
    const ListState* list = objects.lists.find(handle_of(lists[i]));
    if (list == nullptr) {
      continue;
    }
    for (const EventUse& use : list->uses) {
      note_of_unknown_place(use);
    }
  }
}

void forget_quiet_lists() noexcept {
  const env::MutexLock guard(tables().mutex);
  for (ListState* list : tables().immediate) {
    list->list.appended.fetch_add(1, std::memory_order_relaxed);
  }
}

ze_result_t wrap::zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t* description,
                                  ze_context_handle_t* context) noexcept {
  return make_context([&] { return next.zeContextCreate(driver, description, context); });
}

ze_result_t wrap::zeContextCreateEx(ze_driver_handle_t driver, const ze_context_desc_t* description, uint32_t count,
                                    ze_device_handle_t* devices, ze_context_handle_t* context) noexcept {
  return make_context([&] { return next.zeContextCreateEx(driver, description, count, devices, context); });
}

ze_result_t wrap::zeContextDestroy(ze_context_handle_t context) noexcept {
  HostCall host_call(entry::zeContextDestroy);
  const Uncompared uncompared;
  forget_context(context);
  if (runtime.backend != nullptr) {
    runtime.backend->context_gone(context);
    const env::MutexLock guard(tables().mutex);
    std::erase_if(tables().contexts, [context](const auto& one) { return one.handle == context; });
  }
  return host_call.done(next.zeContextDestroy(context));
}

ze_result_t wrap::zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
                                      const ze_command_list_desc_t* description,
                                      ze_command_list_handle_t* list) noexcept {
  const ze_result_t status = next.zeCommandListCreate(context, device, description, list);
  if (status == ZE_RESULT_SUCCESS && engine() != nullptr) {
    if (ListState* made = objects.lists.make(); made != nullptr) {
      if (!objects.lists.insert(made, handle_of(*list))) {
        objects.lists.recycle(made);
      }
    }
  }
  return status;
}

ze_result_t wrap::zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
                                               const ze_command_queue_desc_t* description,
                                               ze_command_list_handle_t* list) noexcept {
  const ze_result_t status = next.zeCommandListCreateImmediate(context, device, description, list);
  if (status == ZE_RESULT_SUCCESS) {
    adopt_immediate(context, device, *description, *list);
  }
  return status;
}

ze_result_t wrap::zeCommandListDestroy(ze_command_list_handle_t list) noexcept {
  HostCall host_call(entry::zeCommandListDestroy);
  recorded_list_gone(list);
  ListState* known = objects.lists.find(handle_of(list));
  if (known == nullptr || runtime.backend == nullptr) {
    return host_call.done(next.zeCommandListDestroy(list));
  }
  if (!known->immediate) {
    objects.lists.erase(known);
    objects.lists.recycle(known);
    return host_call.done(next.zeCommandListDestroy(list));
  }
  if (replay::Engine* running = engine_with_threads(); running != nullptr) {
    running->queue_gone(known->slot);
    running->identity_gone(known->slot.info.id);
  }
  const backends::LevelZeroBackend::NoRecording recording(*runtime.backend);
  objects.lists.erase(known);
  {
    const env::MutexLock guard(tables().mutex);
    std::erase(tables().immediate, known);
  }
  runtime.backend->list_gone(known->list);
  return host_call.done(next.zeCommandListDestroy(list));
}

ze_result_t wrap::zeCommandListReset(ze_command_list_handle_t list) noexcept {
  const ze_result_t status = next.zeCommandListReset(list);
  if (ListState* known = objects.lists.find(handle_of(list)); status == ZE_RESULT_SUCCESS && known != nullptr) {
    known->uses.clear();
  }
  return status;
}

ze_result_t wrap::zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout) {
  HostCall host_call(entry::zeCommandListHostSynchronize);
  ListState* known = objects.lists.find(handle_of(list));
  // Not what other threads append during the wait.
  const std::uint64_t awaited = known == nullptr ? 0 : known->list.appended.load(std::memory_order_relaxed);
  const ze_result_t status = next.zeCommandListHostSynchronize(list, timeout);
  if (status == ZE_RESULT_SUCCESS && known != nullptr) {
    known->list.done_up_to(awaited);
  }
  wait_for_comparison();
  return host_call.done(status, true);
}

ze_result_t wrap::zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue, uint32_t count,
                                                    ze_command_list_handle_t* lists, ze_fence_handle_t fence) {
  HostCall host_call(entry::zeCommandQueueExecuteCommandLists);
  const Uncompared uncompared;
  note_queue_used(queue);
  const ze_result_t status = next.zeCommandQueueExecuteCommandLists(queue, count, lists, fence);
  if (status == ZE_RESULT_SUCCESS) {
    note_execution(count, lists);
  }
  return host_call.done(status);
}

ze_result_t wrap::zeCommandQueueDestroy(ze_command_queue_handle_t queue) noexcept {
  HostCall host_call(entry::zeCommandQueueDestroy);
  forget_queue(queue);
  return host_call.done(next.zeCommandQueueDestroy(queue));
}

ze_result_t wrap::zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout) {
  HostCall host_call(entry::zeCommandQueueSynchronize);
  return host_call.done(next.zeCommandQueueSynchronize(queue, timeout), true);
}

ze_result_t wrap::zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout) {
  HostCall host_call(entry::zeFenceHostSynchronize);
  return host_call.done(next.zeFenceHostSynchronize(fence, timeout), true);
}

}  // namespace refrain::layer::level_zero
