// Setters in the middle of loops that are replayed: kernels tell what they were launched with.

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr Word kCount = 16;

struct Loop {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t seen = gpu.kernel("seen");
  ze_kernel_handle_t scale = gpu.kernel("scale");
  Word* x = gpu.filled(kCount, 1);
  bool cooperative = false;

  Loop() {
    set(seen, 0, x);
    set(scale, 0, x);
    set(scale, 1, kCount);
    set(scale, 2, Word{3});
  }
  ~Loop() {
    CHECK_ZE(zeEventDestroy(done));
    CHECK_ZE(zeKernelDestroy(seen));
    CHECK_ZE(zeKernelDestroy(scale));
    CHECK_ZE(zeCommandListDestroy(list));
    gpu.free(x);
  }

  void run(int rounds) const {
    const ze_group_count_t groups = {1, 1, 1};
    for (int round = 0; round < rounds; ++round) {
      for (Word i = 0; i < 6; ++i) {
        if (cooperative) {
          CHECK_ZE(zeCommandListAppendLaunchCooperativeKernel(list, seen, &groups, nullptr, 0, nullptr));
        } else {
          launch(list, seen);
        }
        set(scale, 3, i);
        launch(list, scale);
      }
      finish(list, done);
    }
  }
};

struct Setter {
  const char* name;
  void (*set)(Loop& loop, std::uint32_t value);
};

const Setter kSetters[] = {
    {"zeKernelSetGroupSize",
     [](Loop& loop, std::uint32_t value) { CHECK_ZE(zeKernelSetGroupSize(loop.seen, value, 1, 1)); }},
    {"zeKernelSetGlobalOffsetExp",
     [](Loop& loop, std::uint32_t value) { CHECK_ZE(zeKernelSetGlobalOffsetExp(loop.seen, value, 0, value + 1)); }},
    {"zeKernelSetIndirectAccess",
     [](Loop& loop, std::uint32_t value) { CHECK_ZE(zeKernelSetIndirectAccess(loop.seen, value)); }},
    {"zeKernelSetCacheConfig",
     [](Loop& loop, std::uint32_t value) { CHECK_ZE(zeKernelSetCacheConfig(loop.seen, value)); }},
    {"zeDeviceSetCacheAdviceExt",
     [](Loop& loop, std::uint32_t value) {
       CHECK_ZE(zeDeviceSetCacheAdviceExt(loop.gpu.device, loop.x, 1, static_cast<ze_cache_ext_region_t>(value)));
     }},
    {"zeVirtualMemSetAccessAttribute",
     [](Loop& loop, std::uint32_t value) {
       CHECK_ZE(zeVirtualMemSetAccessAttribute(loop.gpu.context, loop.x, 4096,
                                               static_cast<ze_memory_access_attribute_t>(value)));
     }},
    {"zeCommandListAppendLaunchCooperativeKernel",
     [](Loop& loop, std::uint32_t value) { loop.cooperative = value == 1; }},
    {"zeKernelSchedulingHintExp",
     [](Loop& loop, std::uint32_t value) {
       ze_scheduling_hint_exp_desc_t hint{};
       hint.stype = ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_DESC;
       hint.flags = value;
       CHECK_ZE(zeKernelSchedulingHintExp(loop.seen, &hint));
     }},
};

}  // namespace

/// Each setter in turn: loops between the calls, so that each state has its graphs, then calls in each round.
PROGRAM(every_setter) {
  Loop loop;
  for (const Setter& setter : kSetters) {
    for (std::uint32_t i = 0; i <= 4; ++i) {
      setter.set(loop, 1 + i % 2);
      loop.run(24);
      pause_briefly();  // graphs of this state are made
      loop.run(24);
    }
    for (std::uint32_t i = 0; i < 40; ++i) {
      setter.set(loop, 1 + i % 2);
      loop.run(1);
    }
    print(setter.name, loop.x, kCount);
  }
  return 0;
}
