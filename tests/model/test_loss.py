"""The loss: mean cross-entropy over each target that is not PAD, and what it refuses."""

import math

import pytest
import torch
from torch import Tensor

from tiny_gpt.model import next_token_loss
from tiny_gpt.tokenizer import EOS_ID, PAD_ID


def random_logits(batch: int, positions: int) -> Tensor:
    return torch.randn(batch, positions, 98, generator=torch.Generator().manual_seed(batch)) * 3


def reference_loss(logits: Tensor, targets: Tensor) -> float:
    """Minus the log of the probability of each target, averaged, in plain Python."""
    errors = []
    for scores, target in zip(logits.flatten(0, 1).tolist(), targets.flatten().tolist(), strict=True):
        if target != PAD_ID:
            highest = max(scores)
            errors.append(highest - scores[target] + math.log(sum(math.exp(s - highest) for s in scores)))
    return sum(errors) / len(errors)


def test_equals_a_hand_made_cross_entropy() -> None:
    logits = random_logits(3, 5)
    targets = torch.tensor([[20, 14, 20, 32, 21], [97, 1, EOS_ID, PAD_ID, PAD_ID], [3, 4, 5, 6, EOS_ID]])
    assert next_token_loss(logits, targets).item() == pytest.approx(reference_loss(logits, targets), rel=1e-5)


def test_uniform_logits_cost_the_log_of_98() -> None:
    targets = torch.arange(1, 13).view(3, 4)
    assert next_token_loss(torch.full((3, 4, 98), 2.5), targets).item() == pytest.approx(
        math.log(98), rel=1e-6
    )


def test_sure_and_right_costs_nothing() -> None:
    logits = torch.zeros(1, 2, 98)
    logits[0, 0, 32] = logits[0, 1, 21] = 100.0
    assert next_token_loss(logits, torch.tensor([[32, 21]])).item() == pytest.approx(0, abs=1e-6)


def test_pad_targets_are_ignored() -> None:
    logits = random_logits(2, 4)
    targets = torch.tensor([[20, EOS_ID, PAD_ID, PAD_ID], [21, 22, 23, EOS_ID]])
    changed = logits.clone()
    changed[0, 2:] = 50 * torch.randn(2, 98, generator=torch.Generator().manual_seed(9))
    assert torch.equal(next_token_loss(logits, targets), next_token_loss(changed, targets))
    kept = torch.cat([logits[0, :2], logits[1]])[None]
    kept_targets = torch.cat([targets[0, :2], targets[1]])[None]
    torch.testing.assert_close(next_token_loss(logits, targets), next_token_loss(kept, kept_targets))


def test_pad_targets_get_no_gradient() -> None:
    logits = random_logits(1, 3).requires_grad_()
    next_token_loss(logits, torch.tensor([[20, PAD_ID, EOS_ID]])).backward()
    assert logits.grad is not None
    assert logits.grad[0].abs().sum(dim=1).gt(0).tolist() == [True, False, True]


@pytest.mark.parametrize("token_id", range(1, 98))
def test_every_other_target_counts(token_id: int) -> None:
    logits = random_logits(1, 1)
    expected = reference_loss(logits, torch.tensor([[token_id]]))
    assert next_token_loss(logits, torch.tensor([[token_id]])).item() == pytest.approx(expected, rel=1e-5)


LONG = torch.ones(2, 3, dtype=torch.long)
LOGITS = torch.zeros(2, 3, 98)
WRONG = {
    "logits without a batch": (
        torch.zeros(3, 98),
        LONG,
        r"logits must be \[batch, positions, 98\].*\[3, 98\]",
    ),
    "logits over 97 tokens": (
        torch.zeros(2, 3, 97),
        LONG,
        r"logits must be \[batch, positions, 98\].*\[2, 3, 97\]",
    ),
    "float targets": (LOGITS, torch.ones(2, 3), "torch.long, got torch.float32"),
    "int32 targets": (LOGITS, LONG.int(), "torch.long, got torch.int32"),
    "no tensor": (LOGITS, [[1, 1, 1], [1, 1, 1]], "torch.long"),
    "other batch": (LOGITS, LONG[:1], r"match .* \[2, 3\], got \[1, 3\]"),
    "other positions": (LOGITS, LONG[:, :2], r"match .* \[2, 3\], got \[2, 2\]"),
    "flat targets": (LOGITS, LONG.flatten(), r"match .* \[2, 3\], got \[6\]"),
    "other device": (LOGITS, LONG.to("meta"), "are on meta, the logits on cpu"),
    "all PAD": (LOGITS, LONG * PAD_ID, "at least one that is not PAD"),
    "no targets": (LOGITS[:0], LONG[:0], "at least one that is not PAD"),
    "target 98": (LOGITS, LONG * 98, "0 to 97, got 98"),
    "target -1": (LOGITS, -LONG, "0 to 97, got -1"),
    "target -100": (LOGITS, torch.tensor([[1, 1, 1], [1, 1, -100]]), "0 to 97, got -100"),
}


@pytest.mark.parametrize(("logits", "targets", "fragment"), WRONG.values(), ids=WRONG.keys())
def test_wrong_values_are_refused(logits: Tensor, targets: Tensor, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        next_token_loss(logits, targets)
