"""Facts about rows of tokens: IDs, and what reaches the logits at `=` with and without the causal mask."""

import re

import torch

from export.forms import Switched, switches
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import CharacterTokenizer

START, ENDING = "12+34=", "46"


def row_facts(model: TinyArithmeticGPT) -> dict[str, str]:
    """What chapter 3 says about tokens and about the mask of the trained model."""
    lines = [
        "| line | what differs | top token at `=` | largest change | without the mask |",
        "|---|---|---|--:|--:|",
    ]
    for line, what, top, change, change_unmasked in mask_rows(model, START, ENDING):
        gaps = [f"{gap:.3f}" if gap else "0" for gap in (change, change_unmasked)]
        cells = gaps if len(lines) > 2 else ["–", "–"]
        lines.append(f"| `{line}` | {what} | `{top}` | {' | '.join(cells)} |")
    return {
        "tokens.one": f"{CharacterTokenizer.token_id('1')}",
        "tokens.equals": f"{CharacterTokenizer.token_id('=')}",
        "mask.table": "\n".join(lines),
    }


def other_characters(text: str) -> str:
    """Another character in each place: 9 - d for a digit d, 0 for anything else."""
    return re.sub(".", lambda c: str(9 - int(c[0])) if c[0] in "0123456789" else "0", text)


def mask_rows(model: TinyArithmeticGPT, start: str, ending: str) -> list[tuple[str, str, str, float, float]]:
    """Four lines that share the position of `=`: line, what differs, top token there, two changes.

    The changes are the largest of the 98 logits at `=` against the first line, with the mask and
    with the mask switched off. `start` ends with `=`.
    """
    lines = [
        (start, "nothing follows"),
        (start + ending, "your ending"),
        (start + other_characters(ending), "another ending"),
        (start[:-2] + other_characters(start[-2]) + "=" + ending, "another start"),
    ]
    on = torch.ones(len(switches(model.config)))
    masked = [logits_at(model, line, len(start), on) for line, _ in lines]
    no_mask = torch.tensor([float(switch.name != "mask") for switch in switches(model.config)])
    unmasked = [logits_at(model, line, len(start), no_mask) for line, _ in lines]
    return [
        (
            line,
            what,
            CharacterTokenizer().token_name(int(row.argmax())),
            float((row - masked[0]).abs().max()),
            float((open_row - unmasked[0]).abs().max()),
        )
        for (line, what), row, open_row in zip(lines, masked, unmasked, strict=True)
    ]


@torch.inference_mode()
def logits_at(
    model: TinyArithmeticGPT, line: str, position: int, switch_values: torch.Tensor
) -> torch.Tensor:
    """The 98 logits of a position of a line."""
    ids = torch.tensor([CharacterTokenizer().encode(line)])
    return Switched(model)(ids, switch_values)[0][0, position]
