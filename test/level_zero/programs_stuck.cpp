// A driver that never returns from calls of Refrain's own.

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr int kRounds = 200;

/// Memory, a list and a kernel of its own, and a loop with them.
struct Loop {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 1000);

  void submit(Word launches) const {
    for (Word i = 0; i < launches; ++i) {
      set_mix(mix, x, y, kCount, i);
      launch(list, mix);
    }
  }
  void run() const {
    for (int round = 0; round < kRounds; ++round) {
      submit(20);
      finish(list, done);
      if (round % 10 == 0) {
        pause_briefly();
      }
    }
    print("x", x, kCount);
  }
};

}  // namespace

/// Everything that graphs may name is destroyed, and made again. "held": and at the end there is work that nobody
/// waits for.
PROGRAM(destroys_all) {
  for (int time = 0; time < 2; ++time) {
    const Loop loop;
    loop.run();
    CHECK_ZE(zeEventDestroy(loop.done));
    CHECK_ZE(zeKernelDestroy(loop.mix));
    CHECK_ZE(zeCommandListDestroy(loop.list));
    loop.gpu.free(loop.x);
    loop.gpu.free(loop.y);
  }
  if (argc > 1) {
    static const Loop& loop = *new Loop;  // not given back
    loop.run();
    loop.submit(3);
  }
  return 0;
}
