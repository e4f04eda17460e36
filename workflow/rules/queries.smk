rule sample_queries:
    """Draw the queries of {wildcards.queries}, shard {wildcards.shard}, from its graph."""
    input:
        graph=graph_of,
    output:
        queries="results/queries/{queries}/{shard}.parquet",
        report="results/queries/{queries}/{shard}.json",
    log:
        "results/logs/sample_queries/{queries}/{shard}.log",
    wildcard_constraints:
        queries=one_of(SAMPLED),
    cache: SHARED
    group:
        submitted_with("queries")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("sample_queries"),
        runtime=minutes("sample_queries"),
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


rule download_queries:
    """Fetch the published files of {wildcards.queries} and verify their checksums."""
    input:
        lambda wildcards: RUN.local_queries(wildcards.queries),
    output:
        source=directory("results/published/{queries}/source"),
        receipt="results/published/{queries}/receipt.json",
    log:
        "results/logs/download_queries/{queries}.log",
    wildcard_constraints:
        queries=one_of(PUBLISHED),
    cache: "omit-software" if SHARED else False
    localrule: True
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("download"),
        runtime=minutes("download"),
    params:
        code=code("download_queries.py"),
        published=lambda wildcards: RUN.query_sets[wildcards.queries]["published"],
        queries="{queries}",
        folder=lambda wildcards: RUN.folder_of_published(wildcards.queries),
    script:
        "../../scripts/download_queries.py"


rule import_queries:
    """Read the published queries of {wildcards.queries}, shard {wildcards.shard}, and check them."""
    input:
        # The receipt tells whether the files are others; a folder has a time, but no content.
        receipt=rules.download_queries.output.receipt,
        source=ancient(rules.download_queries.output.source),
        graph=graph_of,
        entities=lambda wildcards: graph_of(wildcards, "entities"),
        relations=lambda wildcards: graph_of(wildcards, "relations"),
    output:
        queries="results/queries/{queries}/{shard}.parquet",
        report="results/queries/{queries}/{shard}.json",
        published="results/published/{queries}/{shard}.parquet",
    log:
        "results/logs/import_queries/{queries}/{shard}.log",
    wildcard_constraints:
        queries=one_of(PUBLISHED),
    cache: SHARED
    group:
        submitted_with("queries")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("import_queries"),
        runtime=minutes("import_queries"),
    params:
        code=code("import_queries.py"),
        shapes=lambda wildcards: RUN.formulas(wildcards.queries, wildcards.shard),
        published=lambda wildcards: RUN.reading(wildcards.queries, wildcards.shard),
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
        queries="{queries}",
        shard="{shard}",
    script:
        "../../scripts/import_queries.py"


rule split_answers:
    """Find the easy, hard and retracted answers of {wildcards.queries}, shard {wildcards.shard}."""
    input:
        graph=graph_of,
        queries=rules.sample_queries.output.queries,
    output:
        answers="results/answers/{queries}/{shard}.parquet",
    log:
        "results/logs/split_answers/{queries}/{shard}.log",
    cache: SHARED
    group:
        submitted_with("queries")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("split_answers"),
        runtime=minutes("split_answers"),
    params:
        code=code("split_answers.py"),
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
        max_bindings=lambda wildcards: RUN.max_bindings(wildcards.queries),
        queries="{queries}",
        shard="{shard}",
    script:
        "../../scripts/split_answers.py"


rule audit_queries:
    """Look into {wildcards.queries}; hold published answers against those that the graph gives."""
    input:
        queries=lambda wildcards: each_shard(
            rules.sample_queries.output.queries, [wildcards.queries]
        ),
        answers=lambda wildcards: each_shard(
            rules.split_answers.output.answers, [wildcards.queries]
        ),
        published=lambda wildcards: each_shard(
            rules.import_queries.output.published, RUN.published([wildcards.queries])
        ),
        graph=graph_of,
        entities=lambda wildcards: graph_of(wildcards, "entities"),
        relations=lambda wildcards: graph_of(wildcards, "relations"),
    output:
        audit=report(
            "results/audits/{queries}.json",
            caption="../report/audits.rst",
            category="Query sets",
            subcategory="{queries}",
            labels={"result": "audit"},
        ),
    log:
        "results/logs/audit_queries/{queries}.log",
    group:
        submitted_with("report")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("audit_queries"),
        runtime=minutes("audit_queries"),
    params:
        code=code("audit_queries.py"),
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
        queries="{queries}",
    script:
        "../../scripts/audit_queries.py"
