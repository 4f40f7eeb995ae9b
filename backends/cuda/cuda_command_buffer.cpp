#include "backends/cuda/cuda_command_buffer.h"

#include <algorithm>
#include <utility>

#include "backends/cuda/issue.h"

namespace refrain::backends {

using capture::NodeIndex;
using capture::OperationView;

void LiveBuffers::add(CudaCommandBuffer* buffer) {
  const std::lock_guard guard(mutex_);
  all_.insert(buffer);
}

void LiveBuffers::remove(CudaCommandBuffer* buffer) noexcept {
  const std::lock_guard guard(mutex_);
  all_.erase(buffer);
  buffer->destroy();
}

void LiveBuffers::context_gone(CUcontext context) noexcept {
  const std::lock_guard guard(mutex_);
  for (CudaCommandBuffer* buffer : all_) {
    if (buffer->main_ != nullptr && (context == nullptr || buffer->main_->context == context)) {
      buffer->destroy();
      buffer->broken_ = true;
    }
  }
}

CudaCommandBuffer::~CudaCommandBuffer() {
  parts_.live.remove(this);
}

void CudaCommandBuffer::destroy() noexcept {
  // A running graph is freed by the driver when it is done.
  if (main_ == nullptr || (executable_ == nullptr && graph_ == nullptr)) {
    return;
  }
  const ContextScope scope(parts_.driver, main_->context);
  if (executable_ != nullptr) {
    parts_.driver.cuGraphExecDestroy(std::exchange(executable_, nullptr));
  }
  if (graph_ != nullptr) {
    parts_.driver.cuGraphDestroy(std::exchange(graph_, nullptr));
  }
}

CUresult CudaCommandBuffer::record(const capture::Graph& graph, std::span<const NodeIndex> nodes, CUstream uploader) {
  parts_.live.add(this);
  const CudaDriver& driver = parts_.driver;
  main_ = &CudaStream::of(graph.queue_of(nodes.front()).handle);
  main_id_ = graph.queue_of(nodes.front()).id;
  for (const NodeIndex node : nodes) {
    CudaStream* stream = &CudaStream::of(graph.queue_of(node).handle);
    if (stream != main_ && std::find(others_.begin(), others_.end(), stream) == others_.end()) {
      others_.push_back(stream);
    }
  }
  CUresult status = driver.cuGraphCreate(&graph_, 0);
  if (status == CUDA_SUCCESS) {
    status = add_nodes(graph, nodes);
  }
  if (status != CUDA_SUCCESS || nodes_.empty()) {
    return status;
  }
  status = driver.cuGraphInstantiateWithFlags(&executable_, graph_, 0);
  if (status != CUDA_SUCCESS) {
    executable_ = nullptr;
    return status;
  }
  // The first launch would have to wait for this.
  status = driver.cuGraphUpload(executable_, uploader);
  return status != CUDA_SUCCESS ? status : driver.cuStreamSynchronize(uploader);
}

/// Event records and waits become edges: what comes after one comes after all that it comes after.
CUresult CudaCommandBuffer::add_nodes(const capture::Graph& graph, std::span<const NodeIndex> nodes) {
  std::vector<std::vector<CUgraphNode>> made(graph.size());
  std::vector<bool> inside(graph.size(), false);
  for (const NodeIndex index : nodes) {
    std::vector<CUgraphNode> before;
    for (const NodeIndex predecessor : graph.predecessors(index)) {
      if (inside[predecessor]) {
        before.insert(before.end(), made[predecessor].begin(), made[predecessor].end());
      }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    inside[index] = true;
    const OperationView operation = graph.operation(index);
    Node node;
    node.index = index;
    if (has_work(operation)) {
      const CUresult status = node.node.add(parts_.driver, graph_, before, main_->context, operation);
      if (status != CUDA_SUCCESS) {
        return status;
      }
    }
    if (node.node.empty()) {
      made[index] = std::move(before);
    } else {
      made[index] = {node.node.handle()};
      nodes_.push_back(node);
    }
  }
  return CUDA_SUCCESS;
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

/// An event for the end of the graph just launched.
CUresult CudaCommandBuffer::record_end(Event* done) {
  CUresult status = CUDA_SUCCESS;
  CudaEvent* event = parts_.events.take(main_->context, &status);
  if (event == nullptr) {
    return status;
  }
  status = parts_.driver.cuEventRecord(event->handle, main_->handle);
  if (status == CUDA_SUCCESS) {
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
  parts_.links.settle_for(*main_, others_);
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
  if (done != nullptr && record_end(done) != CUDA_SUCCESS) {
    driver.cuStreamSynchronize(main_->handle);
  }
  parts_.links.link(*main_, others_);
  return {};
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
    CUresult status = CUDA_SUCCESS;  // no node: an operation without work
    if (node != nodes_.end()) {
      try {
        status = node->node.change(parts_.driver, executable_, main_->context, wanted.operation);
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
