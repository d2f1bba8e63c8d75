"""Each switch of the graph `inside` does to the logits what a hook on the real network does."""

import gzip
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from export.build import GENERATED
from export.forms import IDS, SWITCHES, NamedOutputs, Switched, output_names, switches
from hooked_model import inside, switched_off
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import HELD_OUT, problems_in
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.random32 import draws
from tiny_gpt.tokenizer import BOS_ID, FIRST_CHARACTER_ID, CharacterTokenizer

NAMES = [switch.name for switch in switches(ModelConfig())]
PAIRS = [
    ("block_1_head_1", "block_1_head_4"),
    ("block_1_head_2", "block_2_head_3"),
    ("mask", "scale"),
    ("positions", "block_2_feed_forward"),
    ("block_1_attention_add", "block_1_feed_forward_add"),
    ("block_2_feed_forward", "block_2_feed_forward_add"),
]
LENGTHS = (1, 2, 7, 13, 32)
ROWS = 8
SEEN = 0.01  # every switch moves some logit at least this far

Run = Callable[[Tensor, Sequence[str]], dict[str, np.ndarray]]


def rows_of_length(length: int) -> Tensor:
    """Lines with real problems cut to the length, and arbitrary characters."""
    vocab_size = CharacterTokenizer.vocab_size
    ids = torch.from_numpy(draws(length, 0, ROWS * length).astype(np.int64).reshape(ROWS, length))
    ids = ids % (vocab_size - FIRST_CHARACTER_ID) + FIRST_CHARACTER_ID
    ids[:, 0] = BOS_ID
    held_out = problems_in(HELD_OUT)[length::9973]
    for row in range(ROWS // 2):
        text = " ".join(p + a for p, a in zip(held_out.prompts(), held_out.answer_texts(), strict=True))
        ids[row] = torch.tensor(CharacterTokenizer().encode(text[row * 16 :][: length - 1]))
    return ids


def values(off: Sequence[str]) -> Tensor:
    return torch.tensor([float(name not in off) for name in NAMES])


@pytest.fixture(scope="module")
def trained(models: dict[str, TinyArithmeticGPT]) -> TinyArithmeticGPT:
    return models[max(models)]


@pytest.fixture(scope="module")
def shipped(manifest: dict[str, Any]) -> Run:
    """The graph and the weights that the site publishes, in onnxruntime."""
    entries = manifest["graphs"]["full"]["inside"], manifest["models"][manifest["trained"]]
    data = b"".join(gzip.decompress((GENERATED / entry["file"]).read_bytes()) for entry in entries)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = manifest["model"]["inside_outputs"]

    def run(ids: Tensor, off: Sequence[str]) -> dict[str, np.ndarray]:
        feed = {IDS: ids.numpy(), SWITCHES: values(off).numpy()}
        return dict(zip(names, session.run(names, feed), strict=True))

    return run


def largest_gap(mine: dict[str, np.ndarray], reference: dict[str, Tensor]) -> float:
    """The largest difference over all outputs, relative to max(1, |value|)."""
    assert mine.keys() == reference.keys()
    gaps = []
    for name, tensor in reference.items():
        expected = tensor.numpy()
        assert mine[name].shape == expected.shape
        gaps.append(float((np.abs(mine[name] - expected) / np.maximum(1, np.abs(expected))).max()))
    return max(gaps)


def test_there_is_a_switch_for_each_part() -> None:
    config = ModelConfig()
    each_block = [*(f"head_{head}" for head in range(1, config.n_heads + 1)), "attention_add"]
    each_block += ["feed_forward", "feed_forward_add"]
    blocks = [f"block_{block}_{part}" for block in (1, 2) for part in each_block]
    assert ["positions", "mask", "scale", *blocks] == NAMES
    assert len(NAMES) == 17


@pytest.mark.parametrize("off", [(), *((name,) for name in NAMES), *PAIRS], ids="+".join)
def test_a_switch_does_what_a_hook_does(
    off: tuple[str, ...], trained: TinyArithmeticGPT, shipped: Run
) -> None:
    for length in LENGTHS:
        ids = rows_of_length(length)
        expected = inside(trained, ids, off)
        assert largest_gap(shipped(ids, off), expected) <= Switched.tolerance, f"onnx, length {length}"
        with torch.inference_mode():
            mine = Switched(trained)(ids, values(off))
        named = dict(zip(Switched.outputs(2), (value.numpy() for value in mine), strict=True))
        assert largest_gap(named, expected) <= Switched.tolerance, f"torch, length {length}"


def test_no_two_switches_do_the_same(trained: TinyArithmeticGPT) -> None:
    """So the comparison above would notice a switch that does nothing, or what another one does."""
    ids = rows_of_length(13)
    logits = {name: inside(trained, ids, (name,))["logits"] for name in NAMES}
    logits["none"] = inside(trained, ids)["logits"]
    for one, other in combinations(logits, 2):
        assert float((logits[one] - logits[other]).abs().max()) > SEEN, (one, other)


def test_hooks_leave_nothing_behind(trained: TinyArithmeticGPT) -> None:
    ids = rows_of_length(9)
    with torch.inference_mode():
        before = trained(ids)
        with switched_off(trained, NAMES):
            assert not torch.equal(trained(ids), before)
        assert torch.equal(trained(ids), before)


def test_with_all_on_every_value_is_the_plain_forms(trained: TinyArithmeticGPT) -> None:
    for length in LENGTHS:
        ids = rows_of_length(length)
        with torch.inference_mode():
            plain = dict(zip(output_names(2), NamedOutputs(trained)(ids), strict=True))
            mine = dict(zip(Switched.outputs(2), Switched(trained)(ids, values(())), strict=True))
        shared = plain.keys() & mine.keys()
        assert shared == {"logits", "block_1_attention_weights", "block_2_attention_weights"}
        for name in shared:
            assert torch.equal(mine[name], plain[name]), name
