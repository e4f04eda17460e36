"""Explanations of the examples of a report, in the form in which its page has them."""

import re
from collections.abc import Mapping, Sequence

from clqa.formulas import free_variables
from clqa.printed_queries import quoted

# In words of the stage, symbols stand quoted where labels are to be.
_SYMBOL = re.compile(r'"(\w+)"')


class Places:
    """Numbers for the labels that a page needs, in the order in which they are asked for."""

    def __init__(self, labels: Sequence[str]):
        self.all, self._places = labels, {}

    def __call__(self, id_: int) -> int:
        return self._places.setdefault(id_, len(self._places))

    @property
    def labels(self) -> list[str]:
        """The labels that were asked for; of what is beyond all, the vectors of the graph."""
        n = len(self.all)
        return [self.all[id_] if id_ < n else f"d{id_ - n + 1}" for id_ in self._places]


def shown_explanations(query, explained: Mapping, places: tuple[Places, Places]) -> dict:
    """The keys `why` and `models` of a query on the page; none where nothing is known.

    An edge is a list of head, relation, tail and status; of models with two more, whether it is
    negated and its degree.

    Parameters
    ----------
    query : clqa.example_queries.Example
    explained : of `clqa.explanation_files.read_explanations`
    places : of entities and of relations
    """
    found = explained.get("queries", {}).get(query.query_id)
    if found is None:
        return {}
    pairs = zip(query.hard, found["why"], strict=True)
    why = [one and _crisp(query, answer, one, places) for answer, one in pairs]
    return {"why": why, "models": [one and _by_model(one, places) for one in found["models"]]}


def _crisp(query, answer: tuple[int, ...], witness: Mapping, places) -> dict:
    known = query.values | witness["values"]
    known |= zip(free_variables(query.formula), answer, strict=True)
    names = quoted(known, *(place.all for place in places)) if witness["absent"] else {}
    absent = [_SYMBOL.sub(lambda found: names[found[1]], text) for text in witness["absent"]]
    return {"steps": [_edge(step, places) for step in witness["steps"]], "absent": absent}


def _by_model(witness: Mapping, places) -> dict:
    rest = [[words, places[0](entity), degree] for words, entity, degree in witness["rest"]]
    links = [_edge(link, places) for link in witness["links"]]
    return {"degree": witness["degree"], "links": links, "rest": rest}


def _edge(edge: Sequence, places) -> list:
    head, relation, tail, *about = edge
    return [places[0](head), places[1](relation), places[0](tail), *about]
