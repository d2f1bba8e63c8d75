"""ModelConfig: the sizes of the arithmetic GPT, and a rule that is broken is named."""

import dataclasses
import math

import pytest

from tiny_gpt.config import ModelConfig

SIZES = ("vocab_size", "context_length", "n_layers", "width", "n_heads", "feed_forward_width")


def test_defaults_are_the_arithmetic_gpt() -> None:
    assert ModelConfig().to_dict() == {
        "vocab_size": 98,
        "context_length": 32,
        "n_layers": 2,
        "width": 128,
        "n_heads": 4,
        "feed_forward_width": 512,
        "dropout": 0.0,
    }
    assert ModelConfig().head_width == 32


def test_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().width = 64  # type: ignore[misc]


def test_dict_reads_back() -> None:
    config = ModelConfig(vocab_size=37, n_layers=3, width=96, dropout=0.1)
    assert ModelConfig(**config.to_dict()) == config


def test_other_vocabulary_is_allowed() -> None:
    assert ModelConfig(vocab_size=37).vocab_size == 37


@pytest.mark.parametrize("field", SIZES)
@pytest.mark.parametrize("value", [True, False, 4.0, "4", None, 0, -1])
def test_a_size_that_is_not_an_int_above_0_is_refused(field: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{field} .*{value!r}"):
        ModelConfig(**{field: value})


@pytest.mark.parametrize(("width", "n_heads"), [(128, 3), (2, 4), (127, 4)])
def test_width_divides_evenly_by_heads(width: int, n_heads: int) -> None:
    with pytest.raises(ValueError, match=rf"width .*n_heads.* {width} and {n_heads}"):
        ModelConfig(width=width, n_heads=n_heads)


@pytest.mark.parametrize("value", [True, False, "0.1", None, -0.1, 1, 1.0, 1.5, math.nan, math.inf])
def test_dropout_outside_0_to_1_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^dropout "):
        ModelConfig(dropout=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, 0.0, 0.1, 0.999])
def test_dropout_from_0_to_below_1_is_allowed(value: float) -> None:
    assert ModelConfig(dropout=value).dropout == value
