"""A run: its settings and all catalogue entries, and what the workflow asks of them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from clqa.competitions import WITH_TEST, competitions
from clqa.graph_entries import local_files
from clqa.methods import CONTROLS
from clqa.metrics import score_id
from clqa.outside_entries import IMPORTED, are_bounded, outside_files
from clqa.predictor_entries import imported_files
from clqa.published_entries import READING
from clqa.set_rules import set_rule


class Run(NamedTuple):
    """What is evaluated, and everything that may be asked for by name.

    Attributes
    ----------
    settings : dict
        The run configuration with defaults filled in.
    graphs, query_sets, models, shapes, predictors : dict
        All catalogue entries by name, in the run or not; shapes are formulas.
    folders : dict
        For each graph the folder of its catalogue file.
    shards : dict
        For each query set its shards, by name, with the shapes that each holds.
    sizes : dict
        For each query set and shape the bytes of a model's predictions, as far as can be told.
    seeds : dict
        For each model that stands for one seed of another the name of that one.
    folders_of_queries, folders_of_predictors, folders_of_models : dict
        For each query set, link predictor and model the folder of its catalogue file.
    default_settings : dict
        Those of the default run on which numbers depend.
    """

    settings: dict
    graphs: dict[str, dict]
    folders: dict[str, str]
    query_sets: dict[str, dict]
    models: dict[str, dict]
    shapes: dict[str, str]
    predictors: dict[str, dict]
    shards: dict[str, dict[str, tuple[str, ...]]]
    sizes: dict[str, dict[str, int]]
    folders_of_queries: dict[str, str]
    folders_of_predictors: dict[str, str]
    folders_of_models: dict[str, str]
    seeds: dict[str, str]
    default_settings: dict

    def local_files(self, graph: str) -> list[str]:
        """The user's own files that a graph is made from."""
        return local_files(self.graphs[graph], self.folders[graph])

    def local_queries(self, queries: str) -> list[str]:
        """The user's own files that published queries are read from."""
        return local_files(self.query_sets[queries]["published"], self.folders_of_queries[queries])

    def folder_of_files(self, graph: str) -> str:
        """Where the paths of a graph's own files start; empty if it has none."""
        return self.folders[graph] if self.local_files(graph) else ""

    def folder_of_published(self, queries: str) -> str:
        """Where the paths of the files of published queries start; empty if it has none."""
        return self.folders_of_queries[queries] if self.local_queries(queries) else ""

    def published(self, names: Iterable[str] | None = None) -> list[str]:
        """Query sets, of these or of all, that are imported and not sampled."""
        names = self.query_sets if names is None else names
        return [name for name in names if "published" in self.query_sets[name]]

    def max_bindings(self, queries: str) -> int | None:
        """Partial bindings that may be tried for a query; sampled ones are within their bound."""
        return self.query_sets[queries].get("published", {}).get("max_bindings")

    def imported(self) -> list[str]:
        """Link predictors whose embeddings come from files."""
        return [name for name, entry in self.predictors.items() if "imported" in entry]

    def training(self, predictor: str) -> dict:
        """All that a trained link predictor depends on beside its graph."""
        entry = self.predictors[predictor]
        return {"model": entry["model"], **entry["training"]}

    def embedding_files(self, predictor: str) -> dict[str, str]:
        """The user's own files of an imported predictor, by their keys."""
        folder = self.folders_of_predictors[predictor]
        return imported_files(self.predictors[predictor], folder)

    def outside(self, bounded: bool) -> list[str]:
        """Models whose scores come from files: those of lists that are cut, or the others."""
        imported = (name for name, entry in self.models.items() if IMPORTED in entry)
        names = (name for name in imported if "bound" not in self.models[name])
        return [name for name in names if are_bounded(self.models[name]) == bounded]

    def score_files(self, model: str, queries: str, shard: str) -> dict[str, list[str] | str]:
        """The user's own files of such a model for a shard, by their keys."""
        folder, shapes = self.folders_of_models[model], self.shards[queries][shard]
        return outside_files(self.models[model], folder, queries, shapes)

    def formulas(self, queries: str, shard: str) -> dict[str, str]:
        """The formulas of the shapes that a shard of a query set holds."""
        return {shape: self.shapes[shape] for shape in self.shards[queries][shard]}

    def predictor_of(self, model: str) -> str | None:
        """The link predictor over whose links a model answers, if it does."""
        name = self.models[model]["settings"].get("predictor")
        return name if name in self.predictors else None

    def over_links(self) -> dict[str, dict]:
        """Method and settings of the run's models that answer over predicted links."""
        asked = self.settings["models"]
        names = [n for n in asked if self.predictor_of(n) and "imported" not in self.models[n]]
        return {n: {key: self.models[n][key] for key in ("method", "settings")} for n in names}

    def method_file(self, model: str) -> str:
        """Where the code of a model's method is, below the folder of the scripts."""
        return f"models/{self.models[model]['method']}.py"

    def reading(self, queries: str, shard: str) -> dict:
        """How the published shapes of a shard are read."""
        entry = self.query_sets[queries]["published"]
        counts = {s: n for s, n in entry["counts"].items() if s in self.shards[queries][shard]}
        used = ("layout", "on_bad_shape", *READING)
        return {key: entry[key] for key in used if key in entry} | {"counts": counts}

    def evaluated(self) -> dict[str, dict]:
        """The entries of the run's query sets; of published ones without the place of files."""
        entries = {}
        for name in self.settings["query_sets"]:
            entry = dict(self.query_sets[name])
            if "published" in entry:
                published = entry["published"]
                kept = ("layout", "files", "counts", "on_bad_shape", "benchmark", *READING)
                entry["published"] = {key: published[key] for key in kept if key in published}
                del entry["sampling"]
            entries[name] = entry
        return entries

    def compared(self) -> list[str]:
        """The run's models that compete with each other."""
        names = self.settings["models"]
        return [name for name in names if self.models[name]["method"] not in CONTROLS]

    def primary_score(self) -> str:
        """The score that the report shows first."""
        metric_id, ties = (self.settings[key][0] for key in ("metrics", "ties"))
        return score_id(metric_id, ties, self.competitions()[0])

    def protocol(self) -> dict:
        """Of the settings, those on which the numbers of the report depend."""
        return without_technical(self.settings) | {"seeds": self.seeds}

    def competitions(self) -> list[str]:
        """Names of all pairs of the run's filters and candidates, the primary one first."""
        return competitions(self.settings["filters"], self.settings["candidates"])

    def further_filters(self) -> list[str]:
        """Of the run's filters, those that are not ranked under without being asked for."""
        return [name for name in self.settings["filters"] if name == WITH_TEST]

    def scored(self) -> list[tuple[str, str]]:
        """Query set and model of each table of scores."""
        return [
            (queries, model)
            for queries in self.settings["query_sets"]
            for model in self.settings["models"]
        ]

    def asked_shards(self) -> list[tuple[str, str]]:
        """Query set and name of each shard of the run's query sets."""
        return [
            (queries, shard)
            for queries in self.settings["query_sets"]
            for shard in self.shards[queries]
        ]

    def ranked(self) -> list[tuple[str, str, str]]:
        """Query set, model and shard of each table of ranks."""
        return [
            (queries, model, shard)
            for queries, model in self.scored()
            for shard in self.shards[queries]
        ]

    def asked_graphs(self) -> list[str]:
        """The graphs of the run's query sets."""
        return sorted({entry["graph"] for entry in self.evaluated().values()})

    def tuning_sets(self, queries: str) -> list[str]:
        """The query set on which rules are set: none, or one if any needs it and there is one."""
        needed = any(set_rule(name).needs_partner for name in self.settings["sets"])
        entry = self.query_sets[queries]
        return [entry["valid"]] if needed and "valid" in entry else []

    def tuned_on(self) -> dict[str, dict]:
        """Of the query sets on which rules are set, what decides how they are made."""
        asked = self.settings["query_sets"]
        names = {name for queries in asked for name in self.tuning_sets(queries)} - {*asked}
        return {
            name: {"graph": self.query_sets[name]["graph"]}
            | ({"published": {}} if "published" in self.query_sets[name] else {})
            for name in sorted(names)
        }

    def partners(self, published: bool = True) -> list[str]:
        """The query sets on which those of the run are tuned, or the sampled ones of them."""
        entries = self.evaluated().values()
        names = {entry["valid"] for entry in entries if "valid" in entry}
        return sorted(names if published else names - {*self.published(names)})


def without_technical(settings: Mapping) -> dict:
    """Of settings, those on which the numbers of the report depend."""
    technical = ("catalogues", "shards", "keep_predictions")
    return {key: value for key, value in settings.items() if key not in technical}
