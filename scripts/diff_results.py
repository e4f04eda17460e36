"""Compare two results: what was added, removed or changed, by how much, and where it began.

    python scripts/diff_results.py results/runs/default other/results/runs/default

Each side is a result folder (with runs/ in it), a run folder, or a single TSV, JSON, Parquet, npz
or npy file, also packed as .gz. Rows are matched by what they are about (graph, queries, shape,
model, metric, ...), never by their place. Of two runs the first stage is told at which their files
differ (graph, queries, answers, predictions, ranks or metrics). Numbers measured by different
protocols (graph, filter, ties, candidates, ...) are refused unless --force is given. A side that is
missing or empty has nothing: all of the other was added or removed. Versions of the software are
shown, not compared.
"""

import argparse
import contextlib
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from clqa.diff_pages import write_diff_page
from clqa.diff_tables import MOST_ROWS
from clqa.diffs import compare_results
from clqa.errors import InputError
from clqa.files import write_json
from clqa.listings import MOST, listing, traced

EXIT_CODES = {"equal": 0, "different": 1, "not comparable": 2}
ATOL = 1e-9


def diff_results(
    path_to_old: str | Path,
    path_to_new: str | Path,
    atol: float = ATOL,
    force: bool = False,
    path_to_json: str | Path | None = None,
    path_to_html: str | Path | None = None,
    by_metric: Mapping[str, float] | None = None,
) -> dict:
    """Compare two results (see `clqa.diffs.compare_results`); write the differences as JSON, HTML.

    JSON has every difference; without it the largest of each table are found.
    """
    most = MOST if path_to_html is None else MOST_ROWS
    most = most if path_to_json is None else None
    diff = compare_results(
        Path(path_to_old), Path(path_to_new), atol, force, by_metric=by_metric, most=most
    )
    if path_to_json is not None:
        write_json(path_to_json, diff)
    if path_to_html is not None:
        write_diff_page(path_to_html, diff, (path_to_old, path_to_new))
    return diff


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = _parser().parse_args(arguments)
    atol, by_metric = _tolerances(options.atol, options.exact)
    try:
        diff = diff_results(
            options.A, options.B, atol, options.force, options.json, options.html, by_metric
        )
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if diff["status"] == "not comparable":
        print("\n".join(traced(diff)), end="\n" if traced(diff) else "")
        fields, n_clashes = ", ".join(diff["protocol"]), diff["counts"]["clashes"]
        hint = f"{n_clashes} numbers cannot be compared; --force shows both"
        print(f"protocol differs: {fields} ({hint})", file=sys.stderr)
    else:
        print(listing(diff))
    return EXIT_CODES[diff["status"]]


def _tolerances(given: list[tuple[str, float]], exact: bool) -> tuple[float, dict[str, float]]:
    """That of all numbers, and those of metrics."""
    named = {"": 0.0 if exact else ATOL, **dict(given)}
    return named.pop(""), named


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="exit code: 0 equal, 1 different, 2 not comparable (protocols differ) or error",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("A", help="result folder, run folder or file: the old side")
    parser.add_argument("B", help="the new side")
    parser.add_argument(
        "--atol",
        type=_tolerance,
        action="append",
        default=[],
        metavar="X|METRIC=X",
        help="decimal numbers at most this far apart are equal; with a metric, such as "
        f"hits@10=0.01 or hits=0.01, those of the metric (repeatable; default: {ATOL})",
    )
    parser.add_argument("--exact", action="store_true", help="no tolerance: the same as --atol 0")
    parser.add_argument("--json", metavar="F", help="also write all differences to this JSON file")
    parser.add_argument("--html", metavar="F", help="also write a page of the differences")
    parser.add_argument(
        "--force",
        action="store_true",
        help="where protocols differ, show both numbers under a banner instead of refusing",
    )
    return parser


def _tolerance(text: str) -> tuple[str, float]:
    """The metric, or an empty text for all, and its tolerance."""
    metric, _, number = text.rpartition("=")
    with contextlib.suppress(ValueError):
        if 0 <= float(number) < float("inf") and (metric or "=" not in text):
            return metric, float(number)
    raise argparse.ArgumentTypeError(f"'{text}' is no tolerance; give 0 or a positive number")


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    sys.exit(main())
