// Several lists, events between them, regular lists on queues.

#include <thread>

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr int kRounds = 200;

void reset(std::initializer_list<ze_event_handle_t> events) {
  for (ze_event_handle_t event : events) {
    CHECK_ZE(zeEventHostReset(event));
  }
}
void destroy(std::initializer_list<ze_event_handle_t> events) {
  for (ze_event_handle_t event : events) {
    CHECK_ZE(zeEventDestroy(event));
  }
}

}  // namespace

/// Two lists that fork and join by events, which the host resets.
PROGRAM(fork_join) {
  Device gpu;
  ze_command_list_handle_t first = gpu.list();
  ze_command_list_handle_t second = gpu.list();
  ze_event_handle_t fork = gpu.event(), join = gpu.event(), done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  Word* z = gpu.filled(kCount, 3);
  for (int round = 0; round < kRounds; ++round) {
    set_mix(mix, x, z, kCount, 1);
    launch(first, mix);
    launch(first, mix, 1, fork);
    set_mix(mix, y, x, kCount, 2);
    launch(second, mix, 1, nullptr, {fork});
    launch(second, mix, 1, join);
    set_mix(mix, z, z, kCount, 3);
    launch(first, mix);
    set_mix(mix, x, y, kCount, 4);
    launch(first, mix, 1, nullptr, {join});
    finish(first, done);
    reset({fork, join});
  }
  print("x", x, kCount);
  print("y", y, kCount);
  print("z", z, kCount);
  destroy({fork, join, done});
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(first));
  CHECK_ZE(zeCommandListDestroy(second));
  for (Word* memory : {x, y, z}) {
    gpu.free(memory);
  }
  return 0;
}

/// Events inside one list without order: signalled, waited for and reset by commands.
PROGRAM(device_events) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list(0);
  ze_event_handle_t a = gpu.event(), b = gpu.event(), done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  for (int round = 0; round < kRounds; ++round) {
    set_mix(mix, x, y, kCount, 1);
    launch(list, mix, 1, a);
    set_mix(mix, y, x, kCount, 2);
    launch(list, mix, 1, b, {a});
    CHECK_ZE(zeCommandListAppendWaitOnEvents(list, 1, &b));
    CHECK_ZE(zeCommandListAppendEventReset(list, a));
    CHECK_ZE(zeCommandListAppendEventReset(list, b));
    CHECK_ZE(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
    if (round % 5 == 0) {
      finish(list, done);
    }
  }
  finish(list, done);
  print("x", x, kCount);
  print("y", y, kCount);
  destroy({a, b, done});
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Every launch waits for one event that was signalled before the loop: in its own list, in another one, in one without
/// order.
PROGRAM(old_event) {
  Device gpu;
  const std::string where = argc > 1 ? argv[1] : "in_order";
  ze_command_list_handle_t first = gpu.list(where == "unordered" ? 0 : kInOrder);
  ze_command_list_handle_t list = where == "second" ? gpu.list() : first;
  ze_event_handle_t old = gpu.event(), done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  set_mix(mix, y, x, kCount, 9);
  launch(first, mix, 1, old);
  for (int round = 0; round < 2 * kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      set_mix(mix, x, y, kCount, i);
      launch(list, mix, 1, nullptr, {old});
      if (where == "unordered") {
        CHECK_ZE(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
      }
    }
    if (round % 5 == 0) {
      finish(list, done);
    }
  }
  finish(list, done);
  print("x", x, kCount);
  destroy({old, done});
  CHECK_ZE(zeKernelDestroy(mix));
  if (list != first) {
    CHECK_ZE(zeCommandListDestroy(list));
  }
  CHECK_ZE(zeCommandListDestroy(first));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Each launch has its event, which is queried, asked for times, and reset.
PROGRAM(times) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t events[4];
  for (ze_event_handle_t& event : events) {
    event = gpu.event();
  }
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 8; ++i) {
      set_mix(mix, x, y, kCount, i);
      launch(list, mix, 1, i % 2 == 1 ? events[i / 2] : nullptr);
    }
    while (zeEventQueryStatus(events[3]) == ZE_RESULT_NOT_READY) {
      std::this_thread::yield();
    }
    std::uint64_t last = 0;
    for (ze_event_handle_t event : events) {
      ze_kernel_timestamp_result_t time{};
      CHECK_ZE(zeEventQueryKernelTimestamp(event, &time));
      wrong += time.global.kernelStart < last || time.global.kernelEnd < time.global.kernelStart ? 1 : 0;
      last = time.global.kernelEnd;
      CHECK_ZE(zeEventHostReset(event));
    }
  }
  std::printf("wrong %d\n", wrong);
  print("x", x, kCount);
  for (ze_event_handle_t event : events) {
    CHECK_ZE(zeEventDestroy(event));
  }
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Waits for events that the host sets afterwards, while other work goes on; nothing else may wait for it.
PROGRAM(host_events) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list(0);
  ze_command_list_handle_t other = gpu.list();
  ze_event_handle_t go = gpu.event(), after = gpu.event(), beside = gpu.event(), done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  Word* z = gpu.filled(kCount, 3);
  for (int round = 0; round < kRounds; ++round) {
    set_mix(mix, x, z, kCount, 1);
    launch(list, mix, 1, after, {go});
    for (Word i = 0; i < 6; ++i) {
      set_mix(mix, y, y, kCount, i);
      launch(other, mix, 1, i == 5 ? beside : nullptr);
    }
    CHECK_ZE(zeEventHostSynchronize(beside, kForEver));  // before it sets what the others wait for
    CHECK_ZE(zeEventHostSignal(go));
    CHECK_ZE(zeEventHostSynchronize(after, kForEver));
    reset({go, after, beside});
    if (round % 10 == 9) {
      finish(list, done);
      finish(other, done);
    }
  }
  print("x", x, kCount);
  print("y", y, kCount);
  destroy({go, after, beside, done});
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  CHECK_ZE(zeCommandListDestroy(other));
  for (Word* memory : {x, y, z}) {
    gpu.free(memory);
  }
  return 0;
}

/// Regular lists: one recorded once and executed again and again, one recorded anew each time, an immediate one beside.
PROGRAM(regular_lists) {
  Device gpu;
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_handle_t queue = nullptr;
  CHECK_ZE(zeCommandQueueCreate(gpu.context, gpu.device, &description, &queue));
  ze_fence_desc_t fence_description{};
  fence_description.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
  ze_fence_handle_t fence = nullptr;
  CHECK_ZE(zeFenceCreate(queue, &fence_description, &fence));
  ze_command_list_desc_t list_description{};
  list_description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  ze_command_list_handle_t once = nullptr, anew = nullptr;
  CHECK_ZE(zeCommandListCreate(gpu.context, gpu.device, &list_description, &once));
  CHECK_ZE(zeCommandListCreate(gpu.context, gpu.device, &list_description, &anew));
  ze_command_list_handle_t immediate = gpu.list();
  ze_event_handle_t ready = gpu.event(), done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  set_mix(mix, x, y, kCount, 5);
  launch(once, mix, 1, nullptr, {ready});
  CHECK_ZE(zeCommandListAppendBarrier(once, nullptr, 0, nullptr));
  set_mix(mix, y, x, kCount, 6);
  launch(once, mix);
  CHECK_ZE(zeCommandListClose(once));
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      set_mix(mix, x, y, kCount, i);
      launch(immediate, mix, 1, i == 5 ? ready : nullptr);
    }
    set_mix(mix, x, y, kCount, static_cast<Word>(round));
    launch(anew, mix);
    CHECK_ZE(zeCommandListClose(anew));
    ze_command_list_handle_t both[] = {once, anew};
    CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 2, both, fence));
    CHECK_ZE(zeFenceHostSynchronize(fence, kForEver));
    CHECK_ZE(zeFenceReset(fence));
    CHECK_ZE(zeCommandListReset(anew));
    CHECK_ZE(zeEventHostReset(ready));
  }
  CHECK_ZE(zeCommandQueueSynchronize(queue, kForEver));
  finish(immediate, done);
  print("x", x, kCount);
  print("y", y, kCount);
  destroy({ready, done});
  CHECK_ZE(zeFenceDestroy(fence));
  for (ze_command_list_handle_t list : {once, anew, immediate}) {
    CHECK_ZE(zeCommandListDestroy(list));
  }
  CHECK_ZE(zeCommandQueueDestroy(queue));
  CHECK_ZE(zeKernelDestroy(mix));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Errors of the program in between, and an end without a wait or anything given back.
PROGRAM(leave) {
  static Device* const gpu = new Device;  // found by whoever looks for leaks
  ze_command_list_handle_t list = gpu->list();
  ze_event_handle_t done = gpu->event();
  ze_kernel_handle_t mix = gpu->kernel("mix_in");
  Word* x = gpu->filled(kCount, 1);
  Word* y = gpu->filled(kCount, 2);
  int errors = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      set_mix(mix, x, y, kCount, i);
      launch(list, mix);
    }
    errors += zeKernelSetArgumentValue(mix, 9, 4, &round) != ZE_RESULT_SUCCESS ? 1 : 0;
    errors += zeCommandListAppendMemoryCopy(list, nullptr, x, 4, nullptr, 0, nullptr) != ZE_RESULT_SUCCESS ? 1 : 0;
    errors += zeCommandListAppendMemoryFill(list, x, &round, 3, 9, nullptr, 0, nullptr) != ZE_RESULT_SUCCESS ? 1 : 0;
    finish(list, done);
  }
  std::printf("errors %d\n", errors);
  print("x", x, kCount);
  launch(list, mix);
  return 0;
}

/// For the test that lets one call after the other fail.
PROGRAM(short_events) {
  Device gpu;
  ze_command_list_handle_t first = gpu.list(), second = gpu.list(0);
  ze_event_handle_t fork = gpu.event(), join = gpu.event(), done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  for (int round = 0; round < 14; ++round) {
    set_mix(mix, x, y, kCount, 1);
    launch(first, mix);
    launch(first, mix, 1, fork);
    set_mix(mix, y, x, kCount, 2);
    launch(second, mix, 1, nullptr, {fork});
    CHECK_ZE(zeCommandListAppendBarrier(second, nullptr, 0, nullptr));
    launch(second, mix, 1, join);
    set_mix(mix, x, y, kCount, 4);
    launch(first, mix, 1, nullptr, {join});
    finish(first, done);
    reset({fork, join});
    pause_briefly();
  }
  print("x", x, kCount);
  print("y", y, kCount);
  destroy({fork, join, done});
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(first));
  CHECK_ZE(zeCommandListDestroy(second));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// What a program that this one starts finds in its environment.
PROGRAM(child) {
  { const Device gpu; }
  std::fflush(stdout);
  return std::system(
      "echo child LD_LIBRARY_PATH=${LD_LIBRARY_PATH-none} "
      "ZE_ENABLE_VALIDATION_LAYER=${ZE_ENABLE_VALIDATION_LAYER-none}");
}
