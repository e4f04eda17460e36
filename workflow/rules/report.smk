rule explain_examples:
    """Find why the queries of {wildcards.queries} that the report shows have their answers."""
    input:
        queries=lambda wildcards: each_shard(
            rules.sample_queries.output.queries, [wildcards.queries]
        ),
        answers=lambda wildcards: each_shard(
            rules.split_answers.output.answers, [wildcards.queries]
        ),
        graph=graph_of,
        predictors=lambda wildcards: [
            predictor_file(wildcards.queries, model) for model in RUN.over_links()
        ],
    output:
        explanations="results/explanations/{run}/{queries}.json",
    log:
        "results/logs/explain_examples/{run}/{queries}.log",
    group:
        submitted_with("report")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("explain_examples"),
        runtime=minutes("explain_examples"),
    params:
        code=code("explain_examples.py", *map(RUN.method_file, RUN.over_links())),
        split=lambda wildcards: RUN.query_sets[wildcards.queries]["split"],
        shapes=RUN.settings["shapes"],
        models=RUN.over_links(),
    script:
        "../../scripts/explain_examples.py"


rule assemble_report:
    """Put the scores of the run {wildcards.run} into tables, figures and one page."""
    input:
        scores=expand(
            rules.score_answers.output.scores,
            queries=RUN.settings["query_sets"],
            model=RUN.settings["models"],
        ),
        intervals=expand(
            rules.estimate_intervals.output.intervals,
            queries=RUN.settings["query_sets"],
            model=RUN.settings["models"],
        ),
        comparisons=expand(
            rules.compare_models.output.comparisons,
            queries=RUN.settings["query_sets"],
            allow_missing=True,
        ),
        explanations=expand(
            rules.explain_examples.output.explanations,
            queries=RUN.settings["query_sets"],
            allow_missing=True,
        ),
        sets=expand(
            rules.evaluate_sets.output.sets,
            queries=RUN.settings["query_sets"],
            model=RUN.settings["models"],
        ),
        bands=expand(
            rules.evaluate_sets.output.bands,
            queries=RUN.settings["query_sets"],
            model=RUN.settings["models"],
        ),
        answers=each_shard(rules.split_answers.output.answers, RUN.settings["query_sets"]),
        samplings=each_shard(rules.sample_queries.output.report, RUN.settings["query_sets"]),
        queries=each_shard(rules.sample_queries.output.queries, RUN.settings["query_sets"]),
        ranks=expand(
            rules.rank_answers.output.ranks,
            zip,
            queries=[queries for queries, _, _ in RUN.ranked()],
            model=[model for _, model, _ in RUN.ranked()],
            shard=[shard for _, _, shard in RUN.ranked()],
        ),
        entities=expand(rules.build_graph.output.entities, graph=RUN.asked_graphs()),
        relations=expand(rules.build_graph.output.relations, graph=RUN.asked_graphs()),
        audits=expand(rules.audit_queries.output.audit, queries=RUN.settings["query_sets"]),
        summaries=expand(rules.build_graph.output.summary, graph=RUN.asked_graphs()),
        origins=origin_files(),
        references=f"{WORKFLOW}/resources/references.yaml",
        template=f"{WORKFLOW}/report/report.html.j2",
        scripts=expand(
            f"{WORKFLOW}/report/{{name}}.js", name=["tables", "figures", "explorer", "queries"]
        ),
    output:
        report=report(
            "results/runs/{run}/report.html",
            caption="../report/report.rst",
            category="Report",
            subcategory="{run}",
            labels={"result": "page with tables and figures"},
        ),
        metrics=report(
            "results/runs/{run}/metrics.tsv",
            caption="../report/metrics.rst",
            category="Report",
            subcategory="{run}",
            labels={"result": "all numbers, one per line"},
        ),
        tables=report(
            directory("results/runs/{run}/tables"),
            patterns=["{table}.tsv"],
            caption="../report/tables.rst",
            category="Tables",
            subcategory="{run}",
            labels={"table": "{table}"},
        ),
        versions=report(
            "results/runs/{run}/versions.json",
            caption="../report/versions.rst",
            category="Provenance",
            subcategory="{run}",
            labels={"result": "versions of the software"},
        ),
        manifest=report(
            "results/runs/{run}/manifest.json",
            caption="../report/manifest.rst",
            category="Provenance",
            subcategory="{run}",
            labels={"result": "files, protocols and settings"},
        ),
    log:
        "results/logs/assemble_report/{run}.log",
    group:
        submitted_with("report")
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("assemble_report"),
        runtime=minutes("assemble_report"),
    params:
        code=code("assemble_report.py"),
        # What the scores, the answers, the summaries and the ranks are of, in their order.
        scores=RUN.scored(),
        shards=RUN.asked_shards(),
        graphs=RUN.asked_graphs(),
        ranks=RUN.ranked(),
        default=RUN.default_settings,
        run=RUN.protocol(),
        query_sets=RUN.evaluated(),
        partners=RUN.tuned_on(),
        imported=RUN.imported(),
    script:
        "../../scripts/assemble_report.py"
