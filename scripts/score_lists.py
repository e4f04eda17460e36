"""Score ranked lists of ids against expected ids, wherever they come from.

    python scripts/score_lists.py lists.jsonl --k 1,3,10 --json report.json --table queries.parquet
    python scripts/score_lists.py --run run.txt --qrels qrels.txt --ranks ignore

Lists are JSON lines (.jsonl) or Parquet (.parquet) with the columns query, expected, returned and,
if there are any, scores; or a run and relevance judgements in the formats of TREC. Ids are text or
whole numbers. A Markdown table goes to the standard output.
"""

import argparse
import re
import signal
import sys
from pathlib import Path

from clqa.bootstraps import DRAWS, LEVEL, draws_of
from clqa.commands import check_outputs, printed
from clqa.files import replacing_all, sha256_of, write_json
from clqa.id_lists import WITHOUT_EXPECTED, WITHOUT_RETURNED, numbered_lists, with_queries
from clqa.list_files import read_ids, read_lists
from clqa.list_scores import list_scores
from clqa.metrics import cut_off
from clqa.retrieval_reports import (
    TABLES,
    list_report,
    markdown,
    query_table,
    write_query_table,
)
from clqa.retrieved_lists import DUPLICATES, UNKNOWN, list_blocks, repeated
from clqa.trec_files import RANKS, read_trec

TIES = ("pessimistic", "optimistic", "expected")


def score_lists(
    entries,
    cut_offs,
    *,
    universe=None,
    ties="pessimistic",
    ranks="check",
    duplicates="refuse",
    expected_duplicates="refuse",
    unknown="refuse",
    without_expected="refuse",
    without_returned="refuse",
    draws=DRAWS,
    seed=0,
):
    """Score entries as `clqa.list_files` and `clqa.trec_files` read them.

    Returns
    -------
    report : dict
        As `clqa.retrieval_reports.list_report` makes it, with the protocol and what was counted.
    table : pa.Table
        Values per query.
    """
    lists = numbered_lists(
        entries,
        universe=universe,
        without_expected=without_expected,
        without_returned=without_returned,
        ranks=ranks,
    )
    blocks = list_blocks(
        lists.returned,
        lists.expected,
        scores=lists.scores,
        duplicates=duplicates,
        expected_duplicates=expected_duplicates,
        n_known=lists.n_known,
        unknown=unknown,
        names=lists.queries,
        ids=lists.ids,
    )
    scores = list_scores(blocks, cut_offs, ties)
    report = list_report(blocks, scores, ties, draws, seed) | _counted(lists)
    report["protocol"] = {
        "cut_offs": list(scores.cut_offs),
        "ties": ties if lists.scores is not None else None,
        "ranks": ranks,
        "duplicates": duplicates,
        "expected_duplicates": expected_duplicates,
        "unknown": unknown if universe is not None else None,
        "without_expected": without_expected,
        "without_returned": without_returned,
        "intervals": {"draws": draws, "level": LEVEL, "seed": seed},
    }
    return report, query_table(lists.queries, lists.returned.lengths(), scores)


def _counted(lists) -> dict:
    """How many ids and queries there are that a policy is about."""
    counts = {
        "queries_without_expected": lists.n_without_expected,
        "queries_without_returned": lists.n_without_returned,
        "queries_left_out": lists.n_left_out,
    }
    for name in ("returned", "expected"):
        ids = getattr(lists, name)
        counts[name] = {
            "ids": len(ids.values),
            "duplicates": int(repeated(ids, len(lists.ids)).sum()),
            "unknown": None if lists.n_known is None else int((ids.values >= lists.n_known).sum()),
        }
    return counts


def _read(options: argparse.Namespace) -> tuple[list, list[str]]:
    """Entries of the files that were named, and the names of these."""
    if options.lists is None:
        paths = [options.run, options.qrels]
        entries = read_trec(*paths, options.ranks)
    else:
        paths = [options.lists]
        entries = read_lists(options.lists)
    if options.queries is not None:
        paths.append(options.queries)
        like = entries[0].query if entries else ""
        entries = with_queries(entries, options.queries, read_ids(options.queries, like))
    return entries, paths


def _universe(path: str | None, entries: list) -> list | None:
    if path is None:
        return None
    ids = (id_ for entry in entries for id_ in (*(entry.expected or ()), *(entry.returned or ())))
    return read_ids(path, next(ids, ""))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    trec = options.run is not None, options.qrels is not None
    if any(trec) != (options.lists is None) or any(trec) != all(trec):
        parser.error("give either one file of lists, or --run and --qrels")
    return printed(lambda: markdown(_evaluated(options)))


def _evaluated(options: argparse.Namespace) -> dict:
    """The report, when all that is wanted is written."""
    cut_offs = [_cut_off(text) for text in options.k.split(",")]
    draws_of(options.draws, "--draws")
    inputs = (options.lists, options.run, options.qrels, options.queries, options.universe)
    check_outputs([(options.json, ()), (options.table, TABLES)], inputs)
    entries, paths = _read(options)
    universe = _universe(options.universe, entries)
    names = ("ties", "ranks", "duplicates", "expected_duplicates", "unknown")
    names += ("without_expected", "without_returned", "draws", "seed")
    report, table = score_lists(
        entries, cut_offs, universe=universe, **{name: getattr(options, name) for name in names}
    )
    paths += [options.universe] if options.universe is not None else []
    report["inputs"] = {str(path): sha256_of(path) for path in paths}
    with replacing_all(options.json, options.table) as (path_to_json, path_to_table):
        if path_to_json is not None:
            write_json(path_to_json, report)
        if path_to_table is not None:
            write_query_table(path_to_table, table, report["protocol"])
    return report


def _cut_off(text: str) -> int:
    return cut_off(int(text) if re.fullmatch("[1-9][0-9]{0,18}", text) else text, key="--k")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lists", nargs="?", help="file of lists, .jsonl or .parquet")
    parser.add_argument("--run", help="TREC run, in place of a file of lists")
    parser.add_argument("--qrels", help="TREC relevance judgements; above 0 is relevant")
    parser.add_argument(
        "--k", default="1,3,10", help="cut-offs, with commas between (default: %(default)s)"
    )
    parser.add_argument(
        "--queries", metavar="F", help="all queries there are, one a line; others are refused"
    )
    parser.add_argument("--universe", metavar="F", help="all ids there are, one a line")
    for name, known, what in (
        ("--ties", TIES, "places of returned ids of one score"),
        ("--ranks", RANKS, "whether scores must follow the order given, or make it"),
        ("--duplicates", DUPLICATES, "ids that are returned twice"),
        ("--expected-duplicates", DUPLICATES, "ids that are expected twice"),
        ("--unknown", UNKNOWN, "ids that are not in the universe"),
        ("--without-expected", WITHOUT_EXPECTED, "queries with no entry of expected ids"),
        ("--without-returned", WITHOUT_RETURNED, "queries with no entry of returned ids"),
    ):
        text = f"{what} (default: %(default)s)"
        parser.add_argument(name, choices=known, default=known[0], help=text)
    text = "queries are drawn anew so often for 95 %% intervals; 0 for none (default: %(default)s)"
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help=text)
    text = "of what is drawn at random (default: %(default)s)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=text)
    parser.add_argument("--json", metavar="F", type=Path, help="write the report to this file")
    parser.add_argument(
        "--table", metavar="F", type=Path, help="write values per query, .parquet or .tsv"
    )
    return parser


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    sys.exit(main())
