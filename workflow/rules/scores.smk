rule rank_answers:
    """Rank the hard answers of {wildcards.queries}, shard {wildcards.shard}, by {wildcards.model}."""
    input:
        # The sidecar has the digest of the matrix, which is too large to be read to see a change.
        predictions=ancient(lambda wildcards: scored_by(wildcards)["predictions"]),
        sidecar=lambda wildcards: scored_by(wildcards)["sidecar"],
        answers=rules.split_answers.output.answers,
        queries=rules.sample_queries.output.queries,
        graph=graph_of,
    output:
        ranks="results/ranks/{queries}/{model}/{shard}.parquet",
        tops="results/tops/{queries}/{model}/{shard}.parquet",
    log:
        "results/logs/rank_answers/{queries}/{model}/{shard}.log",
    group:
        submitted_with("ranking")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("rank_answers"),
        runtime=minutes("rank_answers"),
    params:
        code=code("rank_answers.py"),
        depth=RUN.settings["depth"],
        candidates=RUN.settings["candidates"],
        filters=RUN.further_filters(),
        missing=RUN.settings["missing"],
        bound=lambda wildcards: RUN.models[wildcards.model].get("bound"),
    script:
        "../../scripts/rank_answers.py"


rule score_answers:
    """Compute the metrics of {wildcards.model} for each query of {wildcards.queries}."""
    input:
        ranks=lambda wildcards: each_shard(
            rules.rank_answers.output.ranks, [wildcards.queries], model=wildcards.model
        ),
        answers=lambda wildcards: each_shard(
            rules.split_answers.output.answers, [wildcards.queries]
        ),
        queries=lambda wildcards: each_shard(
            rules.sample_queries.output.queries, [wildcards.queries]
        ),
        graph=graph_of,
        relations=lambda wildcards: graph_of(wildcards, "relations"),
    output:
        scores="results/scores/{queries}/{model}.parquet",
    log:
        "results/logs/score_answers/{queries}/{model}.log",
    group:
        submitted_with("scoring")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("score_answers"),
        runtime=minutes("score_answers"),
    params:
        code=code("score_answers.py"),
        metrics=RUN.settings["metrics"],
        ties=RUN.settings["ties"],
        filters=RUN.competitions(),
        strata=RUN.settings["strata"],
    script:
        "../../scripts/score_answers.py"


rule estimate_intervals:
    """Estimate how sure the averages of {wildcards.model} on {wildcards.queries} are."""
    input:
        scores=rules.score_answers.output.scores,
    output:
        intervals="results/intervals/{queries}/{model}.parquet",
    log:
        "results/logs/estimate_intervals/{queries}/{model}.log",
    group:
        submitted_with("scoring")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("estimate_intervals"),
        runtime=minutes("estimate_intervals"),
    params:
        code=code("estimate_intervals.py"),
        seed=RUN.settings["seed"],
        draws=RUN.settings["intervals"]["draws"],
        level=RUN.settings["intervals"]["level"],
    script:
        "../../scripts/estimate_intervals.py"


rule compare_models:
    """Compare the models of the run {wildcards.run} on {wildcards.queries}, query by query."""
    input:
        scores=expand(rules.score_answers.output.scores, model=RUN.compared(), allow_missing=True),
    output:
        comparisons="results/comparisons/{run}/{queries}.parquet",
    log:
        "results/logs/compare_models/{run}/{queries}.log",
    group:
        submitted_with("report")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("compare_models"),
        runtime=minutes("compare_models"),
    params:
        code=code("compare_models.py"),
        models=RUN.compared(),
        bases=RUN.seeds,
        score=RUN.primary_score(),
        seed=RUN.settings["seed"],
    script:
        "../../scripts/compare_models.py"


rule evaluate_sets:
    """Evaluate the answer sets of {wildcards.model} on {wildcards.queries}."""
    input:
        tops=lambda wildcards: each_shard(
            rules.rank_answers.output.tops, [wildcards.queries], model=wildcards.model
        ),
        answers=lambda wildcards: each_shard(
            rules.split_answers.output.answers, [wildcards.queries]
        ),
        queries=lambda wildcards: each_shard(
            rules.sample_queries.output.queries, [wildcards.queries]
        ),
        tuning_tops=lambda wildcards: each_shard(
            rules.rank_answers.output.tops,
            RUN.tuning_sets(wildcards.queries),
            model=wildcards.model,
        ),
        tuning_answers=lambda wildcards: each_shard(
            rules.split_answers.output.answers, RUN.tuning_sets(wildcards.queries)
        ),
        graph=graph_of,
        relations=lambda wildcards: graph_of(wildcards, "relations"),
    output:
        sets="results/sets/{queries}/{model}/sets.parquet",
        bands="results/sets/{queries}/{model}/bands.parquet",
        counts="results/sets/{queries}/{model}/queries.parquet",
    log:
        "results/logs/evaluate_sets/{queries}/{model}.log",
    group:
        submitted_with("scoring")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("evaluate_sets"),
        runtime=minutes("evaluate_sets"),
    params:
        code=code("evaluate_sets.py"),
        sets=RUN.settings["sets"],
        truths=RUN.settings["truths"],
        beta=RUN.settings["beta"],
        strata=RUN.settings["strata"],
        seed=RUN.settings["seed"],
        draws=RUN.settings["intervals"]["draws"],
        level=RUN.settings["intervals"]["level"],
    script:
        "../../scripts/evaluate_sets.py"
