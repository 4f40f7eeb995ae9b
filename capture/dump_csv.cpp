// --csv: the graphs as a table for other programs.
#include <set>

#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

/// Between quotes, as all programs that read such tables take it.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char letter : env::escaped(text)) {
    result += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return result + "\"";
}

/// Why operations of it are never part of a command buffer, each reason once.
std::string reasons_of(const Capture& capture, const Graph& graph) {
  std::set<std::string_view> reasons;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    if (const char* why = why_not_recordable(capture, graph, node); why != nullptr) {
      reasons.insert(why);
    }
  }
  std::string text;
  for (const std::string_view reason : reasons) {
    text += (text.empty() ? "" : "; ") + std::string(reason);
  }
  return text;
}

}  // namespace

void dump_csv(const Capture& capture, const Analysis& analysis, DumpOutput& out) {
  out.raw(
      "graph,fingerprint,operations,edges,occurrences,submissions,host_ns,span_ns,gain_ns,state,arguments,what,why_"
      "not\n");
  const std::vector<GraphVerdict> verdicts = verdicts_of(analysis);
  for (const StoredGraph& stored : capture.graphs) {
    const GraphUse& use = analysis.graphs[stored.id()];
    if (use.runs == 0) {
      continue;
    }
    const Graph graph = stored.graph();
    const GraphVerdict& verdict = verdicts[stored.id()];
    out.raw(fmt::format("{},{:016x},{},{},{},{},{},{},{},{},{},{},{}\n", stored.id(), graph.fingerprint(), graph.size(),
                        graph.edges().size(), use.runs, use.submissions, use.host_ns, use.span_ns, verdict.gain_ns,
                        name_of(verdict.kind), name_of(use.arguments), quoted(label_of(capture, graph)),
                        quoted(reasons_of(capture, graph))));
  }
}

}  // namespace refrain::capture
