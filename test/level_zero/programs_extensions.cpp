// What extensions bring, and what changes from one repetition to the next; queues that can only copy.

#include <initializer_list>

#include "test/level_zero/program.h"
#include "test/sim/level_zero/newer_api.h"

using namespace program;
namespace newer = sim::level_zero;

namespace {

constexpr Word kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr int kRounds = 200;

/// A list that can be changed, a queue for it, and a fence.
struct MutableList {
  explicit MutableList(const Device& gpu, bool is_mutable = true) {
    newer::MutableList changeable;
    ze_command_list_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    description.pNext = is_mutable ? &changeable : nullptr;
    CHECK_ZE(zeCommandListCreate(gpu.context, gpu.device, &description, &list));
    ze_command_queue_desc_t of_queue{};
    of_queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    of_queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    CHECK_ZE(zeCommandQueueCreate(gpu.context, gpu.device, &of_queue, &queue));
    ze_fence_desc_t of_fence{};
    of_fence.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    CHECK_ZE(zeFenceCreate(queue, &of_fence, &fence));
    next = extension_function<newer::GetNextCommandId>(gpu, "zeCommandListGetNextCommandIdExp");
    update = extension_function<newer::UpdateMutableCommands>(gpu, "zeCommandListUpdateMutableCommandsExp");
  }
  ~MutableList() {
    CHECK_ZE(zeFenceDestroy(fence));
    CHECK_ZE(zeCommandQueueDestroy(queue));
    CHECK_ZE(zeCommandListDestroy(list));
  }
  MutableList(const MutableList&) = delete;
  MutableList& operator=(const MutableList&) = delete;
  std::uint64_t identify(std::uint32_t what = 0) const {
    newer::MutableCommandId description;
    description.flags = what;
    std::uint64_t id = 0;
    CHECK_ZE(next(list, &description, &id));
    return id;
  }
  /// `changes`: a chain of them.
  [[nodiscard]] ze_result_t change(const void* changes) const {
    newer::MutableCommands all;
    all.pNext = changes;
    return update(list, &all);
  }
  void execute() { CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence)); }
  void wait() const {
    CHECK_ZE(zeFenceHostSynchronize(fence, kForEver));
    CHECK_ZE(zeFenceReset(fence));
  }

  ze_command_list_handle_t list = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  ze_fence_handle_t fence = nullptr;
  newer::GetNextCommandId next = nullptr;
  newer::UpdateMutableCommands update = nullptr;
};

newer::MutableArgument argument(std::uint64_t command, std::uint32_t index, const void* value, std::size_t size) {
  newer::MutableArgument change;
  change.command = command;
  change.index = index;
  change.size = size;
  change.value = value;
  return change;
}

}  // namespace

/// Numbers that never come back, buffers in turns, one of them new now and then; several rounds in flight.
PROGRAM(updates) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* sets[3] = {gpu.filled(kCount, 2), gpu.filled(kCount, 3), gpu.filled(kCount, 4)};
  for (int round = 0; round < 3 * kRounds; ++round) {
    Word* const y = sets[round % 3];
    for (Word i = 0; i < 6; ++i) {
      set_mix(mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, static_cast<Word>(round) * i);
      launch(list, mix);
    }
    if (round % 4 == 3) {
      finish(list, done);
      print("x", x, kCount);
    }
    if (round % 48 == 47) {  // most probably at the same address
      print("freed", sets[1], kCount);
      gpu.free(sets[1]);
      sets[1] = gpu.filled(kCount, static_cast<Word>(round));
    }
  }
  for (Word* each : {x, sets[0], sets[1], sets[2]}) {
    print("memory", each, kCount);
    gpu.free(each);
  }
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  return 0;
}

/// For the test that lets one call after the other fail: only the numbers change.
PROGRAM(short_updates) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  for (int round = 0; round < 20; ++round) {
    for (Word i = 0; i < 5; ++i) {
      set_mix(mix, x, x, kCount, static_cast<Word>(round) + i);
      launch(list, mix);
    }
    finish(list, done);
    pause_briefly();
  }
  print("x", x, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  gpu.free(x);
  return 0;
}

/// Copies and events in turns, which no list can be given anew, beside a number that changes in some rounds.
PROGRAM(turns) {
  Device gpu;
  ze_command_list_handle_t list = gpu.list();
  ze_event_handle_t ends[2] = {gpu.event(), gpu.event()};
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* sets[2] = {gpu.filled(kCount, 2), gpu.filled(kCount, 3)};
  for (int round = 0; round < 2 * kRounds; ++round) {
    Word* const y = sets[round % 2];
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, y, x, kBytes / 2, nullptr, 0, nullptr));
    for (Word i = 0; i < 5; ++i) {
      set_mix(mix, x, y, kCount, round % 50 == 0 ? static_cast<Word>(round) : i);
      launch(list, mix, 1, i == 4 ? ends[round % 2] : nullptr);
    }
    CHECK_ZE(zeEventHostSynchronize(ends[round % 2], kForEver));
    CHECK_ZE(zeEventHostReset(ends[round % 2]));
  }
  for (Word* each : {x, sets[0], sets[1]}) {
    print("memory", each, kCount);
    gpu.free(each);
  }
  CHECK_ZE(zeEventDestroy(ends[0]));
  CHECK_ZE(zeEventDestroy(ends[1]));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(list));
  return 0;
}

/// A list of the program's own, whose commands it changes from one execution to the next, an immediate one beside it.
PROGRAM(own_mutable_list) {
  Device gpu;
  ze_command_list_handle_t immediate = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  {
    MutableList own(gpu);
    set_mix(mix, x, y, kCount, 1);
    const std::uint64_t first = own.identify(newer::kMutatesArguments);
    launch(own.list, mix);
    CHECK_ZE(zeCommandListAppendBarrier(own.list, nullptr, 0, nullptr));
    const std::uint64_t second = own.identify();
    launch(own.list, mix);
    CHECK_ZE(zeCommandListClose(own.list));
    for (int round = 0; round < kRounds; ++round) {
      for (Word i = 0; i < 6; ++i) {
        set_mix(mix, y, y, kCount, i);
        launch(immediate, mix);
      }
      finish(immediate, done);
      const Word value = static_cast<Word>(round);
      const Word* const* other = round % 2 == 0 ? &x : &y;
      const ze_group_count_t groups = {1U + value % 2U, 1, 1};
      newer::MutableArgument a = argument(first, 3, &value, sizeof(value));
      newer::MutableArgument b = argument(second, 1, other, sizeof(*other));
      newer::MutableGroupCount c;
      c.command = second;
      c.count = &groups;
      newer::MutableGroupSize d;
      d.command = second;
      d.x = 16;
      d.y = d.z = 1;
      newer::MutableOffset e;
      e.command = second;
      a.pNext = &b;
      b.pNext = &c;
      c.pNext = &d;
      d.pNext = &e;
      CHECK_ZE(own.change(&a));
      CHECK_ZE(zeCommandListClose(own.list));
      own.execute();
      own.wait();
    }
  }
  print("x", x, kCount);
  print("y", y, kCount);
  CHECK_ZE(zeEventDestroy(done));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(immediate));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// One rule of mutable lists or counter-based events after the other is broken: argv[1] says which.
PROGRAM(broken_rule) {
  Device gpu;
  const std::string which = argc > 1 ? argv[1] : "";
  ze_event_handle_t go = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  set_mix(mix, x, x, kCount, 1);
  const Word value = 7;
  MutableList own(gpu, which != "not_mutable");
  const std::uint64_t id = which == "not_mutable" ? 0 : own.identify(newer::kMutatesArguments);
  launch(own.list, mix, 1, nullptr, {go});
  const newer::MutableArgument change = argument(id, 3, &value, sizeof(value));
  if (which != "never_closed") {
    CHECK_ZE(zeCommandListClose(own.list));
  }
  if (which == "in_flight") {
    own.execute();
    std::printf("refused %d\n", own.change(&change) != ZE_RESULT_SUCCESS ? 1 : 0);
    CHECK_ZE(zeEventHostSignal(go));
    own.wait();
  } else if (which == "not_closed") {
    CHECK_ZE(own.change(&change));
    const bool refused = zeCommandQueueExecuteCommandLists(own.queue, 1, &own.list, own.fence) != ZE_RESULT_SUCCESS;
    std::printf("refused %d\n", refused ? 1 : 0);
  } else if (which == "not_asked") {
    const ze_group_count_t groups = {2, 1, 1};
    newer::MutableGroupCount count;
    count.command = id;
    count.count = &groups;
    std::printf("refused %d\n", own.change(&count) != ZE_RESULT_SUCCESS ? 1 : 0);
  } else {
    std::printf("refused %d\n", own.change(&change) != ZE_RESULT_SUCCESS ? 1 : 0);
  }
  CHECK_ZE(zeEventDestroy(go));
  CHECK_ZE(zeKernelDestroy(mix));
  gpu.free(x);
  return 0;
}

/// Events that count instead of being set and reset, on two lists that are in order.
PROGRAM(counter_events) {
  Device gpu;
  newer::CounterBasedPool counters;
  ze_event_pool_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  description.pNext = &counters;
  description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  description.count = 2;
  ze_event_pool_handle_t pool = nullptr;
  CHECK_ZE(zeEventPoolCreate(gpu.context, &description, 1, &gpu.device, &pool));
  ze_event_handle_t events[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    ze_event_desc_t one{};
    one.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    one.index = i;
    one.signal = one.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    CHECK_ZE(zeEventCreate(pool, &one, &events[i]));
  }
  ze_command_list_handle_t first = gpu.list(), second = gpu.list();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 8; ++i) {
      set_mix(mix, x, x, kCount, i);
      launch(first, mix);
    }
    set_mix(mix, x, x, kCount, static_cast<Word>(round));
    launch(first, mix, 1, events[0]);
    set_mix(mix, y, x, kCount, 1);
    launch(second, mix, 1, nullptr, {events[0]});
    for (Word i = 0; i < 8; ++i) {
      set_mix(mix, y, y, kCount, i);
      launch(second, mix);
    }
    CHECK_ZE(zeCommandListAppendBarrier(second, events[1], 0, nullptr));
    CHECK_ZE(zeCommandListAppendWaitOnEvents(first, 1, &events[1]));
    if (round % 3 == 2) {
      CHECK_ZE(zeEventHostSynchronize(events[1], kForEver));
      wrong += zeEventQueryStatus(events[0]) != ZE_RESULT_SUCCESS ? 1 : 0;
      ze_kernel_timestamp_result_t time{};
      CHECK_ZE(zeEventQueryKernelTimestamp(events[0], &time));
      print("y", y, kCount);
    }
  }
  CHECK_ZE(zeEventHostSynchronize(events[1], kForEver));
  std::printf("wrong %d\n", wrong);
  print("x", x, kCount);
  print("y", y, kCount);
  CHECK_ZE(zeCommandListDestroy(second));
  ze_event_handle_t done = gpu.event();
  finish(first, done);
  for (ze_event_handle_t event : {events[0], events[1], done}) {
    CHECK_ZE(zeEventDestroy(event));
  }
  CHECK_ZE(zeEventPoolDestroy(pool));
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(first));
  gpu.free(x);
  gpu.free(y);
  return 0;
}

/// Copies on a queue that can do nothing else, kernels on another, and events between them.
PROGRAM(copy_engine) {
  Device gpu;
  std::uint32_t count = 0;
  CHECK_ZE(zeDeviceGetCommandQueueGroupProperties(gpu.device, &count, nullptr));
  std::vector<ze_command_queue_group_properties_t> groups(count);
  CHECK_ZE(zeDeviceGetCommandQueueGroupProperties(gpu.device, &count, groups.data()));
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  description.flags = kInOrder;
  for (std::uint32_t i = 0; i < count; ++i) {
    if ((groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) == 0) {
      description.ordinal = i;
      description.index = groups[i].numQueues - 1;
    }
  }
  std::printf("copies on group %u of %u\n", description.ordinal, count);
  ze_command_list_handle_t copies = nullptr;
  CHECK_ZE(zeCommandListCreateImmediate(gpu.context, gpu.device, &description, &copies));
  ze_command_list_handle_t kernels = gpu.list();
  ze_event_handle_t uploaded = gpu.event(), computed = gpu.event(), done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* input = gpu.filled(2UL * kCount, 1);
  Word* x = gpu.device_memory(kCount);
  Word* y = gpu.filled(kCount, 2);
  Word* output = gpu.host_memory(2UL * kCount);
  const Word pattern = 0x01020304;
  for (int round = 0; round < kRounds; ++round) {
    CHECK_ZE(zeCommandListAppendMemoryFill(copies, output, &pattern, sizeof(pattern), kBytes, nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendMemoryCopy(copies, x, input, kBytes, nullptr, 0, nullptr));
    const ze_copy_region_t region = {0, 0, 0, 16, 4, 1};
    CHECK_ZE(zeCommandListAppendMemoryCopyRegion(copies, output, &region, 32, 0, input + kCount, &region, 16, 0,
                                                 nullptr, 0, nullptr));
    CHECK_ZE(zeCommandListAppendMemoryCopy(copies, x, input + kCount, kBytes / 2, uploaded, 0, nullptr));
    for (Word i = 0; i < 4; ++i) {
      set_mix(mix, y, x, kCount, i);
      launch(kernels, mix, 1, i == 3 ? computed : nullptr,
             i == 0 ? std::vector<ze_event_handle_t>{uploaded} : std::vector<ze_event_handle_t>{});
    }
    CHECK_ZE(zeCommandListAppendMemoryCopy(copies, output + kCount, y, kBytes, nullptr, 1, &computed));
    CHECK_ZE(zeCommandListAppendMemoryCopy(copies, input, output + kCount, kBytes / 4, nullptr, 0, nullptr));
    finish(copies, done);
    CHECK_ZE(zeEventHostReset(uploaded));
    CHECK_ZE(zeEventHostReset(computed));
    if (round % 20 == 0) {
      print("output", output, 2UL * kCount);
    }
  }
  finish(kernels, done);
  print("output", output, 2UL * kCount);
  print("y", y, kCount);
  for (ze_event_handle_t event : {uploaded, computed, done}) {
    CHECK_ZE(zeEventDestroy(event));
  }
  CHECK_ZE(zeKernelDestroy(mix));
  CHECK_ZE(zeCommandListDestroy(copies));
  CHECK_ZE(zeCommandListDestroy(kernels));
  for (Word* memory : {input, x, y, output}) {
    gpu.free(memory);
  }
  return 0;
}
