"""The loss of one line: its mean is the training loss, and the command prints it."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tiny_gpt import line_loss
from tiny_gpt.checkpoint import load_model, published
from tiny_gpt.generate import next_token_logits
from tiny_gpt.line_loss import line_losses
from tiny_gpt.model import TinyArithmeticGPT, next_token_loss
from tiny_gpt.prompt import PromptError
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, CharacterTokenizer

LINES = ["", "1", "12+34=46", "7-12=-5", "hello there", "9" * 31]


@pytest.mark.parametrize("line", LINES)
def test_mean_is_next_token_loss_of_the_padded_row(
    briefly_trained_model: TinyArithmeticGPT, line: str
) -> None:
    ids = CharacterTokenizer().encode(line)
    inputs = torch.tensor([[*ids, EOS_ID]])[:, :32]
    targets = torch.tensor([[*ids[1:], EOS_ID, PAD_ID]])[:, : inputs.shape[1]]
    losses = line_losses(briefly_trained_model, line)
    with torch.inference_mode():
        mean = next_token_loss(briefly_trained_model(inputs), targets).item()
    assert len(losses) == len(line) + 1
    assert sum(losses) / len(losses) == pytest.approx(mean, rel=1e-5)


def test_each_is_minus_ln_of_the_targets_probability(briefly_trained_model: TinyArithmeticGPT) -> None:
    line = "2+2=4"
    for place, (loss, target) in enumerate(
        zip(
            line_losses(briefly_trained_model, line),
            [*map(CharacterTokenizer.token_id, line), EOS_ID],
            strict=True,
        )
    ):
        p = next_token_logits(briefly_trained_model, line[:place]).softmax(dim=0)[target]
        assert loss == pytest.approx(-math.log(p), rel=1e-4)


def test_even_shares_cost_ln_98(initial_model: TinyArithmeticGPT) -> None:
    config = initial_model.config
    flat = TinyArithmeticGPT(config).eval()
    torch.nn.init.zeros_(flat.final_norm.weight)
    torch.nn.init.zeros_(flat.final_norm.bias)
    assert line_losses(flat, "12+34=46") == pytest.approx([math.log(98)] * 9)


@pytest.mark.parametrize("line", ["9" * 32, "7–12="])
def test_a_line_that_can_not_be_read_is_refused(initial_model: TinyArithmeticGPT, line: str) -> None:
    with pytest.raises(PromptError):
        line_losses(initial_model, line)


class TestCommand:
    def test_prints_each_target_and_the_mean(self, command: Callable[..., Any]) -> None:
        losses = line_losses(load_model(published()[-1]), "12+34=46")
        outcome = command(line_loss.main, "12+34=46")
        assert (outcome.code, outcome.err) == (0, "")
        first, *rows, last = outcome.out.splitlines()
        assert first == "target  probability   loss"
        assert [row.split()[0] for row in rows] == [*"12+34=46", "EOS"]
        assert [row.split()[2] for row in rows] == [f"{loss:.3f}" for loss in losses]
        assert last == f"mean loss {sum(losses) / 9:.4f} nats; a blind guess costs 4.5850"

    def test_a_bad_line_is_one_line(self, command: Callable[..., Any]) -> None:
        outcome = command(line_loss.main, "7–12=")
        assert (outcome.code, outcome.out) == (1, "")
        assert len(outcome.err.splitlines()) == 1
