"""Write the scores of a trained model in a form that clqa reads.

Copy this file into your own code base. It needs numpy alone; tensors of PyTorch may be handed in as
they are. Wherever your code has the scores of some queries for all entities, add them:

    from write_dump import Dump

    with Dump("betae/fb15k-237-test") as dump:
        for queries, scores in ...:  # nested tuples such as (5, (0, 3)), and (n, n_entities)
            dump.add(queries, scores)

which writes betae/fb15k-237-test.npy and .json. With Dump(path, best=100) only the 100 best
entities of each query are kept, in .npz and .json. Higher scores are better. To try it with random
scores:

    python write_dump.py test-queries.pkl N_ENTITIES betae/fb15k-237-test [BEST]
"""

import json
import pickle
import sys
from pathlib import Path

import numpy as np


class Dump:
    """Scores of queries, added batch by batch in any order; each query once."""

    def __init__(self, path, best=None):
        self.path, self.best = Path(path), best
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.queries, self.lists, self.n_entities = [], [], 0
        self.stream = None if best else self._file(".npy").open("wb")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.close()

    def add(self, queries, scores):
        """Add scores (n, n_entities) of n queries, each a nested tuple of ids."""
        if hasattr(scores, "detach"):  # a tensor
            scores = scores.detach().float().cpu().numpy()
        scores = np.ascontiguousarray(scores, np.float32)
        self.n_entities = self.n_entities or scores.shape[1]
        if scores.shape != (len(queries), self.n_entities):
            raise ValueError(f"scores {scores.shape} of {len(queries)} queries")
        if self.stream:
            if not self.queries:
                self.stream.write(_header((0, 0)))
            self.stream.write(scores.tobytes())
        else:
            self.lists += [_best(row, self.best) for row in scores]
        self.queries += queries

    def close(self):
        """Write what names the rows; without it the scores are worth nothing."""
        if self.stream:
            self.stream.seek(0)
            self.stream.write(_header((len(self.queries), self.n_entities)))
            self.stream.close()
        else:
            names = "entities", "scores", "n_tied_at_cut"
            columns = zip(*self.lists, strict=True)
            arrays = {name: np.array(one) for name, one in zip(names, columns, strict=True)}
            np.savez(self._file(".npz"), **arrays)
        self._file(".json").write_text(json.dumps({"queries": self.queries}, default=int))

    def _file(self, suffix):
        return self.path.with_name(self.path.name + suffix)


def _header(shape):
    """The first 128 bytes of a .npy file of float32."""
    about = repr({"descr": "<f4", "fortran_order": False, "shape": shape})
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + about.ljust(117).encode() + b"\n"


def _best(row, k):
    """The k best entities, their scores, and how many of all entities score as the last of them."""
    kept = np.argsort(-row, kind="stable")[:k]
    return kept.astype(np.int32), row[kept], int(np.sum(row == row[kept[-1]]))


def random_scores(queries, n_entities):
    """Stands for your model."""
    return np.random.default_rng(0).standard_normal((len(queries), n_entities), np.float32)


def main(path_to_queries, n_entities, path, best=None):
    """Score all queries of a BetaE file: a dict from structures to sets of queries."""
    with open(path_to_queries, "rb") as stream:
        queries_by_structure = pickle.load(stream)
    with Dump(path, best and int(best)) as dump:
        for queries in queries_by_structure.values():
            queries = sorted(queries)
            dump.add(queries, random_scores(queries, int(n_entities)))


if __name__ == "__main__":
    main(*sys.argv[1:])
