"""Explain a query: what it asks, what answers it and why, and how a model ranks an answer.

    python scripts/explain.py --queries umls-test --id 40b1 --model qto --answer virus

The query is told in words, as a formula and as SPARQL, with its easy, hard and retracted answers.
Of one answer (by default the first hard one) all assignments of the existential variables on the
full graph are listed, those with the fewest missing edges first; of a model its rank, the better
candidates, and, if it answers over predicted links, its best assignment with the degree of each
link. Where a query has several free variables, --answer is given once for each, in order.
"""

import argparse
import math
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from clqa.crisp_witnesses import CrispWitness, crisp_witnesses
from clqa.display_names import DisplayNames, read_names
from clqa.edge_indexes import graph_edges, vector_ids
from clqa.errors import InputError, abridged
from clqa.explanations import Standing, Subject, model_witness, read_subject, standings
from clqa.formulas import renamed, to_text, vectors
from clqa.printed_queries import terms_of, to_sparql, with_labels
from clqa.witnesses import CONDITIONS, Witness, conditions_of, link_status, links_of
from clqa.worded_queries import in_words

LIMIT = 10
_BOUNDS = {"best": (" at best", " at most"), "worst": (" at worst", " at least")}


def explain(
    results: Path,
    queries: str,
    query_id: str,
    model: str | None = None,
    labels: list[str] | None = None,
    path_to_names: Path | None = None,
    limit: int = LIMIT,
) -> Iterator[str]:
    """Lines about a query.

    Parameters
    ----------
    labels : list of str, optional
        The answer: a label, or a name of the file of names, for each free variable.
    path_to_names : path, optional
        See `clqa.display_names.read_names`.
    limit : int
        How many answers, witnesses and candidates are listed.
    """
    subject = read_subject(Path(results), queries, query_id)
    shown = read_names(path_to_names, subject.entities)
    yield from _question(subject, queries, shown)
    yield from _sets(subject, shown, limit)
    answer = _answer(subject, labels, shown)
    if answer is None:
        yield "no answer to explain"
        return
    relations = [id_ for symbol, id_ in subject.values.items() if symbol[0] == "r"]
    edges = graph_edges(subject.graph, subject.split, relations, vectors(subject.formula))
    yield from _why(subject, answer, edges, shown, limit)
    if model is not None:
        about = Path(results), queries, model, subject
        yield from _ranked(model, standings(*about, answer), answer, shown, limit)
        if len(subject.variables) == 1:
            witness = model_witness(*about, next(iter(answer.values())))
            if witness is not None:
                yield from _by_model(subject, witness, edges, shown)


def _question(subject: Subject, queries: str, shown: DisplayNames) -> Iterator[str]:
    labels = subject.entities, subject.relations
    names = {
        symbol: subject.relations[id_] if symbol[0] == "r" else shown(id_)
        for symbol, id_ in subject.values.items()
    }
    terms = terms_of(subject.values, *labels, subject.graph.inverse)
    shape = f"{subject.shape} ({to_text(subject.formula)})"
    yield f"query {subject.query_id} of {queries}, shape {shape}"
    yield f"in words: {in_words(subject.formula, names)}"
    yield f"formula:  {with_labels(subject.formula, subject.values, *labels)}"
    yield from ["SPARQL:", *(f"  {line}" for line in to_sparql(subject.formula, terms).split("\n"))]


def _sets(subject: Subject, shown: DisplayNames, limit: int) -> Iterator[str]:
    for name, rows in subject.sets().items():
        listed = "; ".join(_tuple(row, shown) for row in rows[:limit].tolist())
        more = f" and {len(rows) - limit} more" if len(rows) > limit else ""
        yield f"{name} answers ({len(rows)}): {listed}{more}".rstrip(": ")


def _tuple(row, shown: DisplayNames) -> str:
    names = [shown(id_) for id_ in row]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _answer(
    subject: Subject, labels: list[str] | None, shown: DisplayNames
) -> Mapping[str, int] | None:
    """The entity of each free variable: as asked for, or the first hard or easy answer."""
    if labels:
        if len(labels) != len(subject.variables):
            names = ", ".join(subject.variables)
            what = f"{len(labels)} labels for the free variables {names}"
            raise InputError(f"--answer: {what}; give --answer once for each, in this order")
        return dict(zip(subject.variables, map(shown.id_of, labels), strict=True))
    sets = subject.sets()
    rows = sets["hard"] if len(sets["hard"]) else sets["easy"]
    return dict(zip(subject.variables, rows[0].tolist(), strict=True)) if len(rows) else None


def _why(subject: Subject, answer, edges, shown: DisplayNames, limit: int) -> Iterator[str]:
    about = _tuple(answer.values(), shown)
    full, observed = edges
    n_entities = subject.graph.n_entities
    given = vector_ids(subject.formula, subject.graph)
    found, is_whole = crisp_witnesses(
        subject.formula, subject.values | given, answer, full, observed, n_entities
    )
    if not found:
        yield f"{about} is no answer on the full graph" + ("" if is_whole else ", as far as tried")
        return
    n_least = found[0].n_missing
    least = f"at least {n_least} missing edge{'s' * (n_least != 1)}"
    whole = "" if is_whole else "; there are too many to try all"
    yield f"why {about}: {len(found)} witness{'es' * (len(found) != 1)}, {least}{whole}"
    for place, witness in enumerate(found[:limit], 1):
        yield from _witness(place, witness, subject, answer, shown)
    if len(found) > limit:
        yield f"  and {len(found) - limit} more"


def _witness(place: int, witness: CrispWitness, subject, answer, shown) -> Iterator[str]:
    names = ", ".join(f"{name} = {shown(id_)}" for name, id_ in witness.assignment.items())
    yield f"  {place}. {names or 'no other entity'}: {witness.n_missing} missing"
    for step in witness.steps:
        yield f"     {_edge(step.edge, subject, shown)}  {step.status}"
    known = subject.values | witness.assignment | dict(answer)
    texts = {
        symbol: subject.relations[id_] if symbol[0] == "r" else shown(id_)
        for symbol, id_ in known.items()
    }
    for part in witness.absent:
        yield f"     not {to_text(renamed(part, texts))}  holds"


def _edge(edge: tuple[int, int, int], subject: Subject, shown: DisplayNames) -> str:
    head, relation, tail = edge
    beyond = relation - len(subject.relations)
    if beyond >= 0:
        return f"({shown(head)}) is d{beyond + 1}"
    return f"({shown(head)}) -{subject.relations[relation]}-> ({shown(tail)})"


def _ranked(
    model: str, found: list[Standing], answer, shown: DisplayNames, limit: int
) -> Iterator[str]:
    if not found:
        yield f"{model}: the answer has no rank, as it is no hard one"
    for one in found:
        yield f"{model}: {one.variable} = {shown(answer[one.variable])}: {_standing(one)}"
    better = found[0].better if found else []
    if better:
        listed = "; ".join(f"{shown(id_)} {score:.6g}" for id_, score in better[:limit])
        n_more = found[0].greater - len(better[:limit])
        yield f"  better: {listed}{f' and {n_more} more' if n_more > 0 else ''}"


def _standing(one: Standing) -> str:
    """Rank and score, which of lists that are cut are bounds."""
    of_rank, of_score = _BOUNDS.get(one.bound, ("", ""))
    ranks = f"rank {one.greater + 1}" + (f" to {one.greater + 1 + one.tied}" * bool(one.tied))
    is_known = one.score is not None and one.score > -math.inf
    score = f", score {one.score:.6g}{of_score}" if is_known else ""
    return f"{ranks}{of_rank} of {one.candidates} ({one.filter}){score}"


def _by_model(subject: Subject, witness: Witness, edges, shown: DisplayNames) -> Iterator[str]:
    """The best assignment of a model over predicted links."""
    full, observed = edges
    yield f"  its best assignment has the degree {witness.degree:.6g}:"
    for link in links_of(witness):
        sign = "not " if link.negated else ""
        text = f"{sign}{_edge(link[:3], subject, shown)}"
        yield f"     {text}  {link.degree:.6g}  {link_status(link, observed, full.known)}"
    for part in conditions_of(witness):
        yield f"     {CONDITIONS[part.kind]} ({shown(part.entity)})  {part.degree:.6g}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", required=True, help="the query set")
    parser.add_argument("--id", required=True, help="the id of the query, or how it starts")
    parser.add_argument("--model", help="a model whose ranks of it there are")
    parser.add_argument("--answer", action="append", help="label of the answer (per free variable)")
    parser.add_argument("--names", type=Path, help="TSV of entity labels and names to show")
    parser.add_argument("--limit", type=_limit, default=LIMIT, help=f"of lists (default: {LIMIT})")
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    try:
        given = (options.results, options.queries, options.id, options.model, options.answer)
        for line in explain(*given, options.names, options.limit):
            print(line)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _limit(text: str) -> int:
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{abridged(text)} is no number of entries; give 1, 2, ...")


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    sys.exit(main())
