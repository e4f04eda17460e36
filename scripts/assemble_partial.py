"""Put the scores that there are of a run that has failed into tables and a page of their own."""

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa

from clqa.answer_sizes import answers_hash
from clqa.competitions import competitions
from clqa.errors import InputError
from clqa.failed_shapes import abridged_line
from clqa.files import replacing_folder
from clqa.keyed_tables import write_tsv
from clqa.pages import write_page
from clqa.query_sets import read_answers
from clqa.reports import metric_rows, write_rows
from clqa.scopes import page_columns, scope_of
from clqa.score_tables import Origin, Scores, ordered, read_plain_scores, read_scores, score_columns
from clqa.seeds import with_means
from clqa.typesetting import write_wide_table
from clqa.unfinished_jobs import Cause
from clqa.wide_tables import headline, overview
from score_answers import score_answers

COLUMNS = ("queries", "models", "shapes", "rule", "message", "log")
# Why a model has no scores of a shape, by query set and model, and by shape.
_Causes = dict[tuple[str, str], Mapping[str, Cause]]


class Missing(NamedTuple):
    """Shapes of a query set on which some models have no numbers, for one and the same cause."""

    queries: str
    models: str
    shapes: str
    cause: Cause

    @property
    def row(self) -> tuple[str, ...]:
        """The values of `COLUMNS`."""
        return (*self[:3], self.cause.rule, self.cause.message, self.cause.log)


class Paths(NamedTuple):
    """Where the results of a run are, whether or not they have been made.

    Attributes
    ----------
    scores : by query set and model
    ranks : by query set, model and shard
    answers, queries : by query set and shard
    graphs, relations : by graph
    """

    scores: Mapping[tuple[str, str], str]
    ranks: Mapping[tuple[str, str, str], str]
    answers: Mapping[tuple[str, str], str]
    queries: Mapping[tuple[str, str], str]
    graphs: Mapping[str, str]
    relations: Mapping[str, str]


def assemble_partial(
    paths: Paths,
    lacking: Mapping[str, Cause],
    failed: Mapping[str, Mapping[str, Cause]],
    formulas: Mapping[tuple[str, str], Mapping[str, str]],
    models: Mapping[str, dict],
    run: dict,
    query_sets: Mapping[str, dict],
    path_to_template: str | os.PathLike,
    path_to_folder: str | os.PathLike,
) -> list[Missing]:
    """Write the folder, and give what is missing.

    A model has the numbers of the shapes that it was ranked on. The others have no number, nor has
    any average that they belong to. Without a single number nothing is written.

    Parameters
    ----------
    lacking : dict
        The files that the run has still to make, which are not read, and why they are not there.
    failed : dict
        The shapes that tables of ranks lack, and why, by the paths of these.
    formulas : dict
        Of the shapes of each shard, by query set and shard.
    models, query_sets : catalogue entries of those of the run
    run : dict
        As for `assemble_report`.
    """
    asked = _Asked(paths, lacking, failed, formulas, models, run, query_sets)
    causes = {
        pair: asked.causes(*pair) for pair in itertools.product(run["query_sets"], run["models"])
    }
    with TemporaryDirectory() as folder:
        scores = [one for name in run["query_sets"] for one in _scores(asked, causes, name, folder)]
    missing = _missing(asked, causes)
    if not any(len(one.table) for one in scores):
        return missing
    rows = [row for one in scores for row in metric_rows(one, run["name"], run["averaging"])]
    rows = with_means(rows, run.get("seeds", {}))
    known = dict.fromkeys(one.queries for one in scores)
    scopes = [scope_of(queries, run, scores, rows) for queries in known]
    averages = overview(scopes)
    tables = {
        one.queries: [headline(one, name, page_columns(one, name)) for name in run["metrics"]]
        for one in scopes
    }
    with replacing_folder(path_to_folder) as folder:
        write_rows(folder / "metrics.tsv", rows)
        lines = [one.row for one in missing]
        write_tsv(folder / "missing.tsv", COLUMNS, lines)
        write_wide_table(folder / "tables", averages)
        for one, name in itertools.product(scopes, run["metrics"]):
            write_wide_table(folder / "tables", headline(one, name))
        content = {"run": run, "missing": lines, "overview": averages, "tables": tables}
        told = itertools.chain(lacking.values(), *(one.values() for one in failed.values()))
        content["failed"] = sorted({one[:4] for one in told if one.has_failed})
        write_page(folder / "report.html", path_to_template, content)
    return missing


class _Asked(NamedTuple):
    """The arguments of `assemble_partial` that say what the run is and what there is of it."""

    paths: Paths
    lacking: Mapping[str, Cause]
    failed: Mapping[str, Mapping[str, Cause]]
    formulas: Mapping[tuple[str, str], Mapping[str, str]]
    models: Mapping[str, dict]
    run: dict
    query_sets: Mapping[str, dict]

    def causes(self, queries: str, model: str) -> dict[str, Cause]:
        """Why a model has no scores of a shape, for each of which it is so."""
        cause = self.lacking.get(str(self.paths.scores[queries, model]))
        if cause is None:
            return {}
        found = {}
        for shard in self.shards(queries):
            found |= self._causes_of_shard(queries, model, shard)
        # Scores over holes are refused, which is no cause of its own.
        if cause.rule == "score_answers" and cause.has_failed and not found:
            return dict.fromkeys(self.formulas_of(queries), cause)
        return found

    def _causes_of_shard(self, queries: str, model: str, shard: str) -> Mapping[str, Cause]:
        ranks = self.paths.ranks[queries, model, shard]
        wanted = [ranks, *self.of_shard(queries, shard)]
        found = [self.lacking[str(path)] for path in wanted if str(path) in self.lacking]
        if found:
            return dict.fromkeys(self.formulas[queries, shard], found[0])
        return self.failed.get(str(ranks), {})

    def of_shard(self, queries: str, shard: str) -> tuple[str, str]:
        return self.paths.answers[queries, shard], self.paths.queries[queries, shard]

    def formulas_of(self, queries: str) -> dict[str, str]:
        """Of all shapes of a query set, shard by shard."""
        shards = (self.formulas[queries, shard].items() for shard in self.shards(queries))
        return dict(itertools.chain(*shards))

    def shards(self, queries: str) -> list[str]:
        return [shard for name, shard in self.formulas if name == queries]


def _scores(asked: _Asked, causes: _Causes, queries: str, folder: str) -> Iterator[Scores]:
    """Of a query set that has any answers: those of each model, be they none.

    If scores cannot be made of the ranks of a model, that is put among the causes.
    """
    shards = asked.shards(queries)
    there = [
        shard
        for shard in shards
        if not any(str(path) in asked.lacking for path in asked.of_shard(queries, shard))
    ]
    if not there:
        return
    answers = [asked.paths.answers[queries, shard] for shard in there]
    about, of_answers = read_answers(answers[0]).metadata, answers_hash(answers)
    entry = asked.query_sets[queries]
    for model in asked.run["models"]:
        origin = Origin(queries, model, entry["graph"], entry["split"], about["graph"], of_answers)
        path = asked.paths.scores[queries, model]
        if str(path) not in asked.lacking:
            yield read_scores(path, origin, asked.run["shapes"], _columns(asked.run))
            continue
        formulas, lost = asked.formulas_of(queries), causes[queries, model]
        ranked = [shard for shard in shards if asked.formulas[queries, shard].keys() - lost.keys()]
        try:
            table, metadata = _some_scores(asked, origin, ranked, folder, about)
        except InputError as error:
            cause = Cause("score_answers", str(path), abridged_line(str(error)), "", True)
            lost = causes[queries, model] = dict.fromkeys(formulas, cause)
            table, metadata = _some_scores(asked, origin, [], folder, about)
        known = metadata["formulas"] | {shape: formulas[shape] for shape in lost}
        metadata = {**metadata, "queries": of_answers, "formulas": known}
        shapes = ordered(known, asked.run["shapes"])
        holes = {shape: str(cause) for shape, cause in lost.items()}
        yield Scores(queries, model, origin.graph, table, metadata, shapes, holes)


def _columns(run: dict) -> list[str]:
    rules = competitions(run["filters"], run["candidates"])
    return score_columns(run["metrics"], run["ties"], rules)


def _some_scores(
    asked: _Asked, origin: Origin, ranked: list[str], folder: str, about: dict
) -> tuple[pa.Table, dict]:
    """Scores of what was ranked of some shards, over whole queries alone, and what they are of."""
    paths, run = asked.paths, asked.run
    texts = dict.fromkeys(("query_id", "shape", "stratum"), pa.string())
    counts = dict.fromkeys(("n_easy", "n_hard"), pa.int32())
    schema = pa.schema(texts | counts | dict.fromkeys(_columns(run), pa.float64()))
    if not ranked:
        entry = asked.models[origin.model]
        model = {"model": origin.model, "method": entry["method"], "inference_graph": ""}
        model["settings"] = entry.get("settings", {})
        return schema.empty_table(), {**about, "formulas": {}, "model": model}
    path = Path(folder) / f"{origin.model}.parquet"
    score_answers(
        [paths.ranks[origin.queries, origin.model, shard] for shard in ranked],
        *([of[origin.queries, shard] for shard in ranked] for of in (paths.answers, paths.queries)),
        paths.graphs[origin.graph],
        paths.relations[origin.graph],
        path,
        run["metrics"],
        run["ties"],
        competitions(run["filters"], run["candidates"]),
        [],
        may_lack=True,
    )
    table, metadata = read_plain_scores(path)
    return pa.concat_tables([schema.empty_table(), table], promote_options="permissive"), metadata


def _missing(asked: _Asked, causes: _Causes) -> list[Missing]:
    """What has no scores, models that lack the same for the same cause together."""
    found: dict[tuple, list[str]] = {}
    for queries in asked.run["query_sets"]:
        for model in asked.run["models"]:
            shapes: dict[Cause, list[str]] = {}
            for shape, cause in causes[queries, model].items():
                shapes.setdefault(cause, []).append(shape)
            for cause, names in shapes.items():
                key = queries, ", ".join(sorted(names, key=asked.run["shapes"].index)), cause
                found.setdefault(key, []).append(model)
    return [
        Missing(queries, ", ".join(models), shapes, cause)
        for (queries, shapes, cause), models in found.items()
    ]
