"""The random generator: the vectorised draws equal one plain-integer formula, draw by draw."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_gpt.random32 import draws, mix32, unit_interval

MASK = 0xFFFFFFFF
uint32 = st.integers(0, MASK)


def reference_mix(x: int) -> int:
    """lowbias32 with Python's unlimited integers."""
    x = (x ^ (x >> 16)) * 0x7FEB352D & MASK
    x = (x ^ (x >> 15)) * 0x846CA68B & MASK
    return x ^ (x >> 16)


def reference_draw(seed: int, number: int) -> int:
    return reference_mix((number * 0x9E3779B9 + reference_mix(seed & MASK)) & MASK)


@given(st.lists(uint32, min_size=1, max_size=20))
def test_mix32_equals_the_reference(values: list[int]) -> None:
    assert mix32(np.array(values, dtype=np.uint32)).tolist() == [reference_mix(x) for x in values]


@given(uint32, uint32, st.integers(1, 40))
def test_draws_equal_the_reference(seed: int, start: int, count: int) -> None:
    expected = [reference_draw(seed, start + i) for i in range(count)]
    assert draws(seed, start, count).tolist() == expected


@given(uint32, uint32, st.integers(0, 20), st.integers(0, 20))
def test_draws_depend_on_seed_and_number_alone(seed: int, start: int, first: int, second: int) -> None:
    parts = [draws(seed, start, first), draws(seed, start + first, second)]
    assert np.concatenate(parts).tolist() == draws(seed, start, first + second).tolist()


def test_known_values() -> None:
    assert mix32(np.array([0, 1, 2, MASK])).tolist() == [0, 1753845952, 3507691905, 1734902346]
    assert draws(42, 0, 6).tolist() == [
        0x601BFB49,
        0x94C94549,
        0x9924FBC6,
        0x232F8D38,
        0x8C1D9F14,
        0x02B7C132,
    ]


def test_numbers_and_seeds_wrap_at_2_to_the_32() -> None:
    assert draws(0, 2**32 - 2, 4).tolist() == [2421989096, 2127853905, 0, 33350994]
    assert draws(7, 2**32, 3).tolist() == draws(7, 0, 3).tolist()
    assert draws(7 + 2**32, 0, 3).tolist() == draws(7, 0, 3).tolist()


def test_unit_interval_reaches_0_and_never_1() -> None:
    values = unit_interval(np.array([0, 2**31, MASK], dtype=np.uint32))
    assert values.tolist() == [0.0, 0.5, 1 - 2.0**-32]
    assert values.dtype == np.float64


@pytest.mark.parametrize("seed", [0, 42])
def test_draws_look_uniform(seed: int) -> None:
    values = unit_interval(draws(seed, 0, 100_000))
    counts, _ = np.histogram(values, bins=20, range=(0, 1))
    chi_square = float(((counts - 5000.0) ** 2 / 5000.0).sum())
    assert chi_square < 43.8  # one in a thousand for 19 degrees of freedom
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.01
