// HIP's side of what backends/streams needs; see streams/stream.h. A "context" of HIP is a device, by its number.
#pragma once

#include "backends/hip/allocation.h"
#include "backends/hip/driver_api.h"
#include "backends/hip/graph_node.h"
#include "backends/hip/issue.h"
#include "backends/streams/command_buffer.h"
#include "backends/streams/graph_uploader.h"
#include "backends/streams/host_stream_memory.h"

namespace refrain::backends {

struct HipApi {
  using Driver = HipDriver;
  using Status = hipError_t;
  using StreamHandle = hipStream_t;
  using ContextHandle = int;
  using EventHandle = hipEvent_t;
  using GraphHandle = hipGraph_t;
  using NodeHandle = hipGraphNode_t;
  using ExecHandle = hipGraphExec_t;
  using Node = HipGraphNode;
  using Uploader = StreamGraphUploader<HipApi>;
  using Memory = HostStreamMemory<HipApi>;
  using Scope = DeviceScope;
  using RelaxedCapture = HipRelaxedCapture;

  static constexpr Status kSuccess = hipSuccess;
  static constexpr Status kNotReady = hipErrorNotReady;
  static constexpr Status kOutOfMemory = hipErrorOutOfMemory;
  static constexpr Status kInvalidHandle = hipErrorInvalidHandle;
  static constexpr Status kNotSupported = hipErrorNotSupported;
  static constexpr Status kCaptureWrongThread = hipErrorStreamCaptureWrongThread;
  static constexpr Status kCaptureUnmatched = hipErrorStreamCaptureUnmatched;
  static constexpr bool kStreamAttributes = false;
  static constexpr bool kUpdatesFunctions = false;
  static constexpr bool kCopiesBetweenDevices = false;
  static constexpr bool kRowsOfDeviceOnly = true;  ///< of the host, versions of the runtime copy other rows
  static constexpr ContextHandle kNoContext = -1;

  static std::uint64_t number_of(int device) noexcept { return static_cast<std::uint64_t>(device) + 1; }

  static Status create_event(const HipDriver& driver, hipEvent_t* event) noexcept {
    return quiet(driver, driver.hipEventCreateWithFlags(event, hipEventDisableTiming));
  }
  static Status destroy_event(const HipDriver& driver, hipEvent_t event) noexcept {
    return quiet(driver, driver.hipEventDestroy(event));
  }
  static Status record_event(const HipDriver& driver, hipEvent_t event, hipStream_t stream) noexcept {
    return quiet(driver, driver.hipEventRecord(event, stream));
  }
  static Status wait_event(const HipDriver& driver, hipStream_t stream, hipEvent_t event) noexcept {
    return quiet(driver, driver.hipStreamWaitEvent(stream, event, 0));
  }
  // A program may capture a stream in this or another thread, where nobody else may ask or wait for anything.
  static Status query_event(const HipDriver& driver, hipEvent_t event) noexcept {
    const RelaxedCapture relaxed(driver);
    return quiet(driver, driver.hipEventQuery(event));
  }
  static Status query_stream(const HipDriver& driver, hipStream_t stream) noexcept {
    const RelaxedCapture relaxed(driver);
    return quiet(driver, driver.hipStreamQuery(stream));
  }
  static Status synchronize(const HipDriver& driver, hipStream_t stream) noexcept {
    const RelaxedCapture relaxed(driver);
    return quiet(driver, driver.hipStreamSynchronize(stream));
  }
  static Status create_stream(const HipDriver& driver, hipStream_t* stream) noexcept {
    return quiet(driver, driver.hipStreamCreateWithFlags(stream, hipStreamNonBlocking));
  }
  static Status create_blocking_stream(const HipDriver& driver, hipStream_t* stream) noexcept {
    const RelaxedCapture relaxed(driver);
    return quiet(driver, driver.hipStreamCreateWithFlags(stream, hipStreamDefault));
  }
  static Status destroy_stream(const HipDriver& driver, hipStream_t stream) noexcept {
    return driver.hipStreamDestroy == nullptr ? hipErrorNotSupported : quiet(driver, driver.hipStreamDestroy(stream));
  }
  static hipStream_t legacy_stream() noexcept { return nullptr; }
  static hipStream_t per_thread_stream() noexcept { return hipStreamPerThread; }
  static Status create_graph(const HipDriver& driver, hipGraph_t* graph) noexcept {
    return quiet(driver, driver.hipGraphCreate(graph, 0));
  }
  static Status instantiate(const HipDriver& driver, hipGraphExec_t* executable, hipGraph_t graph) noexcept {
    return quiet(driver, driver.hipGraphInstantiate(executable, graph, nullptr, nullptr, 0));
  }
  static Status upload(const HipDriver& driver, hipGraphExec_t executable, hipStream_t stream) noexcept {
    return quiet(driver, driver.hipGraphUpload(executable, stream));
  }
  static Status launch(const HipDriver& driver, hipGraphExec_t executable, hipStream_t stream) noexcept {
    return quiet(driver, driver.hipGraphLaunch(executable, stream));
  }
  static Status destroy_executable(const HipDriver& driver, hipGraphExec_t executable) noexcept {
    return quiet(driver, driver.hipGraphExecDestroy(executable));
  }
  static Status destroy_graph(const HipDriver& driver, hipGraph_t graph) noexcept {
    return quiet(driver, driver.hipGraphDestroy(graph));
  }
  static Status copy(const HipDriver& driver, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                     hipStream_t stream) noexcept {
    return quiet(driver, driver.hipMemcpyAsync(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes,
                                               hipMemcpyDefault, stream));
  }
  static Status submit(const HipDriver& driver, const capture::OperationView& operation, hipStream_t stream) noexcept {
    return backends::submit(driver, operation, stream);
  }
  /// False if the runtime does not know the address.
  static bool find_allocation(const HipDriver& driver, std::uint64_t address, Allocation* found) noexcept {
    return backends::find_allocation(driver, address, found);
  }
  static bool is_managed(const HipDriver& driver, std::uint64_t address) noexcept {
    return backends::is_managed(driver, address);
  }
  /// What the runtime has memory for, kernels write.
  static Reach reach(const HipDriver& /*driver*/, std::uint64_t /*address*/) noexcept { return Reach::kWrites; }
  static int device_of(const HipDriver& /*driver*/, int device) noexcept { return device; }
  /// Whether a node does its work in later launches.
  static bool set_enabled(const HipDriver& driver, hipGraphExec_t executable, hipGraphNode_t node,
                          bool enabled) noexcept {
    return driver.hipGraphNodeSetEnabled != nullptr &&
           quiet(driver, driver.hipGraphNodeSetEnabled(executable, node, enabled ? 1U : 0U)) == hipSuccess;
  }
  static const char* error_name(const HipDriver& driver, Status status) noexcept {
    const char* name = driver.hipGetErrorName == nullptr ? nullptr : driver.hipGetErrorName(status);
    return name != nullptr ? name : "unknown HIP error";
  }
};

}  // namespace refrain::backends
