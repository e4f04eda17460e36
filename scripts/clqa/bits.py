"""Bit operations that processors have and numba does not offer."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def ones(typing_context, word):
    """Number of bits set in a uint64."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def lowest_one(typing_context, word):
    """Place of the lowest bit set in a uint64 that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate
