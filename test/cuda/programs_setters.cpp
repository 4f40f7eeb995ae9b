// Setters in the middle of loops that are replayed: kernels tell what they were launched with.

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // programs call such functions, too

#include <array>

#include "test/cuda/program.h"

using namespace program;

namespace {

/// What the program sets, to one of a few values in turn, the first one at the end again.
struct Setter {
  const char* name;
  int values;
  void (*set)(const struct Loop& loop, int value);
};

constexpr Word kCount = 16;

struct Loop {
  const Device gpu;
  CUstream stream = make_stream();
  CUstream other = make_stream();
  CUdeviceptr x = filled(kCount, 1);
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction seen = gpu.function("seen");
  CUfunction scale = gpu.function("scale");
  CUfunction launched = seen;

  Loop() {
    CHECK_CU(cuLibraryLoadData(&library, "kernels", nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK_CU(cuLibraryGetKernel(&kernel, library, "seen"));
  }
  ~Loop() { CHECK_CU(cuLibraryUnload(library)); }

  void run(int rounds, int each) const {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 6; ++i) {
        launch_on(stream, launched, 32, x);
        program::scale(stream, scale, x, kCount, 3, static_cast<Word>(i));
      }
      if (round % each == each - 1) {
        CHECK_CU(cuStreamSynchronize(stream));
      }
    }
  }
};

template <int kAttribute>
void set_function(const Loop& loop, int value) {
  CHECK_CU(cuFuncSetAttribute(loop.seen, static_cast<CUfunction_attribute>(kAttribute), value));
}
CUstreamAttrValue domain(int value) {
  CUstreamAttrValue attribute{};
  attribute.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(value);
  return attribute;
}

const Setter kSetters[] = {
    {"cuFuncSetAttribute carveout", 4, &set_function<CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT>},
    {"cuFuncSetAttribute cluster", 5, &set_function<CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH>},
    {"cuFuncSetCacheConfig", 3,
     [](const Loop& loop, int value) { CHECK_CU(cuFuncSetCacheConfig(loop.seen, static_cast<CUfunc_cache>(value))); }},
    {"cuFuncSetSharedMemConfig", 3,
     [](const Loop& loop, int value) {
       CHECK_CU(cuFuncSetSharedMemConfig(loop.seen, static_cast<CUsharedconfig>(value)));
     }},
    {"cuKernelSetAttribute", 3,
     [](const Loop& loop, int value) {
       CHECK_CU(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, value, loop.kernel, 0));
     }},
    {"cuKernelSetCacheConfig", 3,
     [](const Loop& loop, int value) {
       CHECK_CU(cuKernelSetCacheConfig(loop.kernel, static_cast<CUfunc_cache>(value), 0));
     }},
    {"cuStreamSetAttribute", 2,
     [](const Loop& loop, int value) {
       const CUstreamAttrValue attribute = domain(value);
       CHECK_CU(cuStreamSetAttribute(loop.stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &attribute));
     }},
    {"cuStreamSetAttribute window", 3,
     [](const Loop& loop, int value) {
       CUstreamAttrValue attribute{};
       attribute.accessPolicyWindow.base_ptr = reinterpret_cast<void*>(loop.x);
       attribute.accessPolicyWindow.num_bytes = std::size_t{16} * static_cast<unsigned>(value);
       CHECK_CU(cuStreamSetAttribute(loop.stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &attribute));
     }},
    {"cuStreamCopyAttributes", 2,
     [](const Loop& loop, int value) {
       const CUstreamAttrValue attribute = domain(value);
       CHECK_CU(cuStreamSetAttribute(loop.other, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &attribute));
       CHECK_CU(cuStreamCopyAttributes(loop.stream, loop.other));
     }},
    {"cuCtxSetCacheConfig", 3,
     [](const Loop&, int value) { CHECK_CU(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(value))); }},
    {"cuCtxSetSharedMemConfig", 3,
     [](const Loop&, int value) { CHECK_CU(cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(value))); }},
    {"cuCtxSetLimit", 3,
     [](const Loop&, int value) {
       CHECK_CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, std::size_t{1024} * static_cast<unsigned>(value)));
     }},
    {"cuCtxSetFlags", 3, [](const Loop&, int value) { CHECK_CU(cuCtxSetFlags(static_cast<unsigned>(value))); }},
    {"cuDevicePrimaryCtxSetFlags", 3,
     [](const Loop&, int value) { CHECK_CU(cuDevicePrimaryCtxSetFlags(0, static_cast<unsigned>(value))); }},
    {"cuCtxEnablePeerAccess, cuCtxDisablePeerAccess", 2,
     [](const Loop& loop, int value) {
       CHECK_CU(value == 1 ? cuCtxEnablePeerAccess(loop.gpu.context, 0) : cuCtxDisablePeerAccess(loop.gpu.context));
     }},
    {"cuMemSetAccess", 2,
     [](const Loop& loop, int value) {
       CUmemAccessDesc access{};
       access.flags = value == 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
       CHECK_CU(cuMemSetAccess(loop.x, 64, &access, 1));
     }},
    {"cuMemPoolSetAccess", 2,
     [](const Loop&, int value) {
       CUmemAccessDesc access{};
       access.flags = value == 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
       CHECK_CU(cuMemPoolSetAccess(nullptr, &access, 1));
     }},
    {"cuPointerSetAttribute", 2,
     [](const Loop& loop, int value) {
       const auto flag = static_cast<unsigned>(value);
       CHECK_CU(cuPointerSetAttribute(&flag, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, loop.x));
     }},
    {"cuTexRefSetFlags", 3,
     [](const Loop&, int value) { CHECK_CU(cuTexRefSetFlags(nullptr, static_cast<unsigned>(value))); }},
    {"cuSurfRefSetArray", 3,
     [](const Loop&, int value) { CHECK_CU(cuSurfRefSetArray(nullptr, nullptr, static_cast<unsigned>(value))); }},
};

}  // namespace

/// Each setter in turn: long loops between the calls, so that each state has its graphs, then calls in each round.
PROGRAM(every_setter) {
  Loop loop;
  for (const Setter& setter : kSetters) {
    const std::string name = setter.name;
    loop.launched = name.starts_with("cuKernel") ? reinterpret_cast<CUfunction>(loop.kernel) : loop.seen;
    for (int i = 0; i <= 2 * setter.values; ++i) {
      setter.set(loop, 1 + i % setter.values);
      loop.run(24, i % 2 == 0 ? 2 : 1);
      pause_briefly();  // graphs of this state are made
      loop.run(24, 2);
    }
    for (int i = 0; i < 60; ++i) {
      setter.set(loop, 1 + i % setter.values);
      loop.run(1, 1);
    }
    print(setter.name, loop.x, kCount);
  }
  return 0;
}

/// What libraries do: the same before each launch, which must not end what is held.
PROGRAM(same_setters) {
  Loop loop;
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 8; ++i) {
      CHECK_CU(cuFuncSetAttribute(loop.seen, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
      launch_on(loop.stream, loop.seen, 32, loop.x);
      CHECK_CU(cuFuncSetCacheConfig(loop.scale, CU_FUNC_CACHE_PREFER_L1));
      const CUstreamAttrValue attribute = domain(1);
      CHECK_CU(cuStreamSetAttribute(loop.stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &attribute));
      CHECK_CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
      scale(loop.stream, loop.scale, loop.x, kCount, 3, static_cast<Word>(i));
    }
    CHECK_CU(cuStreamSynchronize(loop.stream));
  }
  print("x", loop.x, kCount);
  return 0;
}

/// Two handles of one kernel: what is set by one of them counts for what the other one is known to have.
PROGRAM(handles_of_setters) {
  Loop loop;
  CUfunction other = nullptr;
  CHECK_CU(cuKernelGetFunction(&loop.launched, loop.kernel));
  CHECK_CU(cuKernelGetFunction(&other, loop.kernel));
  for (int i = 0; i < 12; ++i) {
    const auto set = [&](CUfunction function, int value) {
      CHECK_CU(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, value));
    };
    set(loop.launched, 10 + i % 2);
    set(other, 20 + i % 3);
    loop.run(12, 1);
    pause_briefly();
    loop.run(12, 2);
    set(loop.launched, 10 + i % 2);
    loop.run(12, 1);
    pause_briefly();
    loop.run(12, 2);
  }
  print("x", loop.x, kCount);
  return 0;
}

/// The most dynamic shared memory that a kernel may have is lowered in mid-loop: launches with more are refused.
PROGRAM(lowered_limit) {
  const Loop loop;
  std::array<int, 6> refused{};
  for (std::size_t part = 0; part < refused.size(); ++part) {
    CHECK_CU(
        cuFuncSetAttribute(loop.seen, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, part % 2 == 0 ? 98304 : 49152));
    for (int i = 0; i < 200; ++i) {
      for (const unsigned shared : {65536U, 1024U}) {
        void* memory = const_cast<CUdeviceptr*>(&loop.x);
        const CUresult status = cuLaunchKernel(loop.seen, 1, 1, 1, 32, 1, 1, shared, loop.stream, &memory, nullptr);
        refused[part] += status == CUDA_SUCCESS ? 0 : shared == 65536 ? 1 : 1000;
        scale(loop.stream, loop.scale, loop.x, kCount, 3, 1);
      }
      if (i % 5 == 4) {
        CHECK_CU(cuStreamSynchronize(loop.stream));
      }
      if (i == 40) {
        pause_briefly();
      }
    }
  }
  for (const int count : refused) {
    std::printf("refused %d\n", count);
  }
  print("x", loop.x, kCount);
  return 0;
}

/// Attributes of launches, of which a plain launch has none, and several of one launch.
PROGRAM(launches_with_attributes) {
  const Loop loop;
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim = {2, 1, 1};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
  attributes[1].value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  const CUstreamAttrValue own = domain(1);
  for (int round = 0; round < 400; ++round) {
    if (round == 200) {
      CHECK_CU(cuStreamSetAttribute(loop.stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &own));
    }
    for (unsigned i = 0; i < 6; ++i) {
      CUlaunchConfig config{};
      config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.blockDimX = 32;
      config.hStream = loop.stream;
      config.attrs = attributes;
      config.numAttrs = i % 3;
      void* memory = const_cast<CUdeviceptr*>(&loop.x);
      CHECK_CU(cuLaunchKernelEx(&config, loop.seen, &memory, nullptr));
      launch_on(loop.stream, loop.seen, 32, loop.x);
    }
    CHECK_CU(cuStreamSynchronize(loop.stream));
  }
  print("x", loop.x, kCount);
  return 0;
}

namespace {

/// A launch of the kernel `seen` with these attributes.
void launch_with(const Loop& loop, CUlaunchAttribute* attributes, unsigned count) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 32;
  config.hStream = loop.stream;
  config.attrs = attributes;
  config.numAttrs = count;
  void* memory = const_cast<CUdeviceptr*>(&loop.x);
  CHECK_CU(cuLaunchKernelEx(&config, loop.seen, &memory, nullptr));
}

}  // namespace

/// A launch without attributes, now and then, where one of the same kernel with attributes is predicted.
PROGRAM(missing_attributes) {
  const Loop loop;
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {2, 1, 1};
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 8; ++i) {
      const bool plain = round >= 200 && round % 10 == 9 && i == 5;
      launch_with(loop, plain ? nullptr : &attribute, plain ? 0 : 1);
      if (round >= 200 && round % 10 == 4 && i == 2) {
        launch_on(loop.stream, loop.seen, 32, loop.x);
      } else {
        launch_with(loop, &attribute, 1);
      }
    }
    CHECK_CU(cuStreamSynchronize(loop.stream));
  }
  print("x", loop.x, kCount);
  return 0;
}

/// An attribute that names an event, which no graph may have, in front of one that every graph may have.
PROGRAM(attribute_with_an_event) {
  const Loop loop;
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attributes[0].value.launchCompletionEvent.event = make_event();
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
  attributes[1].value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 6; ++i) {
      launch_with(loop, attributes, 2);
    }
    CHECK_CU(cuStreamSynchronize(loop.stream));
    if (round % 50 == 20) {
      pause_briefly();
    }
  }
  print("x", loop.x, kCount);
  return 0;
}

/// Cooperative launches, which a kernel that waits for all of its grid needs.
PROGRAM(cooperative) {
  const Loop loop;
  void* memory = const_cast<CUdeviceptr*>(&loop.x);
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 6; ++i) {
      CHECK_CU(cuLaunchCooperativeKernel(loop.seen, 1, 1, 1, 32, 1, 1, 0, loop.stream, &memory));
      scale(loop.stream, loop.scale, loop.x, kCount, 3, static_cast<Word>(i));
    }
    CHECK_CU(cuStreamSynchronize(loop.stream));
  }
  print("x", loop.x, kCount);
  return 0;
}

/// The same value for one device and then for another one (SIM_DEVICES).
PROGRAM(setters_of_devices) {
  Loop loop;
  loop.launched = reinterpret_cast<CUfunction>(loop.kernel);
  for (int i = 0; i < 12; ++i) {
    CHECK_CU(
        cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 1 + i / 2 % 3, loop.kernel, i % 2));
    loop.run(24, i % 2 == 0 ? 2 : 1);
    pause_briefly();
    loop.run(24, 2);
  }
  print("x", loop.x, kCount);
  return 0;
}
