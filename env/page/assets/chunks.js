// How long chunks were to be, from when on: a step chart for each lane, and all changes in words.

const kMostCharts = 8;

/// The line of one length, in a chart that is 1000 wide and 100 high; `most` is at its top, and at least 2.
function stepsOf(changes, key, end, most) {
  const x = (ns) => (1000 * ns / end).toFixed(1);
  const y = (length) => (98 - 96 * Math.log2(length) / Math.log2(most)).toFixed(1);
  return changes.map((change, place) => `${place ? `H${x(change.at_ns)}V` : `M${x(change.at_ns)} `}${y(change[key])}`).join("") + "H1000";
}

function chunkChart(lane, changes, end) {
  const most = Math.max(2, ...changes.map((change) => Math.max(change.first, change.longest)));
  const told = `Chunks of lane ${lane}, longest: ${changes.slice(0, 20).map((change) => `${change.longest} at ${duration(change.at_ns)}`).join(", ")}` +
    (changes.length > 20 ? `, and ${plural(changes.length - 20, "further change")}` : "");
  return el("div", {}, el("h3", {}, `Lane ${lane}`), el("div", {class: "chart"},
    el("div", {class: "from-top", "aria-hidden": "true"}, el("span", {}, grouped(most)), el("span", {}, "1")),
    svg("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": told},
        ["first", "longest"].map((key) => svg("path", {class: key, d: stepsOf(changes, key, end, most)}))),
    el("div", {class: "from-left", "aria-hidden": "true"}, el("span", {}, "0"), el("span", {}, duration(end)))));
}

function chunksSection(timeline) {
  const lanes = new Map();
  for (const change of timeline.chunks) {
    if (!lanes.has(change.lane)) lanes.set(change.lane, []);
    lanes.get(change.lane).push(change);
  }
  const end = Math.max(1, timeline.length_ns, ...timeline.chunks.map((change) => change.at_ns));
  const seen = ([, changes]) => changes.some((change) => change.first !== changes[0].first || change.longest !== changes[0].longest);
  const changing = [...lanes].filter(seen).sort((a, b) => b[1].length - a[1].length);
  const others = lanes.size - Math.min(changing.length, kMostCharts);
  const line = (name) => el("span", {class: `swatch ${name}`});
  return [
    el("p", {class: "note"}, "Operations in a chunk, in powers of two, as they were to be from then on: the first chunk after a host call, and the longest. What repeats may be shorter."),
    changing.length === 0 ? null : el("ul", {class: "legend"}, el("li", {}, line("stretch"), "longest chunk"), el("li", {}, line("eager"), "first chunk")),
    ...changing.slice(0, kMostCharts).map(([lane, changes]) => chunkChart(lane, changes, end)),
    others ? el("p", {class: "note"}, `${plural(others, "lane")} in the table only: these lengths changed less often there, or never.`) : null,
    timeline.chunks_left_out ? el("p", {class: "note"}, `${plural(timeline.chunks_left_out, "later change")} not shown.`) : null,
    makeTable([{key: "lane", label: "Lane", format: (lane) => `lane ${lane}`}, {key: "at_ns", label: "From", number: true, format: duration},
               {key: "why", label: "Why"}, {key: "plan", label: "Plan", number: true}, {key: "first", label: "First", number: true},
               {key: "growth", label: "Grows by", number: true, format: (times) => `× ${times}`}, {key: "longest", label: "Longest", number: true},
               {key: "last", label: "Last before a wait", number: true, format: (length) => (length ? grouped(length) : "the rest")}],
              timeline.chunks, {caption: "Changes of the lengths of chunks", what: "change", name: "chunks"}),
  ];
}
