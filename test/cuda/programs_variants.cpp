// Every function that submits, in the middle of a loop that is replayed: what it does is done, and in its place.
// Compiled a second time for programs whose functions have other names, and whose stream 0 is the thread's own
// (programs_variants_ptsz.cpp). So nothing inline of program.h that calls the driver is used.
#include <atomic>
#include <cstring>

#include "test/cuda/program.h"

#ifndef VARIANTS
#define VARIANTS variants
#define VARIANTS_STREAM make_stream()
#endif

using namespace program;

namespace {

constexpr Word kCount = 32;
constexpr std::size_t kBytes = kCount * sizeof(Word);

struct Work {
  const Device gpu;
  CUstream stream = VARIANTS_STREAM;
  CUfunction scale_function = gpu.function("scale");
  CUdeviceptr x = filled(kCount, 1);
  CUdeviceptr y = filled(kCount, 2);
  Word* given = pinned(kCount);
  Word* taken = pinned(kCount);
  CUevent event = make_event();
  CUdeviceptr managed = 0;
  CUmemoryPool pool = nullptr;
  CUmodule module = nullptr;
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
    launch(memory, b, [this](CUfunction function, void** parameters) {
      return cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
    });
  }
  CUgraph captured() {
    CUgraph graph = nullptr;
    CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch(y, 9);
    CHECK_CU(cuStreamEndCapture(stream, &graph));
    return graph;
  }
};

struct Kind {
  const char* name;
  void (*submit)(Work& work, Word i);
};

CUDA_MEMCPY2D rows(Work& work) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = work.x;
  copy.dstDevice = work.y;
  copy.srcPitch = 16;
  copy.dstPitch = 32;
  copy.WidthInBytes = 12;
  copy.Height = 4;
  return copy;
}
CUDA_MEMCPY3D slices(Work& work) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = work.x;
  copy.dstDevice = work.y;
  copy.srcPitch = copy.dstPitch = 16;
  copy.srcHeight = copy.dstHeight = 4;
  copy.WidthInBytes = 8;
  copy.Height = 2;
  copy.Depth = 2;
  return copy;
}

const Kind kKinds[] = {
    {"nothing", [](Work&, Word) {}},
    {"launch with attributes",
     [](Work& work, Word i) {
       CUlaunchConfig config{};
       config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
       config.blockDimX = 64;
       config.hStream = work.stream;
       work.launch(work.y, i, [&](CUfunction function, void** parameters) {
         return cuLaunchKernelEx(&config, function, parameters, nullptr);
       });
     }},
    {"cooperative launch",
     [](Work& work, Word i) {
       work.launch(work.y, i, [&](CUfunction function, void** parameters) {
         return cuLaunchCooperativeKernel(function, 1, 1, 1, 64, 1, 1, 0, work.stream, parameters);
       });
     }},
    {"host function",
     [](Work& work, Word) {
       CHECK_CU(cuLaunchHostFunc(
           work.stream, [](void* calls) { ++*static_cast<std::atomic<Word>*>(calls); }, &work.host_calls));
     }},
    {"prefetch",
     [](Work& work, Word i) {
       const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, 0};
       CHECK_CU(cuMemPrefetchAsync(work.managed, kBytes, device, 0, work.stream));
       work.launch(work.managed, i);
       CHECK_CU(cuMemcpyDtoDAsync(work.y, work.managed, kBytes, work.stream));
     }},
    {"copy", [](Work& work, Word) { CHECK_CU(cuMemcpyAsync(work.y, work.x, kBytes / 2, work.stream)); }},
    {"copy on the device",
     [](Work& work, Word) { CHECK_CU(cuMemcpyDtoDAsync(work.y + 4, work.x, kBytes / 4, work.stream)); }},
    {"copy to the device",
     [](Work& work, Word) { CHECK_CU(cuMemcpyHtoDAsync(work.y, work.given, kBytes / 2, work.stream)); }},
    {"copy to the host",
     [](Work& work, Word) { CHECK_CU(cuMemcpyDtoHAsync(work.taken, work.x, kBytes, work.stream)); }},
    {"copy between contexts",
     [](Work& work, Word) {
       CHECK_CU(cuMemcpyPeerAsync(work.y + 8, work.gpu.context, work.x, work.gpu.context, kBytes / 4, work.stream));
     }},
    {"copy of rows",
     [](Work& work, Word) {
       const CUDA_MEMCPY2D copy = rows(work);
       CHECK_CU(cuMemcpy2DAsync(&copy, work.stream));
     }},
    {"copy of slices",
     [](Work& work, Word) {
       const CUDA_MEMCPY3D copy = slices(work);
       CHECK_CU(cuMemcpy3DAsync(&copy, work.stream));
     }},
    {"fill of bytes", [](Work& work, Word) { CHECK_CU(cuMemsetD8Async(work.y + 1, 7, 5, work.stream)); }},
    {"fill of 2 bytes", [](Work& work, Word) { CHECK_CU(cuMemsetD16Async(work.y + 2, 0x1234, 5, work.stream)); }},
    {"fill of 4 bytes", [](Work& work, Word) { CHECK_CU(cuMemsetD32Async(work.y + 4, 0x12345678, 5, work.stream)); }},
    {"fill of 4 bytes with one",
     [](Work& work, Word) { CHECK_CU(cuMemsetD32Async(work.y, 0x05050505, 6, work.stream)); }},
    {"fill of rows of bytes", [](Work& work, Word) { CHECK_CU(cuMemsetD2D8Async(work.y, 16, 3, 5, 4, work.stream)); }},
    {"fill of rows of 2 bytes",
     [](Work& work, Word) { CHECK_CU(cuMemsetD2D16Async(work.y, 16, 0x1234, 5, 4, work.stream)); }},
    {"fill of rows of 4 bytes",
     [](Work& work, Word) { CHECK_CU(cuMemsetD2D32Async(work.y, 16, 0x12345678, 3, 4, work.stream)); }},
    {"event",
     [](Work& work, Word) {
       CHECK_CU(cuEventRecord(work.event, work.stream));
       CHECK_CU(cuStreamWaitEvent(work.stream, work.event, 0));
     }},
    {"event with flags",
     [](Work& work, Word) {
       CHECK_CU(cuEventRecordWithFlags(work.event, work.stream, CU_EVENT_RECORD_DEFAULT));
       CHECK_CU(cuStreamWaitEvent(work.stream, work.event, 0));
     }},
    {"memory in order",
     [](Work& work, Word) {
       CUdeviceptr made = 0;
       CHECK_CU(cuMemAllocAsync(&made, kBytes, work.stream));
       CHECK_CU(cuMemcpyDtoDAsync(made, work.x, kBytes, work.stream));
       CHECK_CU(cuMemcpyDtoDAsync(work.y, made, kBytes / 2, work.stream));
       CHECK_CU(cuMemFreeAsync(made, work.stream));
     }},
    {"memory of a pool",
     [](Work& work, Word) {
       CUdeviceptr made = 0;
       CHECK_CU(cuMemAllocFromPoolAsync(&made, kBytes, work.pool, work.stream));
       CHECK_CU(cuMemcpyDtoDAsync(made, work.x, kBytes, work.stream));
       CHECK_CU(cuMemcpyDtoDAsync(work.y, made, kBytes / 2, work.stream));
       CHECK_CU(cuMemFreeAsync(made, work.stream));
       CHECK_CU(cuMemPoolTrimTo(work.pool, 0));
     }},
    {"graph",
     [](Work& work, Word) {
       CUgraph graph = work.captured();
       CUgraphExec exec = nullptr;
       CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
       CHECK_CU(cuGraphLaunch(exec, work.stream));
       CHECK_CU(cuGraphExecDestroy(exec));
       CHECK_CU(cuGraphDestroy(graph));
     }},
    {"attributes of the stream",
     [](Work& work, Word) {
       CUstreamAttrValue value{};
       value.syncPolicy = CU_SYNC_POLICY_YIELD;
       CHECK_CU(cuStreamSetAttribute(work.stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
     }},
    {"registered memory",
     [](Work& work, Word) {
       static Word memory[1024];
       CHECK_CU(cuMemHostRegister(memory, sizeof(memory), 0));
       CHECK_CU(cuMemcpyDtoHAsync(memory, work.x, kBytes, work.stream));
       CHECK_CU(cuStreamSynchronize(work.stream));
       CHECK_CU(cuMemHostUnregister(memory));
       work.launch(work.y, memory[3]);
     }},
    {"another module",
     [](Work& work, Word i) {
       CUmodule module = nullptr;
       CUfunction function = nullptr;
       CHECK_CU(cuModuleLoadDataEx(&module, "kernels", 0, nullptr, nullptr));
       CHECK_CU(cuModuleGetFunction(&function, module, "scale"));
       work.launch(work.y, i, [&](CUfunction, void** parameters) {
         return cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, work.stream, parameters, nullptr);
       });
       CHECK_CU(cuStreamSynchronize(work.stream));
       CHECK_CU(cuModuleUnload(module));
     }},
    {"another context for a moment",
     [](Work& work, Word) {
       CUcontext popped = nullptr;
       CHECK_CU(cuCtxPopCurrent(&popped));
       CHECK_CU(cuCtxPushCurrent(work.gpu.context));
     }},
    {"stream asked",
     [](Work& work, Word) {
       while (cuStreamQuery(work.stream) == CUDA_ERROR_NOT_READY) {
       }
     }},
};

Word mixed(Work& work) {
  Word sum = work.host_calls;
  for (const CUdeviceptr memory : {work.x, work.y}) {
    std::vector<Word> words(kCount);
    CHECK_CU(cuMemcpyDtoH(words.data(), memory, kBytes));
    for (const Word word : words) {
      sum = sum * 31 + word;
    }
  }
  for (Word i = 0; i < kCount; ++i) {
    sum = sum * 31 + work.taken[i];
  }
  return sum;
}

}  // namespace

#define PROGRAM_CALLED(name) PROGRAM(name)
PROGRAM_CALLED(VARIANTS) {
  Work work;
  for (Word i = 0; i < kCount; ++i) {
    work.given[i] = 100 + i;
  }
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK_CU(cuMemPoolCreate(&work.pool, &properties));
  CHECK_CU(cuMemAllocManaged(&work.managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  CHECK_CU(cuMemsetD32(work.managed, 1, kCount));
  for (const Kind& kind : kKinds) {
    for (Word round = 0; round < 40; ++round) {
      for (int part = 0; part < 2; ++part) {
        work.launch(work.x, 5);
        kind.submit(work, 7);
        work.launch(work.x, 6);
        work.launch(work.y, 8);
      }
      CHECK_CU(cuStreamSynchronize(work.stream));
    }
    std::printf("%s: %08x\n", kind.name, mixed(work));
  }
  CHECK_CU(cuMemFree(work.managed));
  CHECK_CU(cuMemPoolDestroy(work.pool));
  return 0;
}
