// One list: arguments, copies, fills, setters, what the host looks at.

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "test/level_zero/program.h"

using namespace program;

namespace {
constexpr Word kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr int kRounds = 300;
}  // namespace

/// The plainest loop, on an in-order list.
PROGRAM(loop) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 1000);
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 10; ++i) {
      set_mix(mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, i);
      launch(list, mix);
    }
    finish(list, done);
  }
  print("x", x, kCount);
  print("y", y, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// A list without order, where barriers make one.
PROGRAM(barriers) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list(0);
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  Word* z = gpu.filled(kCount, 3);
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      set_mix(mix, x, z, kCount, i);
      launch(list, mix);
      set_mix(mix, y, z, kCount, i + 7);
      launch(list, mix);  // beside the other
      CHECK_ZE(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
      set_mix(mix, z, i % 2 == 0 ? x : y, kCount, i);
      launch(list, mix);
      CHECK_ZE(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
    }
    if (round % 3 == 0) {
      finish(list, done);
    }
  }
  finish(list, done);
  print("x", x, kCount);
  print("y", y, kCount);
  print("z", z, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  for (Word* memory : {x, y, z}) {
    gpu.free(memory);
  }
  return 0;
}

/// Arguments, group sizes and offsets change with each launch, and what they came from is overwritten right after.
PROGRAM(arguments) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t scale = gpu.kernel("scale");
  ze_kernel_handle_t odd = gpu.kernel("odd");
  ze_kernel_handle_t wide = gpu.kernel("wide");
  Word* x = gpu.filled(kCount, 7);
  struct Values {
    Word all[64];
  } values{};
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      set(scale, 0, x);
      set(scale, 1, kCount - i % 3);
      set(scale, 2, 3 + i);
      set(scale, 3, round < kRounds / 2 ? i : i + static_cast<Word>(round));  // repeats, then never again
      launch(list, scale);
      set(odd, 0, static_cast<unsigned char>(i));
      set(odd, 1, x + i);
      set(odd, 2, static_cast<unsigned short>(3 * i));
      set(odd, 3, std::uint64_t{i} << 20U);
      CHECK_ZE(zeKernelSetGroupSize(odd, 8U << (i % 2), 1, 1));
      launch(list, odd, 1 + i % 2);
      values.all[i] = i;
      set(wide, 0, values);
      set(wide, 1, x);
      launch(list, wide);
      values.all[i] = 0xBAD;
      set(wide, 0, values);
    }
    finish(list, done);
  }
  print("x", x, kCount);
  CHECK_ZE(zeEventDestroy(done));
  for (ze_kernel_handle_t kernel : {scale, odd, wide}) {
    CHECK_ZE(zeKernelDestroy(kernel));
  }
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  return 0;
}

/// Two sets of buffers in turns.
PROGRAM(ping_pong) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* sets[2][2] = {{gpu.filled(kCount, 1), gpu.filled(kCount, 2)}, {gpu.filled(kCount, 3), gpu.filled(kCount, 4)}};
  for (int round = 0; round < 2 * kRounds; ++round) {
    const auto& set = sets[round % 2];
    for (Word i = 0; i < 6; ++i) {
      set_mix(mix, set[i % 2], set[1 - i % 2], kCount, i);
      launch(list, mix);
    }
    finish(list, done);
  }
  for (const auto& set : sets) {
    print("set", set[0], kCount);
    print("set", set[1], kCount);
    gpu.free(set[0]);
    gpu.free(set[1]);
  }
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  return 0;
}

/// Copies between all kinds of memory, also pageable, whole and of regions; fills with patterns of all widths.
PROGRAM(copies) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.device_memory(kCount);
  Word* y = gpu.device_memory(kCount);
  Word* input = gpu.host_memory(kCount);
  Word* output = gpu.host_memory(kCount);
  std::vector<Word> pageable(kCount);
  CHECK_ZE(zeCommandListAppendMemoryCopy(list, x, input, kBytes, nullptr, 0, nullptr));
  CHECK_ZE(zeCommandListAppendMemoryCopy(list, y, input, kBytes, nullptr, 0, nullptr));
  finish(list, done);
  Word sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < kCount; ++i) {
      input[i] = i * static_cast<Word>(round);
    }
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, y, input, kBytes, nullptr, 0, nullptr));
    set_mix(mix, x, y, kCount, 1);
    launch(list, mix);
    const std::size_t width = std::size_t{1} << (round % 6);
    const std::uint64_t pattern[4] = {0x0102030405060708, static_cast<std::uint64_t>(round), 3, 4};
    CHECK_ZE(zeCommandListAppendMemoryFill(list, y, round % 2 == 0 ? static_cast<const void*>(pattern) : input, width,
                                           kBytes / 2, nullptr, 0, nullptr));
    const ze_copy_region_t from = {4, 1, 0, 8, 3, 0};
    const ze_copy_region_t to = {8, 0, 0, 8, 3, 0};
    CHECK_ZE(zeCommandListAppendMemoryCopyRegion(list, x, &to, 32, 0, y, &from, 32, 0, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendMemoryPrefetch(list, x, kBytes));
    set_mix(mix, y, x, kCount, 2);
    launch(list, mix);
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, output, y, kBytes, nullptr, 0, nullptr));
    finish(list, done);
    sum = sum * 31 + output[round % static_cast<int>(kCount)];
    if (round >= kRounds / 2) {
      pageable.assign(kCount, static_cast<Word>(round));
      CHECK_ZE(zeCommandListAppendMemoryCopy(list, y, pageable.data(), kBytes, nullptr, 0, nullptr));
      CHECK_ZE(zeCommandListAppendMemoryCopy(list, pageable.data(), x, kBytes, nullptr, 0, nullptr));
      finish(list, done);
      sum = sum * 31 + pageable[3];
    }
  }
  CHECK_ZE(zeCommandListAppendMemoryCopy(list, output, x, kBytes, nullptr, 0, nullptr));
  finish(list, done);
  std::printf("sum %u\n", sum);
  print("x", output, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  for (Word* memory : {x, y, input, output}) {
    gpu.free(memory);
  }
  return 0;
}

/// The host looks at memory that a kernel writes, without any call.
PROGRAM(spin) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t store = gpu.kernel("store");
  ze_kernel_handle_t nothing = gpu.kernel("nothing");
  Word* seen = gpu.host_memory(1);
  double longest = 0;
  for (Word round = 1; round <= 150; ++round) {
    const double start = now_ms();
    launch(list, nothing);
    launch(list, nothing);
    set(store, 0, seen);
    set(store, 1, round % 2 + 1);
    launch(list, store);
    launch(list, nothing);
    while (std::atomic_ref(*seen).load(std::memory_order_acquire) != round % 2 + 1) {
      std::this_thread::yield();
    }
    longest = std::max(longest, now_ms() - start);
    if (round % 2 == 0) {
      finish(list, done);
    }
  }
  finish(list, done);
  std::fprintf(stderr, "longest %f\n", longest);
  std::printf("seen %u\n", *seen);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(store));
  CHECK_ZE(zeKernelDestroy(nothing));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(seen);
  return 0;
}

/// A thousand launches and more with nothing in between.
PROGRAM(deep) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  ze_kernel_handle_t busy = gpu.kernel("busy");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  set(busy, 0, x);
  set(busy, 1, Word{200});
  for (int round = 0; round < 8; ++round) {
    for (Word i = 0; i < 1600; ++i) {
      set_mix(mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, i % 4);
      launch(list, i % 400 == 0 ? busy : mix);
    }
    finish(list, done);
  }
  print("x", x, kCount);
  print("y", y, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeKernelDestroy(busy));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// A list whose calls return when the work is done; what they computed is looked at without any other call.
PROGRAM(synchronous) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list(0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  Word sum = 0;
  for (Word round = 0; round < kRounds / 4; ++round) {
    for (Word i = 0; i < 8; ++i) {
      set_mix(mix, x, y, kCount, i);
      launch(list, mix);
      sum = sum * 31 + x[i];
    }
    finish(list, done);
    if (round % 10 == 9) {
      pause_briefly();  // were it repeated, a graph would be there now
    }
  }
  std::printf("sum %u\n", sum);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Memory, kernels, modules, lists and events made anew, after each was used in what repeats.
PROGRAM(recreate) {
  Device gpu;
  Word sum = 0;
  for (Word outer = 0; outer < 5; ++outer) {
    ze_command_list_handle_t list = gpu.list();
    ze_event_handle_t done = gpu.event();
    ze_module_handle_t module = gpu.make_module();
    ze_kernel_handle_t mix = Device::kernel(module, "mix_in");
    Word* y = gpu.filled(kCount, outer);
    for (Word inner = 0; inner < 4; ++inner) {
      Word* x = gpu.filled(kCount, 1);
      for (Word round = 0; round < 40; ++round) {
        for (Word i = 0; i < 6; ++i) {
          set_mix(mix, x, y, kCount, i);
          launch(list, mix);
        }
        finish(list, done);
        sum = sum * 31 + x[round];
      }
      gpu.free(x);
      if (inner % 2 == 1) {
        CHECK_ZE(zeKernelDestroy(mix));
        mix = Device::kernel(module, "mix_in");
        CHECK_ZE(zeEventDestroy(done));
        done = gpu.event();
      }
    }
    gpu.free(y);
    CHECK_ZE(zeKernelDestroy(mix));
    CHECK_ZE(zeModuleDestroy(module));
    CHECK_ZE(zeEventDestroy(done));
    CHECK_ZE(zeCommandListDestroy(list));
  }
  std::printf("sum %u\n", sum);
  return 0;
}

/// For the test that lets one call after the other fail.
PROGRAM(short_mix) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  for (int round = 0; round < 14; ++round) {
    for (Word i = 0; i < 6; ++i) {
      set_mix(mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, i);
      launch(list, mix);
    }
    CHECK_ZE(zeCommandListAppendMemoryFill(list, y, &kCount, sizeof(kCount), kBytes / 4, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, x + 8, y, kBytes / 8, nullptr, 0, nullptr));
    finish(list, done);
    pause_briefly();
  }
  print("x", x, kCount);
  print("y", y, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Asks for a report, as a user does from outside. With an argument it is killed then.
PROGRAM(report) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t nothing = gpu.kernel("nothing");
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler != SIG_DFL) {
    std::raise(SIGUSR1);
  }
  launch(list, nothing);
  finish(list, done);
  if (argc > 1) {
    std::raise(SIGKILL);
  }
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(nothing));
  CHECK_ZE(zeCommandListDestroy(list));
  return 0;
}

/// Every launch is waited for: there is nothing to make a graph of.
PROGRAM(hopeless) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 1000);
  for (Word i = 0; i < 4000; ++i) {
    set_mix(mix, x, y, kCount, i);
    launch(list, mix, 1, done);
    CHECK_ZE(zeEventHostSynchronize(done, kForEver));
    CHECK_ZE(zeEventHostReset(done));
  }
  print("x", x, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Lists without an order of their own that go as soon as the program has seen the last of its own work done.
PROGRAM(short_lived_lists) {
  Device gpu;
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  ze_event_handle_t done = gpu.event();
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  for (int number = 0; number < 8; ++number) {
    ze_command_list_handle_t list = gpu.list(0);
    for (int round = 0; round < 60; ++round) {
      for (Word i = 0; i < 6; ++i) {
        set_mix(mix, x, y, kCount, i);
        launch(list, mix);
        CHECK_ZE(zeCommandListAppendBarrier(list, i == 5 ? done : nullptr, 0, nullptr));
      }
      CHECK_ZE(zeEventHostSynchronize(done, ~std::uint64_t{0}));
      CHECK_ZE(zeEventHostReset(done));
    }
    CHECK_ZE(zeCommandListDestroy(list));
  }
  print("x", x, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  gpu.free(x);
  gpu.free(y);
  return 0;
}
