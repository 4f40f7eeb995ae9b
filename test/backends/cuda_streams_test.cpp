// How single operations are issued to streams: nothing but what they say is waited for.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/cuda_api.h"
#include "backends/cuda/cuda_backend.h"

namespace refrain::backends {
namespace {

std::vector<std::string> calls;
CUresult record_result = CUDA_SUCCESS;
CUresult wait_result = CUDA_SUCCESS;
CUresult create_result = CUDA_SUCCESS;
std::uintptr_t next_event = 100;
int pending = 0;  ///< so often events and streams will be said not to be done

std::string name(const void* handle) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(handle));
}

CudaDriver recording_driver() {
  CudaDriver driver;
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = nullptr;
    return CUDA_SUCCESS;
  };
  driver.cuCtxPushCurrent_v2 = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuCtxPopCurrent_v2 = [](CUcontext*) { return CUDA_SUCCESS; };
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(next_event++);
    return create_result;
  };
  driver.cuEventRecord = [](CUevent event, CUstream stream) {
    calls.push_back("record " + name(event) + " in " + name(stream));
    return record_result;
  };
  driver.cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned) {
    calls.push_back(name(stream) + " waits for " + name(event));
    return wait_result;
  };
  driver.cuEventQuery = [](CUevent) { return pending > 0 && pending-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; };
  driver.cuStreamQuery = [](CUstream) { return pending > 0 && pending-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; };
  driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream stream) {
    calls.push_back("fill in " + name(stream));
    return CUDA_SUCCESS;
  };
  driver.cuStreamSynchronize = [](CUstream stream) {
    calls.push_back("synchronize " + name(stream));
    return CUDA_SUCCESS;
  };
  return driver;
}
using Calls = std::vector<std::string>;

struct Issuing {
  CudaDriver driver = recording_driver();
  CudaBackend backend{driver};
  CudaStream stream;
  capture::RecordBytes bytes;

  Issuing() {
    stream.handle = reinterpret_cast<CUstream>(1);
    stream.context = reinterpret_cast<CUcontext>(7);
    calls.clear();
    record_result = wait_result = create_result = CUDA_SUCCESS;
    next_event = 100;
    pending = 0;
  }
  /// `event`: of the application's, 0 for none.
  Status issue(capture::OperationKind kind, std::uint64_t event, std::span<const Event> waits, Event* done) {
    bytes.clear();
    capture::OperationWriter writer(bytes);
    capture::OperationHeader& header = writer.begin(kind, 1);
    header.queue_handle = reinterpret_cast<std::uint64_t>(&stream);
    header.function_handle = event;
    if (kind == capture::OperationKind::kPointerFill) {
      const std::byte zero{0};
      writer.words(capture::words::PointerFill{.bytes = 16});
      writer.argument_handle(capture::ArgumentKind::kPointer, 0, 0x1000);
      writer.argument(capture::ArgumentKind::kValue, 0, {&zero, 1});
    }
    writer.finish();
    return backend.issue(capture::OperationView(bytes.data()), waits, done);
  }
};

}  // namespace

TEST_CASE("an error has its name, also where the driver tells none") {
  CudaDriver driver;
  CHECK(std::string(CudaApi::error_name(driver, CUDA_ERROR_OUT_OF_MEMORY)) == "unknown CUDA error");
  driver.cuGetErrorName = [](CUresult status, const char** name) {
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return status == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
  };
  CHECK(std::string(CudaApi::error_name(driver, CUDA_ERROR_OUT_OF_MEMORY)) == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(std::string(CudaApi::error_name(driver, CUDA_ERROR_DEINITIALIZED)).find("the process ends") !=
        std::string::npos);
}

TEST_CASE_METHOD(Issuing, "an event of the application's is recorded and waited for as it is") {
  Event done = kNoEvent;
  CHECK(issue(capture::OperationKind::kEventRecord, 5, {}, &done).ok());
  CHECK(issue(capture::OperationKind::kEventWait, 6, {}, nullptr).ok());
  CHECK(done == kNoEvent);
  CHECK(calls == Calls{"record 5 in 1", "1 waits for 6"});
}

TEST_CASE_METHOD(Issuing, "what the driver says of a record or wait is told") {
  record_result = CUDA_ERROR_INVALID_HANDLE;
  CHECK(issue(capture::OperationKind::kEventRecord, 5, {}, nullptr).code == CUDA_ERROR_INVALID_HANDLE);
  wait_result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  CHECK(issue(capture::OperationKind::kEventWait, 5, {}, nullptr).code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

TEST_CASE_METHOD(Issuing, "an event that the driver refuses to wait for is waited for by the host") {
  wait_result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  pending = 3;
  CHECK(issue(capture::OperationKind::kEventWait, 5, {}, nullptr).code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CHECK(pending == 0);
}

TEST_CASE_METHOD(Issuing, "without the application an event is an edge like any other") {
  Event done = kNoEvent;
  CHECK(issue(capture::OperationKind::kEventRecord, 0, {}, &done).ok());
  REQUIRE(done != kNoEvent);
  const Event waits[] = {done};
  CHECK(issue(capture::OperationKind::kEventWait, 0, waits, nullptr).ok());
  CHECK(calls == Calls{"record 100 in 1", "1 waits for 100"});
  backend.release_event(done);
}

TEST_CASE_METHOD(Issuing, "if the driver has no event left, the host waits") {
  record_result = CUDA_ERROR_OUT_OF_MEMORY;
  Event done = kNoEvent;
  CHECK(issue(capture::OperationKind::kPointerFill, 0, {}, &done).ok());
  CHECK(done == kNoEvent);
  CHECK(calls == Calls{"fill in 1", "record 100 in 1", "synchronize 1"});
}

TEST_CASE_METHOD(Issuing, "a stream comes after what another one holds, whatever the driver refuses") {
  auto* from = reinterpret_cast<CUstream>(1);
  auto* to = reinterpret_cast<CUstream>(2);
  CudaBackend::Handover handover = backend.follow(stream.context, from, to);
  CHECK(calls.empty());  // it held nothing
  CHECK(handover.end == kNoEvent);
  pending = 1;
  SECTION("nothing") {
    handover = backend.follow(stream.context, from, to);
    CHECK(calls == Calls{"record 100 in 1", "2 waits for 100", "record 101 in 2"});
    CHECK(backend.close(&handover, std::chrono::milliseconds(5)));
  }
  SECTION("an event") {
    create_result = CUDA_ERROR_OUT_OF_MEMORY;
    handover = backend.follow(stream.context, from, to);
    CHECK(calls == Calls{"synchronize 1"});
  }
  SECTION("the record") {
    record_result = CUDA_ERROR_OUT_OF_MEMORY;
    handover = backend.follow(stream.context, from, to);
    CHECK(calls == Calls{"record 100 in 1", "synchronize 1"});
  }
  SECTION("the wait") {
    wait_result = CUDA_ERROR_OUT_OF_MEMORY;
    handover = backend.follow(stream.context, from, to);
    CHECK(calls == Calls{"record 100 in 1", "2 waits for 100", "synchronize 1"});
  }
  CHECK(handover.end == kNoEvent);
  CHECK(handover.behind == kNoEvent);
}

TEST_CASE_METHOD(Issuing, "events are used again, but not those that were out while a context went") {
  const auto recorded = [&] {
    calls.clear();
    Event done = kNoEvent;
    CHECK(issue(capture::OperationKind::kEventRecord, 0, {}, &done).ok());
    return done;
  };
  backend.release_event(recorded());
  CHECK(calls == Calls{"record 100 in 1"});
  const Event out = recorded();
  CHECK(calls == Calls{"record 100 in 1"});
  backend.context_gone(stream.context);  // and there is another one at its address
  backend.release_event(out);
  backend.release_event(recorded());
  CHECK(calls == Calls{"record 101 in 1"});
  backend.context_gone(stream.context);
  backend.release_event(recorded());
  CHECK(calls == Calls{"record 102 in 1"});
}

}  // namespace refrain::backends
