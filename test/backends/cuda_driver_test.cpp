// What Refrain asks CUDA's driver on its own account, what it makes of the answers, and how it leaves the thread.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/cuda_api.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/function_kind.h"

namespace refrain::backends {
namespace {

std::string_view lacking;  ///< the function that the driver does not have

CudaDriver driver_without(std::string_view name) {
  lacking = name;
  CudaDriver driver;
  fill(driver, [](const char* wanted) -> void* {
    static int function;
    return wanted == lacking ? nullptr : &function;
  });
  return driver;
}

/// The thread's, as the driver knows them.
std::vector<CUcontext> contexts;
CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
CUstreamCaptureMode mode_when_asked = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUcontext context_number(std::uintptr_t number) {
  return reinterpret_cast<CUcontext>(number);
}

CudaDriver driver_of_thread() {
  contexts = {context_number(1)};
  capture_mode = mode_when_asked = CU_STREAM_CAPTURE_MODE_GLOBAL;
  CudaDriver driver;
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = contexts.empty() ? nullptr : contexts.back();
    return CUDA_SUCCESS;
  };
  driver.cuCtxPushCurrent_v2 = [](CUcontext context) {
    if (context == nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    contexts.push_back(context);
    return CUDA_SUCCESS;
  };
  driver.cuCtxPopCurrent_v2 = [](CUcontext* context) {
    REQUIRE_FALSE(contexts.empty());
    *context = contexts.back();
    contexts.pop_back();
    return CUDA_SUCCESS;
  };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
    std::swap(*mode, capture_mode);
    return CUDA_SUCCESS;
  };
  driver.cuEventQuery = [](CUevent) {
    mode_when_asked = capture_mode;
    return CUDA_SUCCESS;
  };
  driver.cuStreamQuery = [](CUstream) {
    mode_when_asked = capture_mode;
    return CUDA_SUCCESS;
  };
  driver.cuStreamSynchronize = [](CUstream) {
    mode_when_asked = capture_mode;
    return CUDA_SUCCESS;
  };
  driver.cuStreamCreateWithPriority = [](CUstream*, unsigned, int) {
    mode_when_asked = capture_mode;
    return CUDA_SUCCESS;
  };
  return driver;
}

/// What the driver says of any address.
CUmemorytype memory_type = CU_MEMORYTYPE_DEVICE;

CudaDriver driver_of_memory() {
  CudaDriver driver;
  driver.cuPointerGetAttributes = [](unsigned count, CUpointer_attribute* wanted, void** answers, CUdeviceptr) {
    for (unsigned i = 0; i < count; ++i) {
      switch (wanted[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(answers[i]) = memory_type; break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(answers[i]) = 0x1000; break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(answers[i]) = 0x200; break;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long*>(answers[i]) = 5; break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(answers[i]) = 3; break;
        default: FAIL("nobody asked for that before");
      }
    }
    return CUDA_SUCCESS;
  };
  return driver;
}

}  // namespace

TEST_CASE("a driver replays if it has all functions that are needed for that, and says which one it lacks") {
  const char* missing = nullptr;
  CHECK(can_replay(driver_without(""), &missing));
  CHECK(missing == nullptr);
  CHECK(can_replay(driver_without("cuGetErrorName"), &missing));
  for (const std::string name : {"cuCtxGetCurrent", "cuGraphAddKernelNode_v2", "cuFuncGetParamInfo",
                                 "cuKernelGetParamInfo", "cuGraphExecKernelNodeSetParams_v2", "cuMemsetD2D32Async"}) {
    REQUIRE_FALSE(can_replay(driver_without(name), &missing));
    CHECK(missing == name);
  }
}

TEST_CASE("with a driver that is too old nothing is recorded, and users are told why") {
  CudaStream stream;
  capture::QueueInfo queue;
  queue.handle = reinterpret_cast<capture::Handle>(&stream);
  const CudaDriver able = driver_without("");
  const Capabilities of_able = CudaBackend(able).capabilities(queue);
  CHECK(of_able.native);
  CHECK(of_able.why_not == nullptr);
  const CudaDriver old = driver_without("cuGraphAddKernelNode_v2");
  const Capabilities of_old = CudaBackend(old).capabilities(queue);
  CHECK_FALSE(of_old.native);
  REQUIRE(of_old.why_not != nullptr);
  CHECK(of_old.why_not == std::string("the driver is older than CUDA 12.4"));
}

TEST_CASE("only memory of the device and pinned memory are found") {
  const CudaDriver driver = driver_of_memory();
  for (const CUmemorytype known : {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST}) {
    memory_type = known;
    Allocation found;
    REQUIRE(find_allocation(driver, 0x1010, &found));
    CHECK(found.type == (known == CU_MEMORYTYPE_HOST ? MemoryType::kHost : MemoryType::kDevice));
    CHECK(found.start == 0x1000);
    CHECK(found.bytes == 0x200);
    CHECK(found.id == 5);
    CHECK(found.device == 3);
  }
  memory_type = CUmemorytype{};  // pageable
  Allocation found;
  CHECK_FALSE(find_allocation(driver, 0x1010, &found));
  CHECK(found.bytes == 0);
}

TEST_CASE("a handle is of the kind as which the driver gave it out last") {
  int place = 0;
  auto* handle = reinterpret_cast<CUfunction>(&place);
  const CudaDriver driver;  // that cannot be asked
  for (const FunctionKind kind : {FunctionKind::kKernel, FunctionKind::kFunction, FunctionKind::kKernel}) {
    note_function_kind(handle, kind);
    CHECK(kind_of(driver, handle) == kind);
  }
}

TEST_CASE("afterwards the thread's current context is the one that it was") {
  const CudaDriver driver = driver_of_thread();
  {
    const ContextScope same(driver, context_number(1));
    CHECK(same.status() == CUDA_SUCCESS);
    CHECK(contexts == std::vector{context_number(1)});
    const ContextScope other(driver, context_number(2));
    CHECK(other.status() == CUDA_SUCCESS);
    CHECK(contexts.back() == context_number(2));
  }
  CHECK(contexts == std::vector{context_number(1)});
  {
    const ContextScope refused(driver, nullptr);
    CHECK(refused.status() == CUDA_ERROR_INVALID_CONTEXT);
  }
  CHECK(contexts == std::vector{context_number(1)});
}

TEST_CASE("what is asked for Refrain's own sake disturbs no capture of the program's") {
  const CudaDriver driver = driver_of_thread();
  CUstream made = nullptr;
  const auto call = [&](int which) {
    switch (which) {
      case 0: return CudaApi::query_event(driver, nullptr);
      case 1: return CudaApi::query_stream(driver, nullptr);
      case 2: return CudaApi::synchronize(driver, nullptr);
      default: return CudaApi::create_blocking_stream(driver, &made);
    }
  };
  for (const int which : {0, 1, 2, 3}) {
    CAPTURE(which);
    mode_when_asked = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CHECK(call(which) == CUDA_SUCCESS);
    CHECK(mode_when_asked == CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  }
}

}  // namespace refrain::backends
