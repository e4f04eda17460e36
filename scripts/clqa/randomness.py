"""Random numbers that depend on a name and a counter, never on what was drawn before elsewhere."""

import hashlib
import json

import numpy as np

from clqa.kernels import kernel


def stream_key(*parts) -> np.uint64:
    """64 bits that name a random stream, from the sha256 of the parts as JSON."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


@kernel
def mixed(z):
    """Finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def seek(random, key, counter):
    """Put a stream, (1,) uint64, at the start of its part number `counter`."""
    random[0] = mixed(key + mixed(np.uint64(counter)))


@kernel
def uniform(random):
    """Next number of a stream in [0, 1), with 53 random bits."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mixed(random[0]) >> np.uint64(11)) * 2.0**-53


@kernel
def below(random, bound):
    """Next whole number of a stream in [0, bound)."""
    return np.int64(uniform(random) * bound)
