// --dot: for Graphviz.
#include <fmt/format.h>

#include <iterator>

#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

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

std::string dump_dot(const Capture& capture, const Analysis& analysis, std::optional<std::uint32_t> only) {
  std::string text =
      "// solid black: queue order, dashed blue: event, bold red: barrier, dotted green: explicit\n"
      "digraph capture {\n  node [shape=box fontname=\"sans-serif\"]\n";
  const auto append = std::back_inserter(text);
  for (std::uint32_t number = 0; number < capture.graphs.size(); ++number) {
    if (only ? *only != number : analysis.graphs[number].runs == 0) {
      continue;
    }
    const Graph& graph = capture.graphs[number].graph();
    fmt::format_to(append, "  subgraph cluster_{} {{\n    label=\"graph {}, {} times\"\n", number, number,
                   grouped(analysis.graphs[number].runs));
    for (NodeIndex node = 0; node < graph.size(); ++node) {
      const OperationView operation = graph.operation(node);
      fmt::format_to(append, "    n{}_{} [label=\"{} {}\\nqueue {}\"{}]\n", number, node, node,
                     escaped(label_of(capture, operation)), graph.queue_of(node).id,
                     why_not_recordable(operation) == nullptr ? "" : " style=filled fillcolor=lightgrey");
    }
    for (const Edge& edge : graph.edges()) {
      fmt::format_to(append, "    n{}_{} -> n{}_{} [{}]\n", number, edge.from, number, edge.to, style_of(edge.reason));
    }
    text += "  }\n";
  }
  return text + "}\n";
}

}  // namespace refrain::capture
