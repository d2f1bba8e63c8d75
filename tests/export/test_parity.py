"""Each published .onnx file computes what PyTorch computes, at every length."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from export.build import GENERATED
from export.forms import IDS, NamedOutputs, output_names
from export.graph import fill
from export.models import check_parity
from export.shipping import ExportError
from tiny_gpt.checkpoint import published
from tiny_gpt.data import HELD_OUT, problems_in
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.random32 import draws
from tiny_gpt.tokenizer import BOS_ID, FIRST_CHARACTER_ID, CharacterTokenizer

TOLERANCE = NamedOutputs.tolerance
ROWS = 12  # prompts of each length
NAMES = [path.stem for path in published()]

Outputs = dict[str, np.ndarray]


def start(data: bytes) -> Callable[[torch.Tensor], Outputs]:
    """All named outputs of an ONNX file for a batch of IDs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(ids: torch.Tensor) -> Outputs:
        return dict(zip(names, session.run(names, {IDS: ids.numpy()}), strict=True))

    return run


@pytest.fixture(scope="module")
def sessions(manifest: dict[str, Any]) -> dict[str, Callable[[torch.Tensor], Outputs]]:
    return {name: start((GENERATED / "onnx" / f"{name}.onnx").read_bytes()) for name in NAMES}


@torch.inference_mode()
def computed_by_pytorch(model: TinyArithmeticGPT, ids: torch.Tensor) -> Outputs:
    values = (value.numpy() for value in NamedOutputs(model)(ids))
    return dict(zip(output_names(model.config.n_layers), values, strict=True))


def difference(mine: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference relative to max(1, |value|)."""
    assert mine.shape == reference.shape
    return float((np.abs(mine - reference) / np.maximum(1, np.abs(reference))).max())


def prompts(length: int) -> torch.Tensor:
    """BOS and characters, half of them arbitrary, half of them the start of lines with real problems."""
    vocab_size = CharacterTokenizer.vocab_size
    ids = torch.from_numpy(draws(length, 0, ROWS * length).astype(np.int64).reshape(ROWS, length))
    ids = ids % (vocab_size - FIRST_CHARACTER_ID) + FIRST_CHARACTER_ID
    ids[:, 0] = BOS_ID
    held_out = problems_in(HELD_OUT)[length :: len(problems_in(HELD_OUT)) // (ROWS * 2)]
    lines = [p + a for p, a in zip(held_out.prompts(), held_out.answer_texts(), strict=True)]
    for row in range(ROWS // 2):
        text = " ".join(lines[row::3])[: length - 1]
        ids[row] = torch.tensor(CharacterTokenizer().encode(text))
    return ids


@pytest.mark.parametrize("name", NAMES)
def test_all_outputs_agree_with_pytorch_at_every_length(
    name: str,
    models: dict[str, TinyArithmeticGPT],
    sessions: dict[str, Callable[[torch.Tensor], Outputs]],
) -> None:
    model, run = models[name], sessions[name]
    clear_tops = 0
    for length in range(1, model.config.context_length + 1):
        ids = prompts(length)
        assert ids.shape == (ROWS, length)
        mine, reference = run(ids), computed_by_pytorch(model, ids)
        assert list(mine) == list(reference)
        for output, values in reference.items():
            gap = difference(mine[output], values)
            assert gap <= TOLERANCE, f"{output} differs by {gap:.2e} at length {length}"
        clear_tops += same_top_token(mine["logits"], reference["logits"])
    assert clear_tops > 1000


def same_top_token(mine: np.ndarray, reference: np.ndarray) -> int:
    """The same token is on top wherever it leads by more than the difference allowed; at how many places."""
    ordered = np.sort(reference, axis=-1)
    lead = (ordered[..., -1] - ordered[..., -2]) / np.maximum(1, np.abs(ordered[..., -1]))
    clear = lead > 2 * TOLERANCE
    assert (mine.argmax(axis=-1) == reference.argmax(axis=-1))[clear].all()
    return int(clear.sum())


@pytest.mark.parametrize("name", [NAMES[0], NAMES[-1]])
def test_batch_size_does_not_matter(
    name: str, sessions: dict[str, Callable[[torch.Tensor], Outputs]]
) -> None:
    run = sessions[name]
    for length in (1, 5, 32):
        ids = prompts(length)
        together = run(ids)
        for row in range(ROWS):
            alone = run(ids[row : row + 1])
            for output, values in alone.items():
                all_rows = together[output]
                mine = all_rows if output == "position_rows" else all_rows[row : row + 1]
                assert difference(mine, values) <= TOLERANCE, output


@pytest.mark.parametrize("name", [NAMES[0], NAMES[-1]])
def test_attention_weights_are_finite_causal_and_add_up_to_one(
    name: str, sessions: dict[str, Callable[[torch.Tensor], Outputs]]
) -> None:
    for length in (1, 2, 32):
        outputs = sessions[name](prompts(length))
        for output, values in outputs.items():
            assert np.isfinite(values).all(), output
            if output.endswith("attention_weights"):
                assert np.allclose(values.sum(axis=-1), 1, atol=1e-6)
                assert (values[..., np.triu(np.ones((length, length), dtype=bool), 1)] == 0).all()


def test_the_exports_own_check_refuses_other_weights(
    graph: Any, models: dict[str, TinyArithmeticGPT]
) -> None:
    proto = fill(graph, models[NAMES[0]])
    assert check_parity(proto, models[NAMES[0]]) <= TOLERANCE
    with pytest.raises(ExportError, match=r"^logits differs from PyTorch by .* at length 1$"):
        check_parity(proto, models[NAMES[-1]])
