// What several threads submit, hand over and observe.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr int kRounds = 200;

void destroy(std::initializer_list<ze_event_handle_t> events) {
  for (ze_event_handle_t event : events) {
    CHECK_ZE(zeEventDestroy(event));
  }
}

}  // namespace

/// Threads with a list each; every one waits for an event of its neighbour's now and then.
PROGRAM(threads) {
  Device gpu;
  constexpr int kThreads = 3;
  ze_command_list_handle_t lists[kThreads];
  ze_kernel_handle_t kernels[kThreads];
  ze_event_handle_t done[kThreads], passed[kThreads];
  Word* memory[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    lists[i] = gpu.list();
    kernels[i] = gpu.kernel("scale");
    done[i] = gpu.event();
    passed[i] = gpu.event();
    memory[i] = gpu.filled(kCount, static_cast<Word>(i));
  }
  std::atomic<int> round_of[kThreads] = {};
  std::vector<std::thread> all;
  for (int self = 0; self < kThreads; ++self) {
    all.emplace_back([&, self] {
      for (int round = 0; round < kRounds; ++round) {
        for (Word i = 0; i < 5; ++i) {
          set(kernels[self], 0, memory[self]);
          set(kernels[self], 1, kCount);
          set(kernels[self], 2, Word{3});
          set(kernels[self], 3, i);
          // The next thread waits for it on the device; it has been given to the driver by then or is held.
          const bool pass = round % 20 == 0 && i == 4;
          launch(lists[self], kernels[self], 1, pass ? passed[self] : nullptr);
        }
        if (round % 20 == 0) {
          round_of[self].store(round + 1);
          const int before = (self + kThreads - 1) % kThreads;
          while (round_of[before].load() < round + 1) {
            std::this_thread::yield();
          }
          set(kernels[self], 3, Word{7});
          launch(lists[self], kernels[self], 1, nullptr, {passed[before]});
        }
        if (round % 4 == 3) {
          finish(lists[self], done[self]);
        }
        if (round % 20 == 19) {
          round_of[self].store(round + 1);
          for (const auto& other : round_of) {
            while (other.load() < round + 1) {
              std::this_thread::yield();
            }
          }
          CHECK_ZE(zeEventHostReset(passed[self]));
          round_of[self].store(round + 2);
          for (const auto& other : round_of) {
            while (other.load() < round + 2 && other.load() != round + 2) {
              std::this_thread::yield();
            }
          }
        }
      }
      finish(lists[self], done[self]);
    });
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  for (int i = 0; i < kThreads; ++i) {
    print("memory", memory[i], kCount);
    destroy({done[i], passed[i]});
    CHECK_ZE(zeKernelDestroy(kernels[i]));
    CHECK_ZE(zeCommandListDestroy(lists[i]));
    gpu.free(memory[i]);
  }
  return 0;
}

/// One thread submits and never waits; another one, which submits as well, waits for its own work alone, and then
/// for the first one's, in every way there is.
PROGRAM(observed_by_another) {
  Device gpu;
  constexpr Word kWays = 5, kObserved = 20 * kWays;
  ze_command_list_handle_t first = gpu.list(), second = gpu.list();
  ze_event_handle_t event = gpu.event(), own = gpu.event();
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  Word* stored = gpu.host_memory(2);
  std::atomic<Word> submitted{0}, observed{0};
  const auto submit = [&](ze_command_list_handle_t list, ze_kernel_handle_t scale, ze_kernel_handle_t store,
                          Word* memory, Word* into, Word round, ze_event_handle_t signal) {
    for (Word i = 0; i < 6; ++i) {
      set(scale, 0, memory);
      set(scale, 1, kCount);
      set(scale, 2, Word{5});
      set(scale, 3, i);
      launch(list, scale);
    }
    set(store, 0, into);
    set(store, 1, round);
    launch(list, store, 1, signal);
  };
  std::thread other([&] {
    ze_kernel_handle_t scale = gpu.kernel("scale"), store = gpu.kernel("store");
    for (Word round = 1; round <= kObserved; ++round) {
      submit(first, scale, store, x, stored, round, event);
      submitted.store(round);
      while (observed.load() != round) {
        std::this_thread::yield();
      }
    }
    CHECK_ZE(zeKernelDestroy(scale));
    CHECK_ZE(zeKernelDestroy(store));
  });
  ze_kernel_handle_t scale = gpu.kernel("scale"), store = gpu.kernel("store");
  Word wrong = 0;
  for (Word round = 1; round <= kObserved; ++round) {
    submit(second, scale, store, y, stored + 1, round, nullptr);
    while (submitted.load() != round) {
      std::this_thread::yield();
    }
    finish(second, own);  // has nothing to do with the other thread's work
    wrong += stored[1] != round ? 1 : 0;
    switch (round % kWays) {
      case 0: CHECK_ZE(zeEventHostSynchronize(event, kForEver)); break;
      case 1:
        while (zeEventQueryStatus(event) == ZE_RESULT_NOT_READY) {
          std::this_thread::yield();
        }
        break;
      case 2: finish(first, own); break;
      case 3:  // on the device
        set(scale, 3, Word{9});
        launch(second, scale, 1, nullptr, {event});
        finish(second, own);
        break;
      default:
        set(scale, 3, Word{9});
        launch(second, scale, 1, own, {event});
        CHECK_ZE(zeEventHostSynchronize(own, kForEver));
        CHECK_ZE(zeEventHostReset(own));
        break;
    }
    wrong += stored[0] != round ? 1 : 0;
    CHECK_ZE(zeEventHostReset(event));
    observed.store(round);
  }
  other.join();
  finish(first, own);
  finish(second, own);
  std::printf("wrong %u\n", wrong);
  print("x", x, kCount);
  print("y", y, kCount);
  destroy({event, own});
  CHECK_ZE(zeKernelDestroy(scale));
  CHECK_ZE(zeKernelDestroy(store));
  CHECK_ZE(zeCommandListDestroy(first));
  CHECK_ZE(zeCommandListDestroy(second));
  for (Word* memory : {x, y, stored}) {
    gpu.free(memory);
  }
  return 0;
}

/// Two threads take turns on one list, with nothing but their own hand-over between them.
PROGRAM(handover) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  std::atomic<int> turn{0};
  const auto work = [&](int self) {
    ze_kernel_handle_t mix = gpu.kernel("mix_in");
    for (int round = self; round < 2 * kRounds; round += 2) {
      while (turn.load() != round) {
        std::this_thread::yield();
      }
      for (Word i = 0; i < 4; ++i) {
        set_mix(mix, self == 0 ? x : y, self == 0 ? y : x, kCount, i);
        launch(list, mix);
      }
      turn.store(round + 1);
    }
    while (turn.load() < 2 * kRounds) {
      std::this_thread::yield();
    }
    if (self == 0) {
      finish(list, done);
      turn.store(2 * kRounds + 1);
    }
    while (turn.load() != 2 * kRounds + 1) {
      std::this_thread::yield();
    }
    CHECK_ZE(zeKernelDestroy(mix));
  };
  std::thread second(work, 1);
  work(0);
  second.join();
  print("x", x, kCount);
  print("y", y, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Another thread waits again and again for what is in the list, while this one goes on with it.
PROGRAM(watched) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  std::mutex appending;
  ze_event_handle_t mine = gpu.event(), watchers = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  std::atomic<bool> over{false};
  const auto wait_with = [&](ze_event_handle_t event) {
    {
      const std::lock_guard guard(appending);
      CHECK_ZE(zeCommandListAppendSignalEvent(list, event));
    }
    CHECK_ZE(zeEventHostSynchronize(event, kForEver));
    CHECK_ZE(zeEventHostReset(event));
  };
  std::thread watcher([&] {
    while (!over) {
      wait_with(watchers);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      set_mix(mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, i);
      const std::lock_guard guard(appending);
      launch(list, mix);
    }
    if (round % 4 == 0) {
      wait_with(mine);
    }
  }
  over = true;
  watcher.join();
  wait_with(mine);
  print("x", x, kCount);
  print("y", y, kCount);
  destroy({mine, watchers});
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

namespace {

struct Wait {
  ze_command_queue_handle_t queue;
  ze_event_handle_t event;
  bool for_event;
};

void* wait_for_ever(void* given) {
  const Wait& wait = *static_cast<Wait*>(given);
  CHECK_ZE(wait.for_event ? zeEventHostSynchronize(wait.event, kForEver)
                          : zeCommandQueueSynchronize(wait.queue, kForEver));
  return nullptr;
}

}  // namespace

/// A thread that is cancelled while it waits for what the host has not set yet.
PROGRAM(cancelled) {
  Device gpu;
  const ze_command_queue_desc_t described{
      ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, 0, 0, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
      ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
  const ze_command_list_desc_t plain{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  ze_command_queue_handle_t queue = nullptr;
  ze_command_list_handle_t list = nullptr, own = gpu.list();
  CHECK_ZE(zeCommandQueueCreate(gpu.context, gpu.device, &described, &queue));
  CHECK_ZE(zeCommandListCreate(gpu.context, gpu.device, &plain, &list));
  ze_kernel_handle_t kernel = gpu.kernel("scale");
  ze_event_handle_t gate = gpu.event(), done = gpu.event();
  Word* memory = gpu.filled(kCount, 1);
  set(kernel, 0, memory);
  set(kernel, 1, kCount);
  set(kernel, 2, Word{3});
  CHECK_ZE(zeCommandListAppendWaitOnEvents(list, 1, &gate));
  CHECK_ZE(zeCommandListClose(list));
  for (const bool for_event : {false, true}) {
    CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    Wait wait{queue, gate, for_event};
    pthread_t thread{};
    void* result = nullptr;
    if (pthread_create(&thread, nullptr, &wait_for_ever, &wait) != 0) {
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    pthread_cancel(thread);
    pthread_join(thread, &result);
    std::printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "came to its end");
    CHECK_ZE(zeEventHostSignal(gate));
    CHECK_ZE(zeCommandQueueSynchronize(queue, kForEver));
    CHECK_ZE(zeEventHostReset(gate));
    for (Word i = 0; i < 400; ++i) {
      set(kernel, 3, i % 8);
      launch(own, kernel);
      if (i % 8 == 7) {
        finish(own, done);
      }
    }
    print("memory", memory, kCount);
  }
  destroy({gate, done});
  gpu.free(memory);
  CHECK_ZE(zeKernelDestroy(kernel));
  CHECK_ZE(zeCommandQueueDestroy(queue));
  for (ze_command_list_handle_t each : {list, own}) {
    CHECK_ZE(zeCommandListDestroy(each));
  }
  return 0;
}

namespace {

struct Holder {
  const Device& gpu;
  ze_command_list_handle_t list;
  ze_kernel_handle_t kernel;
  ze_event_handle_t done, gate;
};

/// What a graph begins with is held, if there is one, when the thread is to end: at its next wait.
void* hold_and_end(void* given) {
  const Holder& holder = *static_cast<Holder*>(given);
  for (Word i = 0; i < 400; ++i) {
    set(holder.kernel, 3, i % 8);
    launch(holder.list, holder.kernel);
    if (i % 8 == 7) {
      finish(holder.list, holder.done);
    }
  }
  for (Word i = 0; i < 3; ++i) {
    set(holder.kernel, 3, i);
    launch(holder.list, holder.kernel);
  }
  pthread_cancel(pthread_self());
  static_cast<void>(zeDeviceGetStatus(holder.gpu.device));
  CHECK_ZE(zeEventHostSynchronize(holder.gate, kForEver));
  return nullptr;
}

}  // namespace

/// A thread that is to end calls something that Refrain has no wrapper for.
PROGRAM(cancelled_holding) {
  Device gpu;
  Holder holder{gpu, gpu.list(), gpu.kernel("scale"), gpu.event(), gpu.event()};
  Word* memory = gpu.filled(kCount, 1);
  set(holder.kernel, 0, memory);
  set(holder.kernel, 1, kCount);
  set(holder.kernel, 2, Word{3});
  pthread_t thread{};
  void* result = nullptr;
  if (pthread_create(&thread, nullptr, &hold_and_end, &holder) != 0) {
    return 1;
  }
  pthread_join(thread, &result);
  std::printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "came to its end");
  finish(holder.list, holder.done);
  print("memory", memory, kCount);
  destroy({holder.done, holder.gate});
  gpu.free(memory);
  CHECK_ZE(zeKernelDestroy(holder.kernel));
  CHECK_ZE(zeCommandListDestroy(holder.list));
  return 0;
}
