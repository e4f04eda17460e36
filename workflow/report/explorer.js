// Switches that change one table and one figure together. The address keeps the view.

const SWITCHES = Object.keys(DATA.switches);
const MOST_COLUMNS = 40;
const MANY_SHAPES = 60;
const LEVEL = 0.05;
const START = "#view:";
const byId = (name) => document.getElementById(`explore:${name}`);
const indexed = DATA.sets.map((set) => new Map(set.views.map((view) => [view.at.join(), view])));
const TITLES = {
  queries: "Query set", metric: "Metric", ties: "Ties", filter: "Filter", candidates: "Candidates",
  averaging: "Averaging", stratum: "Hard answers", show: "Columns",
};

function defaults() {
  return { set: 0, at: SWITCHES.map(() => 0), show: "", models: "", columns: "", intervals: "", sort: "" };
}
let state = defaults();

// The view nearest to what is asked for: the metric counts most, then the switches in order.
function nearest(set, at) {
  const score = (view) => view.at.reduce((sum, value, place) => sum + (value === at[place]) * 2 ** (SWITCHES.length - place), 0);
  return DATA.sets[set].views.reduce((best, view) => (score(view) > score(best) ? view : best)).at;
}

// The address.

function toHash() {
  const asked = new URLSearchParams();
  asked.set("queries", DATA.sets[state.set].name);
  state.at.forEach((value, place) => value && asked.set(SWITCHES[place], DATA.switches[SWITCHES[place]][value][0]));
  for (const name of ["show", "models", "columns", "intervals", "sort"]) if (state[name]) asked.set(name, state[name]);
  return START + asked;
}

function fromHash(hash) {
  const asked = new URLSearchParams(hash.slice(START.length));
  const found = defaults();
  found.set = Math.max(0, DATA.sets.findIndex((set) => set.name === asked.get("queries")));
  found.at = SWITCHES.map((name) => Math.max(0, DATA.switches[name].findIndex(([value]) => value === asked.get(name))));
  for (const name of ["show", "models", "columns", "intervals", "sort"]) found[name] = asked.get(name) ?? "";
  found.at = nearest(found.set, found.at);
  return found;
}

// Controls.

const selects = new Map();

function select(name, options, chosen) {
  const element = make("select", { change: () => chosen(Number(element.value)), "data-switch": name });
  element.append(...options.map((label, value) => make("option", { value }, label)));
  selects.set(name, element);
  return make("label", {}, make("span", {}, TITLES[name]), element);
}

function textInput(name, title) {
  const element = make("input", { type: "search", "data-switch": name, input: () => change({ [name]: element.value }) });
  selects.set(name, element);
  return make("label", {}, make("span", {}, title), element);
}

function change(parts) {
  const set = parts.set ?? state.set;
  state = { ...state, ...parts, at: nearest(set, parts.at ?? state.at) };
  history.replaceState(null, "", toHash());
  show();
}

function clear() {
  state = defaults();
  history.replaceState(null, "", location.href.split("#")[0]);
  show();
}

const SHOWN = ["shapes", "groups"];

function buildControls() {
  const switches = SWITCHES.filter((name) => DATA.switches[name].length > 1).map((name) =>
    select(name, DATA.switches[name].map(([, label]) => label), (value) =>
      change({ at: state.at.map((old, place) => (SWITCHES[place] === name ? value : old)) }),
    ),
  );
  const sets = select("queries", DATA.sets.map((set) => set.name), (value) => change({ set: value }));
  const show = select("show", ["shapes and averages", "averages of groups"], (value) => change({ show: SHOWN[value] }));
  const intervals = make("input", { type: "checkbox", "data-switch": "intervals", change: () => change({ intervals: intervals.checked ? "all" : "" }) });
  selects.set("intervals", intervals);
  const reset = make("button", { type: "button", click: clear }, "Reset");
  byId("controls").append(
    sets, ...switches, show, textInput("models", "Models with"), textInput("columns", "Columns with"),
    make("label", { class: "check" }, intervals, make("span", {}, "Intervals of shapes, too")), reset,
  );
}

function updateControls() {
  selects.get("queries").value = state.set;
  SWITCHES.forEach((name, place) => {
    const element = selects.get(name);
    if (!element) return;
    [...element.options].forEach((option, value) => {
      const at = state.at.map((old, number) => (number === place ? value : old));
      const views = DATA.sets[state.set].views;
      option.disabled = place ? !indexed[state.set].has(at.join()) : !views.some((view) => view.at[0] === value);
    });
    element.value = state.at[place];
  });
  selects.get("show").value = SHOWN.indexOf(shownColumns());
  for (const name of ["models", "columns"]) if (selects.get(name) !== document.activeElement) selects.get(name).value = state[name];
  selects.get("intervals").checked = Boolean(state.intervals);
}

// The table.

function shownColumns() {
  const shapes = DATA.sets[state.set].heads[0].filter((column) => !column[4]);
  return SHOWN.includes(state.show) ? state.show : shapes.length > MANY_SHAPES ? "groups" : "shapes";
}

function current() {
  const set = DATA.sets[state.set];
  const view = indexed[state.set].get(state.at.join());
  const isGroups = shownColumns() === "groups";
  const asked = state.columns.trim().toLowerCase();
  const all = set.heads[view.head].map(([name, label, band, title, isGroup], place) => ({ name, label, band, title, isGroup, place }));
  const fitting = all
    .filter((column) => (isGroups ? column.isGroup : column.band !== "groups"))
    .filter((column) => `${column.name} ${column.label}`.toLowerCase().includes(asked));
  const models = set.models
    .map(([name, isControl], number) => ({ name, isControl, number }))
    .filter((model) => model.name.toLowerCase().includes(state.models.trim().toLowerCase()));
  const best = new Set(view.b);
  const tested = new Map((view.p ?? []).map(([place, other, p]) => [place, [other, p]]));
  const reasons = new Map(Object.entries(view.why).flatMap(([note, places]) => places.map((place) => [place, note])));
  const cell = (model, column) => {
    const place = model.number * all.length + column.place;
    const [value, low, high] = [view.v, view.l, view.u].map((values) => values?.[place] ?? null);
    return { value, low, high, isBest: best.has(place), tested: tested.get(place), why: reasons.get(place),
      n: view.n.slice(2 * column.place, 2 * column.place + 2) };
  };
  return { set, view, columns: fitting.slice(0, MOST_COLUMNS), n_fitting: fitting.length, models, cell };
}

const shown = (value) => value.toFixed(1);

function cellTitle(cell, set) {
  if (cell.value === null) return `undefined: ${cell.why ?? "not computed"}`;
  const parts = [shown(cell.value)];
  if (cell.low !== null) parts.push(`interval ${shown(cell.low)}–${shown(cell.high)}`);
  parts.push(`${cell.n[0].toLocaleString("en")} queries, ${cell.n[1].toLocaleString("en")} hard answers`);
  if (cell.tested) parts.push(`against ${set.models[cell.tested[0]][0]} p = ${cell.tested[1]}`);
  return parts.join("; ");
}

function tableCell(cell, column, set, isControl, starts) {
  const classes = [column.isGroup && column.band !== "groups" && "mean", starts && "start", cell.isBest && "best"].filter(Boolean).join(" ");
  const element = make("td", { title: cellTitle(cell, set), class: classes || false }, cell.value === null ? "–" : shown(cell.value));
  if (cell.tested) element.append(make("sup", {}, cell.tested[1] <= LEVEL ? "*" : "≈"));
  if (cell.low !== null && (state.intervals || (column.isGroup && !isControl))) element.append(make("small", {}, `${shown(cell.low)}–${shown(cell.high)}`));
  return element;
}

function starting(columns, place) {
  return place > 0 && columns[place].band !== columns[place - 1].band;
}

function tableHead(columns) {
  const bands = [];
  for (const column of columns) {
    if (bands.at(-1)?.name === column.band) bands.at(-1).width++;
    else bands.push({ name: column.band, width: 1 });
  }
  return make("thead", {},
    make("tr", {},
      make("th", { scope: "col", rowspan: 2, class: "name" }, "model"),
      ...bands.map(({ name, width }, place) => make("th", { scope: "colgroup", colspan: width, class: place ? "band start" : "band" }, name))),
    make("tr", {}, ...columns.map((column, place) =>
      make("th", { scope: "col", title: column.title || false,
        class: [column.isGroup && column.band !== "groups" && "mean", starting(columns, place) && "start"].filter(Boolean).join(" ") || false }, column.label))));
}

function tableBody({ set, columns, models, cell }) {
  return make("tbody", {}, ...models.map((model) =>
    make("tr", { class: model.isControl ? "control" : false },
      make("th", { scope: "row", class: "name" }, model.name, ...(model.isControl ? [" ", make("small", {}, "control")] : [])),
      ...columns.map((column, place) => tableCell(cell(model, column), column, set, model.isControl, starting(columns, place))))));
}

function tableFoot({ columns, view }) {
  const line = (label, offset) => make("tr", { class: "count" },
    make("th", { scope: "row", class: "name" }, label),
    ...columns.map((column) => make("td", {}, view.n[2 * column.place + offset].toLocaleString("en"))));
  return make("tfoot", {}, line("queries", 0), line("hard answers", 1));
}

function showTable(found) {
  const names = ["", ...found.columns.map((column) => column.name)];
  const table = make("table", {}, tableHead(found.columns), tableBody(found), tableFoot(found));
  const [name, order] = state.sort ? [state.sort.replace(/^-/, ""), state.sort.startsWith("-") ? -1 : 1] : ["", 0];
  const place = name === "model" ? 0 : names.indexOf(name, 1);
  sortable(table, (at, next) => {
    state.sort = next ? `${next < 0 ? "-" : ""}${at ? names[at] : "model"}` : "";
    history.replaceState(null, "", toHash());
  }, place < 0 ? [-1, 0] : [place, order]);
  byId("table").replaceChildren(table);
}

function caption({ set }) {
  const value = (name) => DATA.switches[name][state.at[SWITCHES.indexOf(name)]];
  const parts = [`${value("metric")[1]} on ${set.name}`, value("ties")[0] && `${value("ties")[1]} ties`, `filter ${value("filter")[1]}`];
  for (const name of ["candidates", "averaging"]) if (DATA.switches[name].length > 1) parts.push(`${name} ${value(name)[1]}`);
  return { metric: value("metric"), text: [...parts, value("stratum")[1]].filter(Boolean).join(" · ") };
}

function showNotes(found) {
  const { columns, models, cell, n_fitting, view } = found;
  const reasons = new Map();
  let n_known = 0;
  for (const column of columns) {
    for (const model of models) {
      const one = cell(model, column);
      if (one.value !== null) n_known++;
      else reasons.set(one.why ?? "not computed", (reasons.get(one.why ?? "not computed") ?? new Set()).add(column.label));
    }
  }
  const lines = [];
  if (!n_known && reasons.size) lines.push(`No number here is defined: ${[...reasons.keys()].join("; ")}.`);
  else if (reasons.size) lines.push(`– marks an undefined number: ${[...reasons].map(([note, labels]) => `${[...labels].join(", ")}: ${note}`).join("; ")}.`);
  if (n_fitting > columns.length) lines.push(`${columns.length} of ${n_fitting} columns are shown; ask for fewer by what their names have.`);
  if (!columns.length || !models.length) lines.push("Nothing has such a name.");
  if (view.p?.length) lines.push("*: differs from the best of its column (p ≤ 0.05, paired comparisons as below); ≈: no such difference was found. Neither: the two were not compared.");
  byId("notes").replaceChildren(...lines.map((line) => make("p", { class: "note" }, line)));
}

// The figure.

function explorerFigure({ set, columns, models, cell }, [, name, isShare], about) {
  const order = columns.map((column) => column.label);
  const values = columns.flatMap((column) => models.map((model) => {
    const { value, low, high, n } = cell(model, column);
    return { model: model.name, column: column.label, band: column.band, value, low, high, queries: n[0] };
  })).filter((one) => one.value !== null);
  const shownModels = models.map((model) => set.models[model.number]);
  const x = { field: "value", type: "quantitative", title: `${name}${isShare ? " × 100" : ""} (bar: interval)`,
    scale: isShare ? { domain: [0, 100] } : { type: "log" }, axis: isShare ? {} : { format: "~s", tickCount: 6 } };
  return (width) => {
    const { encoding, shape } = byModel(set.models.filter((one) => shownModels.includes(one)), width);
    return {
      description: `${about}, as in the table above`,
      height: rowsHeight(order.length, models),
      data: { values },
      encoding: {
        y: { field: "column", type: "nominal", sort: order, title: null, axis: { grid: true, tickBand: "extent" } },
        yOffset: { field: "model", type: "nominal", sort: shownModels.map(([model]) => model) },
        ...encoding,
        tooltip: [{ field: "model" }, { field: "column", title: "shape or group" }, { field: "value", format: ".1f", title: name },
          { field: "low", format: ".1f", title: "interval from" }, { field: "high", format: ".1f", title: "to" }, { field: "queries" }],
      },
      layer: [
        { transform: [{ filter: "datum.low !== null" }], mark: { type: "rule", strokeWidth: 1.4 },
          encoding: { x: { ...x, field: "low" }, x2: { field: "high" } } },
        { params: [PICKED], mark: { type: "point", filled: true, size: 45 }, encoding: { x, shape } },
      ],
    };
  };
}

function show() {
  updateControls();
  const found = current();
  const { metric, text } = caption(found);
  byId("caption").textContent = text;
  byId("table").setAttribute("aria-label", text);
  showTable(found);
  showNotes(found);
  const name = text.replace(/[^A-Za-z0-9@.+-]+/g, "-");
  draw(byId("figure"), explorerFigure(found, metric, text), name);
}

function restore() {
  if (!location.hash.startsWith(START)) return;
  state = fromHash(location.hash);
  show();
  document.getElementById("page:explore").scrollIntoView();
}

buildControls();
for (const name of ["whole", "link"]) byId(name).hidden = false;
byId("without").hidden = true;
if (DATA.left_out) byId("left-out").hidden = false;
addEventListener("hashchange", restore);
if (location.hash.startsWith(START)) restore();
else show();
