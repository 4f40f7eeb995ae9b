// Functions that newer versions of the API bring, got by their names: functions of the host, appends with more
// parameters, lists that are appended to lists, questions; functions that are in tables, too; a driver's own table.

#include <atomic>
#include <chrono>
#include <thread>

#include "test/level_zero/program.h"
#include "test/sim/level_zero/newer_api.h"

using namespace program;
namespace newer = sim::level_zero;

namespace {

constexpr Word kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr int kRounds = 120;

/// A loop of launches, and something else in its middle.
struct Loop {
  Device gpu;
  ze_command_list_handle_t list;
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);

  explicit Loop(ze_command_queue_flags_t flags = kInOrder) : list(gpu.list(flags)) {}
  ~Loop() {
    print("x", x, kCount);
    print("y", y, kCount);
    CHECK_ZE(zeEventDestroy(done));
    CHECK_ZE(zeKernelDestroy(mix));
    CHECK_ZE(zeCommandListDestroy(list));
    gpu.free(x);
    gpu.free(y);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void some(Word count) const {
    for (Word i = 0; i < count; ++i) {
      set_mix(mix, x, y, kCount, i);
      launch(list, mix);
    }
  }
  void end(int round) const {
    finish(list, done);
    if (round % 20 == 19) {
      print("x", x, kCount);
      pause_briefly();
    }
  }
};

/// Sums up what it sees, and changes it.
struct Seen {
  Word* values = nullptr;
  std::uint64_t sum = 0;
};
void look(void* data) {
  auto& seen = *static_cast<Seen*>(data);
  for (Word i = 0; i < kCount; ++i) {
    seen.sum = seen.sum * 31 + seen.values[i];
    seen.values[i] ^= i;
  }
}

}  // namespace

/// Functions of the host in the middle of a stretch, with events on both sides and without.
PROGRAM(host_functions) {
  Loop loop;
  const auto append = extension_function<newer::AppendHostFunction>(loop.gpu, "zeCommandListAppendHostFunction");
  ze_command_list_handle_t other = loop.gpu.list();
  ze_event_handle_t before = loop.gpu.event(), after = loop.gpu.event();
  Seen seen{loop.x};
  for (int round = 0; round < kRounds; ++round) {
    loop.some(5);
    CHECK_ZE(append(loop.list, &look, &seen, nullptr, nullptr, 0, nullptr));
    loop.some(5);
    // In another list, between two events.
    CHECK_ZE(zeCommandListAppendSignalEvent(loop.list, before));
    CHECK_ZE(append(other, &look, &seen, nullptr, after, 1, &before));
    CHECK_ZE(zeCommandListAppendWaitOnEvents(loop.list, 1, &after));
    loop.some(3);
    loop.end(round);
    CHECK_ZE(zeEventHostReset(before));
    CHECK_ZE(zeEventHostReset(after));
  }
  std::printf("seen %llx\n", static_cast<unsigned long long>(seen.sum));
  const newer::CooperativeLaunch unknown;
  std::printf("refused %x\n", static_cast<unsigned>(append(loop.list, &look, &seen, &unknown, nullptr, 0, nullptr)));
  CHECK_ZE(zeCommandListDestroy(other));
  CHECK_ZE(zeEventDestroy(before));
  CHECK_ZE(zeEventDestroy(after));
  return 0;
}

/// In a list without order a function of the host ends only when later commands of the list have.
PROGRAM(waiting_host_function) {
  Loop loop(0);
  const auto append = extension_function<newer::AppendHostFunction>(loop.gpu, "zeCommandListAppendHostFunction");
  ze_event_handle_t ended = loop.gpu.event();
  std::vector<ze_event_handle_t> mixed;
  for (int i = 0; i < 8; ++i) {
    mixed.push_back(loop.gpu.event());
  }
  struct Gate {
    std::atomic<bool> open = false;
    static void wait(void* data) {
      while (!static_cast<Gate*>(data)->open.load()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  } gate;
  for (int round = 0; round < kRounds; ++round) {
    const bool gated = round >= kRounds / 2;  // until then the loop alone: there are graphs of it
    gate.open.store(false);
    if (gated) {
      CHECK_ZE(append(loop.list, &Gate::wait, &gate, nullptr, ended, 0, nullptr));
    }
    for (Word i = 0; i < 8; ++i) {
      set_mix(loop.mix, loop.x, loop.y, kCount, i);
      launch(loop.list, loop.mix, 1, mixed[i], i == 0 ? std::vector<ze_event_handle_t>{} : std::vector{mixed[i - 1]});
    }
    CHECK_ZE(zeEventHostSynchronize(mixed.back(), kForEver));
    gate.open.store(true);
    if (gated) {
      CHECK_ZE(zeEventHostSynchronize(ended, kForEver));
      CHECK_ZE(zeEventHostReset(ended));
    }
    for (ze_event_handle_t event : mixed) {
      CHECK_ZE(zeEventHostReset(event));
    }
    if (round % 20 == 19) {
      pause_briefly();
    }
  }
  CHECK_ZE(zeEventDestroy(ended));
  for (ze_event_handle_t event : mixed) {
    CHECK_ZE(zeEventDestroy(event));
  }
  return 0;
}

/// All that is appended is appended with (no) more parameters, or with some.
PROGRAM(more_parameters) {
  Loop loop;
  const Device& gpu = loop.gpu;
  const auto launch_with =
      extension_function<newer::LaunchWithParameters>(gpu, "zeCommandListAppendLaunchKernelWithParameters");
  const auto copy = extension_function<newer::CopyWithParameters>(gpu, "zeCommandListAppendMemoryCopyWithParameters");
  const auto fill = extension_function<newer::FillWithParameters>(gpu, "zeCommandListAppendMemoryFillWithParameters");
  ze_kernel_handle_t seen = gpu.kernel("seen");
  set(seen, 0, loop.x);
  Word* z = gpu.filled(kCount, 3);
  const ze_group_count_t groups = {1, 1, 1};
  const newer::CooperativeLaunch together;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      set_mix(loop.mix, loop.x, i % 2 == 0 ? loop.y : z, kCount, i);
      CHECK_ZE(launch_with(loop.list, loop.mix, &groups, nullptr, nullptr, 0, nullptr));
    }
    CHECK_ZE(copy(loop.list, z, loop.x, kBytes, nullptr, nullptr, 0, nullptr));
    const Word pattern = 0x01020304;
    CHECK_ZE(fill(loop.list, loop.y, &pattern, sizeof(pattern), kBytes / 2, nullptr, nullptr, 0, nullptr));
    loop.some(4);
    if (round % 3 == 0) {  // another setting, of which the kernel tells
      CHECK_ZE(launch_with(loop.list, seen, &groups, &together, nullptr, 0, nullptr));
    }
    CHECK_ZE(launch_with(loop.list, seen, &groups, nullptr, nullptr, 0, nullptr));
    loop.end(round);
  }
  std::printf("refused %x\n",
              static_cast<unsigned>(copy(loop.list, z, loop.x, kBytes, &together, nullptr, 0, nullptr)));
  CHECK_ZE(zeKernelDestroy(seen));
  gpu.free(z);
  return 0;
}

/// Launches that bring their arguments, which stay set for launches that do not.
PROGRAM(launched_with_arguments) {
  Loop loop;
  const auto launch_with =
      extension_function<newer::LaunchWithArguments>(loop.gpu, "zeCommandListAppendLaunchKernelWithArguments");
  ze_kernel_handle_t other = loop.gpu.kernel("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    loop.some(6);
    Word count = kCount, a = static_cast<Word>(round % 2);
    const Word* from = loop.y;
    void* arguments[] = {&loop.x, &from, &count, &a};
    CHECK_ZE(launch_with(loop.list, round % 2 == 0 ? loop.mix : other, {1, 1, 1}, {round % 3 == 0 ? 16U : 64U, 1, 1},
                         arguments, nullptr, nullptr, 0, nullptr));
    a = 77;  // copied at the call
    for (Word i = 0; i < 4; ++i) {
      launch(loop.list, round % 2 == 0 ? loop.mix : other);  // with what was brought
    }
    set(other, 3, Word{5});
    CHECK_ZE(zeKernelSetGroupSize(other, 32, 1, 1));
    for (Word i = 0; i < 4; ++i) {
      set_mix(other, loop.y, loop.x, kCount, i);
      launch(loop.list, other);
    }
    loop.end(round);
  }
  void* none[] = {nullptr, nullptr, nullptr, nullptr};
  std::printf("refused %x\n", static_cast<unsigned>(launch_with(loop.list, other, {1, 1, 1}, {0, 1, 1}, none, nullptr,
                                                                nullptr, 0, nullptr)));
  CHECK_ZE(zeKernelDestroy(other));
  return 0;
}

/// Closed lists are appended to the list that is also appended to one by one; their commands signal and wait for
/// events that others in the same list wait for and signal.
PROGRAM(appended_lists) {
  Loop loop;
  const Device& gpu = loop.gpu;
  const bool newest = argc > 1 && std::string(argv[1]) == "newest";
  const auto append = extension_function<newer::AppendLists>(gpu, "zeCommandListImmediateAppendCommandListsExp");
  const auto append_with = !newest ? nullptr
                                   : extension_function<newer::AppendListsWithParameters>(
                                         gpu, "zeCommandListImmediateAppendCommandListsWithParameters");
  ze_command_list_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  ze_command_list_handle_t lists[2] = {};
  ze_event_handle_t inside = loop.gpu.event(), outside = loop.gpu.event(), all = loop.gpu.event();
  for (Word i = 0; i < 2; ++i) {
    CHECK_ZE(zeCommandListCreate(gpu.context, gpu.device, &description, &lists[i]));
    set_mix(loop.mix, loop.y, loop.x, kCount, 100 + i);
    launch(lists[i], loop.mix, 1, i == 0 ? inside : nullptr, i == 0 ? std::vector{outside} : std::vector{inside});
    CHECK_ZE(zeCommandListClose(lists[i]));
  }
  ze_command_list_handle_t other = gpu.list();
  for (int round = 0; round < kRounds; ++round) {
    loop.some(4);
    CHECK_ZE(zeCommandListAppendSignalEvent(loop.list, outside));
    CHECK_ZE(newest ? append_with(loop.list, 2, lists, nullptr, all, 0, nullptr)
                    : append(loop.list, 2, lists, all, 0, nullptr));
    for (Word i = 0; i < 4; ++i) {
      set_mix(loop.mix, loop.x, loop.x, kCount, i);
      launch(other, loop.mix, 1, nullptr, i == 0 ? std::vector{all} : std::vector<ze_event_handle_t>{});
    }
    finish(other, loop.done);
    for (ze_event_handle_t event : {inside, outside, all}) {
      CHECK_ZE(zeEventHostReset(event));
    }
    loop.some(4);
    loop.end(round);
  }
  for (ze_command_list_handle_t each : {lists[0], lists[1], other}) {
    CHECK_ZE(zeCommandListDestroy(each));
  }
  for (ze_event_handle_t event : {inside, outside, all}) {
    CHECK_ZE(zeEventDestroy(event));
  }
  return 0;
}

/// Questions about lists, queues and events among work that is held.
PROGRAM(asked) {
  Loop loop;
  using Ask = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t, std::uint32_t*);
  using AskEvent = ze_result_t(ZE_APICALL*)(ze_event_handle_t, std::uint32_t*);
  const Ask asked[] = {extension_function<Ask>(loop.gpu, "zeCommandListImmediateGetFlags"),
                       extension_function<Ask>(loop.gpu, "zeCommandListImmediateGetMode"),
                       extension_function<Ask>(loop.gpu, "zeCommandListImmediateGetPriority"),
                       extension_function<Ask>(loop.gpu, "zeCommandListGetOrdinal"),
                       extension_function<Ask>(loop.gpu, "zeCommandListImmediateGetIndex")};
  const auto of_event = extension_function<AskEvent>(loop.gpu, "zeEventGetCounterBasedFlags");
  std::uint64_t answers = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (const Ask ask : asked) {
      std::uint32_t answer = 0;
      loop.some(2);
      CHECK_ZE(ask(loop.list, &answer));
      answers = answers * 31 + answer;
    }
    std::uint32_t answer = 0;
    CHECK_ZE(of_event(loop.done, &answer));
    loop.some(2);
    answers = answers * 31 + answer;
    loop.end(round);
  }
  std::printf("answers %llx\n", static_cast<unsigned long long>(answers));
  return 0;
}

/// What is in tables is got by its name, too: setters, memory that goes, and, with an argument, a launch.
PROGRAM(by_address) {
  CHECK_ZE(zeInit(ZE_INIT_FLAG_GPU_ONLY));
  std::uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  CHECK_ZE(zeDriverGet(&count, &driver));
  void* early = nullptr;  // before there is a context
  CHECK_ZE(zeDriverGetExtensionFunctionAddress(driver, "zeKernelSetGlobalOffsetExp", &early));
  Loop loop;
  const Device& gpu = loop.gpu;
  const auto offset = reinterpret_cast<decltype(&zeKernelSetGlobalOffsetExp)>(early);
  const auto argument = extension_function<decltype(&zeKernelSetArgumentValue)>(gpu, "zeKernelSetArgumentValue");
  const auto append =
      argc > 1 ? extension_function<decltype(&zeCommandListAppendLaunchKernel)>(gpu, "zeCommandListAppendLaunchKernel")
               : &zeCommandListAppendLaunchKernel;
  const auto free_memory = extension_function<decltype(&zeMemFreeExt)>(gpu, "zeMemFreeExt");
  ze_kernel_handle_t seen = gpu.kernel("seen");
  set(seen, 0, loop.x);
  Word* z = gpu.filled(kCount, 3);
  const ze_group_count_t groups = {1, 1, 1};
  for (int round = 0; round < 2 * kRounds; ++round) {
    const Word place = round / 40 % 2 == 0 ? 0 : 3;
    CHECK_ZE(offset(seen, place, 0, 0));
    for (Word i = 0; i < 6; ++i) {
      set_mix(loop.mix, loop.x, z, kCount, i);
      CHECK_ZE(argument(loop.mix, 3, sizeof(i), &i));
      CHECK_ZE(append(loop.list, loop.mix, &groups, nullptr, 0, nullptr));
      CHECK_ZE(append(loop.list, seen, &groups, nullptr, 0, nullptr));
    }
    loop.end(round);
    if (round % 60 == 59) {  // most probably at the same address
      ze_memory_free_ext_desc_t how{};
      how.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
      how.freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
      CHECK_ZE(free_memory(gpu.context, &how, z));
      z = gpu.filled(kCount, static_cast<Word>(round));
    }
  }
  CHECK_ZE(zeKernelDestroy(seen));
  gpu.free(z);
  return 0;
}

/// A driver's own table of functions, among them one that submits work; asked for while work is held.
PROGRAM(own_table) {
  Loop loop;
  const newer::FunctionTable* table = nullptr;
  for (int round = 0; round < kRounds; ++round) {
    loop.some(5);
    if (round == kRounds / 2) {
      table = extension_function<const newer::FunctionTable*>(loop.gpu, newer::kTableExtension);
    }
    if (table != nullptr) {
      CHECK_ZE(table->append_add(loop.list, loop.x, kCount, static_cast<Word>(round)));
    }
    loop.some(6);
    loop.end(round);
  }
  return 0;
}

/// A driver's own setter, which nobody knows.
PROGRAM(drivers_setter) {
  Loop loop;
  const auto set_tag = extension_function<newer::SetTag>(loop.gpu, newer::kSetTag);
  ze_kernel_handle_t seen = loop.gpu.kernel("seen");
  set(seen, 0, loop.x);
  for (int round = 0; round < kRounds; ++round) {
    if (round == kRounds / 2) {
      CHECK_ZE(set_tag(seen, 7));
    }
    for (Word i = 0; i < 6; ++i) {
      loop.some(1);
      launch(loop.list, seen);
    }
    loop.end(round);
  }
  CHECK_ZE(zeKernelDestroy(seen));
  return 0;
}
