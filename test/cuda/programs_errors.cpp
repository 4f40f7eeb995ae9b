// What the driver may refuse while it is submitted by another thread, after a pause, or with other arguments.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 64;
constexpr int kLongRounds = 200;
}  // namespace

/// Another thread waits for what the first one submitted, or nobody does for a while.
PROGRAM(short_handed) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < 40; ++round) {
    for (Word i = 0; i < 4; ++i) {
      mix_in(stream, mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, i);
    }
    if (round >= 20 && round % 2 == 0) {
      mix_in(stream, mix, x, y, kCount, 0);
      std::thread([&] {
        CHECK_CU(cuCtxSetCurrent(gpu.context));
        CHECK_CU(cuStreamSynchronize(stream));
      }).join();
    } else if (round >= 20) {
      mix_in(stream, mix, x, y, kCount, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    CHECK_CU(cuStreamSynchronize(stream));
    if (round % 4 == 0) {
      pause_briefly();
    }
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Several launches get other numbers in each round, and the old ones again.
PROGRAM(short_numbers) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction scale_function = gpu.function("scale");
  for (int round = 0; round < 40; ++round) {
    for (Word i = 0; i < 5; ++i) {
      scale(stream, scale_function, x, kCount, 3 + i, round % 3 == 2 ? 7 : static_cast<Word>(round) * i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
    if (round % 4 == 0) {
      pause_briefly();
    }
  }
  print("x", x, kCount);
  return 0;
}

namespace {
CUstream late_stream = nullptr;
CUfunction late_kernel = nullptr;
CUdeviceptr late_memory = 0;

CUresult launch_late(Word i) {
  Word a = 3, b = i, count = kCount;
  void* parameters[] = {&late_memory, &count, &a, &b};
  return cuLaunchKernel(late_kernel, 1, 1, 1, 64, 1, 1, 0, late_stream, parameters, nullptr);
}

/// A handler of exit() that runs when the driver's own has run.
void work_late() {
  std::printf("late:");
  for (int round = 0; round < 3; ++round) {
    for (Word i = 0; i < 8; ++i) {
      std::printf(" %d", static_cast<int>(launch_late(i)));
    }
    std::printf(" %d\n", static_cast<int>(cuStreamSynchronize(late_stream)));
  }
}
}  // namespace

/// Goes on with its loop while it ends, when the driver refuses everything (SIM_END_AT).
PROGRAM(at_exit) {
  CHECK_CU(cuInit(0));
  std::atexit(&work_late);
  static const auto& gpu = *new Device;  // not given back
  late_stream = make_stream();
  late_memory = filled(kCount, 1);
  late_kernel = gpu.function("scale");
  for (int round = 0; round < 300; ++round) {
    for (Word i = 0; i < 8; ++i) {
      CHECK_CU(launch_late(i));
    }
    CHECK_CU(cuStreamSynchronize(late_stream));
  }
  print("x", late_memory, kCount);
  return 0;
}

/// Children in which CUDA does not work, forked while something is held.
PROGRAM(forks) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  for (int round = 0; round < kLongRounds; ++round) {
    for (Word i = 0; i < 3; ++i) {
      scale(stream, kernel, x, kCount, 3, i);
    }
    if (round % 50 == 49) {
      const pid_t child = fork();
      if (child == 0) {
        CUdeviceptr address = x;
        Word count = kCount, a = 5, b = 0;  // as the parent's next launch
        void* parameters[] = {&address, &count, &a, &b};
        const CUresult launched = cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
        const CUresult made = cuMemAlloc(&address, 4);
        const CUresult waited = cuCtxSynchronize();
        const bool refused = launched == CUDA_ERROR_NOT_INITIALIZED && made == CUDA_ERROR_NOT_INITIALIZED &&
                             waited == CUDA_ERROR_NOT_INITIALIZED;
        _exit(refused ? 5 : 6);
      }
      int status = 0;
      waitpid(child, &status, 0);
      std::printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    for (Word i = 0; i < 3; ++i) {
      scale(stream, kernel, x, kCount, 5, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  return 0;
}

#ifndef PROGRAMS_ON_HIP
/// In the middle of what repeats come calls that name something of another context: the driver refuses them, or not.
PROGRAM(strangers) {
  const Device gpu;
  CUstream stream = make_stream();
  CUevent event = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  CUcontext other = nullptr;
  CHECK_CU(cuCtxCreate(&other, nullptr, 0, 0));  // current from here on
  CUstream other_stream = make_stream();
  CUevent other_event = make_event();
  CUmodule other_module = nullptr;
  CUfunction other_kernel = nullptr;
  CHECK_CU(cuModuleLoadData(&other_module, "kernels"));
  CHECK_CU(cuModuleGetFunction(&other_kernel, other_module, "scale"));
  CUdeviceptr other_x = filled(kCount, 1);
  CHECK_CU(cuCtxSetCurrent(gpu.context));
  Word a = 3, b = 1, count = kCount;
  CUdeviceptr where = x;
  void* parameters[] = {&where, &count, &a, &b};
  const auto launch = [&](CUfunction function, CUstream into) {
    return cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, into, parameters, nullptr);
  };
  const auto tell = [](const char* what, CUresult status) { std::printf("%s: %d\n", what, static_cast<int>(status)); };
  for (int round = 0; round < 300; ++round) {
    const int stranger = round < 200 ? 0 : round % 8;
    CHECK_CU(launch(kernel, stream));
    if (stranger == 1) {
      tell("another's kernel", launch(other_kernel, stream));
    } else if (stranger == 2) {
      tell("another's stream", launch(kernel, other_stream));
    } else if (stranger == 3 || stranger == 4) {
      CHECK_CU(cuCtxSetCurrent(stranger == 3 ? other : nullptr));
      tell("another or no current context", launch(kernel, stream));
      CHECK_CU(cuCtxSetCurrent(gpu.context));
    }
    CHECK_CU(launch(kernel, stream));
    if (stranger == 5) {
      tell("another's event", cuEventRecord(other_event, stream));
    } else if (stranger == 6) {
      tell("own event in another's stream", cuEventRecord(event, other_stream));
    }
    CHECK_CU(cuEventRecord(event, stream));
    CHECK_CU(launch(kernel, stream));
    if (stranger == 7) {
      tell("a wait for another's event", cuStreamWaitEvent(stream, other_event, 0));
    }
    CHECK_CU(cuEventSynchronize(event));
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  CHECK_CU(cuCtxSetCurrent(other));
  print("other x", other_x, kCount);
  return 0;
}
#endif
