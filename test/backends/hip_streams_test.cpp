// Single operations, nodes of graphs and questions of Refrain's own, as HIP's runtime gets them.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/hip/hip_api.h"
#include "backends/hip/issue.h"
#include "test/backends/record_maker.h"

namespace refrain::backends {
namespace {

using test::RecordMaker;

/// What the runtime knows. Static, as its functions have no place for it.
struct Runtime {
  int device = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  hipStreamCaptureMode mode_when_asked = hipStreamCaptureModeGlobal;
  hipError_t last_error = hipSuccess;
  hipError_t answer = hipSuccess;  ///< of the next call
  std::size_t allocation = 0;      ///< bytes of what is behind any address; 0: nothing is known
  std::uint32_t memory_type = 1;
  hipMemsetParams fill{};
  std::vector<std::string> calls;

  hipError_t say(hipError_t status) {
    last_error = status != hipSuccess ? status : last_error;
    return status;
  }
  hipError_t called(const char* name) {
    calls.emplace_back(name);
    mode_when_asked = mode;
    return say(std::exchange(answer, hipSuccess));
  }
};
Runtime runtime;
using Calls = std::vector<std::string>;

HipDriver driver_of_runtime() {
  runtime = {};
  HipDriver driver;
  driver.hipGetLastError = [] { return std::exchange(runtime.last_error, hipSuccess); };
  driver.hipGetDevice = [](int* device) {
    *device = runtime.device;
    return hipSuccess;
  };
  driver.hipSetDevice = [](int device) {
    if (device > 3) {
      return runtime.say(hipErrorInvalidDevice);
    }
    runtime.device = device;
    return hipSuccess;
  };
  driver.hipThreadExchangeStreamCaptureMode = [](hipStreamCaptureMode* mode) {
    std::swap(*mode, runtime.mode);
    return hipSuccess;
  };
  driver.hipEventQuery = [](hipEvent_t) { return runtime.called("query event"); };
  driver.hipStreamQuery = [](hipStream_t) { return runtime.called("query stream"); };
  driver.hipStreamSynchronize = [](hipStream_t) { return runtime.called("synchronize"); };
  driver.hipStreamCreateWithFlags = [](hipStream_t* stream, unsigned) {
    *stream = reinterpret_cast<hipStream_t>(7);
    return runtime.called("create stream");
  };
  driver.hipGraphUpload = [](hipGraphExec_t, hipStream_t) { return runtime.called("upload"); };
  driver.hipModuleLaunchKernel = [](hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    hipStream_t, void**, void**) { return runtime.called("launch of a module"); };
  driver.hipLaunchKernel = [](const void*, dim3, dim3, void**, std::size_t, hipStream_t) {
    return runtime.called("launch of the program");
  };
  driver.hipGraphAddMemsetNode = [](hipGraphNode_t* node, hipGraph_t, const hipGraphNode_t*, std::size_t,
                                    const hipMemsetParams* fill) {
    *node = reinterpret_cast<hipGraphNode_t>(9);
    runtime.fill = *fill;
    return hipSuccess;
  };
  driver.hipDrvPointerGetAttributes = [](unsigned count, hipPointer_attribute* wanted, void** answers, hipDeviceptr_t) {
    // Of what it does not know it says nothing, and that this is no error.
    for (unsigned i = 0; i < count && runtime.allocation != 0; ++i) {
      if (wanted[i] == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
        *static_cast<std::uint64_t*>(answers[i]) = 0x1000;
      } else if (wanted[i] == HIP_POINTER_ATTRIBUTE_RANGE_SIZE) {
        *static_cast<std::size_t*>(answers[i]) = runtime.allocation;
      } else if (wanted[i] == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE) {
        *static_cast<std::uint32_t*>(answers[i]) = runtime.memory_type;
      }
    }
    return hipSuccess;
  };
  return driver;
}

std::string_view lacking;  ///< the function that the runtime does not have

HipDriver driver_without(std::string_view name) {
  lacking = name;
  HipDriver driver;
  fill(driver, [](const char* wanted) -> void* {
    static int function;
    return wanted == lacking ? nullptr : &function;
  });
  return driver;
}

RecordMaker records{capture::QueueInfo{}};

capture::OperationView launch(bool of_program) {
  return records.make(capture::OperationKind::kKernel, shape_of({2, 1, 1}, {32, 1, 1}),
                      [&](capture::OperationWriter& writer) {
                        RecordMaker::value(writer, 7U);
                        writer.argument_local(0);
                        if (of_program) {
                          RecordMaker::value(writer, kProgramsFunction);
                        }
                      });
}

template <class Pattern>
capture::OperationView fill_with(Pattern pattern, std::uint64_t bytes) {
  return records.make(capture::OperationKind::kPointerFill, {bytes}, [&](capture::OperationWriter& writer) {
    writer.argument_handle(capture::ArgumentKind::kPointer, 0, 0x1000);
    RecordMaker::value(writer, pattern);
  });
}

/// What a node fills: `in_bytes`: for a runtime that takes the width as so many bytes, not elements.
std::vector<std::byte> filled(const capture::OperationView& operation, bool in_bytes) {
  const HipDriver driver = driver_of_runtime();
  HipGraphNode node;
  REQUIRE(node.add(driver, nullptr, {}, 0, operation) == hipSuccess);
  const hipMemsetParams& fill = runtime.fill;
  REQUIRE(fill.height == 1);
  std::vector<std::byte> memory(in_bytes ? fill.width : fill.width * fill.elementSize);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = reinterpret_cast<const std::byte*>(&fill.value)[i % fill.elementSize];
  }
  return memory;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

}  // namespace

TEST_CASE("a runtime that lacks one of the functions is found out, and which it lacks") {
  const char* missing = nullptr;
  CHECK(has_everything(driver_without(""), &missing));
  CHECK(missing == nullptr);
  for (const std::string name : {"hipGetLastError", "hipGraphAddMemcpyNode1D", "hipMemsetD32Async"}) {
    REQUIRE_FALSE(has_everything(driver_without(name), &missing));
    CHECK(missing == name);
  }
}

TEST_CASE("the last error of the thread is not what Refrain's own calls are told") {
  const HipDriver driver = driver_of_runtime();
  runtime.answer = hipErrorNotReady;
  CHECK(HipApi::query_event(driver, nullptr) == hipErrorNotReady);
  CHECK(runtime.last_error == hipSuccess);
  runtime.answer = hipErrorNotReady;
  CHECK(HipApi::query_stream(driver, nullptr) == hipErrorNotReady);
  CHECK(runtime.last_error == hipSuccess);
  runtime.last_error = hipErrorInvalidValue;  // the program's own
  CHECK(HipApi::query_stream(driver, nullptr) == hipSuccess);
  CHECK(runtime.last_error == hipErrorInvalidValue);
}

TEST_CASE("what is asked for Refrain's own sake disturbs no capture of the program's (HIP)") {
  const HipDriver driver = driver_of_runtime();
  hipStream_t made = nullptr;
  const auto call = [&](int which) {
    switch (which) {
      case 0: return HipApi::query_event(driver, nullptr);
      case 1: return HipApi::query_stream(driver, nullptr);
      case 2: return HipApi::synchronize(driver, nullptr);
      default: return HipApi::create_blocking_stream(driver, &made);
    }
  };
  for (const int which : {0, 1, 2, 3}) {
    CAPTURE(which);
    runtime.mode_when_asked = hipStreamCaptureModeGlobal;
    CHECK(call(which) == hipSuccess);
    CHECK(runtime.mode_when_asked == hipStreamCaptureModeRelaxed);
    CHECK(runtime.mode == hipStreamCaptureModeGlobal);
  }
}

TEST_CASE("afterwards the thread's device is the one that it was") {
  const HipDriver driver = driver_of_runtime();
  runtime.device = 1;
  {
    const DeviceScope same(driver, 1);
    CHECK(same.status() == hipSuccess);
    const DeviceScope other(driver, 2);
    CHECK(other.status() == hipSuccess);
    CHECK(runtime.device == 2);
  }
  CHECK(runtime.device == 1);
  {
    const DeviceScope refused(driver, 4);
    CHECK(refused.status() == hipErrorInvalidDevice);
  }
  CHECK(runtime.device == 1);
  CHECK(runtime.last_error == hipSuccess);
}

TEST_CASE("memory is found only if the runtime knows where it ends") {
  const HipDriver driver = driver_of_runtime();
  Allocation found;
  CHECK_FALSE(find_allocation(driver, 0x1010, &found));
  runtime.allocation = 0x200;
  REQUIRE(find_allocation(driver, 0x1010, &found));
  CHECK(found.start == 0x1000);
  CHECK(found.bytes == 0x200);
}

TEST_CASE("types of memory have other numbers from HIP 6 on", "[promise-1]") {
  HipDriver driver = driver_of_runtime();
  runtime.allocation = 0x200;
  Allocation found;
  const auto type = [&](int version, std::uint32_t told) {
    driver.version = version;
    runtime.memory_type = told;
    REQUIRE(find_allocation(driver, 0x1010, &found));
    return found.type;
  };
  CHECK(type(50731921, 0) == MemoryType::kHost);
  CHECK(type(50731921, 1) == MemoryType::kDevice);
  CHECK(type(50731921, 3) == MemoryType::kOther);
  CHECK(type(60032830, 0) == MemoryType::kOther);
  CHECK(type(60032830, 1) == MemoryType::kHost);
  CHECK(type(70051831, 2) == MemoryType::kDevice);
  CHECK(type(70051831, 3) == MemoryType::kOther);
}

TEST_CASE("kernels of modules and of the program itself are launched by their own functions") {
  const HipDriver driver = driver_of_runtime();
  CHECK(submit(driver, launch(false), nullptr) == hipSuccess);
  CHECK(runtime.calls == Calls{"launch of a module"});
  runtime.calls.clear();
  CHECK(submit(driver, launch(true), nullptr) == hipSuccess);
  CHECK(runtime.calls == Calls{"launch of the program"});
}

TEST_CASE("a fill in a graph fills as many bytes as it is to, with all bytes of its pattern") {
  for (const bool in_bytes : {false, true}) {
    CAPTURE(in_bytes);
    CHECK(filled(fill_with(std::uint32_t{0}, 8), in_bytes) == bytes_of({0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(filled(fill_with(std::uint16_t{0x0505}, 4), in_bytes) == bytes_of({5, 5, 5, 5}));
    CHECK(filled(fill_with(std::uint8_t{6}, 3), in_bytes) == bytes_of({6, 6, 6}));
  }
  CHECK(filled(fill_with(std::uint32_t{0x01020301}, 8), false) == bytes_of({1, 3, 2, 1, 1, 3, 2, 1}));
  CHECK(filled(fill_with(std::uint16_t{0x0102}, 4), false) == bytes_of({2, 1, 2, 1}));
}

TEST_CASE("where the runtime has no stream for uploads, the program's default stream is not waited for") {
  const HipDriver driver = driver_of_runtime();
  HipApi::Uploader uploader;
  ExclusiveCallYield right;
  const std::array executables{reinterpret_cast<hipGraphExec_t>(5)};
  runtime.answer = hipErrorOutOfMemory;
  CHECK(uploader.upload(driver, executables, right) == hipErrorOutOfMemory);
  CHECK(uploader.wait(driver, right) == hipSuccess);
  CHECK(runtime.calls == Calls{"create stream"});
  runtime.calls.clear();
  CHECK(uploader.upload(driver, executables, right) == hipSuccess);
  CHECK(uploader.wait(driver, right) == hipSuccess);
  CHECK(runtime.calls == Calls{"create stream", "upload", "synchronize"});
}

}  // namespace refrain::backends
