rule sample_queries:
    """Draw the queries of {wildcards.queries}, shard {wildcards.shard}, from its graph."""
    input:
        graph=graph_of,
    output:
        queries="results/queries/{queries}/{shard}.parquet",
        report="results/queries/{queries}/{shard}.json",
    log:
        "results/logs/sample_queries/{queries}/{shard}.log",
    cache: True
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(120),
    params:
        code=code("sample_queries.py"),
        shapes=lambda wildcards: RUN.formulas(wildcards.queries, wildcards.shard),
        sampling=lambda wildcards: RUN.query_sets[wildcards.queries]["sampling"],
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
        seed=lambda wildcards: RUN.query_sets[wildcards.queries]["seed"],
        queries="{queries}",
        shard="{shard}",
    script:
        "../../scripts/sample_queries.py"


rule split_answers:
    """Find the easy, hard and retracted answers of {wildcards.queries}, shard {wildcards.shard}."""
    input:
        graph=graph_of,
        queries=rules.sample_queries.output.queries,
    output:
        answers="results/answers/{queries}/{shard}.parquet",
    log:
        "results/logs/split_answers/{queries}/{shard}.log",
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(120),
    params:
        code=code("split_answers.py"),
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
    script:
        "../../scripts/split_answers.py"
