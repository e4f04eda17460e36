"""Training: gradients, determinism, checkpoints and divergence."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from clqa.embeddings import MODELS
from clqa.errors import InputError
from clqa.graphs import Graph, make_graph, write_graph
from clqa.link_queries import link_queries, picked, tails_of
from clqa.objectives import Objective, loss_and_gradients
from clqa.optimizers import adagrad, adam
from clqa.predictors import open_predictor, scores
from clqa.training import is_over, train, trained_predictor
from clqa.training_states import State, Vectors, read_state, write_state
from reference_links import loss as reference_loss
from reference_links import score
from train_predictor import train_predictor

SETTINGS = {
    "model": "complex",
    "rank": 8,
    "epochs": 12,
    "batch": 4,
    "optimizer": "adagrad",
    "rate": 0.1,
    "decay": "linear",
    "regularization": 0.001,
    "relation_weight": 0.5,
    "scale": 0.1,
    "validate_every": 2,
    "patience": None,
    "seed": 3,
    "threads": 1,
}


def line(n_entities=12, valid=((0, 0, 2),)) -> Graph:
    """Relation 0 leads one step along a line and has the inverse 1; 2 leads two steps, alone."""
    steps = [(i, 0, i + 1) for i in range(n_entities - 1)]
    train = [*steps, *((t, 1, h) for h, _, t in steps)]
    train += [(i, 2, i + 2) for i in range(n_entities - 2)]
    parts = {"train": train, "valid": list(valid), "test": [(1, 2, 0)]}
    parts = {name: np.array(rows, np.int32).reshape(-1, 3) for name, rows in parts.items()}
    return make_graph(parts, np.array([1, 0, -1]), n_entities, "labels")


def test_questions_go_in_both_directions_and_hold_all_tails():
    parts = {"train": [(0, 0, 1), (0, 0, 2), (1, 1, 0), (2, 1, 0), (3, 2, 0), (3, 2, 3)]}
    parts |= {"valid": [], "test": []}
    parts = {name: np.array(rows, np.int32).reshape(-1, 3) for name, rows in parts.items()}
    found = link_queries(make_graph(parts, np.array([1, 0, -1]), 4, ""), ("train",))
    rows = {
        (int(h), int(r)): found.tails.row(place).tolist()
        for place, (h, r) in enumerate(zip(found.heads, found.relations, strict=True))
    }
    expected = {(0, 0): [1, 2], (1, 1): [0], (2, 1): [0], (3, 2): [0, 3]}
    assert rows == {**expected, (0, 3): [3], (3, 3): [3]}
    assert picked(found, np.array([4, 0])).tails.values.tolist() == rows[3, 2] + rows[0, 0]
    known = tails_of(found, np.array([3, 0, 1]), np.array([2, 1, 1]))
    assert [known.row(place).tolist() for place in range(3)] == [[0, 3], [], [0]]


CASES = [(model, 0.25, 0.0 if made.is_distance else 0.5) for model, made in MODELS.items()]


@pytest.mark.parametrize(("model", "regularization", "relation_weight"), CASES)
@pytest.mark.parametrize("chunk_bytes", [2**20, 100])
def test_loss_and_gradients(model, regularization, relation_weight, chunk_bytes):
    random, made = np.random.default_rng(0), MODELS[model]
    vectors = Vectors(
        random.standard_normal((5, made.entity_width(3))),
        random.standard_normal((4, made.relation_width(3))),
    )
    triples = [(0, 0, 1), (0, 0, 3), (1, 1, 0), (2, 3, 2), (4, 0, 4)]
    parts = {"train": np.array(triples), "valid": np.empty((0, 3)), "test": np.empty((0, 3))}
    graph = make_graph(parts, np.array([0, 1, 2, 3]), 5, "")
    batch = link_queries(graph, ("train",))
    slopes = Vectors(*map(np.full_like, vectors, (7.0, 7.0)))
    objective = Objective(regularization, relation_weight)
    found = loss_and_gradients(made, vectors, batch, objective, slopes, chunk_bytes=chunk_bytes)

    def expected():
        return reference_loss(model, *vectors, triples, regularization, relation_weight)

    assert found == pytest.approx(expected(), rel=1e-9)
    for values, gradient in zip(vectors, slopes, strict=True):
        for place in np.ndindex(values.shape):
            kept, ends = values[place], []
            for move in (1e-5, -1e-5):
                values[place] = kept + move
                ends.append(expected())
            values[place] = kept
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-6)


def test_adagrad_divides_by_the_root_of_all_squares():
    value, squares = np.array([1.0], np.float32), np.zeros(1, np.float32)
    for step, gradient in enumerate((3.0, 4.0), 1):
        adagrad(value, np.array([gradient], np.float32), [squares], 0.5, step)
    assert value[0] == pytest.approx(1 - 0.5 * 3 / 3 - 0.5 * 4 / 5)


def test_the_first_step_of_adam_is_the_rate():
    value, memories = np.array([1.0], np.float32), [np.zeros(1, np.float32) for _ in range(2)]
    adam(value, np.array([-3.0], np.float32), memories, 0.1, 1)
    assert value[0] == pytest.approx(1.1, rel=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_training_learns_the_train_triples(model):
    graph = line(valid=())
    task = 0 if MODELS[model].is_distance else 0.5
    settings = SETTINGS | {"model": model, "epochs": 150, "relation_weight": task, "decay": "none"}
    predictor = trained_predictor(train(graph, settings), graph, settings)
    asked = link_queries(graph, ("train",))
    found = scores(predictor, asked.heads, asked.relations)
    reached = found[np.arange(len(found)), asked.tails.values]
    # DistMult scores both directions alike, so that two tails share the first place.
    places = 1 + (found > reached[:, None]).sum(axis=1)
    assert (places <= (2 if model == "distmult" else 1)).mean() >= 0.9


def bytes_of(state: State) -> list[bytes]:
    groups = (state.vectors, state.best, *state.memories)
    return [array.tobytes() for group in groups for array in group]


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_the_result_depends_on_the_seed_and_not_on_the_workers(optimizer):
    settings = SETTINGS | {"optimizer": optimizer}
    first = train(line(), settings)
    assert bytes_of(train(line(), settings)) == bytes_of(first)
    assert bytes_of(train(line(), settings, threads=3)) == bytes_of(first)
    assert bytes_of(train(line(), settings | {"seed": 4})) != bytes_of(first)


def test_the_best_validation_is_kept_and_ends_training_by_patience():
    settings = SETTINGS | {"epochs": 500, "validate_every": 1, "patience": 3, "decay": "none"}
    kept = {}
    state = train(line(), settings, keep=lambda s: kept.update({s.epoch: s.vectors[0].copy()}))
    values = [point["mrr"] for point in state.curve]
    best = int(np.argmax(values))
    assert state.epoch == len(values) == best + 1 + 3
    assert np.array_equal(state.best.entities, kept[best + 1])


def test_without_valid_triples_the_last_epoch_counts():
    state = train(line(valid=()), SETTINGS | {"patience": 1})
    assert state.epoch == SETTINGS["epochs"]
    assert np.array_equal(state.best.entities, state.vectors.entities)
    assert all("mrr" not in point for point in state.curve)


def arguments(folder: Path, settings=SETTINGS) -> dict:
    write_graph(folder / "graph.npz", line())
    paths = {"graph": "graph.npz", "predictor": "p.npz", "curve": "p.json", "checkpoint": "c.npz"}
    given = {f"path_to_{name}": folder / file for name, file in paths.items()}
    return given | {"settings": settings, "predictor": "p"}


@pytest.mark.parametrize("epoch", [2, 6, 12])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_a_killed_training_goes_on_to_the_same_bytes(tmp_path, monkeypatch, epoch, optimizer):
    settings = SETTINGS | {"optimizer": optimizer}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    train_predictor(**arguments(whole, settings))

    def writing(path, state, subject):
        write_state(path, state, subject)
        if state.epoch == epoch:
            raise KeyboardInterrupt

    monkeypatch.setattr("train_predictor.write_state", writing)
    with pytest.raises(KeyboardInterrupt):
        train_predictor(**arguments(parts, settings))
    monkeypatch.undo()
    assert (parts / "c.npz").exists()
    train_predictor(**arguments(parts, settings))
    for name in ("p.npz", "p.json"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    assert not (parts / "c.npz").exists()


KILLED = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from test_training import SETTINGS, arguments, Path
from train_predictor import train_predictor
train_predictor(**arguments(Path(sys.argv[2]), SETTINGS | {"epochs": int(sys.argv[3])}))
"""


def test_a_training_that_is_killed_by_a_signal_leaves_a_checkpoint_that_reads(tmp_path):
    folders = ":".join(str(Path(__file__).parents[1] / name) for name in ("scripts", "tests"))
    command = [sys.executable, "-c", KILLED, folders, str(tmp_path), "100000"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (tmp_path / "c.npz").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    subject = {"graph": line().hash, "settings": SETTINGS | {"epochs": 100000}, "code": ""}
    state = read_state(tmp_path / "c.npz", subject)
    assert state.epoch >= 2
    assert not is_over(state, subject["settings"])
    assert not (tmp_path / "p.npz").exists()


def test_a_checkpoint_of_other_settings_code_or_graph_is_not_used(tmp_path):
    subject = {"graph": "g", "settings": SETTINGS, "code": "a"}
    write_state(tmp_path / "c.npz", train(line(), SETTINGS), subject)
    assert read_state(tmp_path / "c.npz", subject) is not None
    for other in ({"graph": "h"}, {"settings": SETTINGS | {"seed": 4}}, {"code": "b"}):
        assert read_state(tmp_path / "c.npz", subject | other) is None
    assert read_state(tmp_path / "none.npz", subject) is None


def test_a_checkpoint_that_is_cut_in_half_is_refused(tmp_path):
    path = tmp_path / "c.npz"
    write_state(path, train(line(), SETTINGS), {})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    given = arguments(tmp_path)
    with pytest.raises(
        InputError, match=r"c\.npz: not a readable checkpoint .*delete it"
    ) as caught:
        train_predictor(**given)
    assert "\n" not in str(caught.value)


def test_training_that_diverges_says_when_and_keeps_the_last_good_checkpoint(tmp_path):
    settings = SETTINGS | {"optimizer": "adam", "rate": 1e18, "decay": "none", "epochs": 50}
    given = arguments(tmp_path, settings)
    pattern = r"predictor p: training diverges at step \d+ \(epoch \d+\): .*lower rate"
    with np.errstate(all="ignore"), pytest.raises(InputError, match=pattern) as caught:
        train_predictor(**given)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "p.npz").exists()


def test_the_checkpoint_of_a_diverging_training_is_finite(tmp_path, monkeypatch):
    def poisoned(model, vectors, batch, objective, gradients, spread):
        value = loss_and_gradients(model, vectors, batch, objective, gradients, spread)
        poisoned.calls += 1
        return float("nan") if poisoned.calls > 50 else value

    poisoned.calls = 0
    monkeypatch.setattr("clqa.training.loss_and_gradients", poisoned)
    with pytest.raises(InputError, match=r"step 51 .*the loss is nan.*good state is of epoch 4.*c"):
        train_predictor(**arguments(tmp_path))
    subject = {"graph": line().hash, "settings": SETTINGS, "code": ""}
    state = read_state(tmp_path / "c.npz", subject)
    assert state.epoch == 4
    assert all(np.isfinite(array).all() for array in state.vectors)


def test_a_graph_without_train_triples_is_refused():
    none = np.empty((0, 3), np.int32)
    graph = make_graph(dict.fromkeys(("train", "valid", "test"), none), np.array([-1]), 3, "")
    with pytest.raises(InputError, match="no train triples"):
        train(graph, SETTINGS)


def test_the_stage_writes_a_predictor_of_its_graph_and_a_curve(tmp_path):
    train_predictor(**arguments(tmp_path))
    predictor = open_predictor(tmp_path / "p.npz", line())
    curve = json.loads((tmp_path / "p.json").read_text())
    assert [point["epoch"] for point in curve["curve"]] == [2, 4, 6, 8, 10, 12]
    assert predictor.settings == curve["settings"] == SETTINGS
    assert set(predictor.fitted) == {"softmax", "softmax-observed", "sigmoid", "affine"}
    h, r, t = 3, 2, 5
    expected = score(
        "complex", predictor.entities[h], predictor.relations[r], predictor.entities[t]
    )
    found = scores(predictor, np.array([h]), np.array([r]))[0, t]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_fewer_threads_than_the_predictor_asks_for_are_told(tmp_path, caplog):
    train_predictor(**arguments(tmp_path, SETTINGS | {"threads": 2}))
    assert "1 threads, and not the 2 of the predictor: the last digits may differ" in caplog.text
