// Graphs made of records, and changed: what the driver is asked for, and what becomes of what it refuses.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_api.h"
#include "backends/cuda/cuda_backend.h"
#include "test/backends/record_maker.h"

namespace refrain::backends {
namespace {

using test::all_nodes;
using test::make_graph;
using test::RecordMaker;

constexpr int kPriority = -5;  ///< of the stream

struct Kernel {
  std::uint64_t function = 0;
  int priority = 0;
  int domain = CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
};

/// What the driver knows. Static, as its functions have no place for it.
struct Device {
  std::map<CUgraph, std::vector<CUgraphNode>> graphs;
  std::map<CUgraphNode, Kernel> kernels;
  struct Executable {
    CUgraph graph = nullptr;
    bool of_nodes = false;  ///< kernels have the priorities of their nodes, not that of the stream
  };
  std::map<CUgraphExec, Executable> executables;
  int busy = 0;     ///< so often streams will be said to be at work
  int refuses = 0;  ///< so many instantiations are refused
  CUgraphNode unchangeable = nullptr;
  int stream_domain = CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  bool instantiated_while_busy = false;
  std::vector<Kernel> ran;
  std::map<CUgraphNode, std::uint32_t> values;  ///< the first parameter of those that were changed
  std::uintptr_t next = 1;                      ///< handle

  template <class Handle>
  Handle make() {
    return reinterpret_cast<Handle>(next++);
  }
};
Device device;

CudaDriver driver_of_device() {
  device = {};
  CudaDriver driver;
  // Those that nobody calls here are there as well.
  fill(driver, [](const char*) -> void* { return reinterpret_cast<void*>(+[] { return CUDA_ERROR_UNKNOWN; }); });
  driver.cuMemAlloc_v2 = nullptr;
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(7);
    return CUDA_SUCCESS;
  };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  driver.cuFuncGetParamInfo = [](CUfunction, std::size_t, std::size_t*, std::size_t*) {
    return CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuStreamCreateWithPriority = [](CUstream* stream, unsigned, int) {
    *stream = device.make<CUstream>();
    return CUDA_SUCCESS;
  };
  driver.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  driver.cuStreamQuery = [](CUstream) {
    return device.busy > 0 && device.busy-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  };
  driver.cuStreamGetAttribute = [](CUstream, CUstreamAttrID id, CUstreamAttrValue* value) {
    if (id != CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    value->memSyncDomain = static_cast<CUlaunchMemSyncDomain>(device.stream_domain);
    return CUDA_SUCCESS;
  };
  driver.cuGraphCreate = [](CUgraph* graph, unsigned) {
    *graph = device.make<CUgraph>();
    device.graphs[*graph] = {};
    return CUDA_SUCCESS;
  };
  driver.cuGraphAddKernelNode_v2 = [](CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t,
                                      const CUDA_KERNEL_NODE_PARAMS_v2* wanted) {
    *node = device.make<CUgraphNode>();
    device.graphs.at(graph).push_back(*node);
    device.kernels[*node] = {reinterpret_cast<std::uint64_t>(wanted->func)};
    return CUDA_SUCCESS;
  };
  driver.cuGraphKernelNodeSetAttribute = [](CUgraphNode node, CUkernelNodeAttrID id,
                                            const CUkernelNodeAttrValue* value) {
    REQUIRE(id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
    device.kernels.at(node).domain = value->memSyncDomain;
    return CUDA_SUCCESS;
  };
  driver.cuGraphInstantiateWithFlags = [](CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
    device.instantiated_while_busy = device.instantiated_while_busy || device.busy > 0;
    if (device.refuses > 0) {
      --device.refuses;
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *executable = device.make<CUgraphExec>();
    device.executables[*executable] = {graph, (flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0};
    return CUDA_SUCCESS;
  };
  driver.cuGraphUpload = [](CUgraphExec, CUstream) { return CUDA_SUCCESS; };
  driver.cuGraphLaunch = [](CUgraphExec handle, CUstream) {
    const Device::Executable& executable = device.executables.at(handle);
    for (CUgraphNode node : device.graphs.at(executable.graph)) {
      Kernel kernel = device.kernels.at(node);
      kernel.priority = executable.of_nodes ? kernel.priority : kPriority;
      device.ran.push_back(kernel);
    }
    return CUDA_SUCCESS;
  };
  driver.cuGraphExecKernelNodeSetParams_v2 = [](CUgraphExec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v2* wanted) {
    if (node == device.unchangeable) {
      return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    std::memcpy(&device.values[node], wanted->kernelParams[0], sizeof(std::uint32_t));
    return CUDA_SUCCESS;
  };
  driver.cuGraphDestroy = [](CUgraph) { return CUDA_SUCCESS; };
  driver.cuGraphExecDestroy = [](CUgraphExec executable) {
    return device.executables.erase(executable) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  };
  return driver;
}

struct Recording {
  CudaDriver driver = driver_of_device();
  CudaStream stream, other_stream;
  CudaBackend backend{driver};
  RecordMaker records{queue_of(stream, 11)};
  RecordMaker other_records{queue_of(other_stream, 12)};
  std::unique_ptr<CommandBuffer> buffer;

  static capture::QueueInfo queue_of(CudaStream& of, capture::ObjectId id) {
    of.handle = reinterpret_cast<CUstream>(100 + id);
    of.context = reinterpret_cast<CUcontext>(7);
    of.id = id;
    capture::QueueInfo queue;
    queue.id = id;
    queue.handle = reinterpret_cast<capture::Handle>(&of);
    return queue;
  }
  static capture::OperationView kernel(RecordMaker& maker, std::uint32_t value, capture::FunctionId function = 5) {
    return maker.make(
        capture::OperationKind::kKernel, shape_of({4, 1, 1}, {32, 1, 1}),
        [&](capture::OperationWriter& writer) {
          RecordMaker::value(writer, value);
          writer.argument_local(0);
        },
        0, function, 0x5000 + function);
  }
  static capture::OperationView empty_copy(RecordMaker& maker, std::uint64_t from) {
    return maker.make(capture::OperationKind::kPointerCopy, {0}, [&](capture::OperationWriter& writer) {
      writer.argument_handle(capture::ArgumentKind::kPointer, 0, 0x1000);
      writer.argument_handle(capture::ArgumentKind::kPointer, 0, from);
    });
  }
  Status record(const capture::Graph& graph) { return backend.record(graph, all_nodes(graph), &buffer); }
};

}  // namespace

TEST_CASE_METHOD(Recording, "kernels of a graph have the priority of the stream in which it is launched") {
  REQUIRE(record(make_graph(records.queue(), {kernel(records, 1), kernel(records, 2)})).ok());
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  REQUIRE(device.ran.size() == 2);
  CHECK(device.ran[0].priority == kPriority);
  CHECK(device.ran[1].priority == kPriority);
}

TEST_CASE_METHOD(Recording, "kernels of a graph have the attributes of their stream") {
  device.stream_domain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  stream.attributes = true;
  REQUIRE(record(make_graph(records.queue(), {kernel(records, 1)})).ok());
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  REQUIRE(device.ran.size() == 1);
  CHECK(device.ran[0].domain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
  driver.cuStreamGetAttribute = nullptr;
  CHECK(record(make_graph(records.queue(), {kernel(records, 1)})).code == CUDA_ERROR_NOT_SUPPORTED);
  stream.attributes = false;
  CHECK(record(make_graph(records.queue(), {kernel(records, 1)})).ok());
}

TEST_CASE_METHOD(Recording, "of parts of which one is refused none is of use, whichever it is") {
  capture::GraphBuilder builder;
  builder.declare_queue(records.queue());
  builder.declare_queue(other_records.queue());
  builder.add(kernel(records, 1));
  builder.add(kernel(other_records, 2));
  const capture::Graph graph = builder.finish();
  const std::array<capture::NodeIndex, 2> nodes{0, 1};
  const std::array<std::span<const capture::NodeIndex>, 2> parts{std::span(nodes).first(1), std::span(nodes).last(1)};
  std::array<std::unique_ptr<CommandBuffer>, 2> results;
  device.refuses = 1;
  CHECK(backend.record_all(graph, parts, results).code == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(backend.record_all(graph, parts, results).ok());
  CHECK(results[0]->enqueue({}, nullptr).ok());
  CHECK(results[1]->enqueue({}, nullptr).ok());
  CHECK(device.ran.size() == 2);
}

TEST_CASE_METHOD(Recording, "graphs are instantiated once streams are done that were asked about") {
  CHECK(backend.capabilities(records.queue()).native);
  device.busy = 3;
  CHECK(record(make_graph(records.queue(), {kernel(records, 1)})).ok());
  CHECK(device.busy == 0);
  CHECK_FALSE(device.instantiated_while_busy);
}

TEST_CASE_METHOD(Recording, "no graph is made of kernels that are gone, or for a stream that is") {
  const capture::Graph graph = make_graph(records.queue(), {kernel(records, 1, 5), kernel(records, 1, 6)});
  const capture::Graph other = make_graph(records.queue(), {kernel(records, 1, 5)});
  backend.forget_function(6);
  CHECK(record(graph).code == CUDA_ERROR_INVALID_HANDLE);
  CHECK(record(other).ok());
  CHECK(device.graphs.size() == 1);
  stream.id = 0;
  CHECK(record(other).code == CUDA_ERROR_INVALID_HANDLE);
  CHECK(device.graphs.size() == 1);
}

TEST_CASE_METHOD(Recording, "graphs of a context that goes, or may go, go before it and are not launched any more") {
  REQUIRE(record(make_graph(records.queue(), {kernel(records, 1)})).ok());
  backend.context_gone(reinterpret_cast<CUcontext>(8));
  CHECK(device.executables.size() == 1);
  CHECK(buffer->enqueue({}, nullptr).ok());
  SECTION("it goes") {
    backend.context_gone(reinterpret_cast<CUcontext>(7));
  }
  SECTION("any may go") {
    backend.context_gone(CudaApi::kNoContext);
  }
  CHECK(device.executables.empty());
  CHECK(buffer->enqueue({}, nullptr).code == CUDA_ERROR_INVALID_HANDLE);
  CHECK(device.ran.size() == 1);
}

TEST_CASE_METHOD(Recording, "operations are changed in any order, and those without work are passed over") {
  const capture::Graph graph =
      make_graph(records.queue(), {kernel(records, 1), empty_copy(records, 0x2000), kernel(records, 2)});
  REQUIRE(record(graph).ok());
  REQUIRE(device.executables.size() == 1);
  const std::vector<CUgraphNode> nodes = device.graphs.begin()->second;
  REQUIRE(nodes.size() == 2);
  const std::array behind{NodeUpdate{1, empty_copy(records, 0x3000)}, NodeUpdate{2, kernel(records, 20)}};
  CHECK(buffer->update(behind).ok());
  CHECK(device.values == std::map<CUgraphNode, std::uint32_t>{{nodes[1], 20}});
  const std::array backwards{NodeUpdate{2, kernel(records, 21)}, NodeUpdate{0, kernel(records, 10)}};
  CHECK(buffer->update(backwards).ok());
  CHECK(device.values == std::map<CUgraphNode, std::uint32_t>{{nodes[0], 10}, {nodes[1], 21}});
}

TEST_CASE_METHOD(Recording, "promise 4, same data: a graph that was changed by half is never launched again",
                 "[promise-4]") {
  const int refused = GENERATE(0, 1, 2);  // which node the driver does not change
  CAPTURE(refused);
  REQUIRE(record(make_graph(records.queue(), {kernel(records, 1), kernel(records, 2), kernel(records, 3)})).ok());
  device.unchangeable = device.graphs.begin()->second[static_cast<std::size_t>(refused)];
  const std::array updates{NodeUpdate{0, kernel(records, 10)}, NodeUpdate{1, kernel(records, 20)},
                           NodeUpdate{2, kernel(records, 30)}};
  CHECK(buffer->update(updates).code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CHECK(device.values.size() == static_cast<std::size_t>(refused));
  CHECK(buffer->enqueue({}, nullptr).ok() == (refused == 0));
  CHECK(device.ran.empty() == (refused != 0));
  device.unchangeable = nullptr;
  CHECK(buffer->update(updates).ok() == (refused == 0));
}

}  // namespace refrain::backends
