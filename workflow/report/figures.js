// Figures by Vega-Lite: in the colours of the page, with values on hover, and saved as SVG or PNG.

const DATA = JSON.parse(document.getElementById("page:data").textContent);
const MARKS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right", "stroke"];
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Models look the same in every figure of a query set; controls are grey.
function looks(models) {
  const places = [0, 0];
  const all = models.map(([name, isControl]) => {
    const place = places[isControl]++;
    const shade = isControl ? colour("quiet") : colour(`series-${(place % 8) + 1}`);
    return { name, shade, mark: MARKS[(place + Math.floor(place / 8)) % MARKS.length] };
  });
  return {
    domain: all.map((one) => one.name),
    range: all.map((one) => one.shade),
    marks: all.map((one) => one.mark),
  };
}

function legend(domain, width) {
  const longest = Math.max(...domain.map((name) => name.length));
  const columns = Math.max(1, Math.floor(width / (40 + 7 * longest)));
  return { orient: "top", title: null, columns, labelLimit: 300, symbolLimit: 0 };
}

// Encodings by model, with a legend whose entries can be picked; marks of points are `shapes`.
function byModel(models, width) {
  const { domain, range, marks } = looks(models);
  const own = legend(domain, width);
  const encoding = {
    color: { field: "model", type: "nominal", scale: { domain, range }, legend: own },
    opacity: { condition: { param: "picked", value: 1 }, value: 0.12 },
  };
  return { encoding, shape: { field: "model", type: "nominal", scale: { domain, range: marks }, legend: own } };
}

// Of a figure with a row for each name in which models stand one below the other.
function rowsHeight(n_rows, models) {
  return n_rows * Math.max(22, 6 * models.length);
}

const PICKED = { name: "picked", select: { type: "point", fields: ["model"] }, bind: "legend" };

function config() {
  const [ink, quiet, line] = ["ink", "quiet", "line"].map(colour);
  return {
    background: colour("paper"),
    font: "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
    axis: {
      labelColor: ink, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: 220,
    },
    legend: { labelColor: ink, titleColor: quiet, labelFontSize: 12 },
    header: { labelColor: ink, titleColor: quiet, labelFontSize: 12 },
    view: { stroke: null },
    mark: { aria: false },
  };
}

// Entries of a legend as buttons for the keyboard; a click on one is the plotting library's.
function reachable(target, view) {
  const picked = "picked_model_legend";
  const entries = [...target.querySelectorAll(".role-legend-label text")].map((text) => [text, text.__data__.datum.value]);
  const show = (value) => entries.forEach(([text, name]) => text.setAttribute("aria-pressed", String(name === value)));
  for (const [text, name] of entries) {
    for (const [key, value] of Object.entries({ tabindex: 0, role: "button", "aria-label": `Pick ${name}` })) text.setAttribute(key, value);
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      view.signal(picked, view.signal(picked) === name ? null : name).run();
    });
  }
  if (entries.length) view.addSignalListener(picked, (_, value) => show(value));
  show(null);
}

// `spec` is a function of the width, so that a figure can be drawn anew.
async function draw(element, spec, name) {
  drawn.set(element, { ...drawn.get(element), spec, name });
  const number = (drawn.get(element).number ?? 0) + 1;
  drawn.get(element).number = number;
  const width = Math.max(240, element.clientWidth);
  const full = {
    autosize: { type: "fit-x", contains: "padding" },
    config: config(),
    width,
    ...spec(width),
  };
  const target = make("div");
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
    downloadFileName: name,
    scaleFactor: 2,
    logLevel: 1, // errors alone
    tooltip: { theme: dark.matches ? "dark" : "light" },
  };
  const made = await vegaEmbed(target, full, options);
  if (drawn.get(element).number !== number) return made.finalize();
  drawn.get(element).made?.finalize();
  drawn.get(element).made = made;
  drawn.get(element).width = element.clientWidth;
  target.querySelector("summary")?.setAttribute("aria-label", "Save this figure");
  reachable(target, made.view);
  element.replaceChildren(target);
  element.dataset.drawn = number;
}

function redraw() {
  for (const [element, { spec, name }] of drawn) draw(element, spec, name);
}

dark.addEventListener("change", redraw);
new ResizeObserver(() => {
  for (const [element, { spec, name, width }] of drawn) {
    if (width && element.clientWidth && Math.abs(width - element.clientWidth) > 8) draw(element, spec, name);
  }
}).observe(document.documentElement);

// Figures are drawn when they come near.
const waiting = new Map();
const near = new IntersectionObserver(
  (entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      near.unobserve(target);
      waiting.get(target)();
    }
  },
  { rootMargin: "600px" },
);
function drawWhenNear(element, action) {
  waiting.set(element, action);
  near.observe(element);
}

function choice(label, options, chosen) {
  const select = make("select", { change: () => chosen(select.value) });
  select.append(...options.map((name) => make("option", { value: name }, name)));
  return make("label", {}, `${label} `, select);
}

// Ranks: the share of hard answers up to each rank.

function rankFigure(part, subject, models) {
  const { subjects, shares, models: names } = part.curves;
  const found = shares[subjects.indexOf(subject)];
  const values = names.flatMap((model, number) =>
    (found[number] ?? []).map((share, place) => ({ model, rank: part.ranks[place], share })),
  );
  return (width) => {
    const { encoding, shape } = byModel(models, width);
    return {
      description: `Share of hard answers of ${subject} on ${part.name} up to each rank, by model`,
      height: 300,
      data: { values },
      encoding: {
        x: { field: "rank", type: "quantitative", scale: { type: "log", nice: false }, title: "rank (at most)", axis: { format: "~s", tickCount: 5 } },
        y: { field: "share", type: "quantitative", scale: { domain: [0, 100] }, title: "hard answers × 100" },
        ...encoding,
        tooltip: [{ field: "model" }, { field: "rank", title: "rank up to" }, { field: "share", format: ".1f", title: "share × 100" }],
      },
      layer: [
        { params: [PICKED], mark: { type: "line", interpolate: "step-after", strokeWidth: 1.6 } },
        { mark: { type: "point", size: 36, filled: true }, encoding: { shape } },
      ],
    };
  };
}

// Answer sets.

const FIXED = { top: "best so many", threshold: "threshold" };

function ruleFigure(part, beta, models) {
  const values = part.rules
    .filter((row) => row.kind in FIXED && (row.f_beta ?? row.f_beta_low) !== null)
    .map((row) => ({ ...row, low: row.f_beta ?? row.f_beta_low, high: row.f_beta ?? row.f_beta_high, middle: row.f_beta }));
  const order = [...new Set(values.map((row) => row.rule))];
  return values.length && ((width) => {
    const { encoding, shape } = byModel(models, width);
    const x = { field: "middle", type: "quantitative", title: `F${beta} × 100 (bar: bounds where lists are cut)`, scale: { domain: [0, 100] } };
    return {
      description: `F${beta} of the answer sets of each rule, by model`,
      height: rowsHeight(order.length, models),
      data: { values },
      encoding: {
        y: { field: "rule", type: "nominal", sort: order, title: null },
        yOffset: { field: "model", type: "nominal", sort: models.map(([name]) => name) },
        ...encoding,
        tooltip: ["model", "rule", "f_beta", "f_beta_low", "f_beta_high", "precision", "recall", "size"].map((field) => ({ field })),
      },
      layer: [
        { params: [PICKED], mark: { type: "rule", strokeWidth: 2 }, encoding: { x: { ...x, field: "low" }, x2: { field: "high" } } },
        { mark: { type: "point", filled: true, size: 45 }, encoding: { x, shape } },
      ],
    };
  });
}

const CONFORMAL = { "conformal": ["recall", "answers"], "conformal-query": ["all", "queries with all answers"] };

function coverageFigure(part, models) {
  const values = part.rules
    .filter((row) => row.kind in CONFORMAL && row[CONFORMAL[row.kind][0]] !== null)
    .map((row) => ({ ...row, covered: row[CONFORMAL[row.kind][0]], of: CONFORMAL[row.kind][1] }));
  const diagonal = { data: { values: [{ a: 0 }, { a: 100 }] }, mark: { type: "line", strokeDash: [4, 4], color: colour("quiet") },
    encoding: { x: { field: "a", type: "quantitative" }, y: { field: "a", type: "quantitative" } } };
  return values.length && ((width) => {
    const { encoding, shape } = byModel(models, width);
    return {
      description: "What conformal sets cover against what they promise, by model; on the dashed line they are the same",
      height: 300,
      layer: [
        diagonal,
        { data: { values }, params: [PICKED], mark: { type: "point", filled: true, size: 60 },
          encoding: {
            x: { field: "nominal", type: "quantitative", scale: { domain: [0, 100] }, title: "promised × 100" },
            y: { field: "covered", type: "quantitative", scale: { domain: [0, 100] }, title: "covered × 100" },
            ...encoding,
            shape,
            tooltip: ["model", "rule", "of", "nominal", "covered", "size"].map((field) => ({ field })),
          } },
      ],
    };
  });
}

function bandFigure(part, models) {
  const values = part.bands;
  return values.length && ((width) => ({
    description: "Share of true answers among the candidates of each band of scores, by model",
    height: 300,
    data: { values },
    params: [PICKED],
    mark: { type: "rule", strokeWidth: 3 },
    encoding: {
      x: { field: "low", type: "quantitative", title: "score", scale: { zero: false } },
      x2: { field: "high" },
      y: { field: "share", type: "quantitative", scale: { domain: [0, 100] }, title: "true × 100" },
      ...byModel(models, width).encoding,
      tooltip: ["model", "rule", "low", "high", "share", "n", "pays"].map((field) => ({ field })),
    },
  }));
}

function figureOf(host, title, spec, name) {
  const target = make("div", { class: "plot" });
  host.append(make("figure", { class: "live" }, target, make("figcaption", {}, title)));
  drawWhenNear(target, () => draw(target, spec, name));
}

DATA.sets.forEach((set, number) => {
  const part = DATA.queries[number];
  const host = document.querySelector(`[data-ranks="${number}"]`);
  if (host && part.curves.subjects.length) {
    const target = make("div", { class: "plot" });
    let subject = part.curves.subjects[0];
    const again = () => draw(target, rankFigure(part, subject, set.models), `ranks-${set.name}`);
    const select = choice("Group or shape", part.curves.subjects, (value) => ((subject = value), again()));
    host.append(make("div", { class: "controls" }, select), make("figure", { class: "live" }, target));
    host.hidden = false;
    drawWhenNear(target, again);
  }
  const sets = document.querySelector(`[data-sets="${number}"]`);
  const points = DATA.points[number];
  const known = new Set(points.rules.map((row) => row.model));
  const models = set.models.filter(([name]) => known.has(name));
  for (const [title, spec, name] of [
    [`What each rule reaches.`, ruleFigure(points, points.beta, models), "rules"],
    ["What conformal sets cover, against what they promise: below the dashed line less than promised.", coverageFigure(points, models), "coverage"],
    ["Bands of scores below a threshold, and the share of true answers in each; of degrees that are calibrated the share is the degree.", bandFigure(points, models), "bands"],
  ]) {
    if (sets && spec) {
      figureOf(sets, title, spec, `${name}-${set.name}`);
      sets.hidden = false;
    }
  }
});
