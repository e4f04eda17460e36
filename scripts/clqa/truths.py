"""What counts as true when predicted sets are judged."""

from clqa.errors import InputError
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, merged, selected

# full: the answers on the full graph. hard: those that the observed graph does not give; what it
# gives is then taken out of the predictions, retracted answers too.
TRUTHS = ("full", "hard")


def truth_choice(name: str) -> str:
    """The name itself, if there is such a truth."""
    if name not in TRUTHS:
        raise InputError(f"truth: no choice {name!r}; known are {', '.join(TRUTHS)}")
    return name


def true_answers(easy: Ragged, hard: Ragged, retracted: Ragged, truth: str, n_ids: int) -> Ragged:
    """True answers of each query: (easy minus retracted) with hard, or hard alone.

    Parameters
    ----------
    easy, hard, retracted : Ragged
        See `clqa.answers.SplitAnswers`.
    truth : one of `TRUTHS`
    n_ids : int
        Number of entities.
    """
    if truth_choice(truth) == "hard":
        return hard
    return merged(selected(easy, ~is_shared(easy, retracted, n_ids)), hard, n_ids)


def without_known(predicted: Ragged, easy: Ragged, truth: str, n_ids: int) -> Ragged:
    """The predictions that are judged: all, or under `hard` those that are no easy answers."""
    if truth_choice(truth) == "full":
        return predicted
    return selected(predicted, ~is_shared(predicted, easy, n_ids))
