"""Take the embeddings of a link predictor from files that were made elsewhere."""

from clqa.calibrations import fitted_parameters
from clqa.embedding_files import ordered_entities, ordered_relations, read_matrix
from clqa.embeddings import MODELS
from clqa.errors import placed
from clqa.files import sha256_of, write_json
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.predictors import make_predictor, write_predictor
from clqa.vocabularies import graph_labels


def import_predictor(
    path_to_graph,
    path_to_graph_entities,
    path_to_graph_relations,
    path_to_entities,
    path_to_relations,
    path_to_predictor,
    path_to_curve,
    entry,
    predictor,
    path_to_entity_labels=None,
    path_to_relation_labels=None,
):
    """Write a predictor in the order of the graph, and what it was made from."""
    graph = read_graph(path_to_graph, ("train", "valid"))
    paths = path_to_graph_entities, path_to_graph_relations
    entity_names, relation_names = graph_labels(*paths, graph.vocabulary)
    imported = entry["imported"]
    with placed(f"predictor {predictor}"):
        found = read_matrix(path_to_entities, imported["entities"].get("array"))
        entities = ordered_entities(found, path_to_entity_labels, entity_names, path_to_entities)
        found = read_matrix(path_to_relations, imported["relations"].get("array"))
        relations = ordered_relations(
            found,
            path_to_relation_labels,
            relation_names,
            path_to_relations,
            graph,
            MODELS[entry["model"]],
            imported["reciprocal"],
        )
        files = {"entities": path_to_entities, "relations": path_to_relations}
        settings = {key: sha256_of(path) for key, path in files.items()}
        settings |= {"model": entry["model"], "reciprocal": imported["reciprocal"]}
        made = make_predictor(entry["model"], entities, relations, settings, graph)
    made = made._replace(fitted=fitted_parameters(made, graph))
    write_predictor(path_to_predictor, made)
    about = {"predictor": predictor, "graph": graph.hash, "settings": settings}
    write_json(path_to_curve, about | {"fitted": made.fitted, "curve": []})


if __name__ == "__main__":
    log_to(snakemake.log[0])
    import_predictor(
        path_to_graph=snakemake.input.graph,
        path_to_graph_entities=snakemake.input.graph_entities,
        path_to_graph_relations=snakemake.input.graph_relations,
        path_to_entities=snakemake.input.entities,
        path_to_relations=snakemake.input.relations,
        path_to_predictor=snakemake.output.predictor,
        path_to_curve=snakemake.output.curve,
        entry=snakemake.params.entry,
        predictor=snakemake.params.predictor,
        path_to_entity_labels=snakemake.input.get("entity_labels"),
        path_to_relation_labels=snakemake.input.get("relation_labels"),
    )
