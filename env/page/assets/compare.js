// Two reports or two captures side by side: what is measured of both, and which graphs came, went or changed.

const kCompared = {
  report: [["Time of the run", "seconds", (value) => duration(1e9 * value)], ["Submissions", "submissions", grouped],
           ["Replayed", "share_replayed", percent], ["Launches of graphs", "launches", grouped],
           ["Host calls that cut", "cuts", grouped], ["Building and trying graphs", "trial_ms", (value) => duration(1e6 * value)]],
  capture: [["Time of the run", "seconds", (value) => duration(1e9 * value)], ["Submissions", "submissions", grouped],
            ["Can be graphed", "graphable_share", percent], ["Stretches", "stretches", grouped],
            ["Time in driver calls that do not wait", "host_ns", duration], ["Graphs", "graphs_in_all", grouped]],
};

function difference(before, after) {
  if (before === after) return "the same";
  if (before === 0) return "new";
  const change = (after - before) / before;
  return `${change > 0 ? "+" : "−"}${Math.abs(100 * change).toFixed(1)} %`;
}

/// How often a graph came.
function came(graph) {
  return graph.runs !== undefined ? graph.runs : graph.recorded + graph.bypassed + graph.launched;
}

function comparedGraphs(first, second) {
  const others = new Map(second.graphs.map((graph) => [graph.fingerprint, graph]));
  const rows = [];
  const row = (what, before, after) => rows.push({
    what, before: before ? came(before) : 0, after: after ? came(after) : 0,
    in_first: before ? before.graph : "", in_second: after ? after.graph : "",
    became: !before ? "only in the second" : !after ? "only in the first"
      : before.state !== after.state ? `${before.state} → ${after.state}` : before.state,
    searched: (before || after).fingerprint,
  });
  for (const graph of first.graphs) {
    row(graph.what || graph.fingerprint, graph, others.get(graph.fingerprint));
    others.delete(graph.fingerprint);
  }
  for (const graph of others.values()) row(graph.what || graph.fingerprint, null, graph);
  return rows;
}

function comparison(first, second) {
  const measures = kCompared[first.kind].map(([name, key, format]) => ({
    name, first: format(first[key]), second: format(second[key]), change: difference(first[key], second[key])}));
  return [
    makeTable([{key: "name", label: "What"}, {key: "first", label: "First"}, {key: "second", label: "Second"},
               {key: "change", label: "Change"}], measures, {caption: "What was measured of both", name: "measures"}),
    makeTable([{key: "what", label: "Graph", wide: true}, {key: "in_first", label: "Number in the first"},
               {key: "in_second", label: "Number in the second"}, {key: "before", label: "Came in the first", number: true},
               {key: "after", label: "Came in the second", number: true}, {key: "became", label: "State"}],
              comparedGraphs(first, second), {caption: "Graphs of both", search: "Search in these graphs", what: "graph", name: "both"}),
  ];
}
