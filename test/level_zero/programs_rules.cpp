// What decides whether work may be held, or replayed, and behind what: each program does something else of it in the
// middle of a loop that is replayed.

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr int kRounds = 200;

/// Now and then, so that graphs are made meanwhile.
void pause_in(int round) {
  if (round % 20 == 0) {
    pause_briefly();
  }
}

void wait_and_reset(ze_event_handle_t event) {
  CHECK_ZE(zeEventHostSynchronize(event, kForEver));
  CHECK_ZE(zeEventHostReset(event));
}

/// What most of these loops consist of.
struct Loop {
  Device gpu;
  ze_command_list_handle_t list;
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);

  explicit Loop(ze_command_queue_flags_t flags = kInOrder) : list(gpu.list(flags)) {}
  ~Loop() {
    CHECK_ZE(zeEventDestroy(done));
    CHECK_ZE(zeKernelDestroy(mix));
    CHECK_ZE(zeCommandListDestroy(list));
    gpu.free(x);
    gpu.free(y);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  void launch(Word a, ze_event_handle_t signal = nullptr, std::vector<ze_event_handle_t> waits = {}) const {
    set_mix(mix, x, y, kCount, a);
    program::launch(list, mix, 1, signal, std::move(waits));
  }
};

}  // namespace

/// One kernel, cooperative and not, with offsets in each dimension and without; it tells how it was launched.
PROGRAM(launched_with) {
  const Loop loop;
  ze_kernel_handle_t seen = loop.gpu.kernel("seen");
  set(seen, 0, loop.x);
  const ze_group_count_t groups = {1, 1, 1};
  const Word offsets[][3] = {{0, 0, 0}, {5, 6, 7}, {0, 0, 0}, {0, 3, 0}, {0, 0, 2}, {4, 0, 0}};
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& offset : offsets) {
      CHECK_ZE(zeKernelSetGlobalOffsetExp(seen, offset[0], offset[1], offset[2]));
      CHECK_ZE(zeCommandListAppendLaunchCooperativeKernel(loop.list, seen, &groups, nullptr, 0, nullptr));
      launch(loop.list, seen);
    }
    finish(loop.list, loop.done);
    pause_in(round);
  }
  print("x", loop.x, kCount);
  CHECK_ZE(zeKernelDestroy(seen));
  return 0;
}

/// Memory is freed and allocated anew in the same place, and the kernel keeps the address as its argument.
PROGRAM(same_place) {
  Loop loop;
  set_mix(loop.mix, loop.x, loop.y, kCount, 3);
  const auto work = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 8; ++i) {
        launch(loop.list, loop.mix);
      }
      finish(loop.list, loop.done);
      pause_in(round);
    }
    print("x", loop.x, kCount);
  };
  work(20);
  Word* const before = std::exchange(loop.x, nullptr);
  loop.gpu.free(before);
  loop.x = loop.gpu.filled(kCount, 7);
  std::printf("same place %d\n", loop.x == before ? 1 : 0);
  if (loop.x != before) {
    set(loop.mix, 0, loop.x);
  }
  work(kRounds);
  return 0;
}

/// Every command signals an event of a pool that other processes may open.
PROGRAM(shared_events) {
  const Loop loop;
  constexpr Word kEvents = 8;
  ze_event_pool_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC;
  description.count = kEvents;
  ze_event_pool_handle_t pool = nullptr;
  ze_device_handle_t device = loop.gpu.device;
  CHECK_ZE(zeEventPoolCreate(loop.gpu.context, &description, 1, &device, &pool));
  ze_event_handle_t events[kEvents];
  for (Word i = 0; i < kEvents; ++i) {
    ze_event_desc_t one{};
    one.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    one.index = i;
    CHECK_ZE(zeEventCreate(pool, &one, &events[i]));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < kEvents; ++i) {
      loop.launch(i, events[i]);
    }
    CHECK_ZE(zeEventHostSynchronize(events[kEvents - 1], kForEver));
    for (ze_event_handle_t event : events) {
      CHECK_ZE(zeEventHostReset(event));
    }
    pause_in(round);
  }
  print("x", loop.x, kCount);
  for (ze_event_handle_t event : events) {
    CHECK_ZE(zeEventDestroy(event));
  }
  CHECK_ZE(zeEventPoolDestroy(pool));
  return 0;
}

/// In a list without an order a command waits now and then for what the host sets only when it has seen the others
/// done, which are repeated. The event is reset and used again, or is a new one each time ("anew").
PROGRAM(host_sets_later) {
  Loop loop(0);
  Device& gpu = loop.gpu;
  const bool anew = argc > 1;
  constexpr Word kParts = 8;
  ze_event_handle_t go = gpu.event(), after = gpu.event();
  ze_event_handle_t parts[kParts];
  for (ze_event_handle_t& part : parts) {
    part = gpu.event();
  }
  for (int round = 0; round < 2 * kRounds; ++round) {
    const bool waits = round >= kRounds && round % 4 == 0;
    if (waits) {
      set_mix(loop.mix, loop.x, loop.x, kCount, 1);
      launch(loop.list, loop.mix, 1U + static_cast<Word>(round), after, {go});  // never twice the same
    }
    for (Word i = 0; i < kParts; ++i) {
      Word* const part = loop.y + std::size_t{i} * kParts;
      set_mix(loop.mix, part, part, kParts, i);
      launch(loop.list, loop.mix, 1, parts[i]);
    }
    for (ze_event_handle_t part : parts) {
      wait_and_reset(part);
    }
    if (waits) {
      CHECK_ZE(zeEventHostSignal(go));
      wait_and_reset(after);
      if (anew) {
        CHECK_ZE(zeEventDestroy(go));
        go = gpu.event();
      } else {
        CHECK_ZE(zeEventHostReset(go));
      }
    }
    pause_in(round);
  }
  print("x", loop.x, kCount);
  print("y", loop.y, kCount);
  for (ze_event_handle_t part : parts) {
    CHECK_ZE(zeEventDestroy(part));
  }
  CHECK_ZE(zeEventDestroy(go));
  CHECK_ZE(zeEventDestroy(after));
  return 0;
}

/// An immediate list waits for an event that a regular list signals.
PROGRAM(regular_signals) {
  Loop loop;
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_handle_t queue = nullptr;
  CHECK_ZE(zeCommandQueueCreate(loop.gpu.context, loop.gpu.device, &description, &queue));
  ze_command_list_desc_t list_description{};
  list_description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  ze_command_list_handle_t regular = nullptr;
  CHECK_ZE(zeCommandListCreate(loop.gpu.context, loop.gpu.device, &list_description, &regular));
  ze_event_handle_t ready = loop.gpu.event();
  set_mix(loop.mix, loop.y, loop.y, kCount, 5);
  launch(regular, loop.mix, 1, ready);
  CHECK_ZE(zeCommandListClose(regular));
  for (int round = 0; round < kRounds; ++round) {
    CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &regular, nullptr));
    loop.launch(0, nullptr, {ready});
    for (Word i = 1; i < 8; ++i) {
      loop.launch(i);
    }
    finish(loop.list, loop.done);
    CHECK_ZE(zeCommandQueueSynchronize(queue, kForEver));
    CHECK_ZE(zeEventHostReset(ready));
    pause_in(round);
  }
  print("x", loop.x, kCount);
  CHECK_ZE(zeEventDestroy(ready));
  CHECK_ZE(zeCommandListDestroy(regular));
  CHECK_ZE(zeCommandQueueDestroy(queue));
  return 0;
}

/// In a list without an order the end of a barrier that waits for one event says nothing about the rest, which only the
/// barrier after it waits for.
PROGRAM(some_events) {
  Loop loop(0);
  ze_event_handle_t written = loop.gpu.event(), some = loop.gpu.event();
  ze_kernel_handle_t scale = loop.gpu.kernel("scale");
  Word* shape = loop.gpu.filled(3, 1);
  shape[1] = shape[2] = 1;
  auto* time = reinterpret_cast<std::uint64_t*>(loop.gpu.host_memory(2));
  for (int round = 0; round < kRounds; ++round) {
    set(scale, 0, loop.x);
    set(scale, 1, kCount);
    set(scale, 2, Word{3});
    set(scale, 3, static_cast<Word>(round));
    CHECK_ZE(zeCommandListAppendLaunchKernelIndirect(loop.list, scale, reinterpret_cast<const ze_group_count_t*>(shape),
                                                     nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendWriteGlobalTimestamp(loop.list, time, written, 0, nullptr));
    CHECK_ZE(zeCommandListAppendBarrier(loop.list, some, 1, &written));
    wait_and_reset(some);
    CHECK_ZE(zeEventHostReset(written));
    for (Word i = 0; i < 4; ++i) {
      CHECK_ZE(zeCommandListAppendBarrier(loop.list, nullptr, 0, nullptr));
      loop.launch(i);
    }
    finish(loop.list, loop.done);
    pause_in(round);
  }
  print("x", loop.x, kCount);
  CHECK_ZE(zeEventDestroy(written));
  CHECK_ZE(zeEventDestroy(some));
  CHECK_ZE(zeKernelDestroy(scale));
  loop.gpu.free(shape);
  loop.gpu.free(time);
  return 0;
}
