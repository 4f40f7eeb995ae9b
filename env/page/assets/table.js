// A table that is sorted by its heads, searched, and walked through with the arrow keys.

/// columns: [{key, label, number, format(value, row), value(row), title}]. options: {caption, sort, up, search, select(row),
/// what, name}. Rows are objects. With `select`, a row that is chosen (click, Enter, space) is told.
function makeTable(columns, rows, options) {
  const valueOf = (column, row) => (column.value ? column.value(row) : row[column.key]);
  const textOf = (column, row) => {
    const value = valueOf(column, row);
    return column.format ? column.format(value, row) : column.number ? grouped(value) : String(value);
  };
  let sorted = columns.find((column) => column.key === options.sort) || null;
  let up = options.up === true;
  let wanted = "";

  const body = el("tbody");
  const heads = columns.map((column) => {
    const button = el("button", {type: "button", title: column.title, onclick: () => sortBy(column)}, column.label);
    return el("th", {scope: "col", class: column.number ? "number" : null}, button);
  });
  const table = el("table", {}, el("caption", {}, options.caption), el("thead", {}, el("tr", {}, heads)), body);
  const found = el("span", {class: "found", role: "status"});

  const lines = rows.map((row) => {
    const cells = columns.map((column, index) => {
      const text = textOf(column, row);
      const attributes = {class: [column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim() || null};
      return index === 0 ? el("th", {scope: "row", ...attributes}, text) : el("td", attributes, text);
    });
    const line = el("tr", {}, cells);
    if (options.select) {
      line.tabIndex = -1;
      line.addEventListener("click", () => choose(line, row));
      line.addEventListener("keydown", (event) => keyOn(event, line, row));
    }
    const searched = (cells.map((cell) => cell.textContent).join(" ") + " " + (row.searched || "")).toLowerCase();
    return {row, line, searched};
  });

  function choose(line, row) {
    for (const other of body.children) other.removeAttribute("aria-selected");
    line.setAttribute("aria-selected", "true");
    focusable(line);
    options.select(row);
  }

  // One row at a time can be reached with the tabulator; from there arrows lead on.
  function focusable(line) {
    for (const other of body.children) other.tabIndex = -1;
    line.tabIndex = 0;
  }

  function keyOn(event, line, row) {
    const near = {ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling,
                  Home: body.firstElementChild, End: body.lastElementChild}[event.key];
    if (event.key === "Enter" || event.key === " ") choose(line, row);
    else if (near) {
      focusable(near);
      near.focus();
    } else return;
    event.preventDefault();
  }

  function sortBy(column) {
    up = sorted === column ? !up : !column.number;
    sorted = column;
    show();
  }

  function show() {
    let shown = lines.filter((entry) => entry.searched.includes(wanted));
    if (sorted) {
      const compare = (a, b) => {
        const x = valueOf(sorted, a.row), y = valueOf(sorted, b.row);
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return up ? order : -order;
      };
      shown = shown.sort(compare);
    }
    heads.forEach((head, index) => {
      if (columns[index] === sorted) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...shown.map((entry) => entry.line));
    if (options.select && shown.length !== 0 && !shown.some((entry) => entry.line.tabIndex === 0)) focusable(shown[0].line);
    found.textContent = wanted ? `${plural(shown.length, options.what)} of ${grouped(lines.length)}` : "";
  }

  const parts = [];
  if (options.search) {
    const id = freshId("search");
    const input = el("input", {type: "search", id, autocomplete: "off"});
    input.addEventListener("input", () => {
      wanted = input.value.trim().toLowerCase();
      show();
    });
    parts.push(el("p", {class: "search"}, el("label", {for: id}, options.search), input, found));
  }
  parts.push(el("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": options.caption}, table));
  show();
  const whole = el("div", {class: `table ${options.name || ""}`.trim()}, parts);
  /// Chooses a row from elsewhere.
  whole.chooseWhere = (fits) => {
    const entry = lines.find((candidate) => fits(candidate.row));
    if (entry) choose(entry.line, entry.row);
    return Boolean(entry);
  };
  return whole;
}
