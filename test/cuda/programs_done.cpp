// What a program knows to be done, and asks for.

#include <atomic>
#include <string>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
}  // namespace

/// Work of one stream is known to be done from another one alone; then each event and stream is asked. "blocking": the
/// streams are blocking ones, and the default stream is asked as well: when all is known to be done, and when a kernel
/// has only just been launched. "copies", "allocations": another thread, which has nothing to do with all that, makes
/// such meanwhile, copies in many streams. "graphs": graphs of the program's own are launched between the questions.
PROGRAM(implied) {
  const Device gpu;
  const std::string way = argc > 1 ? argv[1] : "";
  const bool blocking = way == "blocking";
  const unsigned flags = blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  CUstream streams[] = {make_stream(flags), make_stream(flags), make_stream(flags)};
  Word* told = pinned(1);
  CUfunction store = gpu.function("store");
  CUevent events[] = {make_event(), make_event(), make_event(), make_event()};
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const CUdeviceptr z = filled(kCount, 3);
  const CUdeviceptr w = filled(kCount, 4);
  CUfunction mix = gpu.function("mix_in");
  int asked = 0;
  const auto ask = [&asked](CUresult status) {
    ++asked;
    if (status != CUDA_SUCCESS) {
      std::printf("not ready: question %d\n", asked);
    }
  };
  std::atomic<bool> over{way != "copies" && way != "allocations"};
  CUstream beside = make_stream();
  const CUdeviceptr own = filled(kCount, 5);
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    Word words[kCount] = {};
    CUdeviceptr made = 0;
    std::vector<CUstream> many{beside};
    while (way == "copies" && many.size() < 100) {
      many.push_back(make_stream());
    }
    for (std::size_t turn = 0; !over; ++turn) {
      if (way == "allocations") {
        CHECK_CU(cuMemAlloc(&made, 64));
        CHECK_CU(cuMemFree(made));
      } else {
        CUstream stream = many[turn % many.size()];
        CHECK_CU(cuMemcpyDtoHAsync(words, own, sizeof(words), stream));
        CHECK_CU(cuStreamSynchronize(stream));
      }
      std::this_thread::yield();
    }
  });
  CUgraphExec graph = nullptr;
  if (way == "graphs") {
    CUgraph description = nullptr;
    CHECK_CU(cuStreamBeginCapture(beside, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    mix_in(beside, mix, own, own, kCount, 8);
    CHECK_CU(cuStreamEndCapture(beside, &description));
    CHECK_CU(cuGraphInstantiate(&graph, description, 0));
    CHECK_CU(cuGraphDestroy(description));
  }
  for (int round = 0; round < 120; ++round) {
    for (int part = 0; part < 4; ++part) {
      mix_in(streams[0], mix, x, y, kCount, 1);
      CHECK_CU(cuEventRecord(events[0], streams[0]));
      CHECK_CU(cuStreamWaitEvent(streams[1], events[0], 0));
      CHECK_CU(cuStreamWaitEvent(streams[2], events[0], 0));
      mix_in(streams[1], mix, y, x, kCount, 2);
      mix_in(streams[2], mix, z, x, kCount, 3);
      CHECK_CU(cuEventRecord(events[1], streams[1]));
      CHECK_CU(cuEventRecord(events[2], streams[2]));
      CHECK_CU(cuStreamWaitEvent(streams[0], events[1], 0));
      CHECK_CU(cuStreamWaitEvent(streams[0], events[2], 0));
      mix_in(streams[0], mix, y, z, kCount, 4);
      CHECK_CU(cuEventRecord(events[3], streams[0]));
      CHECK_CU(cuStreamWaitEvent(streams[1], events[3], 0));
      mix_in(streams[1], mix, w, y, kCount, 5);
    }
    CHECK_CU(cuEventRecord(events[0], streams[1]));
    // The last wait of stream 0 is done, whichever way this is known; streams 1 and 2 end before it, but for the end of
    // stream 1.
    const bool all = round % 3 == 2;
    switch (round % 3) {
      case 0: CHECK_CU(cuEventSynchronize(events[3])); break;
      case 1: CHECK_CU(cuStreamSynchronize(streams[0])); break;
      default: CHECK_CU(cuEventSynchronize(events[0])); break;
    }
    for (CUevent event : {events[1], events[2], events[3]}) {
      ask(cuEventQuery(event));
    }
    ask(cuStreamQuery(streams[0]));
    ask(cuStreamQuery(streams[2]));
    if (graph != nullptr) {
      CHECK_CU(cuGraphLaunch(graph, beside));
      for (CUevent event : {events[1], events[2], events[3]}) {  // told once, it stays so
        ask(cuEventQuery(event));
      }
      ask(cuStreamQuery(streams[0]));
      ask(cuStreamQuery(streams[2]));
    }
    if (all) {
      ask(cuStreamQuery(streams[1]));
      ask(cuEventQuery(events[0]));
    }
    if (all && blocking) {
      ask(cuStreamQuery(nullptr));
      mix_in(nullptr, mix, x, y, kCount, 6);
      mix_in(nullptr, mix, x, y, kCount, 7);
      launch_on(streams[1], store, 1, reinterpret_cast<CUdeviceptr>(told), static_cast<Word>(round));
      if (cuStreamQuery(nullptr) == CUDA_SUCCESS && *static_cast<volatile Word*>(told) != static_cast<Word>(round)) {
        std::printf("done too early: round %d\n", round);
      }
    }
    CHECK_CU(cuCtxSynchronize());
  }
  over = true;
  other.join();
  if (graph != nullptr) {
    CHECK_CU(cuGraphExecDestroy(graph));
  }
  std::printf("asked %d times\n", asked);
  print("x", x, kCount);
  print("y", y, kCount);
  print("z", z, kCount);
  print("w", w, kCount);
  return 0;
}

/// A stream is known to be done; then another thread, in which nothing repeats, launches kernels there.
PROGRAM(added_by_other) {
  const Device gpu;
  CUstream streams[] = {make_stream(), make_stream()};
  CUstream beside = make_stream();
  CUevent there = make_event();
  CUevent back = make_event();
  Word* told = pinned(1);
  CUfunction mix = gpu.function("mix_in");
  CUfunction store = gpu.function("store");
  CUfunction busy = gpu.function("busy");
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const CUdeviceptr own = filled(kCount, 3);
  std::atomic<bool> ready{false};
  std::atomic<int> wanted{0};
  std::atomic<int> launched{0};
  constexpr int kRounds = 120;
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    Word words[kCount] = {};
    const auto copy = [&](int times) {
      for (int i = 0; i < times; ++i) {
        CHECK_CU(cuMemcpyDtoHAsync(words, own, sizeof(words), beside));
        CHECK_CU(cuStreamSynchronize(beside));
      }
    };
    copy(3500);  // with REFRAIN_DORMANT_AFTER=100, Refrain does not look at this thread's next 2900
    ready = true;
    for (int round = 1; round <= kRounds; ++round) {
      copy(15);
      while (wanted != round) {
        std::this_thread::yield();
      }
      if (round % 24 == 0) {  // longer than anybody would wait for what Refrain puts behind graphs
        launch_on(streams[1], busy, 1, y, Word{50'000});
      }
      launch_on(streams[1], store, 1, reinterpret_cast<CUdeviceptr>(told), static_cast<Word>(round));
      launched = round;
    }
  });
  while (!ready) {
    std::this_thread::yield();
  }
  for (int round = 1; round <= kRounds; ++round) {
    for (int part = 0; part < 6; ++part) {
      mix_in(streams[0], mix, x, y, kCount, 1);
      CHECK_CU(cuEventRecord(there, streams[0]));
      CHECK_CU(cuStreamWaitEvent(streams[1], there, 0));
      mix_in(streams[1], mix, y, x, kCount, 2);
      CHECK_CU(cuEventRecord(back, streams[1]));
      CHECK_CU(cuStreamWaitEvent(streams[0], back, 0));
    }
    CHECK_CU(cuStreamSynchronize(streams[0]));
    if (cuStreamQuery(streams[1]) != CUDA_SUCCESS) {
      std::printf("not ready: round %d\n", round);
    }
    wanted = round;
    while (launched != round) {
      std::this_thread::yield();
    }
    if (cuStreamQuery(streams[1]) == CUDA_SUCCESS && *static_cast<volatile Word*>(told) != static_cast<Word>(round)) {
      std::printf("done too early: round %d\n", round);
    }
    CHECK_CU(cuCtxSynchronize());
  }
  other.join();
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}
