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
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(120),
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
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(120),
    params:
        code=lambda wildcards: code("predict_answers.py", RUN.method_file(wildcards.model)),
        model="{model}",
        method=lambda wildcards: RUN.models[wildcards.model]["method"],
        settings=lambda wildcards: RUN.models[wildcards.model]["settings"],
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
    script:
        "../../scripts/predict_answers.py"
