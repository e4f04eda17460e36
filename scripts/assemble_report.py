"""Put the scores of a run into metrics, tables and one page."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clqa.answer_sizes import answer_sizes, answers_hash, shape_hashes
from clqa.audit_tables import audit_table, audit_view, read_audit, reduction_table
from clqa.comparison_tables import comparison_inventory, comparison_view, read_comparisons
from clqa.competitions import competitions
from clqa.explanation_files import read_explanations
from clqa.explorer import explorer
from clqa.files import sha256_of, write_json
from clqa.interval_tables import read_intervals
from clqa.inventories import (
    check_samplings,
    graph_hashes,
    graph_table,
    repeated_triples,
    sampling_table,
)
from clqa.logs import log_to
from clqa.manifests import manifest, manifest_files, versions
from clqa.page_data import query_data
from clqa.page_scripts import inline_json, inline_scripts, plotting_library
from clqa.pages import page, section, stratum_label, write_page
from clqa.reference_tables import comparisons, reference_table
from clqa.reports import metric_rows, write_rows
from clqa.scopes import has_many_shapes, is_share, scope_of
from clqa.score_tables import Origin, read_scores, score_columns
from clqa.seeds import with_means
from clqa.set_charts import set_points
from clqa.set_reports import band_table, read_set_rows, set_protocols, set_table, set_view
from clqa.set_seeds import set_means
from clqa.set_views import with_set_views
from clqa.setting_changes import setting_changes
from clqa.switches import switch_table
from clqa.typesetting import write_tables
from clqa.wide_tables import overview


def assemble_report(
    paths_to_scores: Mapping[tuple[str, str], str],
    paths_to_intervals: Mapping[tuple[str, str], str],
    paths_to_comparisons: Mapping[str, str],
    paths_to_explanations: Mapping[str, str],
    paths_to_sets: Mapping[tuple[str, str], str],
    paths_to_bands: Mapping[tuple[str, str], str],
    paths_to_answers: Mapping[tuple[str, str], str],
    paths_to_samplings: Mapping[tuple[str, str], str],
    paths_to_queries: Mapping[tuple[str, str], str],
    paths_to_ranks: Mapping[tuple[str, str, str], str],
    paths_to_entities: Mapping[str, str],
    paths_to_relations: Mapping[str, str],
    paths_to_audits: Mapping[str, str],
    paths_to_summaries: Mapping[str, str],
    path_to_references: str,
    path_to_template: str,
    scripts_of_page: Iterable[str],
    run: dict,
    default: dict,
    query_sets: dict,
    path_to_metrics: str,
    path_to_tables: str,
    path_to_report: str,
    path_to_versions: str,
    path_to_manifest: str,
    paths_to_origins: Iterable[str] = (),
    partners: Mapping[str, dict] | None = None,
    imported: Sequence[str] = (),
) -> None:
    """Write all results of a run; no order of the inputs changes a byte of them.

    Parameters
    ----------
    paths_to_scores, paths_to_intervals : by query set and model
    paths_to_sets, paths_to_bands : by query set and model
    paths_to_answers, paths_to_samplings, paths_to_queries : by query set and shard
    paths_to_ranks : by query set, model and shard
    paths_to_entities, paths_to_relations : labels by graph
    paths_to_audits, paths_to_comparisons, paths_to_explanations : by query set
    paths_to_summaries : by graph
    path_to_references : published results
    path_to_template : the page, in Jinja
    scripts_of_page : paths to what makes it interactive
    run : dict
        The run configuration: `name`, `query_sets`, `models`, `shapes`, `metrics`, `ties`,
        `filters`, `candidates`, `averaging`, `truths` and `seed`. Of the metrics and of each of the
        switches the first is shown first.
    default : dict
        That of the default run.
    query_sets : dict
        For each query set its catalogue entry, with `graph` and `split`.
    paths_to_origins : paths
        What those files were made from; the manifest traces numbers back to them.
    partners : dict
        Catalogue entries of the query sets on which those of the run are tuned.
    imported : list of str
        Link predictors that are not trained.

    Raises
    ------
    InputError
        If a file is damaged, or scores are not those of the graph, query set and model.
    """
    rules = competitions(run["filters"], run["candidates"])
    columns = score_columns(run["metrics"], run["ties"], rules)
    hashes = graph_hashes(paths_to_summaries)
    check_samplings(paths_to_samplings, paths_to_answers)
    scores, rows, answer_sets, audits, asked = [], [], [], {}, {}
    for queries in run["query_sets"]:
        graph, split = (query_sets[queries][key] for key in ("graph", "split"))
        shards = _shards(paths_to_answers, queries)
        asked[queries] = of_answers = answers_hash(shards)
        about = {"name": queries, "split": split, "query_set": of_answers}
        about["shapes"] = [shape for shard in shards for shape in shape_hashes(shard)]
        audits[queries] = read_audit(paths_to_audits[queries], about)
        for model in run["models"]:
            origin = Origin(queries, model, graph, split, hashes[graph], of_answers)
            path = paths_to_scores[queries, model]
            scores.append(read_scores(path, origin, run["shapes"], columns))
            intervals = read_intervals(paths_to_intervals[queries, model], sha256_of(path))
            rows += metric_rows(scores[-1], run["name"], run["averaging"], intervals)
            paths = paths_to_sets[queries, model], paths_to_bands[queries, model]
            answer_sets.append(read_set_rows(*paths, origin))
    rows = with_means(rows, run.get("seeds", {}))
    with_set_means = [*answer_sets, *set_means(answer_sets, run.get("seeds", {}))]
    write_rows(path_to_metrics, rows)

    scopes = [scope_of(queries, run, scores, rows) for queries in run["query_sets"]]
    compared = {name: read_comparisons(paths_to_comparisons[name]) for name in run["query_sets"]}
    sections = []
    for scope in scopes:
        entry = query_sets[scope.queries]
        sizes = answer_sizes(_shards(paths_to_answers, scope.queries), scope.shapes)
        seen = audit_view(audits[scope.queries], list(scope.shapes), entry.get("sampling"))
        published = comparisons(scope, entry, path_to_references)
        shown = () if has_many_shapes(scope) else list(scope.shapes)
        pairs = comparison_view(compared[scope.queries], shown, is_share(scope.metric))
        sets = set_view(answer_sets, scope.queries, run["models"], run["truths"][0])
        about = (sizes, seen, published, pairs, sets)
        sections.append(section(scope, entry, run["metrics"], *about))
    inventory = {
        "graphs": graph_table(paths_to_summaries),
        "repeated": repeated_triples(paths_to_summaries),
        "sampling": sampling_table(paths_to_samplings, run["query_sets"], run["shapes"]),
        "audits": audit_table(audits, run["shapes"]),
        "reductions": reduction_table(audits, run["shapes"]),
        "comparisons": comparison_inventory(compared),
        "sets": set_table(with_set_means),
        "bands": band_table(answer_sets),
        "switches": switch_table(
            rows, {one.queries: one.shapes for one in scopes}, run["metrics"][0]
        ),
        "references": reference_table([one for part in sections for one in part.references]),
    }
    averages = overview(scopes)
    shows_intervals = run.get("intervals", {}).get("in_tables", False)
    write_tables(path_to_tables, averages, sections, inventory, shows_intervals)

    paths = [*paths_to_scores.values(), *paths_to_intervals.values(), *paths_to_answers.values()]
    paths += [*paths_to_sets.values(), *paths_to_bands.values()]
    paths += [*paths_to_samplings.values(), *paths_to_summaries.values()]
    paths += [*paths_to_audits.values(), *paths_to_comparisons.values()]
    paths += [*paths_to_explanations.values()]
    paths += [*paths_to_queries.values(), *paths_to_ranks.values()]
    paths += [*paths_to_entities.values(), *paths_to_relations.values()]
    origin = manifest(run, query_sets, scores, rows, set_protocols(answer_sets))
    software = versions()
    write_json(path_to_versions, software)
    inside = []
    for scope in scopes:
        graph = query_sets[scope.queries]["graph"]
        files = (_of_shards(one, scope.queries) for one in (paths_to_queries, paths_to_answers))
        ranks = {one: _of_shards(paths_to_ranks, scope.queries, one) for one in run["models"]}
        labels = paths_to_entities[graph], paths_to_relations[graph]
        why = read_explanations(
            paths_to_explanations[scope.queries], scope.queries, asked[scope.queries]
        )
        inside.append(query_data(scope, run, *files, ranks, labels, why))
    strata = {row.stratum: stratum_label(row.stratum) for row in rows}
    data = explorer(scopes, run, scores, rows, compared, strata)
    data = with_set_views(data, scopes, with_set_means, run["truths"][0])
    data["queries"] = inside
    data["points"] = [set_points(answer_sets, one.queries, run["truths"][0]) for one in scopes]
    content = page(averages, sections, inventory, origin, software)
    content |= {
        "changes": setting_changes(run, default),
        "data": inline_json(data),
        "scripts": inline_scripts(scripts_of_page),
        "library": plotting_library(),
    }
    write_page(path_to_report, path_to_template, content)
    made = [path_to_metrics, path_to_versions, path_to_report, *Path(path_to_tables).iterdir()]
    origin["files"] = manifest_files(
        [*paths, *paths_to_origins, *made],
        Path(path_to_manifest).parents[2],
        run,
        {**(partners or {}), **query_sets},
        {one.model: one.metadata["model"] for one in scores},
        imported,
    )
    write_json(path_to_manifest, origin)


def _of_shards(paths: Mapping[tuple[str, ...], str], *names: str) -> dict[str, str]:
    """The paths under some names, by the last part of their key, which is the shard."""
    return {key[-1]: path for key, path in sorted(paths.items()) if key[:-1] == names}


def _shards(paths: Mapping[tuple[str, str], str], queries: str) -> list[str]:
    return [path for name, path in paths.items() if name[0] == queries]


if __name__ == "__main__":
    log_to(snakemake.log[0])
    shards = [tuple(name) for name in snakemake.params.shards]
    ranked = [tuple(name) for name in snakemake.params.ranks]
    scored = [tuple(name) for name in snakemake.params.scores]
    assemble_report(
        paths_to_scores=dict(zip(scored, snakemake.input.scores, strict=True)),
        paths_to_intervals=dict(zip(scored, snakemake.input.intervals, strict=True)),
        paths_to_comparisons=dict(
            zip(snakemake.params.run["query_sets"], snakemake.input.comparisons, strict=True)
        ),
        paths_to_explanations=dict(
            zip(snakemake.params.run["query_sets"], snakemake.input.explanations, strict=True)
        ),
        paths_to_sets=dict(zip(scored, snakemake.input.sets, strict=True)),
        paths_to_bands=dict(zip(scored, snakemake.input.bands, strict=True)),
        paths_to_answers=dict(zip(shards, snakemake.input.answers, strict=True)),
        paths_to_samplings=dict(zip(shards, snakemake.input.samplings, strict=True)),
        paths_to_summaries=dict(
            zip(snakemake.params.graphs, snakemake.input.summaries, strict=True)
        ),
        paths_to_queries=dict(zip(shards, snakemake.input.queries, strict=True)),
        paths_to_ranks=dict(zip(ranked, snakemake.input.ranks, strict=True)),
        paths_to_entities=dict(zip(snakemake.params.graphs, snakemake.input.entities, strict=True)),
        paths_to_relations=dict(
            zip(snakemake.params.graphs, snakemake.input.relations, strict=True)
        ),
        paths_to_audits=dict(
            zip(snakemake.params.run["query_sets"], snakemake.input.audits, strict=True)
        ),
        path_to_references=snakemake.input.references,
        path_to_template=snakemake.input.template,
        scripts_of_page=snakemake.input.scripts,
        run=snakemake.params.run,
        default=snakemake.params.default,
        query_sets=snakemake.params.query_sets,
        path_to_metrics=snakemake.output.metrics,
        path_to_tables=snakemake.output.tables,
        path_to_report=snakemake.output.report,
        path_to_versions=snakemake.output.versions,
        path_to_manifest=snakemake.output.manifest,
        paths_to_origins=snakemake.input.origins,
        partners=snakemake.params.partners,
        imported=snakemake.params.imported,
    )
