"""Queries as the report shows them: labels, answers, the ranks of these, and why they are such."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from clqa.example_queries import Example
from clqa.printed_queries import quoted, with_labels
from clqa.rank_curves import Ranked
from clqa.shown_explanations import Places, shown_explanations
from clqa.worded_queries import in_words


def example_ranks(chosen: Iterable[Example], ranked: Ranked) -> dict[str, list]:
    """For each query the best and the worst rank of each hard answer that is shown.

    Ranks of tied candidates lie between them. Of an answer of several variables each value has
    ranks; an answer that was not ranked has None.
    """
    chosen = list(chosen)
    ids = pa.array([one.query_id for one in chosen], pa.string())
    rows = ranked.table.filter(pc.is_in(ranked.table["query_id"].cast(pa.string()), value_set=ids))
    names = ("query_id", "variable", "answer", "greater", "tied")
    columns = (rows[name].to_pylist() for name in names)
    ranks = {
        (query, variable or 1, answer): [greater + 1, greater + tied + 1]
        for query, variable, answer, greater, tied in zip(*columns, strict=True)
    }
    return {
        one.query_id: [
            [ranks.get((one.query_id, place, entity)) for place, entity in enumerate(answer, 1)]
            for answer in one.hard
        ]
        for one in chosen
    }


def browser(
    chosen: Iterable[Example],
    ranks: Mapping[str, Mapping[str, list]],
    entities: Sequence[str],
    relations: Sequence[str],
    explained: Mapping | None = None,
) -> dict:
    """The examples of a query set as JSON.

    Parameters
    ----------
    ranks : by model, those of `example_ranks`
    entities, relations : labels by id
    explained : of `clqa.explanation_files.read_explanations`
    """
    chosen, explained = list(chosen), explained or {}
    places = Places(entities), Places(relations)
    queries = [
        {
            "shape": one.shape,
            "id": one.query_id,
            "text": with_labels(one.formula, one.values, entities, relations),
            "words": in_words(one.formula, quoted(one.values, entities, relations)),
            "easy": [[places[0](entity) for entity in tuple_] for tuple_ in one.easy],
            "hard": [[places[0](entity) for entity in tuple_] for tuple_ in one.hard],
            "n": [one.n_easy, one.n_hard],
            "links": one.links,
            "ranks": [_shortened(found[one.query_id]) for found in ranks.values()],
        }
        | shown_explanations(one, explained, places)
        for one in chosen
    ]
    return {
        "models": list(ranks),
        "explained": explained.get("models", []),
        "labels": places[0].labels,
        "relations": places[1].labels,
        "queries": queries,
    }


def _shortened(answers: list[list]) -> list:
    """Ranks of one variable without a list around them, and equal ends as one number."""
    short = [
        [ends[0] if ends and ends[0] == ends[1] else ends for ends in answer] for answer in answers
    ]
    return [answer[0] if len(answer) == 1 else answer for answer in short]
