"""Queries as text for people and as SPARQL, whatever their shape."""

import itertools
import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import numpy as np

from clqa.formulas import (
    And,
    Atom,
    Formula,
    Given,
    Not,
    Or,
    free_in,
    free_variables,
    renamed,
    symbols,
    to_text,
    variables,
)

PREFIX = "urn:clqa:"


def values_of(formula: Formula, anchors: np.ndarray, relations: np.ndarray) -> dict[str, int]:
    """The ids that one query has for the constants and relations of its shape."""
    values = dict(zip(symbols(formula, "s"), anchors.tolist(), strict=True))
    return values | dict(zip(symbols(formula, "r"), relations.tolist(), strict=True))


def with_ids(formula: Formula, values: Mapping[str, int]) -> str:
    """The grounded formula, `0(5,e1)&3(e1,f)`, which `clqa.formulas.parse` reads."""
    return to_text(renamed(formula, dict(values)))


def with_labels(formula: Formula, values: Mapping[str, int], entities, relations) -> str:
    """The grounded formula with labels as JSON strings, `"likes"("Anna",e1)&"knows"(e1,f)`.

    Parameters
    ----------
    entities, relations : sequences of str
        Labels by id.
    """
    return to_text(renamed(formula, quoted(values, entities, relations)))


def quoted(values: Mapping[str, int], entities, relations) -> dict[str, str]:
    """The label of each symbol as a JSON string."""
    return {
        symbol: json.dumps((relations if symbol[0] == "r" else entities)[id_], ensure_ascii=False)
        for symbol, id_ in values.items()
    }


def terms_of(
    values: Mapping[str, int], entities, relations, inverse: np.ndarray, prefix: str = PREFIX
) -> dict[str, str]:
    """IRIs made of the labels, and for the second of two inverse relations the first one turned.

    Parameters
    ----------
    inverse : (n_relations,) int
        Id of the inverse of each relation, -1 where there is none.
    """
    found = {}
    for symbol, id_ in values.items():
        if symbol[0] == "s":
            found[symbol] = f"<{prefix}entity:{quote(entities[id_], safe='')}>"
        else:
            is_turned = bool(0 <= inverse[id_] < id_)
            label = relations[int(inverse[id_]) if is_turned else id_]
            found[symbol] = f"{'^' * is_turned}<{prefix}relation:{quote(label, safe='')}>"
    return found


def to_sparql(formula: Formula, terms: Mapping[str, str]) -> str:
    """A SELECT query whose solutions are the answers on a graph of the same triples.

    A complement is over all that is the subject or the object of a triple. That an entity has the
    degree 1 in a vector is a triple of it as well: `<urn:clqa:degree> "d1"`.

    Parameters
    ----------
    terms : dict
        What stands for each constant and each relation.
    """
    free = free_variables(formula)
    lines = _group(formula, frozenset(free), terms, itertools.count(1))
    head = f"SELECT DISTINCT {' '.join(f'?{name}' for name in free)} WHERE {{"
    return "\n".join([head, *(f"  {line}" for line in lines), "}"])


def _group(
    formula: Formula, free: frozenset[str], terms: Mapping[str, str], fresh: Iterator[int]
) -> list[str]:
    """Lines of a group in which every variable of the formula that is free in it is bound."""
    parts = formula.parts if isinstance(formula, And) else (formula,)
    own = {id(part): free_in(part, formula, free) for part in parts}
    patterns, filters = [], []
    for part in parts:
        match part:
            case Not(inner):
                lines = _group(inner, own[id(part)], terms, fresh)
                filters += ["FILTER NOT EXISTS {", *_indented(lines), "}"]
            case Or(branches):
                for place, branch in enumerate(branches):
                    lines = _group(branch, free_in(branch, part, own[id(part)]), terms, fresh)
                    patterns += ["} UNION {" if place else "{", *_indented(lines)]
                patterns.append("}")
            case Given(vector, variable, _):
                patterns.append(f'?{variable} <{PREFIX}degree> "{vector}" .')
            case Atom(relation, head, tail):
                ends = (terms.get(end, f"?{end}") for end in (head, tail))
                patterns.append(f"{' '.join((next(ends), terms[relation], *ends))} .")
    open_ = (free & set(variables(formula))) | _shared(parts)
    unbound = sorted(open_.difference(*map(_bound, parts)))
    return [*(_anything(name, next(fresh)) for name in unbound), *patterns, *filters]


def _shared(parts: tuple[Formula, ...]) -> set[str]:
    """Variables that several parts speak of."""
    inside = [set(variables(part)) for part in parts]
    return {name for one, other in itertools.combinations(inside, 2) for name in one & other}


def _bound(formula: Formula) -> set[str]:
    """Variables that have a value wherever the pattern of the formula matches."""
    match formula:
        case Atom():
            return set(variables(formula))
        case Or(parts):
            return set.intersection(*map(_bound, parts))
        case And(parts):
            return set().union(*map(_bound, parts))
        case Not():
            return set()


def _anything(name: str, number: int) -> str:
    out, into = f"?{name} ?p{number} ?o{number}", f"?o{number} ?p{number} ?{name}"
    return f"{{ {out} . }} UNION {{ {into} . }}"


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
