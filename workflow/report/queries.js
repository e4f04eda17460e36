// Queries to look at, with their answers and ranks; what a query holds is made when it is opened.

function isolated(text) {
  return make("bdi", {}, text);
}

// A formula whose labels, JSON strings, keep their own direction.
function formula(text) {
  const code = make("code", { dir: "ltr" });
  let last = 0;
  for (const found of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    code.append(text.slice(last, found.index), isolated(found[0]));
    last = found.index + found[0].length;
  }
  code.append(text.slice(last));
  return code;
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

function opened(part, query) {
  const easy = query.easy.flatMap((places, number) => [...(number ? ["; "] : []), ...answer(part, places)]);
  return [
    make("p", {}, `Easy answers (${query.n[0]}): `, ...(easy.length ? easy : ["none"]), more(query.easy.length, query.n[0]), "."),
    answerTable(part, query),
    make("p", { class: "note" }, `Query ${query.id}${query.n[1] > query.hard.length ? `; ${query.hard.length} of ${query.n[1]} hard answers are shown` : ""}.`),
  ];
}

function item(part, query) {
  const details = make("details", { class: "query" },
    make("summary", {}, formula(query.text), make("small", {}, ` ${query.n[1]} hard, ${query.n[0]} easy`)));
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
