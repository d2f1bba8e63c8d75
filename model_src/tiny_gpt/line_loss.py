"""The loss of one line, token by token: what each target cost the model.

python -m tiny_gpt.line_loss "12+34=46"
"""

import math
from collections.abc import Sequence

import torch
from torch.nn import functional as F

from tiny_gpt.checkpoint import load_model, published
from tiny_gpt.command import CommandParser, add_checkpoint_argument, run_command
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import check_prefix
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer


# --8<-- [start:line]
@torch.inference_mode()
def line_losses(model: TinyArithmeticGPT, line: str) -> list[float]:
    """-ln p of each target of a line in nats: its characters, then EOS.

    The mean of the list is `next_token_loss` of the line.
    Raises `PromptError` when the line is too long or not printable ASCII.
    """
    check_prefix(line)
    ids = CharacterTokenizer().encode(line)
    inputs, targets = torch.tensor([ids]), torch.tensor([*ids[1:], EOS_ID])
    return F.cross_entropy(model(inputs)[0], targets, reduction="none").tolist()


# --8<-- [end:line]


def printed(line: str, losses: list[float], vocab_size: int) -> str:
    """A table of the targets, and the mean, as text."""
    names = [*line.replace(" ", "␠"), "EOS"]
    lines = ["target  probability   loss"]
    for name, loss in zip(names, losses, strict=True):
        lines.append(f"{name:<6}{math.exp(-loss):>13.6f}{loss:>7.3f}")
    mean = sum(losses) / len(losses)
    return "\n".join([*lines, f"mean loss {mean:.4f} nats; a blind guess costs {math.log(vocab_size):.4f}"])


def main(argv: Sequence[str] | None = None) -> int:
    """Print what each target of a line costs."""
    parser = CommandParser("tiny_gpt.line_loss", "The loss of one line, token by token.")
    parser.add_argument(
        "line", help='a line of text, such as "12+34=46" (put -- before one that starts with -)'
    )
    add_checkpoint_argument(parser)
    options = parser.parse_args(argv)
    check_prefix(options.line)
    model = load_model(options.checkpoint or published()[-1])
    print(printed(options.line, line_losses(model, options.line), model.config.vocab_size))
    return 0


if __name__ == "__main__":
    run_command(main)
