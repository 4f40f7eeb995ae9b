// --dot: for Graphviz. What repeats stands once, and a chain of operations is one box.
#include <algorithm>
#include <unordered_map>

#include "capture/dump_formats.h"
#include "capture/fold.h"

namespace refrain::capture {
namespace {

constexpr const char* kCutStyle = "shape=octagon style=filled fillcolor=lightgrey";

const char* style_of(EdgeReason reason) {
  switch (reason) {
    case EdgeReason::kQueueOrder: return "style=solid color=black";
    case EdgeReason::kEvent: return "style=dashed color=blue";
    case EdgeReason::kBarrier: return "style=bold color=red";
    case EdgeReason::kExplicit: return "style=dotted color=darkgreen";
  }
  return "";
}

void write_legend(DumpOutput& out) {
  out.raw("  subgraph cluster_legend {\n    label=\"legend\" node [shape=point]\n");
  for (const EdgeReason reason :
       {EdgeReason::kQueueOrder, EdgeReason::kEvent, EdgeReason::kBarrier, EdgeReason::kExplicit}) {
    const auto number = static_cast<unsigned>(reason);
    out.raw(fmt::format("    from{} -> to{} [{} label=\"{}\"]\n", number, number, style_of(reason), name_of(reason)));
  }
  out.raw(fmt::format(
      "    marks [shape=plaintext label=\"x N: so many times in a row\\lchanges: arguments differ between "
      "occurrences\\l\"]\n    cut [{} label=\"cannot be in a command buffer:\\nparts are cut here\"]\n  }}\n",
      kCutStyle));
}

/// One graph as a cluster.
class Picture {
 public:
  Picture(const Capture& capture, const StoredGraph& stored, DumpOutput& out)
      : capture_(capture),
        number_(stored.id()),
        out_(out),
        graph_(stored.graph()),
        folded_(fold(graph_, looks_of(capture, graph_))),
        inward_(graph_.size()),
        outward_(graph_.size()),
        changing_(graph_.size()) {
    const std::vector<std::uint64_t> changes = changes_of(graph_, stored.statistics());
    for (NodeIndex node = 0; node < graph_.size(); ++node) {
      changing_[folded_.stands_for[node]] += changes[node] != 0 ? 1 : 0;
    }
    for (const FoldedEdge& edge : folded_.edges) {
      if (edge.from != edge.to) {
        ++outward_[edge.from];
        ++inward_[edge.to];
      }
    }
  }

  void write(const GraphUse& use) {
    std::string ends;
    for (const auto& [call, runs] : use.ended_by) {
      ends += fmt::format("{}{} ({})", ends.empty() ? ", ended by " : ", ", capture_.ended_by(call), times(runs));
    }
    out_.raw(fmt::format("  subgraph cluster_{} {{\n    label=\"graph {}, {} times{}\"\n", number_, number_,
                         grouped(use.runs), env::escaped(ends, env::EscapeFor::kDot)));
    write(folded_.items);
    for (const FoldedEdge& edge : folded_.edges) {
      write(edge);
    }
    out_.raw("  }\n");
  }

 private:
  [[nodiscard]] const char* why_cut(NodeIndex node) const { return why_not_recordable(capture_, graph_, node); }

  /// Whether nothing but `next` follows on `item`, and that on nothing else: both can be lines of one box.
  [[nodiscard]] bool in_chain(const FoldedItem& item, const FoldedItem& next) const {
    if (!item.body.empty() || !next.body.empty() || outward_[item.node] != 1 || inward_[next.node] != 1 ||
        why_cut(item.node) != nullptr || why_cut(next.node) != nullptr ||
        graph_.queue_of(item.node).id != graph_.queue_of(next.node).id) {
      return false;
    }
    return std::ranges::any_of(folded_.edges, [&](const FoldedEdge& edge) {
      return edge.from == item.node && edge.to == next.node && edge.reason == EdgeReason::kQueueOrder &&
             !edge.next_turn;
    });
  }

  [[nodiscard]] std::string line_of(const FoldedItem& item) const {
    std::string line = fmt::format("{} {}", item.node, label_of(capture_, graph_.operation(item.node)));
    if (item.times > 1) {
      line += fmt::format(" x {}", item.times);
    }
    if (changing_[item.node] != 0) {
      line += folded_.together[item.node] > 1
                  ? fmt::format(" (changes in {} of {})", changing_[item.node], folded_.together[item.node])
                  : " (changes)";
    }
    return line;
  }

  void write(const std::vector<FoldedItem>& items) {
    for (std::size_t i = 0; i < items.size();) {
      if (!items[i].body.empty()) {
        out_.raw(fmt::format("    subgraph cluster_{}_{} {{\n    label=\"x {}\" style=\"rounded,dashed\"\n", number_,
                             ++loops_, items[i].times));
        write(items[i].body);
        out_.raw("    }\n");
        ++i;
        continue;
      }
      const NodeIndex first = items[i].node;
      std::string text;
      do {
        text += env::escaped(line_of(items[i]), env::EscapeFor::kDot) + "\\n";
        box_of_[items[i].node] = first;
        ++i;
      } while (i < items.size() && in_chain(items[i - 1], items[i]));
      const char* why = why_cut(first);
      out_.raw(fmt::format("    n{}_{} [label=\"{}queue {}{}\"{}]\n", number_, first, text, graph_.queue_of(first).id,
                           why == nullptr ? "" : "\\ncuts: " + env::escaped(why, env::EscapeFor::kDot),
                           why == nullptr ? "" : fmt::format(" {}", kCutStyle)));
    }
  }

  void write(const FoldedEdge& edge) {
    const NodeIndex from = box_of_.at(edge.from), to = box_of_.at(edge.to);
    // "x N" and the lines of a box say this.
    if (from == to && edge.reason == EdgeReason::kQueueOrder) {
      return;
    }
    out_.raw(fmt::format("    n{}_{} -> n{}_{} [{}{}]\n", number_, from, number_, to, style_of(edge.reason),
                         edge.next_turn ? " label=\"next turn\" constraint=false" : ""));
  }

  const Capture& capture_;
  const std::uint32_t number_;
  DumpOutput& out_;
  const Graph graph_;
  const FoldedGraph folded_;
  std::vector<std::uint32_t> inward_, outward_;  // edges of each node that is shown, but those to itself
  std::vector<std::uint32_t> changing_;          // of those that it stands for
  std::unordered_map<NodeIndex, NodeIndex> box_of_;
  unsigned loops_ = 0;
};

}  // namespace

void dump_dot(const Capture& capture, const Analysis& analysis, std::optional<std::uint32_t> only, DumpOutput& out) {
  out.raw("digraph capture {\n  node [shape=box fontname=\"sans-serif\"]\n");
  write_legend(out);
  for (std::uint32_t number = 0; number < capture.graphs.size(); ++number) {
    if (only ? *only == number : analysis.graphs[number].runs != 0) {
      Picture(capture, capture.graphs[number], out).write(analysis.graphs[number]);
    }
  }
  out.raw("}\n");
}

}  // namespace refrain::capture
