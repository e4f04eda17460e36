"""Ranks and metrics of tuples straight from their definitions: sets, loops and real orders."""

import itertools
from fractions import Fraction


def order_of(scores, first=(), last=()):
    """Entities by descending score; in a block of ties `first` ones, others by id, `last` ones."""
    return sorted(
        range(len(scores)),
        key=lambda e: (-scores[e], e not in first, e in last, e),
    )


def pairing_place(ranks):
    """Place of a row of ranks in the endless list by sum and then lexicographically, by listing."""
    total, arity, place = sum(ranks), len(ranks), 0
    for row in itertools.product(range(total + 1), repeat=arity):
        place += (sum(row), row) < (total, tuple(ranks))
    return place


def grid_place(ranks, n):
    """The same in the list of the rows of ranks below n."""
    return sum(
        (sum(row), row) < (sum(ranks), tuple(ranks))
        for row in itertools.product(range(n), repeat=len(ranks))
    )


def joint_rank(scores, target, known, ties, exact=False):
    """Rank of a tuple among all that are not known, from the orders of the variables' entities."""
    orders = []
    for row, entity in zip(scores, target, strict=True):
        ends = {"optimistic": {"first": {entity}}, "pessimistic": {"last": {entity}}, "by-id": {}}
        orders.append(order_of(row, **ends[ties]))

    def key(one):
        ranks = tuple(order.index(e) for order, e in zip(orders, one, strict=True))
        return sum(ranks), ranks

    own = key(target)
    place = grid_place(own[1], len(scores[0])) if exact else pairing_place(own[1])
    return place + 1 - sum(key(one) < own for one in {*known} - {target})


def projection(tuples, j):
    return {one[j] for one in tuples}


def filtered_rank(order, entity, answers):
    """E7: rho - (answers ranked before) + 1."""
    place = order.index(entity)
    return place - sum(order.index(a) < place for a in {*answers} - {entity}) + 1


def marginal(scores, easy, hard, of_rank, orders=None):
    """Value per variable, None where no value of it is hard; orders without ties by default."""
    found = []
    for j, row in enumerate(scores):
        order = (orders or [order_of(row) for row in scores])[j]
        answers = projection({*easy, *hard}, j)
        new = answers - projection(easy, j)
        values = [Fraction(of_rank(filtered_rank(order, x, answers))) for x in new]
        found.append(sum(values) / len(values) if values else None)
    return found
