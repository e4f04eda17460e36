"""The configuration of a run and the catalogue entries that it names, checked as a whole."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from clqa.canonical_forms import canonical
from clqa.competitions import RAW
from clqa.configs import Catalogue, matching, read_catalogue, read_yaml, unknown_name, validated
from clqa.errors import InputError, placed
from clqa.formulas import parse, to_text
from clqa.graph_entries import complete_entry
from clqa.methods import check_settings, needs_trees, takes_links
from clqa.metrics import is_of_answers, is_of_tuples, metric
from clqa.outside_entries import IMPORTED, check_outside, expand_bounds
from clqa.plans import GROUP_NAMES, Plan, plan
from clqa.predictor_entries import check_predictor
from clqa.published_entries import check_published
from clqa.runs import Run, without_technical
from clqa.set_rules import set_rule
from clqa.shard_sizes import sized_shards

KINDS = ("graphs", "query_sets", "shapes", "models", "predictors")
WORDS = {"true": True, "false": False}  # from the command line they come as text


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
    cut, sizes = sized_shards(settings, catalogues)
    return Run(
        settings=settings,
        folders=catalogues["graphs"].folders,
        folders_of_queries=catalogues["query_sets"].folders,
        folders_of_predictors=catalogues["predictors"].folders,
        folders_of_models=catalogues["models"].folders,
        shards=cut,
        sizes=sizes,
        seeds=seeds,
        default_settings=without_technical(default),
        **{kind: catalogue.entries for kind, catalogue in catalogues.items()},
    )


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
