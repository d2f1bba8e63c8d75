"""One small random generator that any language can repeat.

It is counter-based: draw number `i` of a seed is a pure function of both, so a
stream is resumed by remembering one integer, and any draw can be checked alone.
The mixing step is "lowbias32" by Chris Wellons (hash-prospector, public domain);
the counter walks by the golden-ratio constant as in SplitMix (Steele, Lea and
Flood, 2014). It needs 32-bit integer operations alone, so a few lines of JavaScript
can draw the same numbers.
"""

import numpy as np

# --8<-- [start:draws]
GOLDEN_RATIO_32 = 0x9E3779B9


def mix32(x: np.ndarray) -> np.ndarray:
    """Scramble uint32 values; a bijection in which every input bit moves every output bit."""
    x = np.asarray(x, dtype=np.uint32)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def draws(seed: int, start: int, count: int) -> np.ndarray:
    """Draws `start` to `start + count - 1` of `seed`, as uint32.

    Both wrap at 2**32: a seed has 4,294,967,296 draws before it repeats.
    """
    key = mix32(np.array([seed & 0xFFFFFFFF], dtype=np.uint32))
    counter = (np.arange(count, dtype=np.uint64) + np.uint64(start)).astype(np.uint32)
    return mix32(counter * np.uint32(GOLDEN_RATIO_32) + key)


# --8<-- [end:draws]


def unit_interval(values: np.ndarray) -> np.ndarray:
    """Map uint32 draws to float64 in [0, 1)."""
    return values / 2.0**32
