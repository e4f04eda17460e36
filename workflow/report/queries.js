// Queries to look at, with their answers and ranks; what a query holds is made when it is opened.

function isolated(text) {
  return make("bdi", {}, text);
}

// Text whose labels, JSON strings, keep their own direction; without quotes they are read.
function labelled(text, isQuoted) {
  const parts = [];
  let last = 0;
  for (const found of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    parts.push(text.slice(last, found.index), isolated(isQuoted ? found[0] : JSON.parse(found[0])));
    last = found.index + found[0].length;
  }
  return [...parts, text.slice(last)];
}

function answer(part, places) {
  return places.flatMap((place, number) => [...(number ? [", "] : []), isolated(part.labels[place])]);
}

function rankText(rank) {
  if (rank === null) return "–";
  return Array.isArray(rank) ? `${rank[0]}–${rank[1]}` : String(rank);
}

function rankCell(rank, n) {
  const ranks = n > 1 && Array.isArray(rank) ? rank : [rank];
  return make("td", {}, ranks.map(rankText).join(" · "));
}

function answerTable(part, query) {
  const names = ["hard answer", "missing links", ...part.models];
  const head = make("tr", {}, ...names.map((name, place) => make("th", { scope: "col", class: place ? false : "name" }, name)));
  const rows = query.hard.map((places, number) =>
    make("tr", {},
      make("th", { scope: "row", class: "name" }, ...answer(part, places)),
      make("td", {}, query.links[number] || "–"),
      ...query.ranks.map((ranks) => rankCell(ranks[number], places.length))),
  );
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  sortable(table);
  return make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Ranks of the hard answers of query ${query.id}` }, table);
}

function more(shown, all) {
  return all > shown ? ` and ${(all - shown).toLocaleString("en")} more` : "";
}

// Why an answer is one: edges as paths, each of which ends where no edge goes on, or at the answer.

const STATUSES = ["observed", "missing", "predicted"];

function paths(edges, ends) {
  const found = [];
  for (const edge of edges) {
    const path = found.find((one) => one.at(-1)[2] === edge[0] && !ends.includes(edge[0]));
    if (path) path.push(edge);
    else found.push([edge]);
  }
  return found;
}

function edgeText([, , , status, isNegated, degree]) {
  if (isNegated) return `not so, ${degree}`;
  return degree === undefined ? STATUSES[status] : `${STATUSES[status]}, ${degree}`;
}

function edgeMark(part, edge) {
  const relation = isolated(part.relations[edge[1]]);
  return make("span", { class: `edge ${STATUSES[edge[3]]}` }, ...(edge[4] ? ["not ", relation] : [relation]),
    make("span", { class: "line" }), make("small", {}, edgeText(edge)));
}

function node(part, place, ends) {
  return make("span", { class: ends.includes(place) ? "node end" : "node" }, isolated(part.labels[place]));
}

function drawing(part, path, ends) {
  const words = path.map((edge) => `${part.labels[edge[0]]} —${edge[4] ? "not " : ""}${part.relations[edge[1]]}→ ${part.labels[edge[2]]} (${edgeText(edge)})`);
  const marks = path.flatMap((edge) => [edgeMark(part, edge), node(part, edge[2], ends)]);
  return make("li", {}, make("span", { class: "path", dir: "ltr", role: "img", "aria-label": words.join("; ") }, node(part, path[0][0], ends), ...marks));
}

function drawings(part, edges, ends, others) {
  return make("ul", { class: "paths" }, ...paths(edges, ends).map((path) => drawing(part, path, ends)),
    ...others.map((other) => make("li", {}, ...other)));
}

function reasons(part, query, number) {
  const ends = query.hard[number];
  const why = query.why[number];
  const parts = why
    ? [make("p", {}, `On the full graph, by ${why.steps.length ? "these edges" : "the lack of edges"}:`), drawings(part, why.steps, ends, why.absent.map((text) => labelled(text, false)))]
    : [make("p", {}, "Too many assignments to find one here; ", make("code", {}, "scripts/explain.py"), " looks further.")];
  if (number === 0) {
    query.models.forEach((found, place) => {
      if (!found) return;
      const rest = found.rest.map(([text, entity, degree]) => [`${text} `, isolated(part.labels[entity]), `, ${degree}`]);
      parts.push(make("p", {}, `The best that ${part.explained[place]} finds, of degree ${found.degree}:`), drawings(part, found.links, ends, rest));
    });
  }
  return parts;
}

function why(part, query) {
  if (!query.why || !query.hard.length) return [];
  const told = make("div", { class: "why", role: "group", "aria-label": "Why this is an answer" });
  const tell = (number) => told.replaceChildren(...reasons(part, query, number));
  tell(0);
  const names = query.hard.map((places) => places.map((place) => part.labels[place]).join(", "));
  if (names.length === 1) return [make("p", {}, "Why ", ...answer(part, query.hard[0]), " is an answer:"), told];
  const select = make("select", { change: () => tell(select.selectedIndex) }, ...names.map((name) => make("option", {}, name)));
  return [make("div", { class: "controls" }, make("label", {}, make("span", {}, "Why this is an answer"), select)), told];
}

function opened(part, query) {
  const easy = query.easy.flatMap((places, number) => [...(number ? ["; "] : []), ...answer(part, places)]);
  return [
    make("p", { class: "words" }, ...labelled(query.words, false)),
    make("p", {}, `Easy answers (${query.n[0]}): `, ...(easy.length ? easy : ["none"]), more(query.easy.length, query.n[0]), "."),
    answerTable(part, query),
    ...why(part, query),
    make("p", { class: "note" }, `Query ${query.id}${query.n[1] > query.hard.length ? `; ${query.hard.length} of ${query.n[1]} hard answers are shown` : ""}.`),
  ];
}

function item(part, query) {
  const details = make("details", { class: "query" },
    make("summary", {}, make("code", { dir: "ltr" }, ...labelled(query.text, true)), make("small", {}, ` ${query.n[1]} hard, ${query.n[0]} easy`)));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...opened(part, query));
  });
  return details;
}

DATA.queries.forEach(({ browser: part, name }, number) => {
  const host = document.querySelector(`[data-browser="${number}"]`);
  if (!host || !part.queries.length) return;
  const shapes = [...new Set(part.queries.map((query) => query.shape))];
  const list = make("div");
  const found = make("p", { class: "note", role: "status" });
  const words = (query) => `${query.text} ${query.hard.flatMap((one) => one.map((place) => part.labels[place])).join(" ")}`.toLowerCase();
  const show = () => {
    const asked = input.value.trim().toLowerCase();
    const own = part.queries.filter((query) => (asked || query.shape === shape) && words(query).includes(asked));
    list.replaceChildren(...own.map((query) => item(part, query)));
    found.textContent = `${own.length} ${own.length === 1 ? "query" : "queries"} of ${asked ? "all shapes" : shape}`;
  };
  let shape = shapes[0];
  const select = choice("Shape", shapes, (value) => ((shape = value), show()));
  const input = make("input", { type: "search", input: show });
  host.append(make("div", { class: "controls" }, select, make("label", {}, "Label of any shape ", input)), found, list);
  host.hidden = false;
  show();
});
