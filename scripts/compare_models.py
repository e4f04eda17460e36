"""Compare the models of a run on the same queries."""

from collections.abc import Mapping

from clqa.comparison_tables import comparison_rows, comparison_table, mean_values, values_of
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.logs import log_to
from clqa.score_tables import read_plain_scores
from clqa.tables import write_table


def compare_models(
    paths_to_scores: Mapping[str, str],
    path_to_comparisons: str,
    score: str,
    seed: int,
    bases: Mapping[str, str] | None = None,
) -> None:
    """Write paired comparisons by shape and group.

    Parameters
    ----------
    paths_to_scores : by model
        Tables of one query set.
    score : str
        The score that is compared, such as `mrr[pessimistic,observed-and-full]`.
    seed : int
    bases : dict, optional
        For each model that stands for one seed of another the name of that one, which is compared
        by its mean over the seeds.
    """
    models: dict[str, list] = {}
    about = None
    for model, path in paths_to_scores.items():
        table, metadata = read_plain_scores(path, [score])
        queries = {key: metadata[key] for key in ("graph", "queries", "formulas", "split")}
        if about is not None and queries != about:
            raise InputError(f"{path}: scores of other queries than those of the other models")
        name = (bases or {}).get(model, model)
        models.setdefault(name, []).append(values_of(table, score))
        about = queries
    means = {name: mean_values(own) for name, own in models.items()}
    formulas = {} if about is None else about["formulas"]
    shapes = {shape: parse(text) for shape, text in formulas.items()}
    stream = (seed, about["queries"]) if about else (seed,)
    rows = list(comparison_rows(means, shapes, score, stream))
    write_table(path_to_comparisons, comparison_table(rows), {"score": score, **(about or {})})


if __name__ == "__main__":
    log_to(snakemake.log[0])
    compare_models(
        paths_to_scores=dict(zip(snakemake.params.models, snakemake.input.scores, strict=True)),
        path_to_comparisons=snakemake.output.comparisons,
        score=snakemake.params.score,
        seed=snakemake.params.seed,
        bases=snakemake.params.bases,
    )
