rule predict_answers:
    """Let {wildcards.model} score all entities for {wildcards.queries}, shard {wildcards.shard}."""
    input:
        graph=graph_of,
        queries=rules.sample_queries.output.queries,
        predictor=predictor_of,
    output:
        predictions=kept("results/predictions/{queries}/{model}/{shard}.npy"),
        sidecar=kept("results/predictions/{queries}/{model}/{shard}.json"),
    log:
        "results/logs/predict_answers/{queries}/{model}/{shard}.log",
    wildcard_constraints:
        model=one_of(OTHER_MODELS),
    group:
        submitted_with("ranking")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=answering_memory,
        runtime=answering_minutes,
    params:
        code=lambda wildcards: code("predict_answers.py", RUN.method_file(wildcards.model)),
        model="{model}",
        method=lambda wildcards: RUN.models[wildcards.model]["method"],
        settings=lambda wildcards: RUN.models[wildcards.model]["settings"],
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
    script:
        "../../scripts/predict_answers.py"


rule predict_oracle:
    """Score {wildcards.queries}, shard {wildcards.shard}, from the answers: the upper bound."""
    input:
        graph=graph_of,
        queries=rules.sample_queries.output.queries,
        answers=rules.split_answers.output.answers,
    output:
        predictions=kept("results/predictions/{queries}/{model}/{shard}.npy"),
        sidecar=kept("results/predictions/{queries}/{model}/{shard}.json"),
    log:
        "results/logs/predict_oracle/{queries}/{model}/{shard}.log",
    wildcard_constraints:
        model=one_of(ORACLES),
    group:
        submitted_with("ranking")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("predict_answers"),
        runtime=minutes("predict_answers"),
    params:
        code=lambda wildcards: code("predict_answers.py", RUN.method_file(wildcards.model)),
        model="{model}",
        method=lambda wildcards: RUN.models[wildcards.model]["method"],
        settings=lambda wildcards: RUN.models[wildcards.model]["settings"],
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
    script:
        "../../scripts/predict_answers.py"


rule import_predictions:
    """Take the scores of {wildcards.model} for {wildcards.queries}, {wildcards.shard}, from files."""
    input:
        unpack(score_files),
        queries=rules.sample_queries.output.queries,
        graph_entities=lambda wildcards: graph_of(wildcards, "entities"),
        graph_relations=lambda wildcards: graph_of(wildcards, "relations"),
    output:
        predictions=kept("results/predictions/{queries}/{model}/{shard}.npy"),
        sidecar=kept("results/predictions/{queries}/{model}/{shard}.json"),
    log:
        "results/logs/import_predictions/{queries}/{model}/{shard}.log",
    wildcard_constraints:
        model=one_of(RUN.outside(bounded=False)),
    group:
        submitted_with("ranking")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("import_predictions"),
        runtime=minutes("import_predictions"),
    params:
        code=code("import_predictions.py"),
        model="{model}",
        entry=lambda wildcards: RUN.models[wildcards.model],
        missing=RUN.settings["missing"],
        files=outside_files,
        absent=absent_files,
    script:
        "../../scripts/import_predictions.py"


rule import_lists:
    """Take the lists of {wildcards.model} for {wildcards.queries}, {wildcards.shard}, from files."""
    input:
        unpack(score_files),
        queries=rules.sample_queries.output.queries,
        graph_entities=lambda wildcards: graph_of(wildcards, "entities"),
        graph_relations=lambda wildcards: graph_of(wildcards, "relations"),
    output:
        predictions=kept("results/predictions/{queries}/{model}/{shard}.parquet"),
        sidecar=kept("results/predictions/{queries}/{model}/{shard}.json"),
    log:
        "results/logs/import_lists/{queries}/{model}/{shard}.log",
    wildcard_constraints:
        model=one_of(RUN.outside(bounded=True)),
    group:
        submitted_with("ranking")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("import_predictions"),
        runtime=minutes("import_predictions"),
    params:
        code=code("import_lists.py"),
        model="{model}",
        entry=lambda wildcards: RUN.models[wildcards.model],
        missing=RUN.settings["missing"],
        files=outside_files,
        absent=absent_files,
    script:
        "../../scripts/import_lists.py"
