// How a rebuilt graph is run, and what it leaves behind.

#include <algorithm>
#include <span>

#include "replay/bench/bench_graph.h"

namespace refrain::replay {

using capture::ArgumentKind;
using capture::NodeIndex;
using capture::OperationView;

std::string BenchGraph::describe(NodeIndex node, const OperationView& operation) {
  return "node " + std::to_string(node) + " (" + std::string(capture::name_of(operation.kind())) + ")";
}

std::string BenchGraph::failure(NodeIndex node, const char* doing, int code) const {
  return std::string(doing) + " failed with " + backend_.error_name(code) + " at " +
         describe(node, graph_.operation(node));
}

bool BenchGraph::finish(std::string* why) {
  for (const capture::QueueInfo& queue : queues_) {
    (void)backend_.flush(queue);
  }
  for (const capture::QueueInfo& queue : queues_) {
    if (const backends::Status status = backend_.finish(queue); !status.ok()) {
      *why = std::string("waiting for the device failed with ") + backend_.error_name(status.code);
      return false;
    }
  }
  return true;
}

namespace {

// Events of one run, given back at its end.
class RunEvents {
 public:
  RunEvents(backends::Backend& backend, std::size_t count) : backend_(backend), events_(count) {}
  ~RunEvents() {
    for (const backends::Event event : events_) {
      if (event != backends::kNoEvent) {
        backend_.release_event(event);
      }
    }
  }
  RunEvents(const RunEvents&) = delete;
  RunEvents& operator=(const RunEvents&) = delete;
  backends::Event* at(std::size_t index) { return &events_[index]; }
  template <typename Range>
  std::span<const backends::Event> list(const Range& indices) {
    list_.clear();
    for (const auto index : indices) {
      if (events_[index] != backends::kNoEvent) {
        list_.push_back(events_[index]);
      }
    }
    return list_;
  }

 private:
  backends::Backend& backend_;
  std::vector<backends::Event> events_;
  std::vector<backends::Event> list_;
};

}  // namespace

bool BenchGraph::run_eagerly(std::string* why) {
  bool ok = true;
  RunEvents events(backend_, graph_.size());
  for (NodeIndex node = 0; ok && node < graph_.size(); ++node) {
    const auto waits = events.list(event_waits_[node]);
    const backends::Status status =
        backend_.issue(graph_.operation(node), waits, signals_[node] != 0 ? events.at(node) : nullptr);
    if (!status.ok()) {
      *why = failure(node, "eager execution", status.code);
      ok = false;
    }
  }
  std::string other;
  const bool finished = finish(ok ? why : &other);
  return ok && finished;
}

bool BenchGraph::run_natively(const BenchPlan& plan, std::string* why) {
  bool ok = true;
  RunEvents events(backend_, plan.pieces.size());
  for (std::size_t i = 0; ok && i < plan.pieces.size(); ++i) {
    const BenchPlan::Piece& piece = plan.pieces[i];
    const auto waits = events.list(piece.waits);
    backends::Event* done = piece.signals ? events.at(i) : nullptr;
    const backends::Status status = piece.buffer != nullptr
                                        ? piece.buffer->enqueue(waits, done)
                                        : backend_.issue(graph_.operation(piece.nodes[0]), waits, done);
    if (!status.ok()) {
      *why = failure(piece.nodes[0], "native replay", status.code);
      ok = false;
    }
  }
  std::string other;
  const bool finished = finish(ok ? why : &other);
  return ok && finished;
}

std::optional<Partitioning> BenchGraph::parts(PartitionMode mode, std::string* why) const {
  std::vector<PartGroup> groups(graph_.size());
  const char* reason = "";
  bool any = false;
  for (NodeIndex node = 0; node < graph_.size(); ++node) {
    if (stand_ins_[node] != 0) {  // a marker could be recorded, but what it stands in for could not
      reason = "the program maps and unmaps memory";
      continue;
    }
    const capture::QueueInfo& queue = graph_.queue_of(node);
    const backends::Recordable answer = backend_.can_record(graph_.operation(node), queue);
    if (answer.ok) {
      const auto place = std::ranges::find(queues_, queue.id, &capture::QueueInfo::id);
      groups[node] = 1 + static_cast<PartGroup>(place - queues_.begin());
      any = true;
    } else {
      reason = answer.why;
    }
  }
  if (!any) {
    *why = std::string("nothing of it can be recorded here: ") + reason;
    return std::nullopt;
  }
  return partition(graph_, groups, {}, mode);
}

std::size_t BenchGraph::longest_part(PartitionMode mode) const {
  std::string why;
  std::size_t longest = 0;
  if (const std::optional<Partitioning> partitioning = parts(mode, &why)) {
    for (const Part& part : partitioning->parts) {
      longest = std::max(longest, part.native ? part.nodes.size() : 0);
    }
  }
  return longest;
}

std::optional<BenchPlan> BenchGraph::plan(std::uint32_t chunk, PartitionMode mode, std::string* why) {
  const std::optional<Partitioning> partitioning = parts(mode, why);
  if (!partitioning) {
    return std::nullopt;
  }
  BenchPlan plan;
  std::vector<std::uint32_t> last_piece(partitioning->parts.size());
  for (std::size_t i = 0; i < partitioning->parts.size(); ++i) {
    const Part& part = partitioning->parts[i];
    const std::size_t step = part.native && chunk != 0 ? chunk : part.nodes.size();
    for (std::size_t at = 0; at < part.nodes.size(); at += step) {
      BenchPlan::Piece& piece = plan.pieces.emplace_back();
      const std::span<const NodeIndex> nodes(part.nodes.data() + at, std::min(step, part.nodes.size() - at));
      piece.nodes.assign(nodes.begin(), nodes.end());
      const auto number = static_cast<std::uint32_t>(plan.pieces.size() - 1);
      // Work of one in-order queue needs no events.
      const auto wait_for = [&](std::uint32_t before) {
        const capture::QueueInfo& mine = graph_.queue_of(nodes[0]);
        if (!mine.in_order || graph_.queue_of(plan.pieces[before].nodes[0]).id != mine.id) {
          plan.pieces[before].signals = true;
          plan.pieces[number].waits.push_back(before);
        }
      };
      if (at == 0) {
        for (const std::uint32_t wait : part.waits) {
          wait_for(last_piece[wait]);
        }
      } else {
        wait_for(number - 1);
      }
      if (part.native) {
        if (const backends::Status status = backend_.record(graph_, nodes, &plan.pieces[number].buffer); !status.ok()) {
          *why = failure(nodes[0], "recording", status.code);
          return std::nullopt;
        }
        ++plan.native_pieces;
      }
      last_piece[i] = number;
    }
  }
  return plan;
}

bool BenchGraph::reset(std::string* why) {
  for (const BenchMemory& memory : memory_) {
    if (memory.part) {
      continue;
    }
    if (const backends::Status status = backend_.write(queues_[0], memory.kind, memory.handle, memory.start);
        !status.ok()) {
      *why = "writing the start contents of object " + std::to_string(memory.object) + " failed with " +
             backend_.error_name(status.code);
      return false;
    }
  }
  for (const auto& host : host_) {
    if (host->compared) {
      std::ranges::fill(host->bytes, std::byte{0});
    }
  }
  return prepare(why);
}

bool BenchGraph::contents(std::vector<std::vector<std::byte>>* all, std::string* why) {
  all->clear();
  for (const BenchMemory& memory : memory_) {
    if (memory.part) {
      continue;
    }
    auto& bytes = all->emplace_back(memory.start.size());
    if (const backends::Status status = backend_.read(queues_[0], memory.kind, memory.handle, bytes); !status.ok()) {
      *why = "reading object " + std::to_string(memory.object) + " failed with " + backend_.error_name(status.code);
      return false;
    }
  }
  for (const auto& host : host_) {
    if (host->compared) {
      all->push_back(host->bytes);
    }
  }
  return true;
}

std::string BenchGraph::name_of_content(std::size_t index) const {
  for (const BenchMemory& memory : memory_) {
    if (!memory.part && index-- == 0) {
      return (memory.kind == ArgumentKind::kImage     ? "image "
              : memory.kind == ArgumentKind::kPointer ? "allocation "
                                                      : "buffer ") +
             std::to_string(memory.object);
    }
  }
  for (const auto& host : host_) {
    if (host->compared && index-- == 0) {
      return "what node " + std::to_string(host->node) + " reads";
    }
  }
  return "object";
}

}  // namespace refrain::replay
