"""Where a training is, and checkpoints from which it goes on as if it had not stopped."""

import json
import os
from typing import NamedTuple

import numpy as np

from clqa.array_files import read_arrays, write_arrays
from clqa.errors import damaged


class Vectors(NamedTuple):
    """The parameters of a model, or as many numbers of another meaning.

    Attributes
    ----------
    entities : (n_entities, d) float32
    relations : (n_relations, e) float32
    """

    entities: np.ndarray
    relations: np.ndarray


class State(NamedTuple):
    """A training after some epochs.

    Attributes
    ----------
    epoch, step : int
        How many are done.
    vectors : Vectors
        The parameters.
    memories : list of Vectors
        What the optimizer keeps of the gradients so far.
    best : Vectors
        The parameters at the best validation.
    curve : list of dict
        At each validation the epoch, the mean loss of a triple in that epoch, and the filtered
        mean reciprocal rank of the valid triples, `mrr`, if there are any.
    """

    epoch: int
    step: int
    vectors: Vectors
    memories: list[Vectors]
    best: Vectors
    curve: list[dict]


def write_state(path: str | os.PathLike, state: State, subject: dict) -> None:
    """Write a checkpoint; `subject` says of what: graph, settings, code."""
    groups = [state.vectors, state.best, *state.memories]
    arrays = {
        f"{name}_{number}": array
        for number, group in enumerate(groups)
        for name, array in group._asdict().items()
    }
    progress = {"epoch": state.epoch, "step": state.step, "curve": state.curve}
    texts = {
        "subject": json.dumps(subject, sort_keys=True),
        "progress": json.dumps(progress, sort_keys=True),
    }
    write_arrays(path, arrays, texts)


def read_state(path: str | os.PathLike, subject: dict) -> State | None:
    """The state of a checkpoint, None if there is no file or it is of another subject.

    Raises
    ------
    InputError
        If the file is cut short or changed.
    """
    try:
        arrays, texts = read_arrays(path)
        progress, written = json.loads(texts["progress"]), json.loads(texts["subject"])
        groups = zip(*[iter(arrays.values())] * len(Vectors._fields), strict=True)
        vectors, best, *memories = (Vectors(*group) for group in groups)
        state = State(vectors=vectors, memories=memories, best=best, **progress)
    except FileNotFoundError:
        return None
    except Exception as error:  # whatever a damaged file makes its reader say
        what = f"not a readable checkpoint ({error or type(error).__name__})"
        raise damaged(path, what, "train_predictor") from error
    return state if written == subject else None
