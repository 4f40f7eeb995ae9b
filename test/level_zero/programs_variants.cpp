// Commands that other programs do not append, and other names of calls, in the middle of a loop that is replayed: what
// they do is done, and in its place.

#include "test/level_zero/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(Word);

struct Work {
  Device gpu;
  ze_command_list_handle_t ordered = gpu.list();
  ze_command_list_handle_t loose = gpu.list(0);
  ze_command_list_handle_t list = ordered;  ///< the one in use
  ze_event_handle_t done = gpu.event();
  ze_event_handle_t timed[2] = {gpu.event(), gpu.event()};
  ze_kernel_handle_t scale = gpu.kernel("scale");
  ze_kernel_handle_t odd = gpu.kernel("odd");
  ze_kernel_handle_t store = gpu.kernel("store");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  Word* groups = gpu.filled(3, 1);
  // Of each part of a round: written by the device, or 0.
  std::uint64_t* written = reinterpret_cast<std::uint64_t*>(gpu.host_memory(4));
  ze_kernel_timestamp_result_t* times =
      reinterpret_cast<ze_kernel_timestamp_result_t*>(gpu.host_memory(2 * sizeof(*times) / sizeof(Word)));
  bool used[2] = {false, false};  ///< timed
  std::uint64_t last = 0;
  Word in_order = 0;  ///< times that were not before what came before

  Work() {
    set(scale, 1, kCount);
    set(scale, 2, Word{3});
    set(odd, 0, static_cast<unsigned char>(1));
    set(odd, 1, y);
    set(odd, 2, static_cast<unsigned short>(2));
    set(odd, 3, std::uint64_t{3});
    set(store, 0, groups);
    groups[1] = groups[2] = 1;
  }
  ~Work() {
    for (ze_event_handle_t event : {done, timed[0], timed[1]}) {
      CHECK_ZE(zeEventDestroy(event));
    }
    for (ze_kernel_handle_t kernel : {scale, odd, store}) {
      CHECK_ZE(zeKernelDestroy(kernel));
    }
    CHECK_ZE(zeCommandListDestroy(ordered));
    CHECK_ZE(zeCommandListDestroy(loose));
    for (const void* memory :
         {static_cast<const void*>(x), static_cast<const void*>(y), static_cast<const void*>(groups),
          static_cast<const void*>(written), static_cast<const void*>(times)}) {
      gpu.free(memory);
    }
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void launch(Word* memory, Word b, ze_event_handle_t signal = nullptr) const {
    set(scale, 0, memory);
    set(scale, 3, b);
    program::launch(list, scale, 1, signal);
  }

  /// At the end of a round, with everything done.
  void look_at_times() {
    for (int part = 0; part < 2; ++part) {
      if (written[part] != 0) {
        in_order += last <= written[part] ? 1 : 0;
        last = written[part];
        written[part] = 0;
      }
      if (used[part]) {
        const auto& time = times[part].global;
        in_order += time.kernelStart != 0 && time.kernelStart <= time.kernelEnd ? 1 : 0;
        CHECK_ZE(zeEventHostReset(timed[part]));
        times[part] = {};
        used[part] = false;
      }
    }
  }

  /// Memory that goes by zeMemFreeExt().
  void copy_by_way(ze_driver_memory_free_policy_ext_flags_t policy, bool wait) {
    Word* made = gpu.device_memory(kCount);
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, made, x, kBytes, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, y, made, kBytes / 2, nullptr, 0, nullptr));
    if (wait) {
      finish(list, done);
    }
    ze_memory_free_ext_desc_t how{};
    how.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
    how.freePolicy = policy;
    CHECK_ZE(zeMemFreeExt(gpu.context, &how, made));
  }
};

struct Kind {
  const char* name;
  void (*append)(Work& work, int part);
};

const Kind kKinds[] = {
    {"nothing", [](Work&, int) {}},
    {"time of the device",
     [](Work& work, int part) {
       CHECK_ZE(zeCommandListAppendWriteGlobalTimestamp(work.list, work.written + part, nullptr, 0, nullptr));
     }},
    {"barrier for ranges of memory",
     [](Work& work, int) {
       const std::size_t bytes = kBytes;
       const void* start = work.x;
       CHECK_ZE(zeCommandListAppendMemoryRangesBarrier(work.list, 1, &bytes, &start, nullptr, 0, nullptr));
     }},
    {"advice about memory",
     [](Work& work, int) {
       CHECK_ZE(zeCommandListAppendMemAdvise(work.list, work.gpu.device, work.x, kBytes,
                                             ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION));
     }},
    {"times of a kernel",
     [](Work& work, int part) {
       work.launch(work.y, 9, work.timed[part]);
       work.used[part] = true;
       CHECK_ZE(zeCommandListAppendQueryKernelTimestamps(work.list, 1, &work.timed[part], work.times + part, nullptr,
                                                         nullptr, 0, nullptr));
     }},
    {"launch of a shape in memory",
     [](Work& work, int part) {
       // The shape is there when the launch runs, not before.
       set(work.store, 1, static_cast<Word>(1 + part));
       program::launch(work.list, work.store);
       CHECK_ZE(zeCommandListAppendLaunchKernelIndirect(
           work.list, work.odd, reinterpret_cast<const ze_group_count_t*>(work.groups), nullptr, 0, nullptr));
     }},
    {"memory freed as ever", [](Work& work, int) { work.copy_by_way(0, true); }},
    {"memory freed when nothing uses it any more",
     [](Work& work, int) { work.copy_by_way(ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE, false); }},
    {"a context for a moment",
     [](Work& work, int) {
       ze_context_desc_t description{};
       description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
       ze_context_handle_t made = nullptr;
       CHECK_ZE(zeContextCreateEx(work.gpu.driver, &description, 1, &work.gpu.device, &made));
       CHECK_ZE(zeContextDestroy(made));
     }},
};

/// Barriers for ranges of memory in a list without an order, where nothing else keeps launches apart.
void barriers_alone(Work& work) {
  work.list = work.loose;
  const std::size_t bytes[] = {kBytes, kBytes};
  const void* starts[] = {work.x, work.y};
  for (int round = 0; round < 40; ++round) {
    for (int part = 0; part < 3; ++part) {
      work.launch(work.x, 5);
      CHECK_ZE(zeCommandListAppendBarrier(work.list, nullptr, 0, nullptr));
      work.launch(work.x, 6);
      work.launch(work.y, 7);
      CHECK_ZE(zeCommandListAppendMemoryRangesBarrier(work.list, 2, bytes, starts, nullptr, 0, nullptr));
    }
    finish(work.list, work.done);
  }
  work.list = work.ordered;
  std::printf("barriers in a list without an order: ");
  print("x", work.x, kCount);
  print("y", work.y, kCount);
}

}  // namespace

PROGRAM(variants) {
  Work work;
  for (const Kind& kind : kKinds) {
    for (int round = 0; round < 40; ++round) {
      for (int part = 0; part < 2; ++part) {
        work.launch(work.x, 5);
        kind.append(work, part);
        work.launch(work.x, 6);
        work.launch(work.y, 8);
      }
      finish(work.list, work.done);
      work.look_at_times();
    }
    std::printf("%s: times in order %u, ", kind.name, work.in_order);
    print("x", work.x, kCount);
    print("y", work.y, kCount);
  }
  barriers_alone(work);
  return 0;
}
