"""Query shapes as first-order formulas: text to tree and back, negation normal form.

A formula is written as in EFOk-CQA (Yin et al., 2023): `r1(s1,e1)&!r2(e1,f)`, with constants `s#`,
existential variables `e#`, free variables `f#`, relations `r#`, and `!`, `&`, `|`, parentheses. A
bare integer in place of a constant or relation is a grounded id. An existential variable is bound
at the smallest subformula that holds all its occurrences, so that `!(r1(s1,e1)&r2(e1,f))` says
that *no* e1 exists, while `r1(s1,e1)&!r2(e1,f)` says that one exists.

Beyond that, `a->b` is an implication (`=>` and `→` are read, too); it binds least and to the right.
For crisp answers it is `!a|b`, and the same query; fuzzy logic gives it the residuum's degree.
`d1(e1)` is the degree that the graph gives the entity in its vector d1, such as that of being a
drug. It tells values of a variable apart that other atoms bind.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clqa.errors import InputError, abridged

Term = str | int


@dataclass(frozen=True, slots=True)
class Atom:
    relation: Term
    head: Term
    tail: Term


@dataclass(frozen=True, slots=True)
class Given(Atom):
    """The degree of a variable in a vector, as the atom of a relation of entities to themselves."""


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Formula"


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Implies(Or):
    """An implication from a to b, as the disjunction of `Not(a)` and b that it is when crisp."""


Formula = Atom | Not | And | Or

_TOKEN = re.compile(r"\s*(?:([A-Za-z]\w*|\d+)|(&&?|∧)|(\|\|?|∨)|([!~¬])|(->|=>|→)|([(),]))")
_SIGNS = {2: "&", 3: "|", 4: "!", 5: "->"}
# Numbers of symbols, and ids, have ten digits at most, those of ASCII.
_TERM = re.compile(r"(s[0-9]{1,10}|e[0-9]{0,10}|f[0-9]{0,10}|[0-9]{1,10})")
_RELATION = re.compile(r"(r[0-9]{1,10}|[0-9]{1,10})")
_VECTOR = re.compile(r"d[1-9]")
_VARIABLE = re.compile(r"(e[0-9]{0,10}|f[0-9]{0,10})")
_DEEPEST = 50
_WINDOW = 40


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Formula:
    """Read a formula; `!` binds most, then `&`, `|` and `->`; redundant parentheses are allowed.

    Raises
    ------
    InputError
        If the text is not a formula, or one that is nested too deeply; the message quotes it with
        a caret at the place.
    """
    tokens = _tokens(text)
    _check_depth(text, tokens)
    formula, rest = _parse_implication(text, tokens)
    if rest[0][0]:
        raise _expected("'&', '|', '->' or the end", text, rest)
    _check_given(text, tokens, formula)
    return formula


def _tokens(text: str) -> list[tuple[str, int]]:
    tokens, place = [], 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            blank = len(text[place:]) - len(text[place:].lstrip())
            raise _expected("a formula sign", text, [(text[place + blank], place + blank)])
        token = _SIGNS.get(match.lastindex, match[match.lastindex])
        tokens.append((token, match.start(match.lastindex)))
        place = match.end()
    return [*tokens, ("", len(text))]


def _check_depth(text: str, tokens: list[tuple[str, int]]) -> None:
    """Refuse more brackets and negations in each other than any shape needs."""
    ends = [0]  # for each open bracket, how deep its end leads back
    depth = 0
    for token, place in tokens:
        if token in ("!", "("):
            depth += 1
        if token == "(":
            ends.append(depth - 1)
        elif token == ")" and len(ends) > 1:
            depth = ends.pop()
        elif token in ("&", "|"):
            depth = ends[-1] + (len(ends) > 1)
        elif token == "->":
            ends[-1] += 1
            depth = ends[-1] + (len(ends) > 1)
        if depth > _DEEPEST:
            raise InputError(
                f"{pointed(text, place)}: more than {_DEEPEST} brackets and negations in each "
                "other; write it with fewer"
            )


def _check_given(text: str, tokens: list[tuple[str, int]], formula: Formula) -> None:
    """Refuse a variable that given degrees alone speak of."""
    bound = {term for atom in atoms(formula) for term in (atom.head, atom.tail)}
    for token, place in tokens:
        if _VARIABLE.fullmatch(token) and token not in bound:
            raise InputError(
                f"{pointed(text, place)}: {token} occurs in given degrees alone, which bind no "
                "variable; give it an atom of a relation as well"
            )


def _expected(what: str, text: str, tokens: list[tuple[str, int]]) -> InputError:
    token, place = tokens[0]
    found = f"found {abridged(token)}" if token else "the text ends"
    return InputError(f"{pointed(text, place)}: expected {what}, but {found}")


def pointed(text: str, place: int) -> str:
    """A formula for a message: with a caret before the place, what is far from it left out.

    What cannot be seen, such as the end of a line, is shown as a replacement character.
    """
    text = "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
    start, end = max(0, place - _WINDOW), place + _WINDOW
    before = f"…{text[start:place]}" if start else text[:place]
    after = f"{text[place:end]}…" if end < len(text) else text[place:]
    return f"formula '{before}^{after}', column {place + 1}"


def _parse_implication(text, tokens):
    condition, tokens = _parse_or(text, tokens)
    if tokens[0][0] != "->":
        return condition, tokens
    conclusion, tokens = _parse_implication(text, tokens[1:])
    return Implies((Not(condition), conclusion)), tokens


def _parse_or(text, tokens):
    return _parse_joined(text, tokens, "|", Or, _parse_and)


def _parse_and(text, tokens):
    return _parse_joined(text, tokens, "&", And, _parse_not)


def _parse_joined(text, tokens, sign, kind, parse_part):
    part, tokens = parse_part(text, tokens)
    parts = [part]
    while tokens[0][0] == sign:
        part, tokens = parse_part(text, tokens[1:])
        parts.append(part)
    return joined(kind, parts), tokens


def joined(kind: type[And] | type[Or], parts) -> Formula:
    """Conjunction or disjunction of `parts`, without nesting and without a single part."""
    flat = []
    for part in parts:
        nested = type(part) is kind and kind is not Implies
        flat.extend(part.parts if nested else [part])
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def _parse_not(text, tokens):
    token = tokens[0][0]
    if token == "!":
        inner, tokens = _parse_not(text, tokens[1:])
        return Not(inner), tokens
    if token == "(":
        inner, tokens = _parse_implication(text, tokens[1:])
        return inner, _skip(")", text, tokens)
    return _parse_atom(text, tokens)


def _parse_atom(text, tokens):
    if _VECTOR.fullmatch(tokens[0][0]):
        return _parse_given(text, tokens)
    relation, tokens = _parse_name(_RELATION, "a relation (r1, r2, ... or an id)", text, tokens)
    tokens = _skip("(", text, tokens)
    head, tokens = _parse_name(_TERM, "a term (s1, e1, f or an id)", text, tokens)
    tokens = _skip(",", text, tokens)
    tail, tokens = _parse_name(_TERM, "a term (s1, e1, f or an id)", text, tokens)
    return Atom(relation, head, tail), _skip(")", text, tokens)


def _parse_given(text, tokens):
    vector, tokens = tokens[0][0], _skip("(", text, tokens[1:])
    variable, tokens = _parse_name(_VARIABLE, "a variable (e1, f)", text, tokens)
    return Given(vector, variable, variable), _skip(")", text, tokens)


def _parse_name(pattern, what, text, tokens):
    token = tokens[0][0]
    if not pattern.fullmatch(token):
        raise _expected(what, text, tokens)
    return (int(token) if token.isdigit() else token), tokens[1:]


def _skip(sign, text, tokens):
    if tokens[0][0] != sign:
        raise _expected(f"'{sign}'", text, tokens)
    return tokens[1:]


def to_text(formula: Formula) -> str:
    """The formula with no more parentheses than needed; `parse` gives the same tree back."""
    match formula:
        case Given(vector, variable, _):
            return f"{vector}({variable})"
        case Atom(relation, head, tail):
            return f"{relation}({head},{tail})"
        case Not(And() | Or() as inner):
            return f"!({to_text(inner)})"
        case Not(inner):
            return f"!{to_text(inner)}"
        case And(parts):
            texts = (f"({to_text(p)})" if isinstance(p, Or) else to_text(p) for p in parts)
            return "&".join(texts)
        case Implies((Not(condition), conclusion)):
            return f"{_bracketed(condition)}->{to_text(conclusion)}"
        case Or(parts):
            return "|".join(map(_bracketed, parts))


def _bracketed(part: Formula) -> str:
    """The text of a part that an implication would not end at."""
    return f"({to_text(part)})" if isinstance(part, Implies) else to_text(part)


def without_implications(formula: Formula) -> Formula:
    """The formula with each implication as the disjunction that it is for crisp answers."""
    match formula:
        case Atom():
            return formula
        case Not(inner):
            return Not(without_implications(inner))
        case And(parts) | Or(parts):
            kind = And if isinstance(formula, And) else Or
            return joined(kind, map(without_implications, parts))


def atoms(formula: Formula) -> Iterator[Atom]:
    """The atoms of relations from left to right, without given degrees."""
    return (atom for atom in all_atoms(formula) if not isinstance(atom, Given))


def all_atoms(formula: Formula) -> Iterator[Atom]:
    """The atoms from left to right, given degrees among them."""
    match formula:
        case Atom():
            yield formula
        case Not(inner):
            yield from all_atoms(inner)
        case And(parts) | Or(parts):
            for part in parts:
                yield from all_atoms(part)


def vectors(formula: Formula) -> tuple[int, ...]:
    """Numbers of the vectors whose degrees the formula asks for, ascending."""
    given = (atom.relation for atom in all_atoms(formula) if isinstance(atom, Given))
    return tuple(sorted({int(vector[1:]) for vector in given}))


def symbols(formula: Formula, kind: str) -> list[str]:
    """Symbols of a kind (`s`, `e`, `f` or `r`) in the order in which they first appear."""
    found = {}
    for atom in atoms(formula):
        for symbol in (atom.relation, atom.head, atom.tail):
            if isinstance(symbol, str) and symbol[0] == kind:
                found[symbol] = None
    return list(found)


def free_variables(formula: Formula) -> tuple[str, ...]:
    """The free variables by their numbers: the order of the columns of an answer."""
    return tuple(sorted(symbols(formula, "f"), key=lambda name: (int(name[1:] or 0), name)))


def variables(formula: Formula) -> Counter:
    """How often each existential or free variable occurs."""
    terms = (term for atom in all_atoms(formula) for term in (atom.head, atom.tail))
    return Counter(term for term in terms if isinstance(term, str) and term[0] in "ef")


def bound_at(formula: Formula, free: frozenset[str]) -> set[str]:
    """Variables other than `free` whose smallest common subformula is `formula` itself."""
    own = variables(formula)
    match formula:
        case Atom():
            return set(own) - free
        case Not():
            return set()
        case And(parts) | Or(parts):
            inside = [variables(part) for part in parts]
            whole = {name for part in inside for name in part if part[name] == own[name]}
            return set(own) - whole - free


def renamed(formula: Formula, names: dict) -> Formula:
    """The formula with symbols replaced; a symbol that `names` lacks stays."""
    match formula:
        case Atom(relation, head, tail):
            symbols_ = (names.get(symbol, symbol) for symbol in (relation, head, tail))
            return type(formula)(*symbols_)
        case Not(inner):
            return Not(renamed(inner, names))
        case And(parts) | Or(parts):
            return type(formula)(tuple(renamed(part, names) for part in parts))


def negation_normal(formula: Formula, free: frozenset[str] | None = None) -> Formula:
    """Move negations inwards and cancel double ones.

    A negation stops where it would cross the quantifier of an existential variable. `free` are the
    variables that are bound further out; by default the formula's free variables.
    """
    free = frozenset(symbols(formula, "f")) if free is None else free
    match formula:
        case Not(Not(inner)):
            return negation_normal(inner, free)
        case Not(And(parts) | Or(parts) as inner):
            if bound_at(inner, free):
                return Not(negation_normal(inner, free))
            opposite = Or if isinstance(inner, And) else And
            inside = zip(parts, free_in_parts(inner, free), strict=True)
            return joined(opposite, (negation_normal(Not(part), own) for part, own in inside))
        case And(parts) | Or(parts):
            inside = zip(parts, free_in_parts(formula, free), strict=True)
            kind = And if isinstance(formula, And) else Or
            return joined(kind, (negation_normal(part, own) for part, own in inside))
        case _:
            return formula


def free_in(part: Formula, whole: Formula, free: frozenset[str]) -> frozenset[str]:
    """Variables of `part` that `free` holds or that also occur elsewhere in `whole`."""
    return _free_of(variables(part), variables(whole), free)


def free_in_parts(whole: And | Or, free: frozenset[str]) -> list[frozenset[str]]:
    """`free_in` of each part of a conjunction or disjunction."""
    counts = variables(whole)
    return [_free_of(variables(part), counts, free) for part in whole.parts]


def _free_of(own: Counter, all_: Counter, free: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in own if name in free or own[name] < all_[name])


def is_negative(formula: Formula) -> bool:
    """Whether a negation is left in the negation normal form."""
    return "!" in to_text(negation_normal(formula))
