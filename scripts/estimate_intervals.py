"""Estimate how sure the averages of a model on a query set are."""

from clqa.files import sha256_of
from clqa.formulas import parse
from clqa.interval_tables import score_intervals
from clqa.logs import log_to
from clqa.score_tables import read_plain_scores
from clqa.tables import write_table


def estimate_intervals(path_to_scores, path_to_intervals, seed, draws, level):
    """Write the bootstrap intervals of all averages of a table of scores.

    Parameters
    ----------
    seed : int
    draws : int
        How many sets of queries are drawn; with 0 there are no intervals.
    level : float
        Share of the drawn averages that an interval holds.
    """
    table, metadata = read_plain_scores(path_to_scores)
    shapes = {shape: parse(text) for shape, text in metadata["formulas"].items()}
    found = score_intervals(
        table.slice(0, len(table) if draws else 0),
        shapes if draws else {},
        (seed, metadata["queries"]),
        draws,
        level,
    )
    about = {"scores": sha256_of(path_to_scores), "draws": draws, "level": level}
    write_table(path_to_intervals, found, {**metadata, **about})


if __name__ == "__main__":
    log_to(snakemake.log[0])
    estimate_intervals(
        path_to_scores=snakemake.input.scores,
        path_to_intervals=snakemake.output.intervals,
        seed=snakemake.params.seed,
        draws=snakemake.params.draws,
        level=snakemake.params.level,
    )
