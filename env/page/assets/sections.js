// The sections about one file.

/// What became of all submissions: a bar with a part for each.
function fates(input) {
  const all = [["replayed", input.replayed], ...input.not_replayed.map((row) => [row.why, row.submissions])];
  const shown = all.filter(([, count]) => count > 0).slice(0, 6);
  if (!input.submissions || !shown.length) return null;
  const share = ([, count]) => count / input.submissions;
  let x = 0;
  const bar = svg("svg", {viewBox: "0 0 1000 26", preserveAspectRatio: "none", role: "img", class: "fates",
                          "aria-label": shown.map((fate) => `${percent(share(fate))} ${fate[0]}`).join("; ")},
                  shown.map((fate, place) => {
                    const width = 1000 * share(fate), part = svg("rect", {x, y: 0, width, height: 26, class: `fate-${place}`});
                    x += width;
                    return part;
                  }));
  return el("div", {}, bar, el("ul", {class: "legend"}, shown.map((fate, place) =>
    el("li", {}, el("span", {class: `swatch fate-${place}`}), `${percent(share(fate))} ${fate[0]}`))));
}

/// What both kinds of files tell in the first place.
function overview(input) {
  const isReport = input.kind === "report";
  const devices = (input.devices || []).map((device) =>
    `${device.name} (${device.api}, ${device.driver}), command buffers: ${device.command_buffers || "none"}`).join("; ");
  return [
    el("p", {class: "verdict"}, input.verdict),
    isReport ? fates(input) : null,
    facts([
      ["Program", input.program || "unknown"], ["Process", input.process],
      ["Mode", isReport ? `${input.mode}, ${input.backend}` : "capture"],
      ["Time of the run", duration(1e9 * input.seconds)], ["Submissions", grouped(input.submissions)],
      isReport ? ["Replayed", `${percent(input.share_replayed)}; launches of graphs: ${grouped(input.launches)}`]
               : ["Can be graphed", percent(input.graphable_share)],
      ["Stretches", isReport ? null : grouped(input.stretches)],
      ["Time in driver calls that do not wait", input.host_ns ? duration(input.host_ns) : null],
      ["Building and trying graphs", isReport ? duration(1e6 * input.trial_ms) : null],
      ["Lanes", grouped(input.lanes)], ["Device", devices], ["File", input.file],
      ["Written by", input.writer], ["Note", input.cut_short ? `the file is ${input.cut_short}; what comes before is shown` : null],
    ]),
  ];
}

const kReportGraphs = [
  {key: "graph", label: "Graph", number: true},
  {key: "what", label: "What it does", wide: true, value: (graph) => graph.what || graph.fingerprint},
  {key: "operations", label: "Operations", number: true},
  {key: "came", label: "Came", number: true, value: came},
  {key: "launched", label: "Replayed", number: true},
  {key: "state", label: "State"},
  {key: "eager", label: "Eagerly", number: true, value: (graph) => graph.eager_us, title: "Time to submit it once, eagerly",
   format: (us) => (us ? duration(1e3 * us) : "–")},
  {key: "replay", label: "As a graph", number: true, value: (graph) => graph.replay_us, title: "Time to submit it once, as a graph",
   format: (us) => (us ? duration(1e3 * us) : "–")},
  {key: "saved", label: "Saved", number: true, value: (graph) => graph.saved_us, format: (us) => duration(1e3 * us),
   title: "Time of submission that was saved"},
  {key: "gain", label: "Can be gained", number: true, value: (graph) => graph.gain_us,
   format: (us, graph) => (graph.measured ? duration(1e3 * us) : "not measured"),
   title: "What would be saved if the occurrences that were eager had been replayed"},
  {key: "memory_bytes", label: "Memory", number: true, format: sizeText, title: "Of records and command buffers, roughly"},
];

const kCaptureGraphs = [
  {key: "graph", label: "Graph", number: true},
  {key: "what", label: "What it does", wide: true},
  {key: "operations", label: "Operations", number: true},
  {key: "runs", label: "Came", number: true},
  {key: "submissions", label: "Submissions", number: true},
  {key: "state", label: "State"},
  {key: "arguments", label: "Arguments"},
  {key: "host_ns", label: "In driver calls", number: true, format: (ns) => (ns ? duration(ns) : "–"),
   title: "Time in driver calls that do not wait"},
  {key: "gain_ns", label: "Can be gained", number: true, format: (ns) => (ns ? `≤ ${duration(ns)}` : "–"),
   title: "Time in driver calls of what can be graphed: a replay takes less of it, never more is saved"},
];

/// Everything about one graph. `other`: the same graph in the other file, if it is there.
function graphDetails(input, graph, other) {
  const isReport = input.kind === "report";
  const name = `graph ${graph.graph}`;
  const parts = [el("h3", {}, `Graph ${graph.graph}: ${graph.what || graph.fingerprint}`)];
  parts.push(isReport
    ? facts([["State", graph.state + (graph.reason ? `: ${graph.reason}` : "")], ["Operations", grouped(graph.operations)],
             ["Came", `${times(came(graph))}, ${grouped(graph.launched)} of them replayed`],
             ["To submit", graph.measured ? `${duration(1e3 * graph.eager_us)} eagerly, ${duration(1e3 * graph.replay_us)} as a graph` : "not measured"],
             ["Command buffers", graph.builds ? `${plural(graph.builds, "build")}, ${plural(graph.variants, "instance")} of ${plural(graph.parts, "part")}` : null],
             ["Arguments changed", graph.changed ? times(graph.changed) : null],
             ["Memory", sizeText(graph.memory_bytes)], ["Fingerprint", graph.fingerprint]])
    : facts([["State", graph.state], ["Operations", `${grouped(graph.operations)}, ${plural(graph.edges, "edge")}`],
             ["Came", times(graph.runs)], ["Arguments", graph.arguments],
             ["In driver calls that do not wait", graph.host_ns ? duration(graph.host_ns) : null],
             ["Ended by", graph.ended_by.map(([call, count]) => `${call} (${times(count)})`).join(", ")],
             ["Fingerprint", graph.fingerprint]]));
  if (graph.changes && graph.changes.length) {
    parts.push(el("p", {}, "What changes between occurrences:"), el("ul", {}, graph.changes.map((line) => el("li", {}, line))));
  }
  if (other) parts.push(el("p", {}, `In the other file this is graph ${other.graph}.`));
  const picture = graph.picture || (other && other.picture);
  if (picture) parts.push(drawPicture(picture, name));
  else parts.push(el("p", {class: "note"}, isReport ? "A capture of the program (refrain run -o app.rfn) has the picture."
                                                    : "Only the graphs with most to gain have pictures here; refrain dump --dot --graph N makes the others."));
  return parts;
}

function graphsSection(input, others) {
  if (!input.graphs.length) return [el("p", {}, "No stretch repeated.")];
  const details = el("div", {class: "details", "aria-live": "polite"});
  const byFingerprint = new Map(others.flatMap((other) => other.graphs).map((graph) => [graph.fingerprint, graph]));
  const isReport = input.kind === "report";
  const table = makeTable(isReport ? kReportGraphs : kCaptureGraphs, input.graphs, {
    caption: "Graphs, those with most to gain first", search: "Search in the graphs", what: "graph", name: "graphs",
    sort: isReport ? "gain" : "gain_ns",
    select: (graph) => details.replaceChildren(...graphDetails(input, graph, byFingerprint.get(graph.fingerprint))),
  });
  input.chooseGraph = (number) => table.chooseWhere((graph) => graph.graph === number);
  const parts = [el("p", {class: "note"}, "Choose a row, with a click or with the arrow keys and Enter, to see its graph.")];
  if (input.graphs_in_all > input.graphs.length) {
    parts.push(el("p", {class: "note"}, `The ${grouped(input.graphs.length)} with most to gain of ${grouped(input.graphs_in_all)}.`));
  }
  parts.push(table, details);
  return parts;
}

function obstaclesSection(input) {
  const rows = input.not_replayed;
  if (!rows.length) return [el("p", {}, "Nothing: all was replayed, or the file does not say.")];
  const share = (count) => percent(input.submissions ? count / input.submissions : 0);
  return [el("ol", {class: "obstacles"}, rows.map((row) => el("li", {},
    el("p", {}, el("strong", {}, share(row.submissions)), ` ${plural(row.submissions, "submission")}`,
       row.host_ns ? `, about ${duration(row.host_ns)} in driver calls` : "", ": ", row.what || row.why),
    row.details && row.details.length ? el("ul", {}, row.details.map((detail) => el("li", {}, detail))) : null,
    row.advice ? el("p", {class: "advice"}, el("span", {}, "Try: "), row.advice) : null)))];
}

function hostCallsSection(input) {
  const columns = [{key: "call", label: "Call"}, {key: "cuts", label: "Cuts", number: true, title: "Times it ended a stretch"}];
  if (input.kind === "capture") columns.push({key: "idle", label: "Idle", number: true, title: "Times nothing had been submitted before it"});
  return [makeTable(columns, input.host_calls, {caption: "Host calls, by how many stretches they ended", sort: "cuts", what: "call"})];
}

function regionsSection(input) {
  const columns = [{key: "name", label: "Region"}, {key: "submissions", label: "Submissions", number: true}];
  columns.push(input.kind === "report" ? {key: "replayed", label: "Replayed", number: true} : {key: "stretches", label: "Stretches", number: true});
  return [makeTable(columns, input.regions, {caption: "Regions that the program named, with those inside them", what: "region"})];
}

function intervalsSection(input) {
  const columns = [
    {key: "submissions", label: "Submissions", number: true}, {key: "seen", label: "Seen", number: true}, {key: "state", label: "State"},
    {key: "eager_us", label: "Eagerly", number: true, format: (us) => (us ? duration(1e3 * us) : "–")},
    {key: "with_us", label: "With graphs", number: true, format: (us) => (us ? duration(1e3 * us) : "–")},
    {key: "reason", label: "Why", wide: true}];
  return [makeTable(columns, input.intervals,
                    {caption: "Sync intervals, from the first submission to the end of the wait", sort: "seen", what: "interval"})];
}

function memorySection(input) {
  if (input.kind === "report") {
    const all = input.graphs.reduce((sum, graph) => sum + graph.memory_bytes, 0);
    return [facts([["All graphs that are left, roughly", sizeText(all)],
                   ["Given up before", input.graphs_gone ? plural(input.graphs_gone.count, "graph") : null]])];
  }
  return [makeTable([{key: "kind", label: "Kind"}, {key: "count", label: "Number", number: true},
                     {key: "bytes", label: "Size", number: true, format: sizeText}],
                    input.memory, {caption: "Memory that the program's graphs name", sort: "bytes", what: "kind"})];
}

function sectionsOf(input, others) {
  const list = [];
  if (input.timeline && input.timeline.length_ns) list.push(["Timeline", timelineSection(input)]);
  if (input.timeline && (input.timeline.chunks || []).length) list.push(["Chunk sizes over time", chunksSection(input.timeline)]);
  list.push(["Graphs", graphsSection(input, others)], ["What keeps the rest from being replayed", obstaclesSection(input)]);
  if (input.host_calls.length) list.push(["Host calls that cut", hostCallsSection(input)]);
  if (input.regions.length) list.push(["Regions", regionsSection(input)]);
  if (input.intervals && input.intervals.length) list.push(["Sync intervals", intervalsSection(input)]);
  if (input.kind === "report" ? input.graphs.length : input.memory.length) list.push(["Memory", memorySection(input)]);
  return list;
}
