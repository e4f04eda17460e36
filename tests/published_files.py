"""Small published query sets, written as releases have them, and their way through the stages."""

import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np

from clqa.configs import read_yaml
from clqa.graphs import make_graph, write_graph
from clqa.vocabularies import label_array, vocabulary_hash, write_labels
from download_queries import download_queries
from import_queries import import_shard

SHAPES = read_yaml(Path(__file__).resolve().parents[1] / "config" / "shapes.yaml")
ENTITIES = [f"entity {number}" for number in range(6)]
RELATIONS = ["+likes", "-likes", "+knows", "-knows"]
PUBLISHED = {"counts": {}, "on_bad_shape": "error"}


def write_small_graph(folder, train, valid=(), test=(), labels=(ENTITIES, RELATIONS)):
    """A graph of entities, two relations and their inverses; edges are given one way."""
    entities, relations = map(label_array, labels)
    triples = {}
    for split, edges in (("train", train), ("valid", valid), ("test", test)):
        both = [[(h, r, t), (t, r ^ 1, h)] for h, r, t in edges]
        triples[split] = np.array([edge for pair in both for edge in pair], np.int32).reshape(-1, 3)
    graph = make_graph(
        triples, np.arange(4) ^ 1, len(entities), vocabulary_hash(entities, relations)
    )
    write_graph(folder / "graph.npz", graph)
    write_labels(folder / "entities.tsv", entities)
    write_labels(folder / "relations.tsv", relations)
    return graph


def write_pickles(folder, **contents):
    """Pickles by name; sets of answers become `defaultdict`s as the releases have them."""
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        if isinstance(content, dict) and name not in ("entities", "relations"):
            content = defaultdict(set, content)
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(content, protocol=4))
    return {name: f"{name}.pkl" for name in contents}


def imported(folder, source, files, shapes, layout="beta-e", split="test", graph=None, **options):
    """Run both stages; `folder` has the graph unless `graph` names another.

    `shapes` are names of `SHAPES`, or formulas by name.
    """
    graph = graph or folder
    published = PUBLISHED | options | {"layout": layout, "files": files}
    published["source"] = {"kind": "path", "folder": str(source)}
    download_queries(folder / "source", folder / "receipt.json", published, "toy")
    import_shard(
        path_to_source=folder / "source",
        path_to_graph=graph / "graph.npz",
        path_to_entities=graph / "entities.tsv",
        path_to_relations=graph / "relations.tsv",
        path_to_queries=folder / "queries.parquet",
        path_to_report=folder / "report.json",
        path_to_published=folder / "published.parquet",
        shapes=shapes if isinstance(shapes, dict) else {shape: SHAPES[shape] for shape in shapes},
        published=published,
        split=split,
    )
