"""Compare two result folders, or two runs: what was added, removed or changed, and by how much.

    python scripts/diff_results.py results/runs/default other/results/runs/default

Rows are matched by what they are about (graph, queries, shape, model, metric, ...), never by their
place. Numbers measured by different protocols (graph, filter, ties, candidates, ...) are refused
unless --force is given. Versions of the software are shown, not compared.
"""

import argparse
import contextlib
import signal
import sys
from pathlib import Path

from clqa.diffs import compare_results
from clqa.errors import InputError
from clqa.files import write_json
from clqa.listings import listing

EXIT_CODES = {"equal": 0, "different": 1, "not comparable": 2}


def diff_results(
    path_to_old: str | Path,
    path_to_new: str | Path,
    atol: float = 1e-9,
    force: bool = False,
    path_to_json: str | Path | None = None,
) -> dict:
    """Compare two result or run folders (see `clqa.diffs.compare_results`); write it as JSON."""
    diff = compare_results(Path(path_to_old), Path(path_to_new), atol=atol, force=force)
    if path_to_json is not None:
        write_json(path_to_json, diff)
    return diff


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        diff = diff_results(options.A, options.B, options.atol, options.force, options.json)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if diff["status"] == "not comparable":
        fields, n_clashes = ", ".join(diff["protocol"]), len(diff["clashes"])
        hint = f"{n_clashes} numbers cannot be compared; --force shows both"
        print(f"protocol differs: {fields} ({hint})", file=sys.stderr)
    else:
        print(listing(diff))
    return EXIT_CODES[diff["status"]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="exit code: 0 equal, 1 different, 2 not comparable (protocols differ) or error",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("A", help="result folder (with runs/ in it) or run folder: the old side")
    parser.add_argument("B", help="the new side")
    parser.add_argument(
        "--atol",
        type=_tolerance,
        default=1e-9,
        metavar="X",
        help="decimal numbers at most this far apart are equal; 0 compares exactly "
        "(default: %(default)s)",
    )
    parser.add_argument("--json", metavar="F", help="also write all differences to this JSON file")
    parser.add_argument(
        "--force",
        action="store_true",
        help="where protocols differ, show both numbers under a banner instead of refusing",
    )
    return parser


def _tolerance(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"'{text}' is no tolerance; give 0 or a positive number")


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    sys.exit(main())
