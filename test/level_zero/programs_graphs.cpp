// Programs that record graphs from their own lists (ZE_extension_record_replay_graph), with other work around them.

#include "test/level_zero/program.h"
#include "test/sim/level_zero/newer_api.h"

using namespace program;
namespace newer = sim::level_zero;

namespace {

constexpr Word kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr int kRounds = 120;

/// The functions, and work for them.
struct Recorder {
  Device gpu;
  newer::CreateGraph create = of<newer::CreateGraph>("zeGraphCreateExt");
  newer::BeginCapture begin = of<newer::BeginCapture>("zeCommandListBeginGraphCaptureExt");
  newer::BeginCaptureInto begin_into = of<newer::BeginCaptureInto>("zeCommandListBeginCaptureIntoGraphExt");
  newer::IsCapturing is_capturing = of<newer::IsCapturing>("zeCommandListIsGraphCaptureEnabledExt");
  newer::EndCapture end = of<newer::EndCapture>("zeCommandListEndGraphCaptureExt");
  newer::InstantiateGraph instantiate = of<newer::InstantiateGraph>("zeGraphInstantiateExt");
  newer::AppendGraph append = of<newer::AppendGraph>("zeCommandListAppendGraphExt");
  newer::IsGraphEmpty is_empty = of<newer::IsGraphEmpty>("zeGraphIsEmptyExt");
  newer::SetDestructionCallback at_end = of<newer::SetDestructionCallback>("zeGraphSetDestructionCallbackExt");
  newer::DestroyExecutableGraph destroy_executable = of<newer::DestroyExecutableGraph>("zeExecutableGraphDestroyExt");
  newer::DestroyGraph destroy = of<newer::DestroyGraph>("zeGraphDestroyExt");
  ze_command_list_handle_t list = gpu.list(), other = gpu.list();
  ze_event_handle_t done = gpu.event();
  ze_kernel_handle_t mix = gpu.kernel("mix_in");
  Word* x = gpu.filled(kCount, 1);
  Word* y = gpu.filled(kCount, 2);

  Recorder() = default;
  ~Recorder() {
    print("x", x, kCount);
    print("y", y, kCount);
    CHECK_ZE(zeEventDestroy(done));
    CHECK_ZE(zeKernelDestroy(mix));
    CHECK_ZE(zeCommandListDestroy(list));
    CHECK_ZE(zeCommandListDestroy(other));
    gpu.free(x);
    gpu.free(y);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  template <class Function>
  Function of(const char* name) const {
    return extension_function<Function>(gpu, name);
  }
  void some(Word count, Word first = 0) const {
    for (Word i = 0; i < count; ++i) {
      set_mix(mix, x, y, kCount, first + i);
      launch(list, mix);
    }
  }
  newer::GraphHandle* ended() const {
    newer::GraphHandle* graph = nullptr;
    CHECK_ZE(end(list, nullptr, &graph));
    return graph;
  }
  newer::ExecutableGraphHandle* executable(newer::GraphHandle* graph) const {
    newer::ExecutableGraphHandle* made = nullptr;
    CHECK_ZE(instantiate(graph, nullptr, &made));
    return made;
  }
  void run(newer::ExecutableGraphHandle* graph, ze_event_handle_t signal = nullptr,
           std::vector<ze_event_handle_t> waits = {}) const {
    CHECK_ZE(append(list, graph, nullptr, signal, static_cast<std::uint32_t>(waits.size()), waits.data()));
  }
  void finish_round(int round) const {
    finish(list, done);
    if (round % 20 == 19) {
      print("x", x, kCount);
      pause_briefly();
    }
  }
};

/// Events that count.
struct Counters {
  explicit Counters(Device& gpu) {
    newer::CounterBasedPool counters;
    ze_event_pool_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    description.pNext = &counters;
    description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    description.count = 2;
    CHECK_ZE(zeEventPoolCreate(gpu.context, &description, 1, &gpu.device, &pool));
    for (std::uint32_t i = 0; i < 2; ++i) {
      ze_event_desc_t one{};
      one.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
      one.index = i;
      CHECK_ZE(zeEventCreate(pool, &one, &events[i]));
    }
  }
  ~Counters() {
    for (ze_event_handle_t event : events) {
      CHECK_ZE(zeEventDestroy(event));
    }
    CHECK_ZE(zeEventPoolDestroy(pool));
  }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t events[2];
};

}  // namespace

/// A graph is recorded in the middle of a loop, and executed among launches, several times in flight; then another.
PROGRAM(own_graph) {
  Recorder recorder;
  newer::GraphHandle* graph = nullptr;
  newer::ExecutableGraphHandle* executable = nullptr;
  int gone = 0;
  for (int round = 0; round < kRounds; ++round) {
    recorder.some(6);
    if (round % 40 == 0) {  // among what is held
      if (graph != nullptr) {
        CHECK_ZE(recorder.destroy_executable(executable));
        CHECK_ZE(recorder.destroy(graph));
      }
      CHECK_ZE(recorder.begin(recorder.list, nullptr));
      recorder.some(6);
      CHECK_ZE(zeCommandListAppendMemoryCopy(recorder.list, recorder.y, recorder.x, kBytes / 2, nullptr, 0, nullptr));
      recorder.some(2, static_cast<Word>(round));
      std::printf("capturing %d\n", recorder.is_capturing(recorder.list) == newer::kQueryTrue ? 1 : 0);
      graph = recorder.ended();
      std::printf("capturing %d, empty %d\n", recorder.is_capturing(recorder.list) == newer::kQueryTrue ? 1 : 0,
                  recorder.is_empty(graph) == newer::kQueryTrue ? 1 : 0);
      executable = recorder.executable(graph);
      CHECK_ZE(recorder.at_end(
          graph, [](void* count) { ++*static_cast<int*>(count); }, &gone, nullptr));
    }
    for (int time = 0; time < 3; ++time) {
      recorder.run(executable);
      recorder.some(6);
    }
    recorder.finish_round(round);
  }
  CHECK_ZE(recorder.destroy_executable(executable));
  CHECK_ZE(recorder.destroy(graph));
  std::printf("gone %d\n", gone);
  return 0;
}

/// For the test that lets one call after the other fail: a graph is recorded among what is held.
PROGRAM(short_graph) {
  Recorder recorder;
  newer::GraphHandle* graph = nullptr;
  newer::ExecutableGraphHandle* executable = nullptr;
  for (int round = 0; round < 20; ++round) {
    recorder.some(5);
    if (round == 10) {
      CHECK_ZE(recorder.begin(recorder.list, nullptr));
      recorder.some(3, 20);
      graph = recorder.ended();
      executable = recorder.executable(graph);
    }
    if (executable != nullptr) {
      recorder.run(executable);
      recorder.some(5);
    }
    finish(recorder.list, recorder.done);
    pause_briefly();
  }
  CHECK_ZE(recorder.destroy_executable(executable));
  CHECK_ZE(recorder.destroy(graph));
  return 0;
}

/// Two lists are recorded into a graph that was made before, by counter-based events ("counters") or others; what the
/// graph's end signals is waited for by a list that is none of them. Meanwhile a third list goes on.
PROGRAM(forked_graph) {
  Recorder recorder;
  const bool counting = argc > 1 && std::string(argv[1]) == "counters";
  ze_command_list_handle_t third = recorder.gpu.list();
  ze_event_handle_t ended = recorder.gpu.event(), fork = nullptr, join = nullptr;
  Word* z = recorder.gpu.filled(kCount, 5);
  {
    const Counters* counters = counting ? new Counters(recorder.gpu) : nullptr;
    fork = counting ? counters->events[0] : recorder.gpu.event();
    join = counting ? counters->events[1] : recorder.gpu.event();
    for (int round = 0; round < 20; ++round) {  // is held, and one round of it is in flight below
      recorder.some(8);
      recorder.finish_round(round);
    }
    recorder.some(5);
    newer::GraphHandle* graph = nullptr;
    CHECK_ZE(recorder.create(recorder.gpu.context, nullptr, &graph));
    CHECK_ZE(recorder.begin_into(recorder.list, graph, nullptr));
    set_mix(recorder.mix, recorder.x, recorder.y, kCount, 1);
    launch(recorder.list, recorder.mix, 1, fork);
    set_mix(recorder.mix, recorder.y, recorder.x, kCount, 2);
    launch(recorder.other, recorder.mix, 1, nullptr, {fork});
    launch(recorder.other, recorder.mix, 1, join);
    for (Word i = 0; i < 8; ++i) {  // not recorded
      set_mix(recorder.mix, z, z, kCount, i);
      launch(third, recorder.mix);
    }
    CHECK_ZE(zeCommandListAppendWaitOnEvents(recorder.list, 1, &join));
    if (!counting) {
      CHECK_ZE(zeCommandListAppendEventReset(recorder.list, fork));
      CHECK_ZE(zeCommandListAppendEventReset(recorder.list, join));
    }
    std::printf("wait %x\n", static_cast<unsigned>(zeEventHostSynchronize(join, 0)));
    newer::GraphHandle* same = recorder.ended();
    std::printf("same %d\n", same == graph ? 1 : 0);
    newer::ExecutableGraphHandle* executables[2] = {recorder.executable(graph), recorder.executable(graph)};
    for (int round = 0; round < kRounds; ++round) {
      recorder.some(8);
      recorder.run(executables[round % 2], ended);
      set_mix(recorder.mix, z, recorder.y, kCount, 3);
      launch(third, recorder.mix, 1, nullptr, {ended});
      for (Word i = 0; i < 6; ++i) {
        set_mix(recorder.mix, z, z, kCount, i);
        launch(third, recorder.mix);
      }
      finish(third, recorder.done);
      CHECK_ZE(zeEventHostReset(ended));
      recorder.finish_round(round);
    }
    for (newer::ExecutableGraphHandle* each : executables) {
      CHECK_ZE(recorder.destroy_executable(each));
    }
    CHECK_ZE(recorder.destroy(graph));
    delete counters;
  }
  if (!counting) {
    CHECK_ZE(zeEventDestroy(fork));
    CHECK_ZE(zeEventDestroy(join));
  }
  print("z", z, kCount);
  CHECK_ZE(zeEventDestroy(ended));
  CHECK_ZE(zeCommandListDestroy(third));
  recorder.gpu.free(z);
  return 0;
}

/// Captures that the driver refuses, or ends without a graph, in the middle of what is held.
PROGRAM(refused_graph) {
  Recorder recorder;
  ze_event_handle_t fork = recorder.gpu.event(), never = recorder.gpu.event();
  for (int round = 0; round < kRounds; ++round) {
    recorder.some(6);
    newer::GraphHandle* graph = nullptr;
    if (round % 30 == 10) {
      std::printf("end %x\n", static_cast<unsigned>(recorder.end(recorder.list, nullptr, &graph)));
      CHECK_ZE(recorder.begin(recorder.list, nullptr));
      launch(recorder.list, recorder.mix, 1, fork);
      launch(recorder.other, recorder.mix, 1, nullptr, {fork});
      std::printf("end of a child %x\n", static_cast<unsigned>(recorder.end(recorder.other, nullptr, &graph)));
      std::printf("end %x\n", static_cast<unsigned>(recorder.end(recorder.list, nullptr, &graph)));  // not joined
      newer::ExecutableGraphHandle* executable = nullptr;
      std::printf("instantiate %x\n", static_cast<unsigned>(recorder.instantiate(graph, nullptr, &executable)));
      CHECK_ZE(recorder.destroy(graph));
    }
    if (round == kRounds / 2) {  // two at once, of which neither may wait for the other's
      CHECK_ZE(recorder.begin(recorder.list, nullptr));
      CHECK_ZE(recorder.begin(recorder.other, nullptr));
      launch(recorder.list, recorder.mix, 1, fork);
      std::printf("merge %x\n", static_cast<unsigned>(zeCommandListAppendWaitOnEvents(recorder.other, 1, &fork)));
      newer::GraphHandle* second = nullptr;
      CHECK_ZE(recorder.end(recorder.list, nullptr, &graph));
      CHECK_ZE(recorder.end(recorder.other, nullptr, &second));
      newer::ExecutableGraphHandle* executable = recorder.executable(graph);
      recorder.run(executable, nullptr);
      CHECK_ZE(zeEventHostSynchronize(fork, kForEver));
      CHECK_ZE(zeEventHostReset(fork));
      finish(recorder.list, recorder.done);
      CHECK_ZE(recorder.destroy_executable(executable));
      CHECK_ZE(recorder.destroy(graph));
      CHECK_ZE(recorder.destroy(second));
    }
    recorder.some(6);
    recorder.finish_round(round);
  }
  CHECK_ZE(zeEventDestroy(fork));
  CHECK_ZE(zeEventDestroy(never));
  return 0;
}

/// In a list without order a graph waits inside for an event that the host sets only after later work of that list is
/// done; and then a graph that waits for none.
PROGRAM(graph_that_waits) {
  Recorder recorder;
  ze_command_list_handle_t list = recorder.gpu.list(0);
  ze_event_handle_t go = recorder.gpu.event(), ended = recorder.gpu.event();
  std::vector<ze_event_handle_t> chain;
  for (int i = 0; i < 8; ++i) {
    chain.push_back(recorder.gpu.event());
  }
  newer::GraphHandle* graphs[2] = {};
  newer::ExecutableGraphHandle* executables[2] = {};
  for (int i = 0; i < 2; ++i) {
    CHECK_ZE(recorder.begin(list, nullptr));
    set_mix(recorder.mix, recorder.y, recorder.y, kCount, 1);
    launch(list, recorder.mix, 1, nullptr, i == 0 ? std::vector<ze_event_handle_t>{} : std::vector{go});
    CHECK_ZE(recorder.end(list, nullptr, &graphs[i]));
    executables[i] = recorder.executable(graphs[i]);
  }
  Word* z = recorder.gpu.filled(kCount, 7);
  for (int round = 0; round < 2 * kRounds; ++round) {
    const bool waits = round / 40 % 2 == 1;
    CHECK_ZE(recorder.append(list, executables[waits ? 1 : 0], nullptr, ended, 0, nullptr));
    for (Word i = 0; i < 8; ++i) {
      set_mix(recorder.mix, z, z, kCount, i);
      launch(list, recorder.mix, 1, chain[i], i == 0 ? std::vector<ze_event_handle_t>{} : std::vector{chain[i - 1]});
    }
    CHECK_ZE(zeEventHostSynchronize(chain.back(), kForEver));
    if (waits) {
      CHECK_ZE(zeEventHostSignal(go));
    }
    CHECK_ZE(zeEventHostSynchronize(ended, kForEver));
    if (waits) {
      CHECK_ZE(zeEventHostReset(go));
    }
    CHECK_ZE(zeEventHostReset(ended));
    for (ze_event_handle_t event : chain) {
      CHECK_ZE(zeEventHostReset(event));
    }
    if (round % 20 == 19) {
      pause_briefly();
    }
  }
  print("z", z, kCount);
  finish(list, recorder.done);
  for (int i = 0; i < 2; ++i) {
    CHECK_ZE(recorder.destroy_executable(executables[i]));
    CHECK_ZE(recorder.destroy(graphs[i]));
  }
  for (ze_event_handle_t event : chain) {
    CHECK_ZE(zeEventDestroy(event));
  }
  CHECK_ZE(zeEventDestroy(go));
  CHECK_ZE(zeEventDestroy(ended));
  CHECK_ZE(zeCommandListDestroy(list));
  recorder.gpu.free(z);
  return 0;
}
