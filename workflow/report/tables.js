// Tables that can be sorted by any column and filtered by row. All scripts of the page share one
// module; `make` builds elements, whose texts are never markup.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

const FIRST_TO_FILTER = 9;

function cellValue(row, place) {
  const text = (row.cells[place]?.firstChild?.textContent ?? "").trim();
  const number = Number.parseFloat(text.replaceAll(",", ""));
  if (text === "" || text === "–") return null;
  return /^[+-]?[\d.,]+( ?\*)?$/.test(text) ? number : text.toLowerCase();
}

function compared(one, other) {
  if (typeof one === typeof other) return one < other ? -1 : one > other ? 1 : 0;
  return typeof one === "number" ? -1 : 1;
}

// Rows that stay where they are: headings of parts, and counts below them.
const isFixed = (row) => row.matches(".part, .count");

function sortRows(table, place, order) {
  for (const body of table.tBodies) {
    const rows = [...body.rows];
    rows.forEach((row, number) => (row.dataset.place ??= number));
    const free = rows.filter((row) => !isFixed(row));
    const keys = new Map(free.map((row) => [row, order ? cellValue(row, place) : null]));
    free.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      const byPlace = one.dataset.place - other.dataset.place;
      if (a === null || b === null) return (a === null) - (b === null) || byPlace;
      return order * compared(a, b) || byPlace;
    });
    body.append(...rows.filter((row) => row.matches(".part")), ...free, ...rows.filter((row) => row.matches(".count")));
  }
}

// The cell of the head over each column: the last row's, after the one that spans both rows.
function headCells(table) {
  const rows = [...table.tHead.rows];
  return [...(rows.length > 1 ? [rows[0].cells[0]] : []), ...rows.at(-1).cells];
}

function sortable(table, sorted = () => {}, start = [-1, 0]) {
  const heads = headCells(table);
  const show = (place, order) => {
    sortRows(table, place, order);
    heads.forEach((head, number) => {
      if (number === place && order) head.setAttribute("aria-sort", order > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  heads.forEach((head, place) => {
    const isText = () => [...table.tBodies[0].rows].some((row) => !isFixed(row) && typeof cellValue(row, place) === "string");
    const turn = () => {
      const first = isText() ? 1 : -1;
      const order = { ascending: 1, descending: -1 }[head.getAttribute("aria-sort")] ?? 0;
      const next = order === 0 ? first : order === first ? -first : 0;
      show(place, next);
      sorted(place, next);
    };
    const button = make("button", { type: "button", class: "sort", click: turn });
    button.append(...head.childNodes);
    head.replaceChildren(button);
  });
  if (start[1]) show(...start);
}

function filterable(table) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !isFixed(row));
  if (rows.length < FIRST_TO_FILTER) return;
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const found = make("span", { role: "status" });
  const filter = () => {
    const asked = input.value.trim().toLowerCase();
    rows.forEach((row) => (row.hidden = !texts.get(row).includes(asked)));
    const left = rows.filter((row) => !row.hidden).length;
    found.textContent = asked ? `${left} of ${rows.length}` : "";
  };
  const input = make("input", { type: "search", input: filter });
  const label = make("label", { class: "filter" }, "Rows with ", input, " ", found);
  table.closest(".scroll").before(label);
}

for (const table of document.querySelectorAll("main table")) {
  if (table.tHead && table.tBodies.length && table.querySelector("tbody tr")) {
    sortable(table);
    filterable(table);
  }
}
