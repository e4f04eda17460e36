"""Assemble a table of results from the files of scores that others have published.

    python scripts/import_scores.py cqd/results --rank 1000 --metric hits@3 --tsv scores.tsv

FOLDER has the result files of CQD (`results/` of github.com/uclnlp/cqd), flat JSON whose names tell
graph, split, shape and settings. Of each graph and shape the settings are taken that are best on
the dev split, by --choose; printed is what they reach on test, by --metric, as a Markdown table.
"""

import argparse
import signal
import sys
from pathlib import Path

from clqa.cqd_results import (
    COLUMNS,
    METRICS,
    published_table,
    read_results,
    score_rows,
    selected,
)
from clqa.errors import InputError
from clqa.keyed_tables import write_tsv
from clqa.roundings import STATEMENT, rounded


def import_scores(
    folder: Path,
    metric: str = "hits@3",
    choose: str = "hits@3",
    rank: str | None = None,
    path_to_tsv: Path | None = None,
) -> list[str]:
    """Lines of a Markdown table; `path_to_tsv` has all metrics of what is in it, as stored."""
    where = {} if rank is None else {"rank": rank}
    best = selected(read_results(Path(folder)), choose, where)
    if path_to_tsv is not None:
        write_tsv(path_to_tsv, COLUMNS, score_rows(best, choose))
    shapes, lines = published_table(best, metric)
    heads = ("method", "graph", *shapes, "mean")
    rows = [heads, ("---", "---", *["---:"] * (len(shapes) + 1))]
    rows += [(method, graph, *map(_shown, values)) for method, graph, values in lines]
    title = f"**{metric} on test, settings chosen by {choose} on dev, {STATEMENT}**"
    return [title, "", *(f"| {' | '.join(row)} |" for row in rows)]


def _shown(value: float | None) -> str:
    return "–" if value is None else str(rounded(value, 3))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = list(METRICS.values())
    parser.add_argument("folder", type=Path, help="where the result files are")
    parser.add_argument("--metric", choices=names, default="hits@3", help="what is printed")
    parser.add_argument("--choose", choices=names, default="hits@3", help="by what on dev")
    parser.add_argument("--rank", help="only models of this rank")
    parser.add_argument("--tsv", type=Path, help="also write all metrics and settings, as stored")
    options = parser.parse_args(arguments)
    try:
        given = (options.folder, options.metric, options.choose, options.rank, options.tsv)
        print("\n".join(import_scores(*given)))
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    sys.exit(main())
