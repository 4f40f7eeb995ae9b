// A CUDA graph made from recorded operations.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "backends/backend.h"
#include "backends/cuda/driver_api.h"
#include "backends/cuda/event_pool.h"
#include "backends/cuda/graph_node.h"
#include "backends/cuda/stream.h"
#include "backends/cuda/stream_links.h"

namespace refrain::backends {

class CudaCommandBuffer;

/// The command buffers that exist. Whoever gives one up may do so long after its context was destroyed, when the
/// driver must not be asked about it any more: what it has of a context goes before the context does. Thread-safe.
class LiveBuffers {
 public:
  /// May throw std::bad_alloc.
  void add(CudaCommandBuffer* buffer);
  /// Destroys what the buffer has of the driver.
  void remove(CudaCommandBuffer* buffer) noexcept;
  /// A context is about to be destroyed (null: any may be).
  void context_gone(CUcontext context) noexcept;

 private:
  std::mutex mutex_;
  std::unordered_set<CudaCommandBuffer*> all_;
};

/// What a command buffer needs of its backend.
struct CudaParts {
  const CudaDriver& driver;
  EventPool& events;
  StreamOrder& order;
  StreamLinks& links;
  LiveBuffers& live;
};

class CudaCommandBuffer final : public CommandBuffer {
 public:
  explicit CudaCommandBuffer(const CudaParts& parts) noexcept : parts_(parts) {}
  ~CudaCommandBuffer() override;
  CudaCommandBuffer(const CudaCommandBuffer&) = delete;
  CudaCommandBuffer& operator=(const CudaCommandBuffer&) = delete;

  /// Makes the graph; `uploader` is a stream of ours in the same context, which must be current. May throw
  /// std::bad_alloc.
  CUresult record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes, CUstream uploader);

  Status enqueue(std::span<const Event> waits, Event* done) noexcept override;
  Status update(std::span<const NodeUpdate> updates) noexcept override;
  /// Always false: a graph may be launched, and changed for later launches, while it runs. (Measured on an H200
  /// with driver 580: changing a node of a running graph takes as long as of an idle one.)
  [[nodiscard]] bool busy() const noexcept override { return false; }
  [[nodiscard]] bool ready() noexcept override;

 private:
  friend class LiveBuffers;
  /// Gives the graph back to the driver. Not while it is being recorded, launched or changed.
  void destroy() noexcept;

  struct Node {
    capture::NodeIndex index = 0;
    GraphNode node;
  };

  CUresult add_nodes(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes);
  CUresult join_before();
  CUresult record_end(Event* done);

  CudaParts parts_;
  CudaStream* main_ = nullptr;  ///< where it is launched
  capture::ObjectId main_id_ = 0;
  std::vector<CudaStream*> others_;  ///< other streams whose work it contains
  std::vector<Node> nodes_;          ///< with work of their own, by index
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;  ///< null if nothing in it has work of its own
  bool broken_ = false;               ///< an update failed halfway, or the context is gone
};

}  // namespace refrain::backends
