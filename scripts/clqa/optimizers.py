"""Steps of gradient descent, in place: Adagrad (Duchi et al., 2011), Adam (Kingma and Ba, 2015).

A parameter, its gradient and its memories are arrays of one shape. The gradient is overwritten.
"""

from collections.abc import Callable

import numpy as np

_EPSILON = np.float32(1e-10)
_MEAN, _SQUARE = 0.9, 0.999
_SLAB = 2**16  # numbers that stay in cache


def adagrad(parameter, gradient, memories, rate, step):
    """Divide by the root of the sum of all squares so far."""
    (squares,) = memories
    squares += gradient * gradient
    gradient *= np.float32(rate)
    gradient /= np.sqrt(squares) + _EPSILON
    parameter -= gradient


def adam(parameter, gradient, memories, rate, step):
    """Follow the mean gradient, divided by the root of the mean square."""
    mean, squares = memories
    mean *= np.float32(_MEAN)
    mean += np.float32(1 - _MEAN) * gradient
    squares *= np.float32(_SQUARE)
    squares += np.float32(1 - _SQUARE) * (gradient * gradient)
    corrected = rate * np.sqrt(1 - _SQUARE**step) / (1 - _MEAN**step)
    np.divide(mean, np.sqrt(squares) + np.float32(1e-8), out=gradient)
    gradient *= np.float32(corrected)
    parameter -= gradient


# By name: the step, and the number of memories.
OPTIMIZERS = {"adagrad": (adagrad, 1), "adam": (adam, 2)}


def descend(name: str, parameter, gradient, memories, rate: float, step: int, spread: Callable):
    """One step, the first of number 1, in slabs that `spread` may work at side by side."""
    move, _ = OPTIMIZERS[name]
    flat = [array.reshape(-1) for array in (parameter, gradient, *memories)]

    def part(first):
        slab = slice(first, first + _SLAB)
        own, slope, *kept = (array[slab] for array in flat)
        move(own, slope, kept, rate, step)

    for _ in spread(part, range(0, parameter.size, _SLAB)):
        pass
