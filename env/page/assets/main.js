// Puts the page together.

function section(title, level, children) {
  const id = freshId("section");
  return el("section", {"aria-labelledby": id}, el(`h${level}`, {id}, title), children);
}

function showTheme(theme) {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
  document.getElementById("theme").textContent = `Theme: ${{auto: "as the system", dark: "dark", light: "light"}[theme]}`;
  document.dispatchEvent(new Event("theme"));
}

function start(data) {
  const content = document.getElementById("content");
  const contents = el("ul");
  const add = (title, children) => {
    const part = section(title, 2, children);
    contents.append(el("li", {}, el("a", {href: `#${part.firstChild.id}`}, title)));
    content.append(part);
  };
  const inputs = data.inputs;
  const names = [...new Set(inputs.map((input) => input.program || input.file))];
  document.getElementById("title").textContent = names.join(" and ");
  document.title = `Refrain: ${names.join(" and ")}`;
  document.getElementById("written").textContent = `Made by ${data.writer}. This page loads nothing.`;

  const same = inputs.length === 2 && inputs[0].kind === inputs[1].kind;
  if (same) add("Comparison", comparison(inputs[0], inputs[1]));
  // A report says what came of it, so it stands before the capture of the same program.
  const order = same ? inputs : [...inputs].sort((a, b) => (a.kind === "report" ? 0 : 1) - (b.kind === "report" ? 0 : 1));
  order.forEach((input, index) => {
    const others = inputs.filter((other) => other !== input);
    const which = inputs.length === 1 ? "" : same ? ["First: ", "Second: "][index] : {report: "Report: ", capture: "Capture: "}[input.kind];
    add(`${which}Verdict`, overview(input));
    for (const [title, children] of sectionsOf(input, others)) add(which + title, children);
  });
  document.getElementById("contents").append(contents);

  const themes = ["auto", "dark", "light"];
  let theme = 0;
  document.getElementById("theme").addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    showTheme(themes[theme]);
  });
  document.documentElement.setAttribute("data-ready", String(Math.round(performance.now())));
}

start(JSON.parse(document.getElementById("data").textContent));
