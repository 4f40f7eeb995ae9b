// Words and numbers as the rest of Refrain writes them, and elements made of text: nothing from a file is ever taken for HTML.

function grouped(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

function duration(ns) {
  if (ns === 0) return "0";
  if (ns < 1e3) return `${ns.toFixed(0)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(1)} us`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(1)} ms`;
  return `${(ns / 1e9).toFixed(2)} s`;
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    ++unit;
  }
  return unit === 0 ? `${bytes} B` : `${bytes.toFixed(1)} ${units[unit]}`;
}

function times(count) {
  return count === 1 ? "once" : `${grouped(count)} times`;
}

function plural(count, word) {
  return `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
}

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

/// Names and values, as a list of terms; what has no value is left out.
function facts(pairs) {
  const list = el("dl", {class: "facts"});
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  }
  return list;
}

let lastId = 0;
function freshId(prefix) {
  return `${prefix}-${++lastId}`;
}
