"""A small made-up run: all that `assemble_report` reads, written into a result folder."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa

from clqa.answer_sizes import SETS
from clqa.audit_forms import DEGENERATE, NOTABLE
from clqa.competitions import competitions
from clqa.files import write_sealed
from clqa.formulas import parse, symbols
from clqa.methods import CONTROLS
from clqa.metrics import metric, score_id
from clqa.query_sets import set_hash
from clqa.set_tables import BAND_COLUMNS, COLUMNS, table_of
from clqa.tables import write_table
from clqa.vocabularies import label_array, vocabulary_hash, write_labels
from compare_models import compare_models
from estimate_intervals import estimate_intervals

FORMULAS = {
    "1p": "r1(s1,f)",
    "2p": "r1(s1,e1)&r2(e1,f)",
    "2i": "r1(s1,f)&r2(s2,f)",
    "2u": "r1(s1,f)|r2(s2,f)",
    "2in": "r1(s1,f)&!r2(s2,f)",
    "pni": "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)",
}
METHODS = {"oracle": "oracle", "popular": "popularity", "walker": "traversal", "flat": "constant"}
TEMPLATE = Path(__file__).parent.parent / "workflow" / "report" / "report.html.j2"
PAGE_SCRIPTS = ("tables", "figures", "explorer", "queries")
REFERENCES = TEMPLATE.parents[1] / "resources" / "references.yaml"
N_ENTITIES = 50


def configuration(query_sets=("toy-test",), models=tuple(METHODS), shapes=tuple(FORMULAS)) -> dict:
    return {
        "name": "small",
        "query_sets": list(query_sets),
        "models": list(models),
        "shapes": list(shapes),
        "metrics": ["mrr", "hits@3", "mr"],
        "ties": ["pessimistic", "optimistic", "expected"],
        "filters": ["observed-and-full", "full-only"],
        "truths": ["hard", "full"],
        "candidates": ["all"],
        "averaging": ["query"],
        "seed": 7,
    }


def write_run(folder: Path, run: dict | None = None, n_queries: int = 6, hard=None) -> dict:
    """Write the inputs of a run beneath `folder`; give the arguments of `assemble_report`.

    `hard` gives the numbers of hard answers of a shape's queries; by default they are drawn.
    """
    run = run or configuration()
    given = {
        "scores": {},
        "intervals": {},
        "comparisons": {},
        "explanations": {},
        "sets": {},
        "bands": {},
        "answers": {},
        "samplings": {},
        "queries": {},
        "ranks": {},
        "entities": {},
        "relations": {},
        "audits": {},
        "summaries": {},
    }
    for queries in run["query_sets"]:
        answers = _answers(queries, run["shapes"], n_queries, hard or {})
        for shard, names in (("one", run["shapes"][::2]), ("two", run["shapes"][1::2])):
            path = folder / "answers" / queries / f"{shard}.parquet"
            rows = [row for row in answers if row["shape"] in names]
            write_table(path, pa.Table.from_pylist(rows, _ANSWERS), _metadata(rows, names))
            given["answers"][queries, shard] = path
            path = folder / "queries" / queries / f"{shard}.parquet"
            write_table(path, _queries(rows), _metadata(rows, names))
            given["queries"][queries, shard] = path
            for model in run["models"]:
                path = folder / "ranks" / queries / model / f"{shard}.parquet"
                about = _metadata(rows, names) | {"model": _model(model)}
                about["predictions"] = "7" * 64
                write_table(path, _ranks(rows, model, run), about)
                given["ranks"][queries, model, shard] = path
            path = folder / "queries" / queries / f"{shard}.json"
            given["samplings"][queries, shard] = _write_json(
                path, _sampling(rows, names, n_queries)
            )
        path = folder / "audits" / f"{queries}.json"
        given["audits"][queries] = _write_json(path, _audit(queries, answers))
        for model in run["models"]:
            path = folder / "scores" / queries / f"{model}.parquet"
            metadata = _metadata(answers, run["shapes"]) | {"model": _model(model)}
            write_table(path, _scores(answers, model, run), metadata)
            given["scores"][queries, model] = path
            given["intervals"][queries, model] = folder / "intervals" / queries / f"{model}.parquet"
            estimate_intervals(path, given["intervals"][queries, model], 0, 20, 0.95)
            for kind, table in _sets(model).items():
                path = folder / "sets" / queries / model / f"{kind}.parquet"
                write_table(path, table, metadata | {"beta": 0.5})
                given[kind][queries, model] = path
        path = folder / "comparisons" / run["name"] / f"{queries}.parquet"
        why = folder / "explanations" / run["name"] / f"{queries}.json"
        given["explanations"][queries] = _write_json(why, _explanations(answers))
        own = {m: p for (q, m), p in given["scores"].items() if q == queries}
        own = {model: p for model, p in own.items() if METHODS.get(model) not in CONTROLS}
        first = score_id(run["metrics"][0], run["ties"][0], run["filters"][0])
        compare_models(own, path, first, seed=0)
        given["comparisons"][queries] = path
    path = folder / "graphs" / "toy" / "summary.json"
    given["summaries"]["toy"] = _write_json(path, _SUMMARY)
    for kind, labels in _LABELS.items():
        given[kind]["toy"] = folder / "graphs" / "toy" / f"{kind}.tsv"
        write_labels(given[kind]["toy"], labels)
    out = folder / "runs" / run["name"]
    return {
        **{f"paths_to_{kind}": paths for kind, paths in given.items()},
        "path_to_references": REFERENCES,
        "path_to_template": TEMPLATE,
        "scripts_of_page": [TEMPLATE.with_name(f"{name}.js") for name in PAGE_SCRIPTS],
        "run": run,
        "default": configuration() | {"seed": 0},
        "query_sets": {name: _entry(name) for name in run["query_sets"]},
        "path_to_metrics": out / "metrics.tsv",
        "path_to_tables": out / "tables",
        "path_to_report": out / "report.html",
        "path_to_versions": out / "versions.json",
        "path_to_manifest": out / "manifest.json",
    }


_QUERIES = pa.schema(
    [("query_id", pa.string()), ("shape", pa.string())]
    + [(name, pa.list_(pa.int32())) for name in ("anchors", "relations")]
    + [("source", pa.string())]
)
_RANKS = pa.schema(
    [(name, pa.string()) for name in ("query_id", "shape", "filter")]
    + [("variable", pa.int8())]
    + [(name, pa.int32()) for name in ("answer", "greater", "tied", "candidates")]
    + [("links", pa.uint8())]
)
_ANSWERS = pa.schema(
    [("query_id", pa.string()), ("shape", pa.string())]
    + [(name, pa.list_(pa.int32())) for name in ("easy", "hard", "retracted")]
    + [("links", pa.list_(pa.uint8()))]
    + [("subsets", pa.list_(pa.uint64())), ("classes", pa.list_(pa.int8()))]
)
# Labels of which none may break the page or become a part of it.
HOSTILE = (
    *(
        "</script><script>alert(1)</script>",
        "<b>bold</b> & more",
        "a/b\\c",
        "quo\"tes'",
        "שלום עולם",
    ),
    *("<!--", "a.b-c", "`${1}`", "\u2028", "{{ x }}"),
)
_LABELS = {
    "entities": label_array([*HOSTILE, *(f"e{number}" for number in range(10, N_ENTITIES))]),
    "relations": label_array(["<i>likes</i>", *(f"r{number}" for number in range(1, 8))]),
}
VOCABULARY = vocabulary_hash(*_LABELS.values())
_SUMMARY = {
    "entities": N_ENTITIES,
    "relations": 4,
    "relations_with_inverses": 8,
    "splits": {"train": {"triples": 120}, "valid": {"triples": 12}, "test": {"triples": 13}},
    "unseen": {"entities": 0},
    "graph": "9" * 64,
    "vocabulary": VOCABULARY,
    "title": "A graph of random triples",
    "licence": "CC0-1.0",
}


def _write_json(path: Path, content: dict) -> Path:
    write_sealed(path, content)
    return path


def _entry(queries: str) -> dict:
    sampling = {"count": 6, "negation": "must_retract"}
    return {"graph": "toy", "split": "test", "seed": 7, "sampling": sampling}


def _metadata(answers: list[dict], shapes) -> dict:
    return {
        "formulas": {shape: FORMULAS[shape] for shape in shapes},
        "graph": "9" * 64,
        "vocabulary": VOCABULARY,
        "n_entities": N_ENTITIES,
        "split": "test",
        "queries": set_hash(answer["query_id"] for answer in answers),
        "observed": ["train", "valid"],
        "full": ["train", "valid", "test"],
    }


def _model(model: str) -> dict:
    method = METHODS.get(model, "traversal")
    settings = {"seed": 3} if method == "popularity" else {}
    graph = [] if method in ("oracle", "constant") else ["train", "valid"]
    return {"model": model, "method": method, "inference_graph": graph, "settings": settings}


def _sampling(answers: list[dict], shapes, n_queries: int) -> dict:
    return {
        shape: {
            "requested": n_queries + (shape == "pni"),
            "accepted": n_queries,
            "short": int(shape == "pni"),
            "tries": 3 * n_queries,
            "rejections": {"dead_end": n_queries, "duplicate_query": 0},
            "queries": set_hash(row["query_id"] for row in answers if row["shape"] == shape),
        }
        for shape in shapes
    }


def _audit(queries: str, answers: list[dict]) -> dict:
    shapes = {}
    for shape in dict.fromkeys(row["shape"] for row in answers):
        own = [row for row in answers if row["shape"] == shape]
        links = [number for row in own for number in row["links"]]
        counts = {str(number): links.count(number) for number in sorted(set(links))}
        shapes[shape] = {
            "queries": len(own),
            "degenerate": {name: int(name == "idle_negations") for name in (*DEGENERATE, *NOTABLE)},
            "sizes": {name: _size([len(row[name]) for row in own]) for name in SETS},
            "reductions": {"links": counts, "classes": None, "subsets": {"1 or 2": len(links)}},
        }
    about = {"name": queries, "split": "test", "queries": len(answers)}
    about["query_set"] = set_hash(row["query_id"] for row in answers)
    return {**about, "skipped": {}, "shapes": shapes}


def _size(lengths: list[int]) -> dict:
    largest = max(lengths, default=None)
    return {"largest": largest, "as_large": lengths.count(largest), "mean": 1.0}


def _explanations(answers: list[dict]) -> dict:
    """Of each answer an observed and a missing edge; of the first one what a model predicts."""
    found = {}
    for row in answers:
        absent = ['not [("s1") -"r1"-> ("e1")]'] * (row["shape"] == "pni")
        why = [
            {"values": {"e1": 1}, "steps": [[0, 0, 1, 0], [1, 1, hard, 1]], "absent": absent}
            for hard in row["hard"]
        ]
        links = [[0, 0, 4, 0, 0, 1.0], [4, 0, 30, 2, 0, 0.25]]
        rest = [["what is negated fails for", 2, 0.75]]
        told = {"degree": 0.1875, "links": links, "rest": rest} if row["hard"] else None
        found[row["query_id"]] = {"why": why, "models": [told]}
    about = set_hash(row["query_id"] for row in answers)
    return {"query_set": about, "models": ["walker"], "queries": found}


def _answers(queries: str, shapes, n_queries: int, hard: dict) -> list[dict]:
    rows = []
    for shape in shapes:
        random = np.random.default_rng([len(queries), *shape.encode()])
        numbers = hard.get(shape, random.integers(1, 6, n_queries))
        for place, n_hard in enumerate(numbers):
            easy = list(range(int(random.integers(0, 20))))
            most = 1 if shape in ("1p", "2in") else 2
            rows.append(
                {
                    "query_id": f"{queries}-{shape}-{place}",
                    "shape": shape,
                    "easy": easy,
                    "hard": list(range(30, 30 + n_hard)),
                    "retracted": easy[: 2 * (shape in ("2in", "pni"))],
                    "links": [1 + i % most for i in range(n_hard)],
                    "subsets": [0] * n_hard,
                    "classes": [-1] * n_hard,
                }
            )
    return rows


def _queries(answers: list[dict]) -> pa.Table:
    """Queries that have the first entities and relations, one after another."""
    rows = []
    for place, answer in enumerate(answers):
        formula = parse(FORMULAS[answer["shape"]])
        ids = ((place + i) % 10 for i in range(20))
        rows.append(
            {
                "query_id": answer["query_id"],
                "shape": answer["shape"],
                "anchors": [next(ids) for _ in symbols(formula, "s")],
                "relations": [i % 8 for i, _ in enumerate(symbols(formula, "r"))],
                "source": "made up",
            }
        )
    return pa.Table.from_pylist(rows, _QUERIES)


def _ranks(answers: list[dict], model: str, run: dict) -> pa.Table:
    rows = []
    for rule in competitions(run["filters"], run["candidates"]):
        for answer in answers:
            counts = zip(answer["hard"], *_counts(answer, model), answer["links"], strict=True)
            for entity, greater, tied, links in counts:
                about = {"query_id": answer["query_id"], "shape": answer["shape"], "filter": rule}
                about |= {"variable": None, "answer": entity, "candidates": N_ENTITIES}
                rows.append(about | {"greater": greater, "tied": tied, "links": links})
    return pa.Table.from_pylist(rows, _RANKS)


def _scores(answers: list[dict], model: str, run: dict) -> pa.Table:
    rows = []
    for answer in answers:
        greater, tied = _counts(answer, model)
        links = np.array(answer["links"], dtype=int)
        rows.append(_score_row(answer, "", greater, tied, run))
        for number in np.unique(links):
            at = links == number
            primary = run | {key: run[key][:1] for key in ("ties", "filters")}
            rows.append(_score_row(answer, f"links={number}", greater[at], tied[at], primary))
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["stratum"]))


def _sets(model: str) -> dict[str, pa.Table]:
    """Rows about the answer sets of a model: of two rules, over all queries and those of 1p."""
    numbers = {"right": 6, "predicted_low": 8, "predicted_high": 8, "true": 12, "recall": 0.5}
    known = {"f_beta": 0.65, "f_beta_low": 0.65, "f_beta_high": 0.65, "precision": 0.75}
    known |= {"predicted": 8, "predictions_per_query": 4 / 3}
    conformal = {"nominal": 0.8, "all_match_rate": 0.25, "n_calibration": 40}
    bounds = {"f_beta_low": 0.5, "f_beta_high": 0.65, "predicted_high": 11}
    cut = "1 lists are cut above the threshold: bounds"
    rows = [
        {"rule": rule, "truth": truth, "beta": 0.5, "stratum": stratum, "n_queries": 6, **about}
        for truth in ("hard", "full")
        for stratum in ("", "shape=1p")
        for rule, about in (
            ("top@10", numbers | known | {"note": ""}),
            ("conformal@0.8", numbers | known | conformal | {"note": ""}),
            ("threshold@0.5", numbers | bounds | {"note": cut}),
        )
    ]
    band = {"rule": "threshold@0.5", "truth": "hard", "beta": 0.5, "band": "0.4", "high": 0.5}
    band |= {"low": 0.4, "true": 1, "false": 2, "ratio": 0.5, "pooled_f_beta": 0.6}
    bands = [] if METHODS.get(model) == "constant" else [band | {"pays": "no", "note": ""}]
    return {"sets": table_of(rows, COLUMNS), "bands": table_of(bands, BAND_COLUMNS)}


def _counts(answer: dict, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Better and tied candidates of each hard answer, as such a model might have them."""
    n_hard = len(answer["hard"])
    random = np.random.default_rng([*model.encode(), *answer["query_id"].encode()])
    zeros = np.zeros(n_hard, dtype=int)
    if METHODS.get(model) == "oracle":
        return zeros, zeros
    if METHODS.get(model) == "constant":
        return zeros, zeros + N_ENTITIES - n_hard
    ties = random.integers(0, 9, n_hard) if METHODS.get(model) == "traversal" else zeros
    return random.geometric(0.25, n_hard) - 1, ties


def _score_row(answer: dict, stratum: str, greater, tied, run: dict) -> dict:
    row = {
        "query_id": answer["query_id"],
        "shape": answer["shape"],
        "stratum": stratum,
        "n_easy": len(answer["easy"]),
        "n_hard": len(greater),
    }
    rules = competitions(run["filters"], run["candidates"])
    for name, ties, rule in itertools.product(run["metrics"], run["ties"], rules):
        values = metric(name).values(greater, tied, ties)
        row[score_id(name, ties, rule)] = float(values.mean()) if len(values) else None
    for rule in rules:
        row[f"tie_rate[{rule}]"] = float((tied > 0).mean()) if len(tied) else None
    return row
