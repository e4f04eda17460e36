"""What counts as true when predicted sets are judged."""

from clqa.errors import InputError
from clqa.filters import full_only
from clqa.ragged import Ragged

# full: the answers on the full graph. hard: those that the observed graph does not give; what it
# gives is then taken out of the predictions, retracted answers too.
TRUTHS = ("full", "hard")


def truth_choice(name: str) -> str:
    """The name itself, if there is such a truth."""
    if name not in TRUTHS:
        raise InputError(f"truth: no choice {name!r}; known are {', '.join(TRUTHS)}")
    return name


def true_answers(easy: Ragged, hard: Ragged, retracted: Ragged, truth: str) -> Ragged:
    """True answers of each query: (easy minus retracted) with hard, or hard alone.

    Parameters
    ----------
    easy, hard, retracted : Ragged
        See `clqa.answers.SplitAnswers`.
    truth : one of `TRUTHS`
    """
    if truth_choice(truth) == "hard":
        return hard
    return full_only(easy, hard, retracted)
