"""A run: its configuration and the catalogue entries that it names, checked as a whole."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from clqa.canonical_forms import canonical
from clqa.competitions import RAW, WITH_TEST, competitions
from clqa.configs import Catalogue, matching, read_catalogue, read_yaml, unknown_name, validated
from clqa.errors import InputError, placed
from clqa.files import read_json
from clqa.formulas import Formula, atoms, free_variables, parse, to_text, vectors
from clqa.graph_entries import complete_entry, local_files, vectors_of
from clqa.methods import CONTROLS, check_settings, needs_trees, takes_links
from clqa.metrics import is_of_answers, is_of_tuples, metric, score_id
from clqa.outside_entries import (
    IMPORTED,
    are_bounded,
    check_outside,
    expand_bounds,
    outside_files,
)
from clqa.plans import GROUP_NAMES, Plan, plan
from clqa.predictor_entries import check_predictor, imported_files
from clqa.published_entries import READING, check_published
from clqa.set_rules import set_rule
from clqa.shards import MAX_BYTES, asked_count, shards, size

KINDS = ("graphs", "query_sets", "shapes", "models", "predictors")
PACKED = (".gz", ".xz", ".zip", ".tgz")  # files whose size says little
WORDS = {"true": True, "false": False}  # from the command line they come as text


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
        return _without_technical(self.settings) | {"seeds": self.seeds}

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


def read_run(config: dict, files: Iterable[str], folder: str, methods: Mapping[str, Path]) -> Run:
    """The run of a configuration.

    Parameters
    ----------
    config : dict
        The configuration, all files and command-line values merged.
    files : paths
        The configuration files; a message names the one that has the key. Each but the default
        run's must have a `name`.
    folder : path
        Where the workflow's own catalogues are; the schemas are in `../workflow/schemas` beside.
    methods : dict
        The file of each answering method that there is.

    Raises
    ------
    InputError
        If anything is unknown, missing or of the wrong kind.
    """
    schemas = Path(folder).parent / "workflow" / "schemas"
    contents = {str(path): read_yaml(path) for path in files}
    schema = read_yaml(schemas / "config.schema.yaml")
    settings = _settings(config, contents, schema)
    default = validated(read_yaml(Path(folder) / "config.yaml"), schema, f"{folder}/config.yaml")
    for own in settings["catalogues"]:
        if not Path(own).is_dir():
            raise InputError(
                f"{_source('catalogues', settings, contents)}: catalogues: no folder {own}"
            )
    folders = [folder, *settings["catalogues"]]
    catalogues = {
        kind: read_catalogue(kind, folders, read_yaml(schemas / f"{kind}.schema.yaml"))
        for kind in KINDS
    }
    _complete_graphs(catalogues["graphs"])
    for asked in (settings, *catalogues["query_sets"].entries.values()):
        if "shapes" in asked:
            asked["shapes"] = matching(asked["shapes"], catalogues["shapes"].entries)
    _check_models(catalogues["models"], methods, catalogues["predictors"].entries)
    _check_query_sets(catalogues)
    for name, entry in catalogues["predictors"].entries.items():
        with placed(catalogues["predictors"].place(name)):
            check_predictor(entry)
    for kind in ("query_sets", "shapes", "models"):
        place = f"{_source(kind, settings, contents)}: {kind}"
        _check_names(place, kind, settings[kind], catalogues[kind].entries)
    seeds = _expand_seeds(catalogues["models"], settings)
    settings["models"] = expand_bounds(catalogues["models"], settings["models"])
    for identifier in settings["metrics"]:
        with placed(_source("metrics", settings, contents)):
            _check_primary(identifier, settings)
    for name in settings["sets"]:
        with placed(f"{_source('sets', settings, contents)}: sets"):
            set_rule(name)
    used = {name: catalogues["models"].entries[name]["method"] for name in settings["models"]}
    linked = [
        name for name, method in used.items() if method != IMPORTED and needs_trees(methods[method])
    ]
    for shape in settings["shapes"]:
        with placed(catalogues["shapes"].place(shape)):
            if shape in GROUP_NAMES:
                raise InputError(f"'{shape}' is the name of a group of shapes; choose another")
            formula = parse(catalogues["shapes"].entries[shape])
            canonical(formula)
            made = plan(formula)
            if linked and not isinstance(made, Plan):
                raise InputError(
                    f"'{to_text(formula)}' is no tree of sets with one free variable, as the model "
                    f"{linked[0]} needs; leave out one of the two"
                )
    for entry in catalogues["query_sets"].entries.values():
        entry.setdefault("seed", settings["seed"])
    cut, sizes = _shards(settings, catalogues)
    return Run(
        settings=settings,
        folders=catalogues["graphs"].folders,
        folders_of_queries=catalogues["query_sets"].folders,
        folders_of_predictors=catalogues["predictors"].folders,
        folders_of_models=catalogues["models"].folders,
        shards=cut,
        sizes=sizes,
        seeds=seeds,
        default_settings=_without_technical(default),
        **{kind: catalogue.entries for kind, catalogue in catalogues.items()},
    )


def _without_technical(settings: Mapping) -> dict:
    """Of settings, those on which the numbers of the report depend."""
    technical = ("catalogues", "shards", "keep_predictions")
    return {key: value for key, value in settings.items() if key not in technical}


def _settings(config: dict, contents: dict[str, dict], schema: dict) -> dict:
    """The configuration, checked; a message names the file that the key at fault comes from."""
    for path, content in contents.items():
        if "name" not in content:
            raise InputError(f"{path}: the key name is missing; results/runs/ has a folder per run")
    config = dict(config)
    for key, value in config.items():
        if schema["properties"].get(key, {}).get("type") == "boolean" and value in list(WORDS):
            config[key] = WORDS[value]
    for key, value in config.items():
        part = {**schema, "required": []}
        validated({key: value}, part, _source(key, config, contents))
    return validated(config, schema, "configuration")


def _check_primary(metric_id: str, settings: dict) -> None:
    """A metric has a value under the tie policy, the filter and the averaging that tables show."""
    policies = (*metric(metric_id).policies, *metric(metric_id).void)
    if settings["ties"][0] not in policies:
        raise InputError(
            f"metrics: {metric_id} has no {settings['ties'][0]} ties, which the report shows "
            f"first; let ties begin with one of {', '.join(policies)}"
        )
    for key, undefined in (("filters", RAW), ("averaging", "answer")):
        has_value = is_of_answers(metric_id) or (undefined == RAW and is_of_tuples(metric_id))
        if settings[key][0] == undefined and not has_value:
            raise InputError(
                f"metrics: {metric_id} has no value with {key}: [{undefined}, ...], which is about"
                f" single answers; name another of {key} first"
            )


def _source(key: str, config: dict, contents: dict[str, dict]) -> str:
    """The file that gives a key its value, or the command line."""
    files = (path for path in contents if contents[path].get(key, ...) == config[key])
    return next(files, "--config")


def _check_names(place: str, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            singular = kind.removesuffix("s").replace("_", " ")
            raise InputError(f"{place}: {unknown_name(singular, name, known)}")


def _complete_graphs(graphs: Catalogue) -> None:
    for name, entry in graphs.entries.items():
        with placed(f"{graphs.folders[name]}/graphs.yaml"):
            graphs.entries[name] = complete_entry(name, entry)


def _check_models(models: Catalogue, methods: Mapping[str, Path], predictors: dict) -> None:
    for name, entry in models.entries.items():
        with placed(models.place(name)):
            check_outside(entry)
        if IMPORTED in entry:
            entry["method"] = IMPORTED
            continue
        _check_names(f"{models.place(name)}.method", "methods", [entry["method"]], methods)
        with placed(models.place(name)):
            check_settings(methods[entry["method"]], entry["settings"])
        if takes_links(methods[entry["method"]]):
            place = f"{models.place(name)}.settings.predictor"
            _check_names(place, "predictors", [entry["settings"]["predictor"]], predictors)


def _expand_seeds(models: Catalogue, settings: dict) -> dict[str, str]:
    """Put a model per seed in place of those with several, in the catalogue and in the run."""
    bases = {}
    for name, entry in list(models.entries.items()):
        seeds = entry.pop("seeds", None)
        if seeds is None:
            continue
        if "seed" not in entry["settings"]:
            raise InputError(f"{models.place(name)}.seeds: settings has no seed to be replaced")
        for seed in seeds:
            own = f"{name}.seed{seed}"
            if own in models.entries:
                raise InputError(
                    f"{models.place(own)}: the name of a seed of {name}; choose another"
                )
            bases[own] = name
            models.entries[own] = entry | {"settings": entry["settings"] | {"seed": seed}}
    asked = []
    for name in settings["models"]:
        asked += [own for own, base in bases.items() if base == name] or [name]
    settings["models"] = asked
    return {name: base for name, base in bases.items() if name in asked}


def _check_query_sets(catalogues: dict[str, Catalogue]) -> None:
    """Names of other catalogues exist, and the partner is what it has to be."""
    query_sets = catalogues["query_sets"]
    for name, entry in query_sets.entries.items():
        place = query_sets.place(name)
        if "published" in entry:
            check_published(place, entry)
            known = entry.get("shapes", catalogues["shapes"].entries)
            _check_names(f"{place}.published.counts", "shapes", entry["published"]["counts"], known)
        named = {"graph": "graphs", "shapes": "shapes", "valid": "query_sets"}
        for key, kind in named.items():
            names = entry.get(key, [])
            names = [names] if isinstance(names, str) else names
            _check_names(f"{place}.{key}", kind, names, catalogues[kind].entries)
        partner = query_sets.entries[entry.get("valid", name)]
        if "valid" in entry and (partner["graph"], partner["split"]) != (entry["graph"], "valid"):
            raise InputError(
                f"{place}.valid: {entry['valid']} is over the split {partner['split']} of"
                f" {partner['graph']}; expected the split valid of {entry['graph']}"
            )


def _shards(settings: dict, catalogues: dict[str, Catalogue]) -> tuple[dict[str, dict], ...]:
    """Shards of every query set, of the run's shapes those that it has, and sizes of the shapes."""
    found, known = {}, {}
    for name, entry in catalogues["query_sets"].entries.items():
        shapes = [shape for shape in settings["shapes"] if shape in entry.get("shapes", [shape])]
        if name in settings["query_sets"] and not shapes:
            place = catalogues["query_sets"].place(name)
            raise InputError(f"{place}.shapes: has none of the shapes of the run")
        if name in settings["query_sets"]:
            with placed(catalogues["query_sets"].place(name)):
                _check_vectors(entry["graph"], shapes, catalogues)
        n_entities = _most_entities(catalogues["graphs"], entry["graph"])
        formulas = {shape: catalogues["shapes"].entries[shape] for shape in shapes}
        sizes = {
            shape: _size(entry, shape, formula, n_entities) for shape, formula in formulas.items()
        }
        free = {shape: free_variables(parse(formula)) for shape, formula in formulas.items()}
        several = {shape: names for shape, names in free.items() if len(names) > 1}
        found[name] = shards(sizes, settings["shards"], several)
        known[name] = {
            shape: MAX_BYTES if n_bytes is None else n_bytes for shape, n_bytes in sizes.items()
        }
    return found, known


def _check_vectors(graph: str, shapes: list[str], catalogues: dict[str, Catalogue]) -> None:
    """The graph has the degrees that the shapes ask for."""
    known = vectors_of(catalogues["graphs"].entries[graph])
    for shape in shapes:
        for number in vectors(parse(catalogues["shapes"].entries[shape])):
            if f"d{number}" not in known:
                raise InputError(
                    f"the shape {shape} asks for the degrees d{number}, but the graph {graph} has "
                    f"no files.d{number}; give them, or leave the shape out of `shapes` here"
                )


def _most_entities(graphs: Catalogue, graph: str) -> int | None:
    """Entities of a graph, or no fewer than it can have; None if neither is known."""
    entry = graphs.entries[graph]
    if "entities" in entry.get("facts", {}):
        return entry["facts"]["entities"]
    files = [Path(file) for file in local_files(entry, graphs.folders[graph])]
    sizes = [_bytes_of(file, graph) for file in files if file.suffix not in PACKED]
    if not files or len(sizes) < len(files) or None in sizes:
        return None
    # A line has two entities at most, and six bytes at least.
    return sum(sizes) // 3


def _bytes_of(file: Path, graph: str) -> int | None:
    """Size of a file that a graph is made from; that it had, if it is not there any more."""
    if file.is_file():
        return file.stat().st_size
    try:
        taken = read_json(f"results/graphs/{graph}/receipt.json")["files"].values()
    except (InputError, KeyError, AttributeError, TypeError):
        return None
    named = [one for one in taken if file.match(f"**/{one['path']}")]
    return named[0]["size"] if named else None


def _size(entry: dict, shape: str, formula: str, n_entities: int | None) -> int | None:
    """Scores of a shape; None where the number of its queries or entities is not known."""
    if "published" in entry:
        count = entry["published"]["counts"].get(shape)
    else:
        count = _most_queries(entry["sampling"], parse(formula))
    n_variables = len(free_variables(parse(formula)))
    return None if n_entities is None or count is None else size(count, n_entities, n_variables)


def _most_queries(sampling: dict, formula: Formula) -> int | None:
    n_atoms = sum(1 for _ in atoms(formula))
    if sampling["exhaustive"] and n_atoms == 1:
        return None
    quotas = sampling["quotas"]
    # A query has one selected answer at least, and no shape has more classes than this.
    return asked_count(sampling, formula) if quotas is None else quotas["answers"] * (n_atoms + 1)
