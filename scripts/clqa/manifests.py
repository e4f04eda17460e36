"""Where the numbers of a run come from: files, protocols and software."""

import importlib.metadata
import json
import os
import platform
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from clqa.errors import InputError
from clqa.files import sha256_of
from clqa.methods import CONTROLS
from clqa.reports import Row, inference_graph, protocol_of
from clqa.score_tables import Scores
from clqa.stages import FORMAT, Facts, traced
from clqa.tables import KEY

PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "matplotlib", "snakemake")
ROOT = Path(__file__).resolve().parents[2]


def versions() -> dict[str, str | None]:
    """Versions of Python, of what the numbers depend on, and of clqa with its commit, if any."""
    found = {name: _version(name) for name in PACKAGES}
    return {
        "python": platform.python_version(),
        **found,
        "clqa": _own_version(),
        "commit": commit(),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _own_version() -> str | None:
    """Version of the sources that run, which need not be installed."""
    project = ROOT / "pyproject.toml"
    if project.is_file():
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    return _version("clqa")


def commit() -> str | None:
    """Hash of the commit that the sources are at, with `-dirty` if they were changed since."""
    if not (ROOT / ".git").exists():
        return None
    describe = "describe --always --dirty --abbrev=40 --exclude=*"
    command = ["git", "-C", str(ROOT), *describe.split()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def manifest(
    run: dict,
    query_sets: Mapping[str, dict],
    scores: Iterable[Scores],
    rows: Iterable[Row],
    protocols: Mapping[str, dict],
) -> dict:
    """What a run was made from, as strict JSON, but for its files.

    Parameters
    ----------
    run, query_sets : the run configuration and the catalogue entries of its query sets
    scores, rows : what was read and what came out
    protocols : those of other tables, by fingerprint
    """
    scores = list(scores)
    metadata = {one.queries: one.metadata for one in scores}
    return {
        "format": FORMAT,
        "run": run["name"],
        "settings": run,
        "fingerprints": {**fingerprints(rows, metadata), **protocols},
        "graphs": {
            one.graph: {name: one.metadata[name] for name in ("graph", "vocabulary", "n_entities")}
            for one in scores
        },
        "query_sets": {
            name: {**query_sets[name], "hash": facts["queries"], "formulas": facts["formulas"]}
            for name, facts in metadata.items()
        },
        "models": _models(scores),
    }


def manifest_files(
    paths: Iterable[str | os.PathLike],
    root: str | os.PathLike,
    run: dict,
    query_sets: Mapping[str, dict],
    models: Mapping[str, dict],
    imported: Sequence[str] = (),
) -> dict[str, dict]:
    """Content hash, rule and inputs of the files of a run, and of the predictions behind its ranks.

    Parameters
    ----------
    paths : all result files that were read or written
    root : result folder, beneath which the paths are written
    query_sets : catalogue entries, also of those on which the run is tuned
    models : `method` and `settings` of each, under the names of their files
    imported : link predictors that are not trained
    """
    digests, models = {}, {name: dict(about) for name, about in models.items()}
    for path in paths:
        name = relative(path, root)
        digests[name] = sha256_of(path)
        if name.startswith("ranks/"):
            _, queries, model, shard = name.split("/")
            metadata = json.loads(pq.read_metadata(path).metadata[KEY])
            lists = _lists_of(model, metadata["model"]["settings"])
            models.setdefault(model, {})["lists"] = lists or model
            dump = shard if lists else f"{shard.removesuffix('.parquet')}.npy"
            digests[f"predictions/{queries}/{lists or model}/{dump}"] = metadata["predictions"]
    competing = [name for name in run["models"] if models[name]["method"] not in CONTROLS]
    facts = Facts(query_sets, models, run["query_sets"], competing, imported)
    return traced(digests, facts)


def _lists_of(model: str, settings: dict) -> str | None:
    """The lists that are cut of which a model is one bound; None for other models."""
    bound = f".{settings.get('unlisted')}"
    return model.removesuffix(bound) if model.endswith(bound) else None


def _models(scores: Iterable[Scores]) -> dict[str, dict]:
    """Method and settings of each model, and what it saw when it answered each query set."""
    models: dict[str, dict] = {}
    for one in scores:
        facts = one.metadata["model"]
        about = {"method": facts["method"], "settings": facts["settings"], "inference_graph": {}}
        about = models.setdefault(one.model, about)
        about["inference_graph"][one.queries] = inference_graph(facts)
    return models


def fingerprints(rows: Iterable[Row], metadata: Mapping[str, dict]) -> dict[str, dict]:
    """The protocol that each fingerprint of the rows stands for; metadata by query set."""
    kinds = {}
    for row in rows:
        kinds.setdefault(row.fingerprint, row)
    return {name: protocol_of(row, metadata[row.queries]) for name, row in kinds.items()}


def relative(path: str | os.PathLike, root: str | os.PathLike) -> str:
    """A path as seen from the result folder; links, such as those into a cache, stay what they are.

    Raises
    ------
    InputError
        If the file is not in the result folder, so that its name would be one of this machine.
    """
    try:
        return Path(path).absolute().relative_to(Path(root).absolute()).as_posix()
    except ValueError as error:
        message = f"{path}: not in the result folder {root}; a run is made of files within it"
        raise InputError(message) from error
