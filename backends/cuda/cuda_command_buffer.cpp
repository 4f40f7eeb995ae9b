#include "backends/cuda/cuda_command_buffer.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/issue.h"
#include "backends/cuda/kernel_call.h"

namespace refrain::backends {

using capture::NodeIndex;
using capture::OperationKind;
using capture::OperationView;

CudaCommandBuffer::~CudaCommandBuffer() {
  // A running graph is freed by the driver when it is done.
  if (main_ == nullptr || (executable_ == nullptr && graph_ == nullptr)) {
    return;
  }
  const ContextScope scope(parts_.driver, main_->context);
  if (executable_ != nullptr) {
    parts_.driver.cuGraphExecDestroy(executable_);
  }
  if (graph_ != nullptr) {
    parts_.driver.cuGraphDestroy(graph_);
  }
}

CUresult CudaCommandBuffer::record(const capture::Graph& graph, std::span<const NodeIndex> nodes, CUstream recorder) {
  const CudaDriver& driver = parts_.driver;
  main_ = &CudaStream::of(graph.queue_of(nodes.front()).handle);
  main_id_ = graph.queue_of(nodes.front()).id;
  for (const NodeIndex node : nodes) {
    CudaStream* stream = &CudaStream::of(graph.queue_of(node).handle);
    if (stream != main_ && std::find(others_.begin(), others_.end(), stream) == others_.end()) {
      others_.push_back(stream);
    }
  }
  CUresult status = driver.cuStreamBeginCapture_v2(recorder, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (status != CUDA_SUCCESS) {
    return status;
  }
  try {
    status = capture(graph, nodes, recorder);
  } catch (...) {
    status = CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult ended = driver.cuStreamEndCapture(recorder, &graph_);
  status = status != CUDA_SUCCESS ? status : ended;
  if (status != CUDA_SUCCESS || nodes_.empty()) {
    return status;
  }
  status = driver.cuGraphInstantiateWithFlags(&executable_, graph_, 0);
  if (status != CUDA_SUCCESS) {
    executable_ = nullptr;
    return status;
  }
  // The first launch would have to wait for this.
  status = driver.cuGraphUpload(executable_, recorder);
  return status != CUDA_SUCCESS ? status : driver.cuStreamSynchronize(recorder);
}

/// Event records and waits become edges: what comes after one comes after all that it comes after.
CUresult CudaCommandBuffer::capture(const capture::Graph& graph, std::span<const NodeIndex> nodes, CUstream recorder) {
  const CudaDriver& driver = parts_.driver;
  std::vector<std::vector<CUgraphNode>> made(graph.size());
  std::vector<bool> inside(graph.size(), false);
  std::vector<CUgraphNode> current;  // what the recorder's next node would come after
  for (const NodeIndex index : nodes) {
    std::vector<CUgraphNode> after;
    for (const NodeIndex before : graph.predecessors(index)) {
      if (inside[before]) {
        after.insert(after.end(), made[before].begin(), made[before].end());
      }
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    inside[index] = true;
    const OperationView operation = graph.operation(index);
    if (!has_work(operation)) {
      made[index] = std::move(after);
      continue;
    }
    if (after != current) {
      const CUresult status = driver.cuStreamUpdateCaptureDependencies_v2(recorder, after.data(), nullptr, after.size(),
                                                                          CU_STREAM_SET_CAPTURE_DEPENDENCIES);
      if (status != CUDA_SUCCESS) {
        return status;
      }
      current = after;
    }
    CUresult status = submit(driver, operation, recorder);
    if (status != CUDA_SUCCESS) {
      return status;
    }
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraph captured = nullptr;
    const CUgraphNode* tips = nullptr;
    const CUgraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    status = driver.cuStreamGetCaptureInfo_v3(recorder, &capturing, &id, &captured, &tips, &edges, &count);
    if (status != CUDA_SUCCESS || capturing != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      return status != CUDA_SUCCESS ? status : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    std::vector<CUgraphNode> now(tips, tips + count);
    std::sort(now.begin(), now.end());
    if (now != current) {  // else it made no node: a copy of nothing
      if (count != 1) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      status = remember(index, now.front());
      if (status != CUDA_SUCCESS) {
        return status;
      }
    }
    current = std::move(now);
    made[index] = current;
  }
  return CUDA_SUCCESS;
}

CUresult CudaCommandBuffer::remember(NodeIndex index, CUgraphNode handle) {
  const CudaDriver& driver = parts_.driver;
  Node node;
  node.index = index;
  node.handle = handle;
  CUresult status = driver.cuGraphNodeGetType(handle, &node.type);
  if (status == CUDA_SUCCESS && node.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    status = driver.cuGraphKernelNodeGetParams_v2(handle, &node.kernel);
  } else if (status == CUDA_SUCCESS && node.type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    status = driver.cuGraphMemcpyNodeGetParams(handle, &node.copy);
  } else if (status == CUDA_SUCCESS && node.type == CU_GRAPH_NODE_TYPE_MEMSET) {
    status = driver.cuGraphMemsetNodeGetParams(handle, &node.fill);
  }
  nodes_.push_back(node);
  return status;
}

bool CudaCommandBuffer::ready() noexcept {
  if (others_.empty()) {
    return true;
  }
  if (main_->id.load(std::memory_order_acquire) != main_id_) {
    return true;  // enqueue() says what is wrong
  }
  const ContextScope scope(parts_.driver, main_->context);
  return std::all_of(others_.begin(), others_.end(), [this](CudaStream* other) {
    return parts_.order.covers(*main_, *other) || parts_.driver.cuStreamQuery(other->handle) == CUDA_SUCCESS;
  });
}

/// Work of other streams that is not known to come before the launch is waited for.
CUresult CudaCommandBuffer::join_before() {
  const CudaDriver& driver = parts_.driver;
  for (CudaStream* other : others_) {
    if (parts_.order.covers(*main_, *other) || driver.cuStreamQuery(other->handle) == CUDA_SUCCESS) {
      continue;
    }
    CUresult status = CUDA_SUCCESS;
    CudaEvent* event = parts_.events.take(main_->context, &status);
    if (event == nullptr) {
      return status;
    }
    status = driver.cuEventRecord(event->handle, other->handle);
    if (status == CUDA_SUCCESS) {
      status = driver.cuStreamWaitEvent(main_->handle, event->handle, 0);
    }
    parts_.events.release(*event);
    if (status != CUDA_SUCCESS) {
      return status;
    }
  }
  return CUDA_SUCCESS;
}

/// What comes next in the other streams comes after the graph.
CUresult CudaCommandBuffer::join_after(Event* done) {
  if (others_.empty() && done == nullptr) {
    return CUDA_SUCCESS;
  }
  const CudaDriver& driver = parts_.driver;
  CUresult status = CUDA_SUCCESS;
  CudaEvent* event = parts_.events.take(main_->context, &status);
  if (event == nullptr) {
    return status;
  }
  status = driver.cuEventRecord(event->handle, main_->handle);
  for (CudaStream* other : others_) {
    if (status == CUDA_SUCCESS) {
      status = driver.cuStreamWaitEvent(other->handle, event->handle, 0);
    }
    StreamOrder::submitted(*other);
    // Nothing is in the other stream but what came before the graph, and the wait for it.
    parts_.order.waits_for(*main_, StreamOrder::now(*other));
    parts_.order.waits_for(*other, StreamOrder::now(*main_));
  }
  if (done != nullptr && status == CUDA_SUCCESS) {
    *done = event->as_event();
  } else {
    parts_.events.release(*event);
  }
  return status;
}

Status CudaCommandBuffer::enqueue(std::span<const Event> waits, Event* done) noexcept {
  const CudaDriver& driver = parts_.driver;
  if (broken_ || main_->id.load(std::memory_order_acquire) != main_id_) {
    return {CUDA_ERROR_INVALID_HANDLE};
  }
  const ContextScope scope(driver, main_->context);
  if (scope.status() != CUDA_SUCCESS) {
    return {scope.status()};
  }
  for (const Event wait : waits) {
    if (const CUresult status = driver.cuStreamWaitEvent(main_->handle, CudaEvent::of(wait).handle, 0);
        status != CUDA_SUCCESS) {
      return {status};
    }
  }
  if (const CUresult status = join_before(); status != CUDA_SUCCESS) {
    return {status};
  }
  if (executable_ != nullptr) {
    if (const CUresult status = driver.cuGraphLaunch(executable_, main_->handle); status != CUDA_SUCCESS) {
      return {status};
    }
  }
  StreamOrder::submitted(*main_);
  // The work is submitted: from here on a failure must not make anybody submit it again. Without an event
  // those who asked for one wait on the host instead, which is slow and right.
  if (join_after(done) != CUDA_SUCCESS) {
    driver.cuStreamSynchronize(main_->handle);
  }
  return {};
}

CUresult CudaCommandBuffer::change(Node& node, const OperationView& operation) {
  const CudaDriver& driver = parts_.driver;
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      thread_local KernelCall call;
      if (!call.read(operation)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      node.kernel.kernelParams = call.parameters.data();
      node.kernel.extra = nullptr;
      return driver.cuGraphExecKernelNodeSetParams_v2(executable_, node.handle, &node.kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      if (driver.cuGraphExecMemcpyNodeSetParams == nullptr || operation.kind() != OperationKind::kPointerCopy) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      CUDA_MEMCPY3D_v2 copy = node.copy;
      const std::uint64_t to = operation.handle_of(0);
      const std::uint64_t from = operation.handle_of(1);
      if (copy.srcMemoryType == CU_MEMORYTYPE_HOST) {
        copy.srcHost = reinterpret_cast<const void*>(from);
      } else {
        copy.srcDevice = from;
      }
      if (copy.dstMemoryType == CU_MEMORYTYPE_HOST) {
        copy.dstHost = reinterpret_cast<void*>(to);
      } else {
        copy.dstDevice = to;
      }
      if (copy.Height > 1 || copy.Depth > 1 || copy.WidthInBytes != operation.words()[0]) {
        return CUDA_ERROR_NOT_SUPPORTED;  // the driver folded a long copy
      }
      return driver.cuGraphExecMemcpyNodeSetParams(executable_, node.handle, &copy, main_->context);
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto pattern =
          operation.kind() == OperationKind::kPointerFill ? operation.value_of(1) : std::span<const std::byte>();
      if (driver.cuGraphExecMemsetNodeSetParams == nullptr || pattern.size() != node.fill.elementSize ||
          node.fill.height > 1 || node.fill.width * node.fill.elementSize != operation.words()[0]) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      CUDA_MEMSET_NODE_PARAMS_v1 fill = node.fill;
      fill.dst = operation.handle_of(0);
      fill.value = 0;
      std::memcpy(&fill.value, pattern.data(), pattern.size());
      return driver.cuGraphExecMemsetNodeSetParams(executable_, node.handle, &fill, main_->context);
    }
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

Status CudaCommandBuffer::update(std::span<const NodeUpdate> updates) noexcept {
  if (broken_ || executable_ == nullptr || main_->id.load(std::memory_order_acquire) != main_id_) {
    return {CUDA_ERROR_INVALID_HANDLE};
  }
  const ContextScope scope(parts_.driver, main_->context);
  bool changed = false;
  auto node = nodes_.begin();
  for (const NodeUpdate& wanted : updates) {
    // Both are in the order of the part, nearly always.
    const auto found = std::find_if(node, nodes_.end(), [&](const Node& each) { return each.index == wanted.node; });
    node = found != nodes_.end() ? found : std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& each) {
      return each.index == wanted.node;
    });
    CUresult status = CUDA_ERROR_NOT_FOUND;
    if (node != nodes_.end()) {
      try {
        status = change(*node, wanted.operation);
      } catch (...) {
        status = CUDA_ERROR_OUT_OF_MEMORY;
      }
    }
    if (status != CUDA_SUCCESS) {
      broken_ = changed;  // half of it is new: never to be launched again
      return {status};
    }
    changed = true;
  }
  return {};
}

}  // namespace refrain::backends
