// CUDA's side of what backends/streams needs; see streams/stream.h.
#pragma once

#include "backends/cuda/allocation.h"
#include "backends/cuda/driver_api.h"
#include "backends/cuda/graph_node.h"
#include "backends/cuda/graph_uploader.h"
#include "backends/cuda/issue.h"
#include "backends/cuda/page_hash.h"
#include "backends/streams/command_buffer.h"
#include "backends/streams/stream_memory.h"

namespace refrain::backends {

struct CudaApi {
  using Driver = CudaDriver;
  using Status = CUresult;
  using StreamHandle = CUstream;
  using ContextHandle = CUcontext;
  using EventHandle = CUevent;
  using GraphHandle = CUgraph;
  using NodeHandle = CUgraphNode;
  using ExecHandle = CUgraphExec;
  using Node = GraphNode;
  using Uploader = GraphUploader;
  using Scope = ContextScope;
  using RelaxedCapture = backends::RelaxedCapture;

  static constexpr Status kSuccess = CUDA_SUCCESS;
  static constexpr Status kNotReady = CUDA_ERROR_NOT_READY;
  static constexpr Status kOutOfMemory = CUDA_ERROR_OUT_OF_MEMORY;
  static constexpr Status kInvalidHandle = CUDA_ERROR_INVALID_HANDLE;
  static constexpr Status kNotSupported = CUDA_ERROR_NOT_SUPPORTED;
  static constexpr Status kCaptureWrongThread = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  static constexpr Status kCaptureUnmatched = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  static constexpr ContextHandle kNoContext = nullptr;
  static constexpr bool kStreamAttributes = true;      ///< a kernel node gets those of its stream
  static constexpr bool kUpdatesFunctions = true;      ///< a node can be given another kernel
  static constexpr bool kCopiesBetweenDevices = true;  ///< are nodes, too
  static constexpr bool kRowsOfDeviceOnly = false;     ///< copies of rows are nodes within one device's memory only
  using PageHash = CudaPageHash;
  using Memory = StreamMemory<CudaApi>;

  static std::uint64_t number_of(CUcontext context) noexcept { return reinterpret_cast<std::uint64_t>(context); }

  static Status create_event(const CudaDriver& driver, CUevent* event) noexcept {
    return driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
  }
  static Status destroy_event(const CudaDriver& driver, CUevent event) noexcept {
    return driver.cuEventDestroy_v2(event);
  }
  static Status record_event(const CudaDriver& driver, CUevent event, CUstream stream) noexcept {
    return driver.cuEventRecord(event, stream);
  }
  static Status wait_event(const CudaDriver& driver, CUstream stream, CUevent event) noexcept {
    return driver.cuStreamWaitEvent(stream, event, 0);
  }
  // A program may capture a stream in this or another thread, where nobody else may ask or wait for anything.
  static Status query_event(const CudaDriver& driver, CUevent event) noexcept {
    const RelaxedCapture relaxed(driver);
    return driver.cuEventQuery(event);
  }
  static Status query_stream(const CudaDriver& driver, CUstream stream) noexcept {
    const RelaxedCapture relaxed(driver);
    return driver.cuStreamQuery(stream);
  }
  static Status synchronize(const CudaDriver& driver, CUstream stream) noexcept {
    const RelaxedCapture relaxed(driver);
    return driver.cuStreamSynchronize(stream);
  }
  static Status create_blocking_stream(const CudaDriver& driver, CUstream* stream) noexcept {
    const RelaxedCapture relaxed(driver);
    return driver.cuStreamCreateWithPriority(stream, CU_STREAM_DEFAULT, 0);
  }
  static Status create_stream(const CudaDriver& driver, CUstream* stream) noexcept {
    return driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0);
  }
  static Status destroy_stream(const CudaDriver& driver, CUstream stream) noexcept {
    return driver.cuStreamDestroy_v2(stream);
  }
  static Status allocate(const CudaDriver& driver, std::uint64_t bytes, std::uint64_t* address) noexcept {
    CUdeviceptr made = 0;
    const CUresult status = driver.cuMemAlloc_v2(&made, bytes);
    *address = made;
    return status;
  }
  static Status release(const CudaDriver& driver, std::uint64_t address) noexcept {
    return driver.cuMemFree_v2(address);
  }
  static Status zero(const CudaDriver& driver, std::uint64_t address, std::uint64_t bytes, CUstream stream) noexcept {
    return driver.cuMemsetD8Async(address, 0, bytes, stream);
  }
  static Reach reach(const CudaDriver& driver, std::uint64_t address) noexcept {
    return backends::reach(driver, address);
  }
  static int device_of(const CudaDriver& driver, CUcontext /*context*/) noexcept {
    CUdevice device = -1;
    return driver.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
  }
  static CUstream legacy_stream() noexcept { return CU_STREAM_LEGACY; }
  static CUstream per_thread_stream() noexcept { return CU_STREAM_PER_THREAD; }
  static Status create_graph(const CudaDriver& driver, CUgraph* graph) noexcept {
    return driver.cuGraphCreate(graph, 0);
  }
  static Status instantiate(const CudaDriver& driver, CUgraphExec* executable, CUgraph graph) noexcept {
    return driver.cuGraphInstantiateWithFlags(executable, graph, 0);
  }
  static Status launch(const CudaDriver& driver, CUgraphExec executable, CUstream stream) noexcept {
    return driver.cuGraphLaunch(executable, stream);
  }
  static bool may_begin_early(const capture::OperationView& operation) { return backends::may_begin_early(operation); }
  /// `to` may begin when all blocks of the kernel `from` have ended or said so, as in a stream.
  static Status link_early(const CudaDriver& driver, CUgraph graph, CUgraphNode from, CUgraphNode to) noexcept {
    CUgraphEdgeData edge{};
    edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    return driver.cuGraphAddDependencies_v2(graph, &from, &to, &edge, 1);
  }
  /// Whether a node does its work in later launches.
  static bool set_enabled(const CudaDriver& driver, CUgraphExec executable, CUgraphNode node, bool enabled) noexcept {
    return driver.cuGraphNodeSetEnabled != nullptr &&
           driver.cuGraphNodeSetEnabled(executable, node, enabled ? 1U : 0U) == CUDA_SUCCESS;
  }
  static Status destroy_executable(const CudaDriver& driver, CUgraphExec executable) noexcept {
    return driver.cuGraphExecDestroy(executable);
  }
  static Status destroy_graph(const CudaDriver& driver, CUgraph graph) noexcept { return driver.cuGraphDestroy(graph); }
  static Status copy(const CudaDriver& driver, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                     CUstream stream) noexcept {
    return driver.cuMemcpyAsync(to, from, bytes, stream);
  }
  static Status submit(const CudaDriver& driver, const capture::OperationView& operation, CUstream stream) noexcept {
    return backends::submit(driver, operation, stream);
  }
  /// False if the driver does not know the address.
  static bool find_allocation(const CudaDriver& driver, std::uint64_t address, Allocation* found) noexcept {
    return backends::find_allocation(driver, address, found);
  }
  static bool is_managed(const CudaDriver& driver, std::uint64_t address) noexcept {
    return backends::is_managed(driver, address);
  }
  static const char* error_name(const CudaDriver& driver, Status status) noexcept {
    const char* name = nullptr;
    if (driver.cuGetErrorName != nullptr && driver.cuGetErrorName(status, &name) == CUDA_SUCCESS && name != nullptr) {
      return name;
    }
    // At the end of a process the driver names nothing any more, not even this.
    return status == CUDA_ERROR_DEINITIALIZED ? "CUDA_ERROR_DEINITIALIZED: the process ends" : "unknown CUDA error";
  }
};

using CudaStream = Stream<CudaApi>;
using CudaEvent = NativeEvent<CudaApi>;
using CudaEventPool = EventPool<CudaApi>;

}  // namespace refrain::backends
