// Events: made, signalled, reset, waited for.
//
// Recorded commands use the application's own events, so that nothing has to be kept in step with them. What is
// needed of them is who signals them (other threads flush that one first), the order inside what is held, and whether
// a wait could last until the application does something (open waits).

#include <unordered_map>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/submission.h"

namespace refrain::layer::level_zero {
namespace {

const char* const kUnknownEvent =
    "it uses an event that Refrain does not know: shared with other processes, or of an extension";
const char* const kCounter = "it uses a counter-based event, which means the newest command that was submitted with it";
const char* const kOfDevice = "the host cannot see an event that it uses, so that verify could not put it back";
const char* const kOpenWait = "an event is waited for that nothing submitted so far signals";

struct Pool {
  ze_context_handle_t context = nullptr;
  bool counters = false;
  bool host_visible = false;
};

struct Books {
  env::Mutex mutex;
  /// Waits that nothing ends yet.
  std::unordered_map<ze_event_handle_t, std::uint32_t> open REFRAIN_GUARDED_BY(mutex);
  std::unordered_map<ze_event_pool_handle_t, Pool> pools REFRAIN_GUARDED_BY(mutex);  ///< whose events are known
};
Books& books() noexcept {
  static Immortal<Books> all;
  return *all;
}
std::atomic<std::uint32_t> open_count{0};

/// Held work of another thread that signals the event is submitted first.
void flush_event(replay::Engine& running, const EventState& event) noexcept {
  const std::uint64_t lane = event.lane.load(std::memory_order_relaxed);
  if (lane != 0 && running.anything_held() && lane != running.lane().number()) {
    running.flush_lane(lane);
  }
}

void close_wait(ze_event_handle_t event) noexcept {
  if (open_count.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    const env::MutexLock guard(books().mutex);
    if (books().open.erase(event) != 0) {
      open_count.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

void open_wait(ze_event_handle_t event) noexcept {
  try {
    const env::MutexLock guard(books().mutex);
    if (books().open.emplace(event, 1).second) {
      open_count.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (...) {
    give_up("out of memory while a wait was noted");
  }
}

void set_by_host(ze_event_handle_t event, bool set) noexcept {
  if (EventState* known = find_event(event); known != nullptr) {
    known->lane.store(0, std::memory_order_relaxed);
    known->newest_wait.forget();
    if (set) {
      known->meaning.set_by_host();
    }
  }
  note({event, set ? EventUse::What::kSignal : EventUse::What::kReset});
}

/// What a pool's events are; false: not known.
bool recognise(const ze_event_pool_desc_t& description, bool* counters) noexcept {
  // Every structure in a chain begins like this one.
  const auto* more = static_cast<const ze_base_desc_t*>(description.pNext);
  *counters = more != nullptr && more->stype == backends::level_zero::kCounterBasedPool && more->pNext == nullptr;
  return (more == nullptr || *counters) && (description.flags & ZE_EVENT_POOL_FLAG_IPC) == 0;
}

/// For calls that look at one event, of what other threads hold: what that waits for was submitted when it was held.
auto observed(ze_event_handle_t event) noexcept {
  return [event](replay::Engine& running) {
    const EventState* known = find_event(event);
    known != nullptr ? flush_event(running, *known) : running.flush_others();
  };
}

/// Asks the driver whether the event is set, or waits for it, and learns from the answer.
template <class Question>
ze_result_t ask(ze_event_handle_t event, Question&& question) {
  EventState* known = find_event(event);
  const auto sight = known == nullptr ? EventMeaning::Sight{} : known->meaning.look();
  wait_for_comparison();
  const ze_result_t status = question();
  wait_for_comparison();
  if (status == ZE_RESULT_SUCCESS && known != nullptr) {
    known->meaning.seen_set(sight);
  }
  return status;
}

}  // namespace

EventState* find_event(ze_event_handle_t event) noexcept {
  return objects.events.find(handle_of(event));
}

bool open_waits() noexcept {
  return open_count.load(std::memory_order_relaxed) != 0;
}

void note(const EventUse& use) noexcept {
  EventState* known = find_event(use.event);
  switch (use.what) {
    case EventUse::What::kWait:
      // Counters are only set by commands, and a wait means those submitted before it.
      if (known == nullptr || (!known->counter && !known->promised.load(std::memory_order_relaxed))) {
        open_wait(use.event);
      }
      break;
    case EventUse::What::kSignal:
      if (known != nullptr) {
        known->promised.store(true, std::memory_order_relaxed);
      }
      close_wait(use.event);
      break;
    case EventUse::What::kReset:
      if (known != nullptr) {
        known->promised.store(false, std::memory_order_relaxed);
      }
      break;
  }
}

Token event_token(const Call& call, replay::Engine& running, const char** unholdable) noexcept {
  const std::uint64_t own = running.lane().number();
  Token token =
      mix(static_cast<Token>(call.kind), std::uint64_t{call.wait_count} << 2U | (call.signal != nullptr ? 1U : 0U) |
                                             (call.reset != nullptr ? 2U : 0U));
  const auto look_at = [&](ze_event_handle_t handle, bool waits) {
    const EventState* event = find_event(handle);
    if (event == nullptr) {
      *unholdable = *unholdable != nullptr ? *unholdable : kUnknownEvent;
      return;
    }
    flush_event(running, *event);
    if (event->counter) {
      *unholdable = *unholdable != nullptr ? *unholdable : kCounter;
      return;
    }
    if (runtime.inventory != nullptr && !event->host_visible) {
      *unholdable = *unholdable != nullptr ? *unholdable : kOfDevice;
    }
    if (waits && event->lane.load(std::memory_order_relaxed) == own) {
      const std::uint64_t made = event->sequence.load(std::memory_order_relaxed);
      token = mix(token, event->newest_wait.role(running.lane(), own, made).token);
    }
    if (waits && !event->promised.load(std::memory_order_relaxed)) {
      *unholdable = kOpenWait;
    }
  };
  for (std::uint32_t i = 0; call.waits != nullptr && i < call.wait_count; ++i) {
    look_at(call.waits[i], true);
  }
  for (ze_event_handle_t event : {call.signal, call.reset}) {
    if (event != nullptr) {
      look_at(event, false);
    }
  }
  if (open_waits()) [[unlikely]] {
    *unholdable = kOpenWait;
  }
  return token;
}

void write_events(const Call& call, capture::OperationWriter& writer) {
  const auto write = [&](ze_event_handle_t handle) {
    const EventState* event = handle == nullptr ? nullptr : find_event(handle);
    writer.argument_handle(capture::ArgumentKind::kOtherHandle, event == nullptr ? 0 : event->id, handle_of(handle));
  };
  write(call.reset != nullptr ? call.reset : call.signal);
  for (std::uint32_t i = 0; call.waits != nullptr && i < call.wait_count; ++i) {
    write(call.waits[i]);
  }
  const replay::Lane* lane = replay::Lane::current;
  for (std::uint32_t i = 0; lane != nullptr && call.waits != nullptr && i < call.wait_count; ++i) {
    const EventState* event = find_event(call.waits[i]);
    if (event != nullptr && event->lane.load(std::memory_order_relaxed) == lane->number()) {
      const std::uint64_t made = event->sequence.load(std::memory_order_relaxed);
      const bool repeated = event->newest_wait.role(*lane, lane->number(), made).repeated;
      writer.wait(capture::kInternalWait | (repeated ? capture::kRepeatedWait : 0) | made);
    }
  }
}

Signalling::Signalling(const Call& call) noexcept {
  if (call.signal != nullptr && (event_ = find_event(call.signal)) != nullptr) {
    signal_ = event_->meaning.begin_signal();
  }
  if (EventState* reset = call.reset == nullptr ? nullptr : find_event(call.reset); reset != nullptr) {
    reset->meaning.muddle();  // who sees it set does not know whether it was before the reset
  }
}

void note_of_unknown_place(const EventUse& use) noexcept {
  if (EventState* event = find_event(use.event); event != nullptr && use.what != EventUse::What::kWait) {
    event->lane.store(0, std::memory_order_relaxed);
    event->newest_wait.forget();
    event->meaning.muddle();
  }
  note(use);
}

void note_events(const Call& call, ListState& list, const Signalling& signalling, std::uint64_t lane,
                 std::uint64_t sequence, std::uint64_t before) noexcept {
  for (std::uint32_t i = 0; call.waits != nullptr && i < call.wait_count; ++i) {
    if (EventState* event = find_event(call.waits[i]); event != nullptr) {
      event->newest_wait.note(lane, sequence, i);
    }
    note({call.waits[i], EventUse::What::kWait});
  }
  if (call.reset != nullptr) {
    if (EventState* event = find_event(call.reset); event != nullptr) {
      event->newest_wait.forget();
    }
    note({call.reset, EventUse::What::kReset});
  }
  if (call.signal == nullptr) {
    return;
  }
  if (EventState* event = signalling.event(); event != nullptr) {
    event->lane.store(lane, std::memory_order_relaxed);
    event->sequence.store(sequence, std::memory_order_relaxed);
    event->newest_wait.forget();
    // The end of a wait for a counter says nothing about commands that another thread gave it meanwhile.
    const bool last = !event->counter && (call.orders_everything || list.list.in_order);
    // What is held counts when it is submitted: then nothing is known.
    const bool held = engine() == nullptr || engine()->lane().is_held(sequence);
    signalling.done(last && !held ? &list.list : nullptr, before + 1);
  }
  note({call.signal, EventUse::What::kSignal});
}

void remember_events(const Call& call, ListState* list) noexcept {
  try {
    for (std::uint32_t i = 0; call.waits != nullptr && i < call.wait_count; ++i) {
      list->uses.push_back({call.waits[i], EventUse::What::kWait});
    }
    if (call.reset != nullptr) {
      list->uses.push_back({call.reset, EventUse::What::kReset});
    }
    if (call.signal != nullptr) {
      list->uses.push_back({call.signal, EventUse::What::kSignal});
    }
  } catch (...) {
    give_up("out of memory while a command list was recorded");
  }
}

void note_unseen(const Call& call) noexcept {
  for (std::uint32_t i = 0; call.waits != nullptr && i < call.wait_count; ++i) {
    note({call.waits[i], EventUse::What::kWait});
  }
  if (call.reset != nullptr) {
    note_of_unknown_place({call.reset, EventUse::What::kReset});
  }
  if (call.signal != nullptr) {
    note_of_unknown_place({call.signal, EventUse::What::kSignal});
  }
}

ze_result_t wrap::zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t* description,
                                    uint32_t device_count, ze_device_handle_t* devices,
                                    ze_event_pool_handle_t* pool) noexcept {
  const ze_result_t status = next.zeEventPoolCreate(context, description, device_count, devices, pool);
  if (status == ZE_RESULT_SUCCESS) {
    try {
      const env::MutexLock guard(books().mutex);
      // Extensions make events something else.
      bool counters = false;
      if (recognise(*description, &counters)) {
        books().pools[*pool] = {context, counters, (description->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE) != 0};
      } else {
        books().pools.erase(*pool);
      }
    } catch (...) {
      // Its events are not known, and what uses them is never held.
    }
  }
  return status;
}

ze_result_t wrap::zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t* description,
                                ze_event_handle_t* event) noexcept {
  const ze_result_t status = next.zeEventCreate(pool, description, event);
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  Pool of;
  {
    const env::MutexLock guard(books().mutex);
    const auto known = books().pools.find(pool);
    if (known == books().pools.end() || description->pNext != nullptr) {
      return status;
    }
    of = known->second;
  }
  if (EventState* made = objects.events.make(); made != nullptr) {
    made->id = next_object_id();
    made->context = of.context;
    made->counter = of.counters;
    made->host_visible = of.host_visible;
    if (!objects.events.insert(made, handle_of(*event))) {
      objects.events.recycle(made);
    }
  }
  return status;
}

ze_result_t wrap::zeEventDestroy(ze_event_handle_t event) noexcept {
  HostCall host_call(entry::zeEventDestroy);
  wait_for_comparison();
  close_wait(event);
  EventState* known = find_event(event);
  if (known == nullptr || runtime.backend == nullptr) {
    return host_call.done(next.zeEventDestroy(event));
  }
  const ObjectId id = known->id;
  if (replay::Engine* running = engine_with_threads(); running != nullptr) {
    running->object_gone(id);
  }
  const backends::LevelZeroBackend::NoRecording recording(*runtime.backend);
  objects.events.erase(known);
  objects.events.recycle(known);
  return host_call.done(next.zeEventDestroy(event));
}

ze_result_t wrap::zeEventHostSignal(ze_event_handle_t event) noexcept {
  HostCall host_call(entry::zeEventHostSignal);
  wait_for_comparison();
  set_by_host(event, true);
  return host_call.done(next.zeEventHostSignal(event));
}

ze_result_t wrap::zeEventHostReset(ze_event_handle_t event) noexcept {
  HostCall host_call(entry::zeEventHostReset, observed(event));
  wait_for_comparison();
  set_by_host(event, false);
  const ze_result_t status = next.zeEventHostReset(event);
  if (EventState* known = find_event(event); status == ZE_RESULT_SUCCESS && known != nullptr) {
    known->meaning.reset_by_host();
  }
  return host_call.done(status);
}

ze_result_t wrap::zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout) {
  HostCall host_call(entry::zeEventHostSynchronize, observed(event));
  return host_call.done(ask(event, [&] { return next.zeEventHostSynchronize(event, timeout); }), true);
}

ze_result_t wrap::zeEventQueryStatus(ze_event_handle_t event) noexcept {
  HostCall host_call(entry::zeEventQueryStatus, observed(event));
  return host_call.done(ask(event, [&] { return next.zeEventQueryStatus(event); }));
}

}  // namespace refrain::layer::level_zero
