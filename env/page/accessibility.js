// What a page must keep so that everybody can use it, as far as a program can tell: names, headings, landmarks, tables,
// contrast. Not axe-core, but its main rules. Evaluates to a list of complaints.
(() => {
  const wrong = [];
  const say = (element, what) => wrong.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
  const all = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.getClientRects().length);
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  for (const landmark of ["header", "nav", "main", "footer"]) {
    if (document.querySelectorAll(landmark).length !== 1) wrong.push(`not one ${landmark}`);
  }
  if (all("h1").length !== 1) wrong.push("not one h1");
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    if (Number(heading.tagName[1]) > level + 1) say(heading, "a level of headings is left out");
    level = Number(heading.tagName[1]);
    if (!heading.textContent.trim()) say(heading, "empty heading");
  }
  const ids = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) say(element, "an id that is there twice");
    ids.add(element.id);
  }
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\s+/)) if (!ids.has(id)) say(element, `${attribute} leads nowhere`);
    }
  }
  const named = (element) => element.getAttribute("aria-label") || element.getAttribute("aria-labelledby") || element.textContent.trim() ||
    (element.id && document.querySelector(`label[for="${CSS.escape(element.id)}"]`)) || element.closest("label");
  for (const element of all("a, button, input, select, canvas, [role=img], [role=group], [role=application], [tabindex='0']")) {
    if (!named(element)) say(element, "has no name");
  }
  for (const element of all("svg, canvas, img")) {
    if (!element.getAttribute("role") && element.getAttribute("aria-hidden") !== "true") say(element, "a picture with no role");
  }
  for (const table of all("table")) {
    if (!table.caption) say(table, "a table without a caption");
    for (const head of table.querySelectorAll("th")) if (!head.scope) say(head, "a head without a scope");
  }
  for (const element of all("*")) {
    const style = getComputedStyle(element);
    const scrolls = ["auto", "scroll"].includes(style.overflowY) && element.scrollHeight > element.clientHeight + 1;
    if (scrolls && element !== document.documentElement && element.tabIndex < 0) say(element, "scrolls, but not with the keyboard");
  }

  const parsed = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    if (element instanceof SVGElement) {
      const box = element.closest(".node");
      if (box) return parsed(getComputedStyle(box.querySelector("rect")).fill);
    }
    for (; element; element = element.parentElement) {
      const colour = parsed(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  for (const element of all("*")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    if (["SCRIPT", "STYLE", "TITLE"].includes(element.tagName) || element.tagName === "title") continue;
    const style = getComputedStyle(element);
    const colour = parsed(element instanceof SVGElement ? style.fill : style.color).slice(0, 3);
    const [light, dark] = [luminance(colour), luminance(ground(element))].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < (large ? 3 : 4.5)) say(element, `contrast ${contrast.toFixed(2)}`);
  }
  return wrong.slice(0, 20);
})()
