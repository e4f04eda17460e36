# What is told of a run that has failed.
import shutil
import sys


def partial_folder(job):
    """Where the numbers are of a run whose report could not be assembled."""
    return os.path.join(os.path.dirname(job.output.report), "partial")


def report_what_exists(job, workflow):
    """Put the scores that there are on a page, in place of the report that `job` was to make."""
    from assemble_partial import Paths, assemble_partial
    from clqa.unfinished_jobs import failed_shapes, unfinished

    shards, graphs = RUN.asked_shards(), RUN.asked_graphs()
    folder = partial_folder(job)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        missing = assemble_partial(
            Paths(
                scores=dict(zip(RUN.scored(), job.input.scores)),
                ranks=dict(zip(RUN.ranked(), job.input.ranks)),
                answers=dict(zip(shards, job.input.answers)),
                queries=dict(zip(shards, job.input.queries)),
                graphs=dict(zip(graphs, expand(rules.build_graph.output.graph, graph=graphs))),
                relations=dict(zip(graphs, job.input.relations)),
            ),
            lacking=unfinished(workflow.dag, workflow.scheduler.failed),
            failed=failed_shapes(workflow.dag),
            formulas={shard: RUN.formulas(*shard) for shard in shards},
            models=RUN.models,
            run=RUN.protocol(),
            query_sets=RUN.evaluated(),
            path_to_template=f"{WORKFLOW}/report/partial.html.j2",
            path_to_folder=folder,
        )
    except Exception as error:  # which is not to hide what has failed
        print(f"no partial report: {type(error).__name__}: {error}", file=sys.stderr)
        return
    for one in missing:
        if one.cause.has_failed:
            shapes = one.shapes.split(", ")
            shapes = one.shapes if len(shapes) <= 20 else f"{len(shapes)} shapes"
            about = f"{one.models} on {one.queries} ({shapes})"
            print(f"missing: {about}: {one.cause.rule}: {one.cause.message}", file=sys.stderr)
    if os.path.exists(folder):
        print(f"partial report: {folder}/report.html", file=sys.stderr)


def try_again(workflow):
    """Have the next run make those shards anew of which shapes have failed."""
    from clqa.unfinished_jobs import remove_partial

    try:
        removed = remove_partial(workflow.dag)
    except OSError as error:  # which is not to hide what has failed
        removed = []
        print(f"ranks that lack shapes stay: {error}", file=sys.stderr)
    if removed:
        more = f" and {len(removed) - 3} more" if len(removed) > 3 else ""
        print(
            f"removed, for the next run to try again, as they lack shapes that failed:"
            f" {', '.join(removed[:3])}{more}",
            file=sys.stderr,
        )
