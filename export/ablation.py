"""Switch parts of the network off and count what it still answers: the numbers of chapter 9.

    python -m export.ablation                                    # each switch alone
    python -m export.ablation --off block_1_head_2 block_2_head_3   # these together

The page of chapter 9 counts the same on the reader's device, on the same 200 problems.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from export.forms import Switch, Switched, switches
from tiny_gpt.checkpoint import load_model, published
from tiny_gpt.command import CommandParser, add_checkpoint_argument, run_command
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import HELD_OUT, Problems, join, problems_in
from tiny_gpt.evaluate import answer_rows
from tiny_gpt.generate import greedy_rows
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.random32 import draws

# --8<-- [start:list]
LIST_SEED = 0
A_KIND = 100  # problems of each operation


@lru_cache(maxsize=1)
def ablation_list() -> Problems:
    """100 held-out sums, then 100 held-out differences: those with the smallest draws."""
    held_out = problems_in(HELD_OUT)
    kinds = [held_out[~held_out.is_minus], held_out[held_out.is_minus]]
    orders = [np.argsort(draws(LIST_SEED, 0, len(kind)), kind="stable") for kind in kinds]
    return join([kind[np.sort(order[:A_KIND])] for kind, order in zip(kinds, orders, strict=True)])


# --8<-- [end:list]


def shipped_list() -> dict[str, Any]:
    """The list as the page reads it: problems without `=`, and the width of an interval."""
    return {
        "problems": [text.removesuffix("=") for text in ablation_list().prompts()],
        "normal_95": NORMAL_95,
    }


# --8<-- [start:interval]
NORMAL_95 = 1.96  # 95 % of a normal distribution lie within this many standard deviations


def interval(right: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share that was measured on `count` problems (Wilson, 1927)."""
    share, z2 = right / count, NORMAL_95**2
    middle = share + z2 / (2 * count)
    spread = NORMAL_95 * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2))
    return (middle - spread) / (1 + z2 / count), (middle + spread) / (1 + z2 / count)


# --8<-- [end:interval]


WORDS = {
    "positions": "position rows",
    "mask": "causal mask",
    "scale": "scaling by 1/√{head_width}",
    "head": "head {head}",
    "attention_add": "residual add of attention",
    "feed_forward": "feed-forward",
    "feed_forward_add": "residual add of feed-forward",
}


def in_words(switch: Switch, config: ModelConfig) -> str:
    """`head 3 of block 2`, `causal mask`: as the page calls it."""
    part = WORDS[switch.kind].format(head=switch.head, head_width=config.head_width)
    return f"{part} of block {switch.block}" if switch.block else part


def switch_values(config: ModelConfig, off: Sequence[str]) -> Tensor:
    """The input `switches`: 0 for the named ones, 1 for the others. Raises `ValueError` for other names."""
    names = [switch.name for switch in switches(config)]
    unknown = [name for name in off if name not in names]
    if unknown:
        raise ValueError(f"there is no switch {unknown[0]}; the switches are {', '.join(names)}")
    return torch.tensor([float(name not in off) for name in names])


class WithSwitches(nn.Module):
    """The form `inside` at fixed switches, as a model that `greedy_rows` can let write."""

    def __init__(self, model: TinyArithmeticGPT, off: Sequence[str]) -> None:
        super().__init__()
        self.form = Switched(model)
        self.token_embedding = model.token_embedding
        self.switch_values = switch_values(model.config, off)

    def forward(self, ids: Tensor) -> Tensor:
        """[B, T] to the logits [B, T, 98]."""
        return self.form(ids, self.switch_values)[0]


@dataclass(frozen=True)
class Outcome:
    """What was answered of the list with some parts off: a verdict for each problem, bool [200]."""

    off: tuple[str, ...]
    right: np.ndarray

    @property
    def total(self) -> int:
        return int(self.right.sum())

    @property
    def sums(self) -> int:
        return int(self.right[:A_KIND].sum())

    @property
    def differences(self) -> int:
        return int(self.right[A_KIND:].sum())


def measure(model: TinyArithmeticGPT, off: Sequence[str] = ()) -> Outcome:
    """Greedy decoding of the list with the named parts off."""
    problems = ablation_list()
    switched = cast(TinyArithmeticGPT, WithSwitches(model, off))  # as far as decoding uses a model
    written = greedy_rows(switched, problems)
    return Outcome(tuple(off), (written == answer_rows(problems)).all(axis=1))


def percent(count: int, of: int) -> str:
    """One decimal, rounded down: 100.0 means all."""
    return f"{1000 * count // of / 10:.1f}"


def printed(outcomes: Sequence[Outcome]) -> str:
    """The table that the command prints."""
    width = max(len("switched off"), *(len(_name(outcome)) for outcome in outcomes))
    lines = [f"{'switched off':<{width}}   a+b   a-b   right     share   95 % interval"]
    for outcome in outcomes:
        low, high = interval(outcome.total, len(outcome.right))
        lines.append(
            f"{_name(outcome):<{width}} {outcome.sums:>5} {outcome.differences:>5} {outcome.total:>7} "
            f"{percent(outcome.total, len(outcome.right)):>7} %   {100 * low:.1f} to {100 * high:.1f} %"
        )
    return "\n".join(lines)


def _name(outcome: Outcome) -> str:
    return " + ".join(outcome.off) or "nothing"


def main(argv: Sequence[str] | None = None) -> int:
    """Print how much of the list is answered right with parts off."""
    parser = CommandParser("export.ablation", "Exact match on 200 held-out problems with parts switched off.")
    names = [switch.name for switch in switches(ModelConfig())]
    parser.add_argument(
        "--off",
        nargs="+",
        choices=names,
        metavar="SWITCH",
        default=None,
        help=f"off at the same time; None tries each alone; of: {' '.join(names)}",
    )
    add_checkpoint_argument(parser)
    options = parser.parse_args(argv)
    model = load_model(options.checkpoint or published()[-1])
    others = [tuple(options.off)] if options.off else [(switch.name,) for switch in switches(model.config)]
    print(printed([measure(model, off) for off in [(), *others]]))
    return 0


if __name__ == "__main__":
    run_command(main)
