// What the driver may refuse while it is submitted by another thread, or after a pause.

#include <chrono>
#include <thread>

#include "test/level_zero/program.h"

using namespace program;

namespace {
constexpr Word kCount = 64;
}  // namespace

/// Another thread waits for what the first one submitted, or nobody does for a while.
PROGRAM(short_handed) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_event_handle_t handed = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  for (int round = 0; round < 40; ++round) {
    for (Word i = 0; i < 4; ++i) {
      set_mix(mix, x, x, kCount, i);
      launch(list, mix);
    }
    if (round >= 20 && round % 2 == 0) {
      set_mix(mix, x, x, kCount, 0);
      launch(list, mix, 1, handed);
      std::thread([&] { CHECK_ZE(zeEventHostSynchronize(handed, kForEver)); }).join();
      CHECK_ZE(zeEventHostReset(handed));
    } else if (round >= 20) {
      set_mix(mix, x, x, kCount, 0);
      launch(list, mix);
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    finish(list, done);
    if (round % 4 == 0) {
      pause_briefly();
    }
  }
  print("x", x, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeEventDestroy(handed));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  return 0;
}
