"""Which entities do not compete with a hard answer: one named rule per convention of the field."""

import numpy as np

from clqa.competitions import RAW
from clqa.ragged import Ragged
from clqa.ragged_sets import union, without


def observed_and_full(easy: Ragged, hard: Ragged, retracted: Ragged) -> Ragged:
    """Answers on the observed or on the full graph, as the reference implementation has it."""
    return union(easy, hard)


def full_only(easy: Ragged, hard: Ragged, retracted: Ragged) -> Ragged:
    """Answers on the full graph; a retracted answer is a wrong one and competes."""
    return union(without(easy, retracted), hard)


def nothing(easy: Ragged, hard: Ragged, retracted: Ragged) -> Ragged:
    """No answer: easy ones and the other hard ones compete, as in the raw setting."""
    return Ragged(np.zeros_like(hard.offsets), hard.values[:0])


# By name, the default first. Easy answers include the retracted ones. Whose easy answers they are
# is the query set's to say: those of a +H set are `corrected` or as `released`.
FILTERS = {"observed-and-full": observed_and_full, "full-only": full_only, RAW: nothing}


def with_test(easy: Ragged, hard: Ragged, on_test: Ragged) -> Ragged:
    """Answers on the observed or the full graph of the split, or on the full graph of test.

    It is the filter `clqa.competitions.WITH_TEST`, which needs queries to be answered again.
    """
    return union(union(easy, hard), on_test)
