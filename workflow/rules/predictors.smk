rule train_predictor:
    """Train {wildcards.predictor} on the train triples of {wildcards.graph}."""
    input:
        graph=rules.build_graph.output.graph,
    output:
        predictor="results/predictors/{graph}/{predictor}.npz",
        curve="results/predictors/{graph}/{predictor}.json",
    log:
        "results/logs/train_predictor/{graph}/{predictor}.log",
    wildcard_constraints:
        predictor=one_of(sorted(set(RUN.predictors) - set(RUN.imported()))),
    cache: SHARED
    conda:
        "../../envs/clqa.yaml"
    threads: lambda wildcards: RUN.training(wildcards.predictor)["threads"]
    resources:
        mem_mb=training_memory,
        runtime=training_minutes,
    params:
        code=code("train_predictor.py"),
        settings=lambda wildcards: RUN.training(wildcards.predictor),
        graph="{graph}",
        predictor="{predictor}",
        # Beside the results, so that a killed job does not lose it.
        checkpoint="results/checkpoints/{graph}/{predictor}.npz",
    script:
        "../../scripts/train_predictor.py"


rule import_predictor:
    """Take the embeddings of {wildcards.predictor} for {wildcards.graph} from files."""
    input:
        unpack(lambda wildcards: RUN.embedding_files(wildcards.predictor)),
        graph=rules.build_graph.output.graph,
        graph_entities=rules.build_graph.output.entities,
        graph_relations=rules.build_graph.output.relations,
    output:
        predictor="results/predictors/{graph}/{predictor}.npz",
        curve="results/predictors/{graph}/{predictor}.json",
    log:
        "results/logs/import_predictor/{graph}/{predictor}.log",
    wildcard_constraints:
        predictor=one_of(RUN.imported()),
    cache: SHARED
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("import_predictor"),
        runtime=minutes("import_predictor"),
    params:
        code=code("import_predictor.py"),
        entry=lambda wildcards: RUN.predictors[wildcards.predictor],
        graph="{graph}",
        predictor="{predictor}",
    script:
        "../../scripts/import_predictor.py"


rule evaluate_predictor:
    """Rank the valid and test triples of {wildcards.graph} by {wildcards.predictor}."""
    input:
        graph=rules.build_graph.output.graph,
        predictor=rules.train_predictor.output.predictor,
    output:
        metrics="results/predictors/{graph}/{predictor}.metrics.json",
    log:
        "results/logs/evaluate_predictor/{graph}/{predictor}.log",
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("evaluate_predictor"),
        runtime=minutes("evaluate_predictor"),
    params:
        code=code("evaluate_predictor.py"),
    script:
        "../../scripts/evaluate_predictor.py"
