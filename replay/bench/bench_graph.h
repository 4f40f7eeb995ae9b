// One graph of a capture, rebuilt on a device of this machine, eagerly and natively.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/standalone_device.h"
#include "capture/model.h"
#include "replay/bench/bench_addresses.h"
#include "replay/graph/partition.h"

namespace refrain::replay {

/// A buffer or image that the graph names, on this machine.
struct BenchMemory {
  capture::ObjectId object = 0;
  capture::Handle handle = 0;
  capture::ArgumentKind kind = capture::ArgumentKind::kBuffer;
  std::vector<std::byte> start;  ///< contents before each checked run
  bool part = false;             ///< of another buffer or image: not written or compared on its own
  struct Piece {
    capture::ObjectId object = 0;
    std::uint64_t offset = 0;
  };
  std::vector<Piece> pieces;  ///< of which captured memory it is made, in the order of their contents
};

/// How a graph is replayed natively with one chunk size.
struct BenchPlan {
  struct Piece {
    std::unique_ptr<backends::CommandBuffer> buffer;  ///< null: one node, issued eagerly
    std::vector<capture::NodeIndex> nodes;
    std::vector<std::uint32_t> waits;  ///< pieces whose event it needs
    bool signals = false;              ///< some piece needs its event
  };
  std::vector<Piece> pieces;
  std::uint32_t native_pieces = 0;
};

class BenchGraph {
 public:
  /// Makes everything the graph names. Null, and `why`, if something cannot be made here.
  static std::unique_ptr<BenchGraph> rebuild(const capture::Capture& capture, const capture::StoredGraph& stored,
                                             backends::StandaloneDevice& device, std::uint64_t max_bytes,
                                             std::string* why);

  [[nodiscard]] const capture::Graph& graph() const noexcept { return graph_; }
  /// Buffers and images filled with pseudo-random bytes because the capture holds no contents.
  [[nodiscard]] std::size_t made_up() const noexcept { return made_up_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Nodes of the longest part that a command buffer can hold; 0 if nothing can be recorded.
  [[nodiscard]] std::size_t longest_part(PartitionMode mode) const;

  /// Splits and records. Nothing, and `why`, if no node can be recorded or recording fails. Call only after
  /// run_eagerly() succeeded: drivers were seen to crash when recording what they would have refused.
  std::optional<BenchPlan> plan(std::uint32_t chunk, PartitionMode mode, std::string* why);

  /// Before each run: what is neither memory nor in a queue is as it was when the captured graph began.
  bool prepare(std::string* why) { return device_.prepare_run(why); }
  /// Submits everything and waits for it. False, and `why`, if the driver refuses something.
  bool run_eagerly(std::string* why);
  bool run_natively(const BenchPlan& plan, std::string* why);

  /// Puts the start contents back, and prepares a run.
  bool reset(std::string* why);
  /// All contents after a run: buffers, images and host memory that the graph read into.
  bool contents(std::vector<std::vector<std::byte>>* all, std::string* why);
  /// "node 3 reads into host memory" or "buffer 17": what `contents` has at `index`, for messages.
  [[nodiscard]] std::string name_of_content(std::size_t index) const;

 private:
  BenchGraph(backends::StandaloneDevice& device, const capture::Capture& capture)
      : device_(device), backend_(device.backend()), addresses_(capture) {}
  static std::string describe(capture::NodeIndex node, const capture::OperationView& operation);
  bool make_objects(const capture::Capture& capture, const capture::Graph& stored, std::uint64_t max_bytes,
                    std::string* why);
  bool make_memory(const capture::Capture& capture, capture::ObjectId object, capture::ArgumentKind kind,
                   std::uint64_t max_bytes, int depth, std::string* why);
  bool make_regions(const capture::Capture& capture, std::uint64_t max_bytes, std::string* why);
  bool translate(const capture::OperationView& from, capture::NodeIndex node, std::vector<std::byte>* to,
                 std::string* why);
  /// What is done where the program mapped or unmapped memory.
  void stand_in(const capture::OperationView& from, capture::NodeIndex node, std::vector<std::byte>* to);
  void note_waits(const capture::OperationView& from, capture::NodeIndex node);
  /// Nothing, and `why`, if no node can be recorded.
  std::optional<Partitioning> parts(PartitionMode mode, std::string* why) const;
  bool fill(const capture::Capture& capture, std::string* why);
  bool finish(std::string* why);
  [[nodiscard]] std::string failure(capture::NodeIndex node, const char* doing, int code) const;

  backends::StandaloneDevice& device_;
  backends::Backend& backend_;
  BenchAddresses addresses_;
  capture::Graph graph_;
  std::vector<capture::QueueInfo> queues_;
  std::unordered_map<capture::ObjectId, capture::QueueInfo> queue_of_id_;
  std::unordered_map<capture::ObjectId, capture::Handle> handles_;
  std::unordered_map<capture::FunctionId, capture::Handle> functions_;
  std::vector<BenchMemory> memory_;
  struct HostMemory {
    capture::NodeIndex node = 0;
    std::vector<std::byte> bytes;
    bool compared = false;
  };
  std::vector<std::unique_ptr<HostMemory>> host_;
  std::vector<std::vector<capture::NodeIndex>> event_waits_;  // per node: nodes whose event its call waits for
  std::vector<std::uint8_t> signals_;                         // per node: somebody waits for its event
  std::vector<std::uint8_t> stand_ins_;                       // per node: the program mapped or unmapped memory here
  std::size_t made_up_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace refrain::replay
