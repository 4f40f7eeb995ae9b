// --dot: for Graphviz.
#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

const char* style_of(EdgeReason reason) {
  switch (reason) {
    case EdgeReason::kQueueOrder: return "style=solid color=black";
    case EdgeReason::kEvent: return "style=dashed color=blue";
    case EdgeReason::kBarrier: return "style=bold color=red";
    case EdgeReason::kExplicit: return "style=dotted color=darkgreen";
  }
  return "";
}

}  // namespace

void dump_dot(const Capture& capture, const Analysis& analysis, std::optional<std::uint32_t> only, DumpOutput& out) {
  out.raw(
      "// solid black: queue order, dashed blue: event, bold red: barrier, dotted green: explicit\n"
      "digraph capture {\n  node [shape=box fontname=\"sans-serif\"]\n");
  for (std::uint32_t number = 0; number < capture.graphs.size(); ++number) {
    if (only ? *only != number : analysis.graphs[number].runs == 0) {
      continue;
    }
    const Graph graph = capture.graphs[number].graph();
    out.raw(fmt::format("  subgraph cluster_{} {{\n    label=\"graph {}, {} times\"\n", number, number,
                        grouped(analysis.graphs[number].runs)));
    for (NodeIndex node = 0; node < graph.size(); ++node) {
      const OperationView operation = graph.operation(node);
      out.raw(fmt::format("    n{}_{} [label=\"{} {}\\nqueue {}\"{}]\n", number, node, node,
                          env::escaped(label_of(capture, operation), env::EscapeFor::kDot), graph.queue_of(node).id,
                          why_not_recordable(operation) == nullptr ? "" : " style=filled fillcolor=lightgrey"));
    }
    for (const Edge& edge : graph.edges()) {
      out.raw(fmt::format("    n{}_{} -> n{}_{} [{}]\n", number, edge.from, number, edge.to, style_of(edge.reason)));
    }
    out.raw("  }\n");
  }
  out.raw("}\n");
}

}  // namespace refrain::capture
