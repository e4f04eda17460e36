# Which files the rules of predictions read, which of theirs are kept, and what a run ends with.
import itertools
import os
import shutil

from clqa.node_files import VARIABLE

# Only what is removed after use may stay on a disk of the node.
if RUN.settings["keep_predictions"]:
    os.environ.pop(VARIABLE, None)


def kept(path):
    """Predictions, to keep or to remove after ranking."""
    return path if RUN.settings["keep_predictions"] else temp(path)


def predictor_of(wildcards):
    """The link predictor over whose links a model answers, if it does."""
    return predictor_file(wildcards.queries, wildcards.model)


def predictor_file(queries, model):
    """The link predictor of a model on the graph of a query set, if the model has one."""
    graph, name = RUN.query_sets[queries]["graph"], RUN.predictor_of(model)
    found = expand(rules.train_predictor.output.predictor, graph=graph, predictor=name)
    return found[0] if name else []


def scored_by(wildcards):
    """What ranks are made of: a matrix of scores, or lists that are cut."""
    model = RUN.models[wildcards.model]
    source = rules.import_lists if "bound" in model else rules.predict_answers
    names = {**wildcards, "model": model.get("lists", wildcards.model)}
    return {key: expand(source.output[key], **names)[0] for key in ("predictions", "sidecar")}


def score_files(wildcards):
    """The user's own files that a model's scores for a shard are in.

    If jobs may fail, one that is not there stops no job of other models: its own job tells of it.
    What has been imported is kept without its files.
    """
    files = outside_files(wildcards)
    imported = os.path.exists(
        "results/predictions/{queries}/{model}/{shard}.json".format(**wildcards)
    )
    may_fail = workflow.execution_settings.keep_going and not imported
    absent = absent_files(wildcards) if may_fail else []
    return {
        key: [path for path in paths if path not in absent] if isinstance(paths, list) else paths
        for key, paths in files.items()
        if paths not in absent
    }


def outside_files(wildcards):
    """All of them, whether they are there or not."""
    return RUN.score_files(wildcards.model, wildcards.queries, wildcards.shard)


def absent_files(wildcards):
    """Those of them that are not there."""
    files = outside_files(wildcards).values()
    paths = [path for one in files for path in ([one] if isinstance(one, str) else one)]
    return [path for path in paths if not os.path.exists(path)]


def own_files():
    """The user's own files of the run: whose they are, the path, and what is made of them.

    For graphs and query sets that is the receipt of their files, for scores their ranks.
    """
    for graph in RUN.asked_graphs():
        made = expand(rules.download_graph.output.receipt, graph=graph)[0]
        yield from ((f"graph {graph}", path, made) for path in RUN.local_files(graph))
    for queries in RUN.published(RUN.evaluated()):
        made = expand(rules.download_queries.output.receipt, queries=queries)[0]
        yield from ((f"query set {queries}", path, made) for path in RUN.local_queries(queries))
    for queries, model, shard in RUN.ranked():
        name = RUN.models[model].get("lists", model)
        if "imported" in RUN.models[name]:
            made = expand(
                rules.rank_answers.output.ranks, queries=queries, model=model, shard=shard
            )[0]
            files = RUN.score_files(name, queries, shard).values()
            for path in itertools.chain(*([one] if isinstance(one, str) else one for one in files)):
                yield f"model {name}", path, made


def was_taken(path, made):
    """Whether a file that is not there was among those that something was made of.

    Of a file of scores that is not known: something was made of the model.
    """
    from clqa.receipts import received_as

    is_receipt = os.path.basename(made) == "receipt.json"
    return received_as(made, Path(path)) is not None if is_receipt else os.path.exists(made)


def files_of_the_run(wildcards):
    """The report, and the answers of sampled query sets on which the run may be tuned.

    Snakemake takes what was made before for whole where a file of the user's own is not there any
    more, which is told. Where nothing was made of it, it would take a report without it for the one
    that is asked for, which is refused.
    """
    page = expand(rules.assemble_report.output.report, run=RUN.settings["name"])
    absent = [one for one in dict.fromkeys(own_files()) if not os.path.exists(one[1])]
    for what, path, made in absent:
        may_fail = what.startswith("model ") and workflow.execution_settings.keep_going
        if not (was_taken(path, made) or may_fail):
            raise WorkflowError(f"{what}: {path}: no such file; put it there, or leave it out")
    for what, path in dict.fromkeys(one[:2] for one in absent if was_taken(*one[1:])):
        kept = "what was made of it before is taken as it is"
        print(f"warning: {what}: {path}: no such file; {kept}", file=sys.stderr)
    return [*page, *each_shard(rules.split_answers.output.answers, RUN.partners(published=False))]


def origin_files():
    """What the numbers of the run go back to, beside the tables that its report is made from."""
    query_sets = [*RUN.settings["query_sets"], *RUN.tuned_on()]
    graphs = [*rules.build_graph.output, rules.download_graph.output.receipt]
    ranked = [*rules.rank_answers.output]
    published = [name for name in query_sets if name in PUBLISHED]
    predictors = {
        predictor_file(queries, model)
        for queries in query_sets
        for model in RUN.settings["models"]
        if RUN.predictor_of(model)
    }
    return [
        *expand(graphs, graph=RUN.asked_graphs()),
        *expand(rules.download_queries.output.receipt, queries=published),
        *each_shard(rules.import_queries.output.published, published),
        *each_shard(rules.sample_queries.output.queries, query_sets),
        *each_shard(rules.split_answers.output.answers, query_sets),
        *sorted(predictors),
        *each_shard(ranked, query_sets, model=RUN.settings["models"]),
    ]


def summarize(output):
    """Print the averages of a run that has just been made, and where its report is."""
    from clqa.inventories import repeated_triples, sampling_table, shortfalls
    from clqa.run_summaries import run_summary, told_repetitions, told_shortfalls

    samplings = {
        (queries, shard): rules.sample_queries.output.report.format(queries=queries, shard=shard)
        for queries, shard in RUN.asked_shards()
    }
    asked = RUN.settings["query_sets"], RUN.settings["shapes"]
    short = shortfalls(sampling_table(samplings, *asked))
    summary = rules.build_graph.output.summary
    repeated = repeated_triples({g: summary.format(graph=g) for g in RUN.asked_graphs()})
    told = [*told_repetitions(repeated.rows), *told_shortfalls(short)]
    width = shutil.get_terminal_size((100, 24)).columns
    print("", *run_summary(Path(output.tables) / "overview.tsv", width), "", sep="\n")
    print(*told, f"report: {output.report}", sep="\n")
