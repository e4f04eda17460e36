"""Rules by which a run makes answer sets, from their names such as `top@10`."""

import re
from typing import NamedTuple

from clqa.errors import InputError

TUNINGS = ("macro", "break-even")
# What each kind of rule takes from its name, and how that is written.
_FORMS = {
    "top": ("a whole number from 1", r"[1-9][0-9]{0,5}"),
    "ceiling": None,
    "threshold": ("a number from 0 to 1", r"0(\.[0-9]+)?|1(\.0+)?"),
    "tuned": (" or ".join(TUNINGS), "|".join(TUNINGS)),
    "conformal": ("a number between 0 and 1", r"0\.[0-9]*[1-9][0-9]*"),
    "conformal-query": ("a number between 0 and 1", r"0\.[0-9]*[1-9][0-9]*"),
}
KNOWN = ", ".join(f"{kind}@..." if form else kind for kind, form in _FORMS.items())


class SetRule(NamedTuple):
    """How answer sets are made.

    Attributes
    ----------
    name : str
        As the run has it.
    kind : str
        `top`: the best so many candidates. `ceiling`: the true answers among the best candidates
        that are kept, which no choice among these can surpass. `threshold`: all from a degree on.
        `tuned`: all from that score on which is best on the query set for tuning. `conformal`: all
        from the degree on that promises to cover this share of the true answers of a shape;
        `conformal-query`: of the queries, with all their answers.
    value : int, float, str or None
    """

    name: str
    kind: str
    value: int | float | str | None

    @property
    def needs_partner(self) -> bool:
        """Whether it is set on other queries than those that it is applied to."""
        return self.kind in ("tuned", "conformal", "conformal-query")


def set_rule(name: str) -> SetRule:
    """The rule of a name.

    Raises
    ------
    InputError
        If there is no such rule, or what follows its `@` is not possible.
    """
    kind, sign, text = str(name).partition("@")
    if kind not in _FORMS:
        raise InputError(f"unknown rule {name!r} for answer sets; known are {KNOWN}")
    if _FORMS[kind] is None:
        if sign:
            raise InputError(f"{name}: the rule {kind} takes nothing after it; write {kind}")
        return SetRule(name, kind, None)
    expected, form = _FORMS[kind]
    if not re.fullmatch(form, text):
        raise InputError(f"{name}: expected {expected} after {kind}@, found {text!r}")
    kinds = {"top": int, "tuned": str}
    return SetRule(name, kind, kinds.get(kind, float)(text))
