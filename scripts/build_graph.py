"""Build a graph with one vocabulary for all splits from its source files."""

import os

from clqa.degree_files import read_vectors
from clqa.errors import InputError, placed
from clqa.files import write_sealed
from clqa.graph_entries import APART, DICTIONARIES, complete_entry, observed_parts, vectors_of
from clqa.graph_summaries import check_facts, graph_summary, source_summary
from clqa.graphs import SPLITS, candidates, make_graph, parts_of, write_graph
from clqa.inverses import with_inverses
from clqa.logs import log_to
from clqa.numberings import (
    counted,
    in_labels,
    in_order,
    numbered,
    numbered_by,
    refuse_unseen,
    unseen_in_train,
    without,
)
from clqa.receipts import received
from clqa.triples import read_fields
from clqa.vocabularies import read_labels, vocabulary_hash, write_labels


def build_graph(
    path_to_source: str | os.PathLike,
    entry: dict,
    graph: str,
    path_to_graph: str | os.PathLike,
    path_to_entities: str | os.PathLike,
    path_to_relations: str | os.PathLike,
    path_to_summary: str | os.PathLike,
) -> None:
    """Turn the folder that `download_graph` filled into ids, labels and a summary.

    Raises
    ------
    InputError
        If a file is not the one of the receipt, cannot be read as the entry says, or the graph
        is not what the entry's facts say.
    """
    entry = complete_entry(graph, entry)
    files, names, receipt = received(path_to_source)
    observed = observed_parts(entry)
    paths = {part: files[part] for part in parts_of(observed)}
    read = in_order(read_fields(paths, names=names), entry["columns"])
    read, dictionaries, fields = _with_dictionaries(read, files, names, receipt, entry)
    if not len(read.codes["train"]):
        raise InputError(f"{names['train']}: holds no triples")
    unseen = unseen_in_train(read)
    if entry["unseen"] == "error":
        with placed(f"graph {graph}"):
            refuse_unseen(unseen)
    dropped = unseen.lines if entry["unseen"] == "drop" else {}
    if entry["ids"] in ("given", "numbers"):
        triples = numbered_by(read, *dictionaries, fields, names)
        triples = triples._replace(triples=without(dropped, triples.triples))
    else:
        triples = numbered(read._replace(codes=without(dropped, read.codes)), entry["ids"])
    with placed(f"graph {graph}"):
        directed = with_inverses(triples, entry["inverses"])
    vocabulary = vocabulary_hash(triples.entities, directed.relations)
    vectors = {vector: files[vector] for vector in vectors_of(entry)}
    built = make_graph(
        directed.triples,
        directed.inverse,
        len(triples.entities),
        vocabulary,
        observed,
        restricted=entry.get("candidates") == "observed",
        degrees=read_vectors(vectors, names, triples.entities, entry.get("default_degrees", {})),
    )
    with placed(f"graph {graph}"):
        for split in SPLITS:
            if len(built.triples[split]):
                candidates(built, split)
    summary = {"name": graph} | source_summary(entry, receipt)
    summary |= graph_summary(read, unseen, entry, directed.is_forward, built)
    check_facts(graph, entry.get("facts") or {}, summary)
    write_graph(path_to_graph, built)
    write_labels(path_to_entities, triples.entities)
    write_labels(path_to_relations, directed.relations)
    write_sealed(path_to_summary, summary)


def _with_dictionaries(read, files, names, receipt, entry):
    """The fields, the labels of entities and of relations if they are given, what fields are."""
    labels = {
        role: read_labels(files[role], names[role], receipt["files"][role].get("key"))
        for role in ("entities", "relations", "test_entities")
        if role in files
    }
    fields = entry["fields"]
    if "test_entities" in labels:
        dictionaries = (labels["entities"], labels["test_entities"], labels["relations"])
        read, labels["entities"] = in_labels(read, dictionaries, APART, names)
        fields = "labels"
    if entry["ids"] == "numbers":
        for kind in DICTIONARIES:
            labels[kind] = labels[kind] if kind in labels else counted(read, kind, names)
    return read, [labels.get(kind) for kind in DICTIONARIES], fields


if __name__ == "__main__":
    log_to(snakemake.log[0])
    build_graph(
        path_to_source=snakemake.input.source,
        entry=snakemake.params.entry,
        graph=snakemake.params.graph,
        path_to_graph=snakemake.output.graph,
        path_to_entities=snakemake.output.entities,
        path_to_relations=snakemake.output.relations,
        path_to_summary=snakemake.output.summary,
    )
