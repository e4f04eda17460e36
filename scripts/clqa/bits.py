"""Bit operations that processors have and numba does not offer."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def lowest_one(typing_context, word):
    """Place of the lowest bit set in a uint64; 64 if there is none."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def count_ones(typing_context, word):
    """How many bits are set in a uint64."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate
