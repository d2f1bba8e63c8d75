"""One checkpoint to one .onnx file: any size, refused when rounding would change it silently."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from export.forms import NamedOutputs
from export.one_file import main
from tiny_gpt.checkpoint import load_model, published, save_model
from tiny_gpt.config import ModelConfig
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import CharacterTokenizer


def logits_of(file: Path, prefix: str) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(file))
    ids = np.array([CharacterTokenizer().encode(prefix)], dtype=np.int64)
    (logits,) = session.run(["logits"], {"ids": ids})
    return logits[0, -1]


def test_the_published_checkpoint_becomes_one_file(tmp_path: Path, command: Callable[..., Any]) -> None:
    file = tmp_path / "folder" / "my.onnx"
    outcome = command(main, published()[-1], "--out", file)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(f"{file}: {file.stat().st_size:,} bytes, largest difference from PyTorch ")
    assert [path.name for path in file.parent.iterdir()] == ["my.onnx"]
    expected = next_token_logits(load_model(published()[-1]), "12+34=").numpy()
    assert logits_of(file, "12+34=") == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_another_size_is_refused_unrounded_and_exported_rounded(
    tmp_path: Path, command: Callable[..., Any]
) -> None:
    torch.manual_seed(1)
    config = ModelConfig(n_layers=1, width=24, n_heads=3, feed_forward_width=40, context_length=16)
    checkpoint, file = tmp_path / "small.pt", tmp_path / "small.onnx"
    save_model(checkpoint, TinyArithmeticGPT(config))
    refused = command(main, checkpoint, "--out", file)
    assert refused.code == 1
    assert refused.err.startswith(f"error: {checkpoint}: ") and refused.err.count("\n") == 1
    assert "float16" in refused.err and refused.err.endswith("--round does that\n")
    assert not file.exists()
    outcome = command(main, checkpoint, "--round", "--out", file)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("rounded to float16: no weight moved by more than ")
    assert 0 < float(outcome.out.splitlines()[0].split()[-1]) < 1e-4
    model = load_model(checkpoint)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half().double())
    expected = next_token_logits(model, "1+1=").numpy()
    assert logits_of(file, "1+1=") == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_the_exported_form_computes_what_the_model_does() -> None:
    model = load_model(published()[-1])
    ids = torch.tensor([CharacterTokenizer().encode("12+34=46")])
    with torch.inference_mode():
        assert torch.equal(NamedOutputs(model)(ids)[0], model(ids).float())


def test_a_name_that_is_no_onnx_file_is_refused(tmp_path: Path, command: Callable[..., Any]) -> None:
    outcome = command(main, published()[0], "--out", tmp_path / "my.pt")
    assert outcome.code == 1
    assert outcome.err == f"error: --out {tmp_path / 'my.pt'}: the name must end in .onnx\n"
