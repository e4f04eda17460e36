"""The steps of a toy run, each in a process of its own that a fault may hit.

Run as a program it makes the run in a folder, keeps what the folder holds after each step, and then
takes orders, a line of JSON each: in which folder to do which step, and what strikes. All modules
are loaded once, and each order is done in a fork.
"""

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from clqa.configs import read_yaml, validated
from fault_plug.sitecustomize import Plug
from made_runs import (
    MODELS,
    RUN,
    make_answers,
    make_graph,
    make_predictions,
    make_queries,
    make_ranks,
    make_report,
    make_scores,
)
from synthetic_runs import TEMPLATE
from train_predictor import train_predictor

MODEL = {"popular": MODELS["popular"]}
FACTS = RUN | {"models": [*MODEL], "metrics": ["mrr"], "ties": ["pessimistic"]}
_SCHEMA = read_yaml(TEMPLATE.parents[1] / "schemas" / "predictors.schema.yaml")
# A file that is written into a folder which has no name yet.
_INNER = re.compile(r"\.(\w+)\.partial-\w{8}/content")
_TRAINING = {"model": "complex", "training": {"rank": 4, "epochs": 4, "validate_every": 2}}


def make_predictor(results: Path) -> None:
    entry = validated({"tiny": _TRAINING}, _SCHEMA, "tiny")["tiny"]
    paths = ("graphs/toy/graph.npz", "predictors/toy/tiny.npz", "predictors/toy/tiny.json")
    settings = {"model": entry["model"], **entry["training"]}
    checkpoint = results / "checkpoints/toy/tiny.npz"
    train_predictor(*(results / path for path in paths), checkpoint, settings, "tiny")


STEPS: dict[str, Callable[[Path], object]] = {
    "graph": make_graph,
    "queries": lambda results: make_queries(results, FACTS["seed"]),
    "answers": make_answers,
    "predictor": make_predictor,
    "predictions": lambda results: make_predictions(results, MODEL),
    "ranks": lambda results: make_ranks(results, MODEL),
    "scores": lambda results: make_scores(results, FACTS),
    "report": lambda results: make_report(results, FACTS),
}


class Write(NamedTuple):
    """A file or folder that a step writes: its name, and the size of it or of its first file."""

    step: str
    number: int
    name: str
    size: int
    sha256: str


def written(step: str, results: Path) -> list[Write]:
    """Do a step, and tell what it writes in the order in which that is begun."""
    names, kept = [], {}
    rename, making = os.replace, {name: getattr(tempfile, name) for name in ("mkstemp", "mkdtemp")}

    def made(make: Callable) -> Callable:
        def counted(**about):
            found = make(**about)
            if ".partial-" in about["prefix"]:
                names.append(found if isinstance(found, str) else found[1])
            return found

        return counted

    def renamed(source, target) -> None:
        files = [
            path for path in [Path(source), *sorted(Path(source).rglob("*"))] if path.is_file()
        ]
        inside = source if os.fspath(source) in names else Path(source).parent
        content = files[0].read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        kept[os.fspath(inside)] = Path(target), len(content), digest
        rename(source, target)

    try:
        os.replace = renamed
        for name, make in making.items():
            setattr(tempfile, name, made(make))
        STEPS[step](results)
    finally:
        os.replace = rename
        for name, make in making.items():
            setattr(tempfile, name, make)
    final = {name: kept[name][0].relative_to(results).as_posix() for name in names}
    return [
        Write(step, number, _INNER.sub(r"\1", final[name]), *kept[name][1:])
        for number, name in enumerate(names, 1)
    ]


def obey(order: dict) -> dict:
    """Do a step in a fork; its exit status, negative for a signal, and what it says of an error."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        status, text = 0, ""
        try:
            if order.get("fault"):
                Plug(**order["fault"]).install()
            STEPS[order["step"]](Path(order["results"]))
        except BaseException as error:
            status, text = 1, f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(status)
    os.close(writing)
    with open(reading, "rb") as stream:
        text = stream.read().decode()
    return {"status": os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), "error": text}


def main(folder: Path) -> None:
    results, writes = folder / "whole", []
    for number, step in enumerate(STEPS):
        writes += written(step, results)
        shutil.copytree(results, folder / f"after-{number}")
    print(json.dumps(writes), flush=True)
    for line in sys.stdin:
        print(json.dumps(obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
