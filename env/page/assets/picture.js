// The picture of a graph: operations in the order of their submission, a column for each queue, loops as frames.

const kEdgeNames = ["queue order", "event", "barrier", "explicit"];
const kEdgeClasses = ["queue", "event", "barrier", "explicit"];

function legend() {
  const line = (kind) => svg("svg", {width: 36, height: 12, "aria-hidden": "true"},
                             svg("path", {d: "M2 6H34", class: `edge ${kEdgeClasses[kind]}`}));
  return el("ul", {class: "legend"},
            kEdgeNames.map((name, kind) => el("li", {}, line(kind), name)),
            el("li", {}, el("span", {class: "mark"}, "× N"), "so many times in a row; an arrow back: to the next turn"),
            el("li", {}, el("span", {class: "mark changes"}, "Δ"), "changes from one occurrence to the next"),
            el("li", {}, el("span", {class: "mark cut"}, "✂"), "cannot be in a command buffer: parts are cut here"));
}

/// Where everything is: a pass over the items that counts rows.
function layOut(picture, columnWidth) {
  const kRow = 40, kBox = 28, kHead = 22, kInset = 10;
  const nodes = new Map(), frames = [];
  let y = kHead + 12;
  function put(items, depth) {
    for (const item of items) {
      if (typeof item === "number" || typeof item[1] === "number") {
        const [count, place] = typeof item === "number" ? [1, item] : item;
        nodes.set(place, {y, count, depth});
        y += kRow;
      } else {
        const frame = {y: y - 6, count: item[0], depth};
        frames.push(frame);
        y += kHead;
        put(item[1], depth + 1);
        frame.height = y - frame.y - 4;
        y += 12;
      }
    }
    return depth;
  }
  put(picture.items, 0);
  const deepest = frames.reduce((most, frame) => Math.max(most, frame.depth + 1), 0);
  const left = 46 + deepest * kInset;
  for (const [place, node] of nodes) {
    node.x = left + picture.nodes[place][2] * columnWidth;
    node.width = columnWidth - 34;
    node.height = kBox;
  }
  for (const frame of frames) {
    frame.x = 8 + frame.depth * kInset;
    frame.width = left + picture.queues.length * columnWidth - 2 * frame.x;
  }
  return {nodes, frames, left, width: left + picture.queues.length * columnWidth, height: y + 8};
}

function shortened(text, letters) {
  return text.length <= letters ? text : text.slice(0, letters - 1) + "…";
}

function drawNode(picture, place, node) {
  const [number, label, , changing, why] = picture.nodes[place];
  const name = picture.labels[label];
  const marks = (node.count > 1 ? ` × ${node.count}` : "") + (changing ? " Δ" : "") + (why !== null ? " ✂" : "");
  const about = [`operation ${number}: ${name}`];
  if (node.count > 1) about.push(`${node.count} in a row`);
  if (changing) about.push(`arguments of ${changing} change`);
  if (why !== null) about.push(`cuts: ${picture.reasons[why]}`);
  const letters = Math.floor((node.width - 16) / 7.4) - marks.length;
  return svg("g", {class: `node${changing ? " changes" : ""}${why !== null ? " cut" : ""}`},
             svg("title", {}, about.join("; ")),
             svg("rect", {x: node.x, y: node.y, width: node.width, height: node.height, rx: 5}),
             svg("text", {x: node.x + 8, y: node.y + 18}, shortened(name, Math.max(4, letters)),
                 svg("tspan", {class: "marks"}, marks)));
}

function drawEdge(edge, nodes) {
  const [from, to, kind, next, count] = edge;
  const a = nodes.get(from), b = nodes.get(to);
  if (!a || !b) return null;
  let path;
  if (next) {  // back on the left, to where the next turn begins
    const x = Math.min(a.x, b.x), out = x - 14 - Math.min(16, Math.abs(a.y - b.y) / 40);
    const y1 = a.y + a.height * 0.7, y2 = b.y + b.height * 0.3;
    path = `M${a.x} ${y1}C${out} ${y1} ${out} ${y2} ${b.x - 2} ${y2}`;
  } else if (a.x === b.x && b.y - a.y > 90) {  // past what is between, on the right
    const x = a.x + a.width, out = x + Math.min(28, 12 + (b.y - a.y) / 60);
    path = `M${x} ${a.y + a.height / 2}C${out} ${a.y + a.height / 2} ${out} ${b.y + b.height / 2} ${x + 2} ${b.y + b.height / 2}`;
  } else if (a.x === b.x) {
    path = `M${a.x + a.width / 2} ${a.y + a.height}V${b.y - 2}`;
  } else {  // from side to side, between the columns
    const right = b.x > a.x;
    const x1 = right ? a.x + a.width : a.x, x2 = right ? b.x - 2 : b.x + b.width + 2;
    const y1 = a.y + a.height * 0.6, y2 = b.y + b.height * 0.4, out = right ? 26 : -26;
    path = `M${x1} ${y1}C${x1 + out} ${y1} ${x2 - out} ${y2} ${x2} ${y2}`;
  }
  return svg("path", {d: path, class: `edge ${kEdgeClasses[kind]}`, "marker-end": "url(#arrow)"},
             svg("title", {}, `${kEdgeNames[kind]}${next ? ", to the next turn" : ""}${count > 1 ? `, ${count} edges` : ""}`));
}

/// The same in words, for who cannot see it.
function listOf(picture, items) {
  return el("ol", {}, items.map((item) => {
    if (typeof item !== "number" && typeof item[1] !== "number") {
      return el("li", {}, `${times(item[0])} in a row:`, listOf(picture, item[1]));
    }
    const [count, place] = typeof item === "number" ? [1, item] : item;
    const [, label, queue, changing, why] = picture.nodes[place];
    return el("li", {}, picture.labels[label] + (count > 1 ? ` × ${count}` : "") + `, queue ${picture.queues[queue]}` +
                        (changing ? ", changes" : "") + (why !== null ? `, cuts: ${picture.reasons[why]}` : ""));
  }));
}

function drawPicture(picture, name) {
  const columnWidth = picture.queues.length > 6 ? 150 : picture.queues.length > 2 ? 220 : 300;
  const layout = layOut(picture, columnWidth);
  const drawing = svg("svg", {width: layout.width, height: layout.height, viewBox: `0 0 ${layout.width} ${layout.height}`,
                              role: "img", "aria-label": `Picture of ${name}; the same in words below`, class: "picture"});
  drawing.append(svg("defs", {}, svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
                                                orient: "auto", markerUnits: "userSpaceOnUse"},
                                     svg("path", {d: "M0 0L8 4L0 8z", class: "head"}))));
  picture.queues.forEach((queue, column) => {
    drawing.append(svg("text", {x: layout.left + column * columnWidth, y: 16, class: "queue-name"}, `queue ${queue}`));
  });
  for (const frame of layout.frames) {
    drawing.append(svg("rect", {x: frame.x, y: frame.y, width: frame.width, height: frame.height, rx: 8, class: "frame"}),
                   svg("text", {x: frame.x + 8, y: frame.y + 16, class: "frame-name"}, `× ${grouped(frame.count)}`));
  }
  for (const edge of picture.edges) {
    const line = drawEdge(edge, layout.nodes);
    if (line) drawing.append(line);
  }
  for (const [place, node] of layout.nodes) drawing.append(drawNode(picture, place, node));
  const parts = [legend(), el("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": `Picture of ${name}`}, drawing)];
  if (picture.left_out) parts.push(el("p", {}, `${plural(picture.left_out, "operation")} behind these are not shown.`));
  parts.push(el("details", {}, el("summary", {}, "The picture in words"), listOf(picture, picture.items)));
  return el("div", {class: "drawn"}, parts);
}
