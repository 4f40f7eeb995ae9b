// Every function that submits, and what waits, frees or captures under another name, in the middle of a loop that is
// replayed: what it does is done, and in its place. See test/cuda/programs_variants.cpp.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // programs call such functions, too

#include <cuda.h>  // in HIP's words

#include <atomic>

#include "test/cuda/program.h"

extern "C" {
hipError_t hipExtGetLastError(void);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream);
hipError_t hipGraphLaunch_spt(hipGraphExec_t exec, hipStream_t stream);
hipError_t hipLaunchHostFunc_spt(hipStream_t stream, void (*function)(void*), void* data);
hipError_t hipMemcpy2DAsync_spt(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                std::size_t width, std::size_t height, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemsetAsync_spt(void* to, int value, std::size_t bytes, hipStream_t stream);
hipError_t hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t* graph);
hipError_t hipGetProcAddress_spt(const char* symbol, void** function, int version, std::uint64_t flags, int* found);
hipError_t hipGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* found);
hipError_t hipGetDriverEntryPoint_spt(const char* symbol, void** function, unsigned long long flags, int* found);
// The C function of newer runtimes; in libamdhip64.so.5 it was a C++ one, as the older name is (hip_ext.h).
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, std::uint32_t global_x, std::uint32_t global_y,
                                    std::uint32_t global_z, std::uint32_t local_x, std::uint32_t local_y,
                                    std::uint32_t local_z, std::size_t shared_bytes, hipStream_t stream,
                                    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop,
                                    std::uint32_t flags);
}
hipError_t hipHccModuleLaunchKernel(hipFunction_t function, std::uint32_t global_x, std::uint32_t global_y,
                                    std::uint32_t global_z, std::uint32_t local_x, std::uint32_t local_y,
                                    std::uint32_t local_z, std::size_t shared_bytes, hipStream_t stream,
                                    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop);

/// The kernel scale of the program itself (programs_hip.cpp).
const void* registered_scale() noexcept;

using namespace program;

namespace {

constexpr Word kCount = 32;
constexpr std::size_t kBytes = kCount * sizeof(Word);

CUdeviceptr managed_memory() {
  CUdeviceptr made = 0;
  CHECK_CU(cuMemAllocManaged(&made, kBytes, CU_MEM_ATTACH_GLOBAL));
  CHECK_CU(cuMemsetD32(made, 1, kCount));
  return made;
}

struct Work {
  explicit Work(bool own) : stream(own ? hipStreamPerThread : make_stream()), spt(own ? nullptr : stream) {}

  const Device gpu;
  hipStream_t stream;
  hipStream_t spt;  ///< the same stream, for functions whose stream 0 is the thread's own
  hipFunction_t scale_function = gpu.function("scale");
  CUdeviceptr x = filled(kCount, 1);
  CUdeviceptr y = filled(kCount, 2);
  CUdeviceptr managed = managed_memory();
  Word* given = pinned(kCount);
  Word* taken = pinned(kCount);
  hipEvent_t event = make_event();
  hipMemPool_t pool = nullptr;
  std::atomic<Word> host_calls{0};

  /// The kernel scale, by one of the functions that launch.
  template <class Launch>
  void launch(CUdeviceptr memory, Word b, Launch&& by) {
    Word count = kCount;
    Word a = 3;
    void* parameters[] = {&memory, &count, &a, &b, nullptr};
    CHECK_CU(by(scale_function, parameters));
  }
  void launch(CUdeviceptr memory, Word b) {
    launch(memory, b, [this](hipFunction_t function, void** parameters) {
      return hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
    });
  }
  /// With events of the launch's own, which are for its time and nothing else.
  template <class Launch>
  void launch_timed(Word b, Launch&& by) {
    hipEvent_t start = nullptr, stop = nullptr;
    CHECK_CU(hipEventCreate(&start));
    CHECK_CU(hipEventCreate(&stop));
    launch(y, b, [&](hipFunction_t function, void** parameters) { return by(function, parameters, start, stop); });
    CHECK_CU(hipStreamSynchronize(stream));
    float milliseconds = -1;
    CHECK_CU(hipEventElapsedTime(&milliseconds, start, stop));
    host_calls += milliseconds >= 0 ? 1 : 0;
    CHECK_CU(hipEventDestroy(start));
    CHECK_CU(hipEventDestroy(stop));
  }
  /// Before copies that return when they are done, whose stream does not wait for streams of the other kind.
  void wait_unless_own() const {
    if (spt != nullptr) {
      CHECK_CU(hipStreamSynchronize(stream));
    }
  }
  void launch_of(hipModule_t module, Word b) {
    hipFunction_t function = nullptr;
    CHECK_CU(hipModuleGetFunction(&function, module, "scale"));
    launch(y, b, [&](hipFunction_t, void** parameters) {
      return hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
    });
    CHECK_CU(hipStreamSynchronize(stream));
    CHECK_CU(hipModuleUnload(module));
  }
  void launch_graph(hipGraph_t graph, hipError_t (*by)(hipGraphExec_t, hipStream_t), hipStream_t on) {
    hipGraphExec_t exec = nullptr;
    CHECK_CU(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    CHECK_CU(by(exec, on));
    CHECK_CU(hipGraphExecDestroy(exec));
    CHECK_CU(hipGraphDestroy(graph));
  }
};

struct Kind {
  const char* name;
  void (*submit)(Work& work, Word i);
};

template <class LookUp>
void* found_by(LookUp&& look_up) {
  void* function = nullptr;
  CHECK_CU(look_up(&function));
  return function;
}

const Kind kKinds[] = {
    {"nothing", [](Work&, Word) {}},
    {"prefetch by the newer call",
     [](Work& work, Word i) {
       CHECK_CU(hipMemPrefetchAsync_v2(in_hip(work.managed), kBytes, {hipMemLocationTypeDevice, 0}, 0, work.stream));
       work.launch(work.managed, i);
       CHECK_CU(hipMemcpyDtoDAsync(in_hip(work.y), in_hip(work.managed), kBytes, work.stream));
     }},
    {"launch of the program's own kernel",
     [](Work& work, Word i) {
       work.launch(work.y, i, [&](hipFunction_t, void** parameters) {
         return hipExtLaunchKernel(registered_scale(), dim3(1), dim3(64), parameters, 0, work.stream, nullptr, nullptr,
                                   0);
       });
     }},
    {"the same with events of its own",
     [](Work& work, Word i) {
       work.launch_timed(i, [&](hipFunction_t, void** parameters, hipEvent_t start, hipEvent_t stop) {
         return hipExtLaunchKernel(registered_scale(), dim3(1), dim3(64), parameters, 0, work.stream, start, stop, 0);
       });
     }},
    {"launch in work-items",
     [](Work& work, Word i) {
       work.launch(work.y, i, [&](hipFunction_t function, void** parameters) {
         return hipExtModuleLaunchKernel(function, 64, 1, 1, 32, 1, 1, 0, work.stream, parameters, nullptr, nullptr,
                                         nullptr, 0);
       });
     }},
    {"the same with events, in work-items",
     [](Work& work, Word i) {
       work.launch_timed(i, [&](hipFunction_t function, void** parameters, hipEvent_t start, hipEvent_t stop) {
         return hipExtModuleLaunchKernel(function, 64, 1, 1, 32, 1, 1, 0, work.stream, parameters, nullptr, start, stop,
                                         0);
       });
     }},
    {"launch in work-items by the older name",
     [](Work& work, Word i) {
       work.launch(work.y, i, [&](hipFunction_t function, void** parameters) {
         return hipHccModuleLaunchKernel(function, 64, 1, 1, 32, 1, 1, 0, work.stream, parameters, nullptr, nullptr,
                                         nullptr);
       });
     }},
    {"the same with events, by the older name",
     [](Work& work, Word i) {
       work.launch_timed(i, [&](hipFunction_t function, void** parameters, hipEvent_t start, hipEvent_t stop) {
         return hipHccModuleLaunchKernel(function, 64, 1, 1, 32, 1, 1, 0, work.stream, parameters, nullptr, start,
                                         stop);
       });
     }},
    {"host function",
     [](Work& work, Word) {
       CHECK_CU(hipLaunchHostFunc_spt(
           work.spt, [](void* calls) { ++*static_cast<std::atomic<Word>*>(calls); }, &work.host_calls));
     }},
    {"copy",
     [](Work& work, Word) {
       CHECK_CU(hipMemcpyAsync_spt(in_hip(work.y), in_hip(work.x), kBytes / 2, hipMemcpyDeviceToDevice, work.spt));
     }},
    {"copy to the device",
     [](Work& work, Word) {
       CHECK_CU(hipMemcpyAsync_spt(in_hip(work.y), work.given, kBytes / 2, hipMemcpyHostToDevice, work.spt));
     }},
    {"copy to the host",
     [](Work& work, Word) {
       CHECK_CU(hipMemcpyAsync_spt(work.taken, in_hip(work.x), kBytes, hipMemcpyDeviceToHost, work.spt));
     }},
    {"copy between devices",
     [](Work& work, Word) {
       CHECK_CU(hipMemcpyPeerAsync(in_hip(work.y + 8), 0, in_hip(work.x), 0, kBytes / 4, work.stream));
     }},
    {"copy of rows",
     [](Work& work, Word) {
       CHECK_CU(hipMemcpy2DAsync_spt(in_hip(work.y), 32, in_hip(work.x), 16, 12, 4, hipMemcpyDeviceToDevice, work.spt));
     }},
    {"copy of rows from pinned memory",
     [](Work& work, Word) {
       CHECK_CU(hipMemcpy2DAsync_spt(in_hip(work.y), 32, work.given, 16, 12, 4, hipMemcpyDefault, work.spt));
     }},
    {"copy of slices",
     [](Work& work, Word) {
       hipMemcpy3DParms copy{};
       copy.srcPtr = make_hipPitchedPtr(in_hip(work.x), 16, 16, 4);
       copy.dstPtr = make_hipPitchedPtr(in_hip(work.y), 16, 16, 3);
       copy.srcPos = make_hipPos(4, 1, 0);
       copy.extent = make_hipExtent(8, 2, 2);
       copy.kind = hipMemcpyDeviceToDevice;
       CHECK_CU(hipMemcpy3DAsync(&copy, work.stream));
     }},
    {"copy now",
     [](Work& work, Word) {
       work.wait_unless_own();
       CHECK_CU(hipMemcpy(work.taken, in_hip(work.x), kBytes, hipMemcpyDeviceToHost));
     }},
    {"copy now by the other name",
     [](Work& work, Word) {
       work.wait_unless_own();
       CHECK_CU(hipMemcpy_spt(in_hip(work.y), work.given, kBytes / 4, hipMemcpyHostToDevice));
       CHECK_CU(hipMemcpy_spt(work.taken, in_hip(work.y), kBytes, hipMemcpyDeviceToHost));
     }},
    {"fill of rows", [](Work& work, Word) { CHECK_CU(hipMemset2DAsync(in_hip(work.y), 16, 3, 5, 4, work.stream)); }},
    {"fill of words of equal bytes",
     [](Work& work, Word) { CHECK_CU(hipMemsetD32Async(in_hip(work.y), 0x05050505, 6, work.stream)); }},
    {"fill", [](Work& work, Word) { CHECK_CU(hipMemsetAsync_spt(in_hip(work.y + 1), 7, 5, work.spt)); }},
    {"event",
     [](Work& work, Word) {
       CHECK_CU(hipEventRecord_spt(work.event, work.spt));
       CHECK_CU(hipStreamWaitEvent_spt(work.spt, work.event, 0));
     }},
    {"event with flags",
     [](Work& work, Word) {
       CHECK_CU(hipEventRecordWithFlags(work.event, work.stream, 0));
       CHECK_CU(hipStreamWaitEvent(work.stream, work.event, 0));
     }},
    {"event made for a moment",
     [](Work& work, Word) {
       hipEvent_t made = nullptr;
       CHECK_CU(hipEventCreate(&made));
       CHECK_CU(hipEventRecord(made, work.stream));
       CHECK_CU(hipEventSynchronize(made));
       CHECK_CU(hipEventDestroy(made));
     }},
    {"memory of a pool",
     [](Work& work, Word) {
       void* made = nullptr;
       CHECK_CU(hipMallocFromPoolAsync(&made, kBytes, work.pool, work.stream));
       CHECK_CU(hipMemcpyDtoDAsync(made, in_hip(work.x), kBytes, work.stream));
       CHECK_CU(hipMemcpyDtoDAsync(in_hip(work.y), made, kBytes / 2, work.stream));
       CHECK_CU(hipFreeAsync(made, work.stream));
       CHECK_CU(hipMemPoolTrimTo(work.pool, 0));
     }},
    {"a pool for a moment",
     [](Work&, Word) {
       hipMemPool_t made = nullptr;
       hipMemPoolProps properties{};
       CHECK_CU(hipMemPoolCreate(&made, &properties));
       CHECK_CU(hipMemPoolDestroy(made));
     }},
    {"graph",
     [](Work& work, Word) {
       hipGraph_t graph = nullptr;
       CHECK_CU(hipStreamBeginCapture(work.stream, hipStreamCaptureModeRelaxed));
       work.launch(work.y, 9);
       CHECK_CU(hipStreamEndCapture(work.stream, &graph));
       work.launch_graph(graph, &hipGraphLaunch, work.stream);
     }},
    {"graph by the other names",
     [](Work& work, Word) {
       hipGraph_t graph = nullptr;
       CHECK_CU(hipStreamBeginCapture_spt(work.spt, hipStreamCaptureModeRelaxed));
       work.launch(work.y, 9);
       CHECK_CU(hipStreamEndCapture_spt(work.spt, &graph));
       work.launch_graph(graph, &hipGraphLaunch_spt, work.spt);
     }},
    {"registered memory",
     [](Work& work, Word) {
       static Word memory[1024];
       CHECK_CU(hipHostRegister(memory, sizeof(memory), hipHostRegisterDefault));
       CHECK_CU(hipMemcpyDtoHAsync(memory, in_hip(work.x), kBytes, work.stream));
       CHECK_CU(hipStreamSynchronize(work.stream));
       CHECK_CU(hipHostUnregister(memory));
       work.launch(work.y, memory[3]);
     }},
    {"pinned memory for a moment",
     [](Work& work, Word) {
       Word* made = pinned(kCount);
       CHECK_CU(hipMemcpyDtoHAsync(made, in_hip(work.x), kBytes, work.stream));
       CHECK_CU(hipStreamSynchronize(work.stream));
       const Word seen = made[5];
       CHECK_CU(hipFreeHost(made));
       work.launch(work.y, seen);
     }},
    {"another module",
     [](Work& work, Word i) {
       hipModule_t module = nullptr;
       CHECK_CU(hipModuleLoadDataEx(&module, contract_image, 0, nullptr, nullptr));
       work.launch_of(module, i);
     }},
    {"a module of a file",
     [](Work& work, Word i) {
       hipModule_t module = nullptr;
       CHECK_CU(hipModuleLoad(&module, CONTRACT_FILE));
       work.launch_of(module, i);
     }},
    {"context released, which does nothing", [](Work&, Word) { CHECK_CU(hipDevicePrimaryCtxRelease(0)); }},
    {"context reset, which does nothing", [](Work&, Word) { CHECK_CU(hipDevicePrimaryCtxReset(0)); }},
    {"context waited for",
     [](Work& work, Word) {
       CHECK_CU(hipMemcpyDtoHAsync(work.taken, in_hip(work.x), kBytes, work.stream));
       CHECK_CU(hipCtxSynchronize());
       work.launch(work.y, work.taken[5]);
     }},
    {"stream asked",
     [](Work& work, Word) {
       while (hipStreamQuery_spt(work.spt) == hipErrorNotReady) {
       }
     }},
    {"last error",
     [](Work& work, Word) {
       const hipError_t wrong =
           hipModuleLaunchKernel(work.scale_function, 1, 1, 1, 0, 1, 1, 0, work.stream, nullptr, nullptr);
       work.launch(work.y, static_cast<Word>(wrong));
       work.launch(work.y, static_cast<Word>(hipExtGetLastError()));
     }},
    {"functions looked up",
     [](Work& work, Word) {
       auto* copy = reinterpret_cast<decltype(&hipMemcpyAsync_spt)>(
           found_by([](void** to) { return hipGetProcAddress_spt("hipMemcpyAsync", to, 70200000, 0, nullptr); }));
       CHECK_CU(copy(in_hip(work.y), in_hip(work.x), 8, hipMemcpyDefault, work.spt));
       auto* fill = reinterpret_cast<decltype(&hipMemsetAsync_spt)>(
           found_by([](void** to) { return hipGetDriverEntryPoint_spt("hipMemsetAsync", to, 0, nullptr); }));
       CHECK_CU(fill(in_hip(work.y + 8), 5, 8, work.spt));
       auto* by = reinterpret_cast<decltype(&hipModuleLaunchKernel)>(
           found_by([](void** to) { return hipGetDriverEntryPoint("hipModuleLaunchKernel", to, 0, nullptr); }));
       work.launch(work.y, 4, [&](hipFunction_t function, void** parameters) {
         return by(function, 1, 1, 1, 64, 1, 1, 0, work.stream, parameters, nullptr);
       });
     }},
};

Word mixed(Work& work) {
  Word sum = work.host_calls;
  for (const CUdeviceptr memory : {work.x, work.y}) {
    for (const Word word : read(memory, kCount)) {
      sum = sum * 31 + word;
    }
  }
  for (Word i = 0; i < kCount; ++i) {
    sum = sum * 31 + work.taken[i];
  }
  return sum;
}

/// `own`: in the thread's own default stream.
void run(bool own) {
  Work work(own);
  for (Word i = 0; i < kCount; ++i) {
    work.given[i] = 100 + i;
  }
  hipMemPoolProps properties{};
  CHECK_CU(hipMemPoolCreate(&work.pool, &properties));
  for (const Kind& kind : kKinds) {
    for (Word round = 0; round < 40; ++round) {
      for (int part = 0; part < 2; ++part) {
        work.launch(work.x, 5);
        kind.submit(work, 7);
        work.launch(work.x, 6);
        work.launch(work.y, 8);
      }
      CHECK_CU(hipStreamSynchronize_spt(work.spt));
    }
    std::printf("%s: %08x\n", kind.name, mixed(work));
  }
  CHECK_CU(hipMemPoolDestroy(work.pool));
}

}  // namespace

PROGRAM(hip_variants) {
  run(false);
  run(true);
  return 0;
}
