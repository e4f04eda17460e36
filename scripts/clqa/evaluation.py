"""The set machine: programs of `clqa.plans` run query by query over the graphs of a `View`."""

import numpy as np

from clqa.kernels import inlined, kernel
from clqa.operators import intersect, project, project_negated, unite
from clqa.programs import (
    ANCHOR,
    COMPLEMENT,
    EVERYTHING,
    GIVEN,
    HOP,
    INTERSECT,
    PROJECT,
    PROJECT_NEGATED,
)
from clqa.sets import (
    DEFAULT,
    FLIP,
    LENGTH,
    flipped,
    give,
    hop,
    spare_start,
    store,
)


@inlined
def _fold(view, work, base, count, mode, conjunction):
    """Fold the sets from slot `base` on into `base`; meets begin with the smallest sets."""
    slots = work.slots
    for done in range(1, count):
        if conjunction and done == 1:
            swap(slots, base, _smallest(slots, base, base + count))
        if conjunction:
            swap(slots, base + done, _smallest(slots, base + done, base + count))
            intersect(view, work, base, base + done, mode)
        else:
            unite(view, work, base, base + done, mode)


@inlined
def _smallest(slots, first, last):
    best = first
    for slot in range(first + 1, last):
        sparse = slots[slot, DEFAULT] == 0
        best_sparse = slots[best, DEFAULT] == 0
        if sparse > best_sparse or (
            sparse == best_sparse and slots[slot, LENGTH] < slots[best, LENGTH]
        ):
            best = slot
    return best


@inlined
def swap(slots, a, b):
    if a != b:
        for column in range(slots.shape[1]):
            kept = slots[a, column]
            slots[a, column] = slots[b, column]
            slots[b, column] = kept


@kernel
def evaluate(view, work, steps, anchors, relations, mode):
    """Run a program for one query; the result is left in slot 0.

    Parameters
    ----------
    view : View
    steps : (n_steps, 3) int32
    anchors, relations : 1-d int32
    """
    slots = work.slots
    top = np.int64(-1)
    for k in range(steps.shape[0]):
        step, argument = steps[k, 0], np.int64(steps[k, 1])
        reverse = argument < 0
        if step == HOP:
            top += 1
            relation = relations[-1 - argument if reverse else argument]
            hop(view, work, top, relation, reverse, anchors[steps[k, 2]])
        elif step == PROJECT:
            relation = relations[-1 - argument if reverse else argument]
            project(view, work, top, relation, reverse, mode)
        elif step == PROJECT_NEGATED:
            relation = relations[-1 - argument if reverse else argument]
            project_negated(view, work, top, relation, reverse, mode)
        elif step == COMPLEMENT:
            slots[top, FLIP] ^= 1
            slots[top, DEFAULT] = flipped(slots[top, DEFAULT], mode)
        elif step == GIVEN:
            top += 1
            give(view, work, top, argument, mode)
        elif step in (ANCHOR, EVERYTHING):
            top += 1
            one = np.int64(3 if mode == 0 else 255)
            out = spare_start(work)
            size = np.int64(step == ANCHOR)
            if size:
                work.ids[out] = anchors[argument]
                work.values[out] = one
            store(work, top, out, out + size, one * (1 - size), np.int64(1))
        else:
            top -= argument - 1
            _fold(view, work, top, argument, mode, step == INTERSECT)
