// One stream: arguments, copies, fills, setters, attributes.

#include <cstring>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 64;
constexpr int kRounds = 300;
}  // namespace

/// The plainest loop.
PROGRAM(loop) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 1000);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 10; ++i) {
      mix_in(stream, mix, i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, kCount, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Arguments change with each launch, and what they came from is overwritten right after the call.
PROGRAM(arguments) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 7);
  CUfunction kernel = gpu.function("scale");
  CUdeviceptr address = 0;
  Word count = 0, a = 0, b = 0;
  void* parameters[] = {&address, &count, &a, &b};
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 8; ++i) {
      address = x;
      count = kCount - i % 3;
      a = 3 + i;
      b = round < kRounds / 2 ? i : i + static_cast<Word>(round);  // repeats, then never again
      CHECK_CU(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
      address = 0xDEAD;
      count = a = b = 0xDEAD;
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  return 0;
}

/// Two sets of buffers in turns.
PROGRAM(ping_pong) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr sets[2][2] = {{filled(kCount, 1), filled(kCount, 2)}, {filled(kCount, 3), filled(kCount, 4)}};
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < 2 * kRounds; ++round) {
    const auto& set = sets[round % 2];
    for (Word i = 0; i < 6; ++i) {
      mix_in(stream, mix, set[i % 2], set[1 - i % 2], kCount, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  for (const auto& set : sets) {
    print("set", set[0], kCount);
    print("set", set[1], kCount);
  }
  return 0;
}

/// Copies of every kind; pageable sources are overwritten right after the call, pinned ones when they were read.
PROGRAM(copies) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  Word* input = pinned(kCount);
  Word* output = pinned(kCount);
  std::vector<Word> pageable(kCount);
  CUfunction mix = gpu.function("mix_in");
  constexpr std::size_t kBytes = kCount * sizeof(Word);
  Word sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < kCount; ++i) {
      input[i] = i * static_cast<Word>(round);
    }
    CHECK_CU(cuMemcpyHtoDAsync(y, input, kBytes, stream));
    mix_in(stream, mix, x, y, kCount, 1);
    CHECK_CU(cuMemcpyDtoDAsync(y, x, kBytes, stream));
    mix_in(stream, mix, y, x, kCount, 2);
    CHECK_CU(cuMemcpyDtoHAsync(output, y, kBytes, stream));
    mix_in(stream, mix, x, y, kCount, 3);
    CHECK_CU(cuMemcpyAsync(x, y, kBytes / 2, stream));
    CHECK_CU(cuStreamSynchronize(stream));
    sum = sum * 31 + output[round % static_cast<int>(kCount)];
    if (round >= kRounds / 2) {
      pageable.assign(kCount, static_cast<Word>(round));
      CHECK_CU(cuMemcpyHtoDAsync(y, pageable.data(), kBytes, stream));
      pageable.assign(kCount, 0xBAD);
      mix_in(stream, mix, x, y, kCount, 4);
      CHECK_CU(cuMemcpyDtoHAsync(pageable.data(), x, kBytes, stream));  // done when it returns
      sum = sum * 31 + pageable[3];
    }
  }
  std::printf("sum %u\n", sum);
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// A pageable source, overwritten right after the call, in the middle of what repeats.
PROGRAM(pageable) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  std::vector<Word> source(kCount);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 5; ++i) {
      mix_in(stream, mix, x, y, kCount, i);
    }
    source.assign(kCount, static_cast<Word>(round) % 2);
    CHECK_CU(cuMemcpyHtoDAsync(y, source.data(), kCount * sizeof(Word), stream));
    source.assign(kCount, 0xBAD);
    for (Word i = 0; i < 5; ++i) {
      mix_in(stream, mix, x, y, kCount, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Pinned memory that a copy reads when it runs: the program changes it between the call and the wait for the copy,
/// in the only allowed way, which is by an earlier copy of the same stream.
PROGRAM(staging) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  Word* staging = pinned(kCount);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 3; ++i) {
      CHECK_CU(cuMemcpyDtoHAsync(staging, x, kCount * sizeof(Word), stream));
      CHECK_CU(cuMemcpyHtoDAsync(y, staging, kCount * sizeof(Word), stream));
      mix_in(stream, mix, x, y, kCount, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  return 0;
}

#ifndef PROGRAMS_ON_HIP
/// Copies and fills of rows and slices: with offsets, other pitches on both sides, to and from pinned and pageable
/// memory.
PROGRAM(rows) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  Word* output = pinned(kCount);
  std::vector<Word> pageable(kCount);
  CUfunction mix = gpu.function("mix_in");
  CUDA_MEMCPY2D flat{};  // 3 words of 4 rows of 8 words, to rows of 6
  flat.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  flat.srcDevice = x;
  flat.srcPitch = 8 * sizeof(Word);
  flat.srcXInBytes = 2 * sizeof(Word);
  flat.srcY = 1;
  flat.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  flat.dstDevice = y;
  flat.dstPitch = 6 * sizeof(Word);
  flat.dstXInBytes = sizeof(Word);
  flat.WidthInBytes = 3 * sizeof(Word);
  flat.Height = 4;
  CUDA_MEMCPY2D back = flat;
  back.srcDevice = y;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = output;
  CUDA_MEMCPY3D box{};  // 2 slices of 2 rows of 2 words
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = y;
  box.srcPitch = 4 * sizeof(Word);
  box.srcHeight = 4;
  box.srcZ = 1;
  box.dstDevice = x;
  box.dstPitch = 2 * sizeof(Word);
  box.dstHeight = 3;
  box.dstY = 1;
  box.WidthInBytes = 2 * sizeof(Word);
  box.Height = 2;
  box.Depth = 2;
  Word sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    CHECK_CU(cuMemcpy2DAsync(&flat, stream));
    mix_in(stream, mix, x, y, kCount, 1);
    CHECK_CU(cuMemsetD2D32Async(y + 4, 5 * sizeof(Word), 1000003, 2, 3, stream));
    mix_in(stream, mix, y, x, kCount, 2);
    CHECK_CU(cuMemcpy3DAsync(&box, stream));
    CHECK_CU(cuMemsetD2D8Async(x + 64, 16, static_cast<unsigned char>(round % 2), 3, 4, stream));
    CHECK_CU(cuMemsetD2D16Async(y + 128, 16, 77, 3, 4, stream));
    mix_in(stream, mix, x, y, kCount, 3);
    CHECK_CU(cuMemcpy2DAsync(&back, stream));
    CHECK_CU(cuStreamSynchronize(stream));
    sum = sum * 31 + output[8];
    if (round >= kRounds / 2) {
      pageable.assign(kCount, static_cast<Word>(round));
      CUDA_MEMCPY2D in = flat;
      in.srcMemoryType = CU_MEMORYTYPE_HOST;
      in.srcHost = pageable.data();
      CHECK_CU(cuMemcpy2DAsync(&in, stream));
      pageable.assign(kCount, 0xBAD);
    }
  }
  std::printf("sum %u\n", sum);
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}
#endif

PROGRAM(fills) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    const auto value = static_cast<unsigned char>(round % 3);
    CHECK_CU(cuMemsetD8Async(y, value, 17, stream));
    CHECK_CU(cuMemsetD16Async(y + 32, static_cast<unsigned short>(0x1234 + round % 5), 9, stream));
    CHECK_CU(cuMemsetD32Async(y + 64, 0x89ABCDEF, 5, stream));
    mix_in(stream, mix, x, y, kCount, 1);
    CHECK_CU(cuMemsetD8Async(y, 0xFF, 0, stream));  // nothing
    mix_in(stream, mix, y, x, kCount, 2);
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Gaps between parameters, parameters by value, a kernel without any, arguments in a buffer.
PROGRAM(layouts) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction odd = gpu.function("odd");
  CUfunction wide = gpu.function("wide");
  CUfunction nothing = gpu.function("nothing");
  struct Wide {
    Word values[64];
  } values{};
  struct Buffer {
    unsigned char a;
    CUdeviceptr x;
    unsigned short b;
    std::uint64_t c;
  } buffer{};
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 3; ++i) {
      for (Word& value : values.values) {
        value = value * 7 + static_cast<Word>(i);
      }
      launch_on(stream, odd, kCount, static_cast<unsigned char>(i), x, static_cast<unsigned short>(i * 1000),
                std::uint64_t{0x123456789ABCDEFU} + static_cast<unsigned>(round % 2));
      launch_on(stream, wide, 1, values, x);
      CHECK_CU(cuLaunchKernel(nothing, 3, 2, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
      buffer = {static_cast<unsigned char>(round), x, 5, std::uint64_t{1} << 40U};
      std::size_t size = sizeof(buffer);
      void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       CU_LAUNCH_PARAM_END};
      void** parameters = nullptr;
#ifndef PROGRAMS_ON_HIP
      void* same[] = {&buffer.a, &buffer.x, &buffer.b, &buffer.c};
      parameters = i == 2 && round % 10 == 9 ? same : nullptr;  // in both ways at once
#endif
      refused += cuLaunchKernel(odd, 1, 1, 1, kCount, 1, 1, 0, stream, parameters, extra) == CUDA_SUCCESS ? 0 : 1;
      std::memset(&buffer, 0xEE, sizeof(buffer));
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  std::printf("refused %d\n", refused);
  print("x", x, kCount);
  return 0;
}

/// More blocks in each round, and more to copy. Now and then a grid that no device takes.
PROGRAM(growing) {
  const Device gpu;
  CUstream stream = make_stream();
  constexpr Word kMost = 32 * (kRounds + 8);
  const CUdeviceptr x = filled(kMost, 1), y = filled(kMost, 2);
  CUfunction odd = gpu.function("odd");
  CUfunction mix = gpu.function("mix_in");
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto blocks = static_cast<unsigned>(round) + 1;
    for (int i = 0; i < 8; ++i) {
      unsigned char a = 3;
      CUdeviceptr to = i % 2 == 0 ? x : y;
      auto b = static_cast<unsigned short>(i);
      unsigned long c = 5;
      void* parameters[] = {&a, &to, &b, &c};
      if (round % 50 == 49 && i == 4) {
        refused += cuLaunchKernel(odd, 0, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr) == CUDA_SUCCESS ? 0 : 1;
      }
      CHECK_CU(cuLaunchKernel(odd, blocks + static_cast<unsigned>(i), 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
    }
    for (int i = 0; i < 4; ++i) {
      CHECK_CU(cuMemcpyDtoDAsync(i % 2 == 0 ? x : y, i % 2 == 0 ? y : x, sizeof(Word) * (blocks + i), stream));
      mix_in(stream, mix, x, y, kMost, 7);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  std::printf("refused %d\n", refused);
  print("x", x, kMost);
  print("y", y, kMost);
  return 0;
}

#ifndef PROGRAMS_ON_HIP
/// cuLaunchKernelEx with attributes, and kernels of a library.
PROGRAM(attributes) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CHECK_CU(cuLibraryLoadData(&library, "kernels", nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK_CU(cuLibraryGetKernel(&kernel, library, "scale"));
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 5; ++i) {
      CUlaunchAttribute attributes[3] = {};
      attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[0].value.clusterDim.x = attributes[0].value.clusterDim.y = attributes[0].value.clusterDim.z = 1;
      attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attributes[1].value.programmaticStreamSerializationAllowed = 1;
      attributes[2].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
      CUlaunchConfig config{};
      config.gridDimX = config.gridDimY = config.gridDimZ = 1;
      config.blockDimX = 64;
      config.blockDimY = config.blockDimZ = 1;
      config.hStream = stream;
      config.attrs = attributes;
      config.numAttrs = i % 4;
      CUdeviceptr address = x;
      Word count = kCount, a = 3, b = i;
      void* parameters[] = {&address, &count, &a, &b};
      CHECK_CU(cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), parameters, nullptr));
      std::memset(attributes, 0xEE, sizeof(attributes));
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  CHECK_CU(cuLibraryUnload(library));
  return 0;
}

/// Launches that may begin before the kernel in front of them ends, of kernels that do: what comes behind needs the
/// results of all of them.
PROGRAM(early_launches) {
  const Device gpu;
  CUstream stream = make_stream();
  CUdeviceptr x[3];
  for (CUdeviceptr& each : x) {
    each = filled(kCount, 1);
  }
  const CUdeviceptr sum = filled(kCount, 1);
  CUfunction plain = gpu.function("scale");
  CUfunction early = gpu.function("scale_early");
  CUfunction mix = gpu.function("mix_in");
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 64;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (int round = 0; round < kRounds; ++round) {
    scale(stream, plain, x[0], kCount, 3, 1);
    for (const int i : {1, 2}) {
      Word count = kCount, a = 5, b = 7;
      void* parameters[] = {&x[i], &count, &a, &b};
      CHECK_CU(cuLaunchKernelEx(&config, early, parameters, nullptr));
    }
    for (const CUdeviceptr each : x) {
      mix_in(stream, mix, sum, each, kCount, 1);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("sum", sum, kCount);
  return 0;
}

/// Setters in the middle, with the value that is set already and with another one (5 times in each of the last quarter
/// of the rounds, besides the first one; one of them is that of the rounds before).
PROGRAM(setters) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      const int value = round < kRounds * 3 / 4 || i == 3 ? 4096 : 4096 + round + static_cast<int>(i);
      CHECK_CU(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, value));
      scale(stream, kernel, x, kCount, 5, i);
      int now = 0;
      if (i == 5) {
        CHECK_CU(cuFuncGetAttribute(&now, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel));
      }
      sum = (sum * 31 + now) % 1000003;
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  std::printf("sum %d\n", sum);
  print("x", x, kCount);
  return 0;
}
#endif

/// Everything once, briefly: for the errors.
PROGRAM(short_mix) {
  const Device gpu;
  CUstream first = make_stream();
  CUstream second = make_stream(0);
  CUevent forked = make_event();
  CUevent joined = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  Word* host = pinned(kCount);
  CUfunction mix = gpu.function("mix_in");
  Word sum = 0;
  for (int round = 0; round < 60; ++round) {
    mix_in(first, mix, x, y, kCount, round < 40 ? 1 : static_cast<Word>(round));
    CHECK_CU(cuEventRecord(forked, first));
    CHECK_CU(cuStreamWaitEvent(second, forked, 0));
    CHECK_CU(cuMemsetD8Async(y, static_cast<unsigned char>(round % 2), 32, second));
    mix_in(second, mix, y, x, kCount, 2);
    CHECK_CU(cuEventRecord(joined, second));
    CHECK_CU(cuStreamWaitEvent(first, joined, 0));
    mix_in(first, mix, x, y, kCount, 3);
    CHECK_CU(cuMemcpyDtoHAsync(host, x, kCount * sizeof(Word), first));
    CHECK_CU(cuStreamSynchronize(first));
    sum = sum * 31 + host[5];
    if (round % 8 == 0) {
      pause_briefly();
    }
  }
  std::printf("sum %u\n", sum);
  print("y", y, kCount);
  return 0;
}
