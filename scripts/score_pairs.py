"""Evaluate predicted pairs of a query and an answer against the true ones.

    python scripts/score_pairs.py predictions.parquet truths.tsv --slices queries.tsv --by shape

The pairs may come from anywhere, such as record pairs of entity resolution. Files are .parquet,
.jsonl or .tsv with columns `query`, `answer` and, in predictions, `score`. A query without true
answers is won by predicting nothing. A threshold takes the pairs whose score is at least that.
"""

import argparse
import contextlib
import math
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from clqa.bootstraps import DRAWS, draws_of
from clqa.commands import check_outputs, printed
from clqa.errors import InputError
from clqa.files import replacing_all, sha256_of, write_json
from clqa.operating_points import CHOICES, ScoredPairs, chosen_threshold
from clqa.pair_files import DUPLICATES, read_ids, read_keys, read_pairs, without_repeated
from clqa.pair_reports import (
    bands_entry,
    ceiling_entry,
    intervals_entry,
    markdown,
    per_query_table,
    report_of,
)
from clqa.pair_sets import (
    ScoredSets,
    in_text_order,
    queries_of,
    reaching,
    scored_pairs,
    scored_sets,
    vocabulary_of,
)
from clqa.ragged import Ragged
from clqa.set_metrics import Counts, beta_of, set_counts
from clqa.tables import write_table


def score_pairs(
    path_to_predictions: str | Path,
    path_to_truths: str | Path,
    path_to_queries: str | Path | None = None,
    path_to_candidates: str | Path | None = None,
    path_to_slices: str | Path | None = None,
    by: Sequence[str] | None = None,
    valid: Sequence[str | Path] | None = None,
    choose: str | None = None,
    threshold: float | None = None,
    bands: Sequence[float] = (),
    beta: float = 0.5,
    duplicates: str = "error",
    draws: int = DRAWS,
    seed: int = 0,
    path_to_json: str | Path | None = None,
    path_to_table: str | Path | None = None,
) -> dict:
    """Evaluate predicted pairs; see the command line for the parameters.

    Parameters
    ----------
    valid : predictions, truths and, optionally, queries of a validation split
    by : columns of the slices; by default all

    Returns
    -------
    report : dict
        What is written as JSON.
    """
    beta, draws = beta_of(beta), draws_of(draws)
    paths = [path_to_predictions, path_to_truths, path_to_candidates]
    others = [path_to_queries, path_to_slices, *(valid or ())]
    outputs = path_to_json, path_to_table
    check_outputs(zip(outputs, ((), (".parquet",)), strict=True), paths + others)
    ids, (predictions, truth, candidates) = _aligned(paths, path_to_queries, duplicates)
    keys, notes = _keys_of(ids, path_to_slices, by)
    pairs = _validation_pairs(valid, duplicates) if valid else None
    if choose is not None or threshold is not None:
        _need_scores(path_to_predictions, predictions)
    if choose is not None:
        threshold = chosen_threshold(pairs, choose, beta).threshold
    elif threshold is not None:
        _check_range(path_to_predictions, threshold, predictions)
    predicted = reaching(predictions, threshold)
    counts = set_counts(predicted, truth.sets)
    report = report_of(counts, keys, beta) | {
        "intervals": intervals_entry(counts, beta, draws, seed),
        "rule": _rule(threshold),
        "threshold": None if threshold == math.inf else threshold,
        "threshold_choice": choose,
        "duplicates": duplicates,
        "inputs": {str(path): sha256_of(path) for path in (*paths, *others) if path},
        "notes": notes + _notes(counts, path_to_queries),
    }
    if candidates is not None:
        report["ceiling"] = ceiling_entry(counts, candidates.sets, truth.sets, beta)
        report["notes"] += _beyond(predicted, candidates.sets)
    if bands:
        shown = pairs or scored_pairs(predictions, truth.sets)
        report["bands"] = bands_entry(shown, threshold, bands, beta)
        report["bands_of"] = "validation pairs" if pairs else "evaluated pairs"
    with replacing_all(*outputs) as (to_json, to_table):
        if to_json is not None:
            write_json(to_json, report)
        if to_table is not None:
            retrieved = candidates and set_counts(candidates.sets, truth.sets).right
            protocol = {key: report[key] for key in ("beta", "rule", "inputs")}
            write_table(to_table, per_query_table(ids, counts, keys, beta, retrieved), protocol)
    return report


def _validation_pairs(paths: Sequence[str | Path], duplicates: str) -> ScoredPairs:
    path_to_queries = paths[2] if len(paths) > 2 else None
    _, (predictions, truth) = _aligned(paths[:2], path_to_queries, duplicates)
    _need_scores(paths[0], predictions)
    return scored_pairs(predictions, truth.sets)


def _aligned(
    paths: Sequence[str | Path | None], path_to_queries: str | Path | None, duplicates: str
) -> tuple[pa.Array, list[ScoredSets | None]]:
    """Queries, and the sets of each file over them; without a list the queries of all files."""
    files = [path and without_repeated(read_pairs(path), duplicates) for path in paths]
    given = [pairs for pairs in files if pairs]
    ids = in_text_order(read_ids(path_to_queries) if path_to_queries else queries_of(given))
    vocabulary = vocabulary_of(given)
    return ids, [
        pairs and scored_sets(pairs, ids, vocabulary, str(path_to_queries)) for pairs in files
    ]


def _keys_of(
    ids: pa.Array, path: str | Path | None, by: Sequence[str] | None
) -> tuple[dict[str, list], list[str]]:
    """Keys of each query by column, and what is to be said about them."""
    if path is None:
        return {}, []
    keyed, columns = read_keys(path, by)
    places = pc.index_in(ids, keyed).to_pylist()
    keys = {
        name: [None if place is None else values[place] for place in places]
        for name, values in columns.items()
    }
    n_missing = sum(place is None for place in places)
    return keys, [f"{n_missing} without a line in {path}; their key is '?'"] * bool(n_missing)


def _rule(threshold: float | None) -> str:
    if threshold is None:
        return "all pairs of the predictions"
    return "nothing" if threshold == math.inf else f"pairs with score >= {threshold!r}"


def _notes(counts: Counts, path_to_queries: str | Path | None) -> list[str]:
    notes = []
    if not path_to_queries:
        notes.append("no list of queries: a query that occurs in no file is not counted")
    if counts.predicted.any() and counts.true.any() and not counts.right.any():
        notes.append("no prediction is right; are the ids of both files written alike?")
    if not len(counts.true):
        notes.append("there are no queries; means of nothing are 0 by definition")
    return notes


def _beyond(predicted: Ragged, candidates: Ragged) -> list[str]:
    """What is to be said where predictions are no candidates."""
    among = set_counts(predicted, candidates)
    n = int(among.predicted.sum() - among.right.sum())
    return [f"predictions that are no candidates: {n}; they may pass the ceilings"] * bool(n)


def _need_scores(path: str | Path, predictions: ScoredSets) -> None:
    if predictions.scores is None:
        raise InputError(f"{path}: no column 'score'; a threshold needs one")


def _check_range(path: str | Path, threshold: float, predictions: ScoredSets) -> None:
    scores = predictions.scores
    if len(scores) and not scores.min() <= threshold <= scores.max():
        raise InputError(
            f"threshold {threshold:g} lies outside of the scores of {path}, which go from"
            f" {scores.min():g} to {scores.max():g}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    _check_options(parser, options)
    arguments = (
        *(options.predictions, options.truths, options.queries, options.candidates),
        *(options.slices, options.by, options.valid, options.choose, options.threshold),
        *(options.bands, options.beta, options.duplicates, options.draws, options.seed),
        *(options.json, options.table),
    )
    return printed(lambda: markdown(score_pairs(*arguments)))


def _check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Options that need one another."""
    for is_wrong, text in (
        (options.by and not options.slices, "--by needs --slices, a table with these columns"),
        (options.choose and not options.valid, "--choose needs --valid, pairs to choose on"),
        (options.valid and not options.choose, "--valid needs --choose, the rule to choose by"),
        (options.valid and len(options.valid) > 3, "--valid takes two or three files"),
        (options.valid and len(options.valid) < 2, "--valid takes predictions and truths"),
        (
            options.choose and options.threshold is not None,
            "--threshold and --choose: give one of them",
        ),
        (
            options.bands and not options.choose and options.threshold is None,
            "--bands needs --threshold or --choose",
        ),
    ):
        if is_wrong:
            parser.error(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="exit code: 0 evaluated, 1 the input cannot be used, 2 the command cannot",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("predictions", help="predicted pairs")
    add("truths", help="true pairs")
    add("--queries", metavar="F", help="every query that is evaluated, also those without any pair")
    add("--candidates", metavar="F", help="candidate pairs, for the ceilings that they impose")
    add("--slices", metavar="F", help="table of `query` and columns of keys to report by")
    add("--by", nargs="+", metavar="KEY", help="columns of it to use (default: all)")
    add("--beta", type=_number, default=0.5, help="of F-beta (default: %(default)s)")
    add("--threshold", type=_number, metavar="X", help="take pairs with at least this score")
    add(
        "--valid",
        nargs="+",
        metavar="F",
        help="predictions, truths and perhaps queries of a validation split to choose on",
    )
    add("--choose", choices=CHOICES, help="how: until no band pays, or for the best mean F-beta")
    add(
        "--bands",
        nargs="+",
        type=_number,
        default=[],
        metavar="X",
        help="lower ends of bands of scores below the threshold: would including them pay?",
    )
    add(
        "--duplicates",
        choices=DUPLICATES,
        default="error",
        help="pairs that come twice: refuse, or keep the best score (default: %(default)s)",
    )
    add(
        "--draws",
        type=int,
        default=DRAWS,
        metavar="N",
        help="queries are drawn anew so often for 95 %% intervals; 0: none (default: %(default)s)",
    )
    add("--seed", type=int, default=0, metavar="N", help="of what is drawn (default: %(default)s)")
    add("--json", metavar="F", help="also write the report to this JSON file")
    add("--table", metavar="F", help="also write the values of each query to this Parquet file")
    return parser


def _number(text: str) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(float(text)):
            return float(text)
    raise argparse.ArgumentTypeError(f"'{text}' is no finite number")


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    sys.exit(main())
