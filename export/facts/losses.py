"""Facts about the loss: prices of probabilities, one line target by target, a batch of two lines."""

import math

import torch

from tiny_gpt.data import inputs_and_targets
from tiny_gpt.line_loss import line_losses
from tiny_gpt.model import TinyArithmeticGPT, next_token_loss
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, CharacterTokenizer

LINE, WRONG_LINE = "12+34=46", "12+34=47"  # the second differs in its last character alone
SHORT_LINE, LONG_LINE = "1+1=2", "999+999=1998"
PRICED = (1.0, 0.9, 0.5, 0.1, 0.01, 0.001)


def loss_facts(initial: TinyArithmeticGPT, trained: TinyArithmeticGPT) -> dict[str, str]:
    """What chapter 5 says about single targets, lines and a batch."""
    losses = line_losses(trained, LINE)
    start = LINE.index("=") + 1  # target number `start` is the first after `=`
    short, long = line_losses(trained, SHORT_LINE), line_losses(trained, LONG_LINE)
    return {
        "price.table": price_table(trained.config.vocab_size),
        "line.table": line_table(LINE, losses),
        "line.targets": f"{len(losses)}",
        "line.mean": f"{mean(losses):.3f}",
        "line.problem_mean": f"{mean(losses[:start]):.3f}",
        "line.answer_mean": f"{mean(losses[start:]):.3f}",
        "line.initial_mean": f"{mean(line_losses(initial, LINE)):.3f}",
        "line.perplexity": f"{math.exp(mean(losses)):.2f}",
        "line.wrong_price": f"{line_losses(trained, WRONG_LINE)[len(LINE) - 1]:.1f}",
        "line.wrong_mean": f"{mean(line_losses(trained, WRONG_LINE)):.3f}",
        "pair.short_mean": f"{mean(short):.3f}",
        "pair.short_targets": f"{len(short)}",
        "pair.long_mean": f"{mean(long):.3f}",
        "pair.long_targets": f"{len(long)}",
        "pair.mean_of_means": f"{(mean(short) + mean(long)) / 2:.3f}",
        "pair.batch_mean": f"{batch_loss(trained, [SHORT_LINE, LONG_LINE]):.3f}",
    }


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def price_table(vocab_size: int) -> str:
    """Probability and price, an even share among them, as a Markdown table."""
    names = {p: f"{p:g}" for p in PRICED} | {1 / vocab_size: f"1/{vocab_size}, an even share"}
    lines = ["| probability of the target | price −ln p |", "|---|--:|"]
    for p in sorted(names, reverse=True):
        lines.append(f"| {names[p]} | {abs(math.log(p)):.3f} |")
    return "\n".join(lines)


def line_table(line: str, losses: list[float]) -> str:
    """Each target of a line with its probability and price, as a Markdown table."""
    lines = ["| target | probability | price |", "|---|--:|--:|"]
    for name, loss in zip([*(f"`{c}`" for c in line), "EOS"], losses, strict=True):
        lines.append(f"| {name} | {math.exp(-loss):.4f} | {loss:.3f} |")
    return "\n".join([*lines, f"| **mean** | | **{mean(losses):.3f}** |"])


@torch.inference_mode()
def batch_loss(model: TinyArithmeticGPT, lines: list[str]) -> float:
    """`next_token_loss` of a batch of lines, the shorter ones filled up with PAD."""
    rows = [[*CharacterTokenizer().encode(line), EOS_ID] for line in lines]
    length = max(map(len, rows))
    inputs, targets = inputs_and_targets(torch.tensor([r + [PAD_ID] * (length - len(r)) for r in rows]))
    return float(next_token_loss(model(inputs), targets))
