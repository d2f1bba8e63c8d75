"""Facts about answers as they are written: the steps of one, and what follows prompts of other kinds."""

import math

from tiny_gpt.generate import generate, next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import CharacterTokenizer

EXAMPLE = "12+34="
TOP = 3
NEVER_TAUGHT = (
    ("2*3=", "a product"),
    ("6/2=", "a quotient"),
    ("12 + 34 =", "spaces"),
    ("1234+5678=", "numbers above 999"),
    ("hello", "a word"),
)


def answer_facts(model: TinyArithmeticGPT) -> dict[str, str]:
    """What chapter 1 says about the trained model's answers."""
    return {
        "answer.steps_table": steps_table(model, EXAMPLE),
        "answer.never_taught_table": never_taught_table(model),
        "answer.product_percent": percent(shares(model, "2*3=")[0][1]),
        "answer.first_percent": percent(shares(model, EXAMPLE)[0][1]),
        "answer.start_percent": percent(shares(model, "")[0][1]),
    }


def shares(model: TinyArithmeticGPT, text: str) -> list[tuple[int, float]]:
    """Every token with its probability after `text`, likeliest first."""
    row = next_token_logits(model, text).double().softmax(dim=0)
    return [(int(token), float(row[token])) for token in row.argsort(descending=True, stable=True)]


def percent(share: float) -> str:
    """Two decimals, rounded down: 100 % would mean certain."""
    return f"{math.floor(10_000 * share) / 100:.2f}\u00a0%" if share >= 0.0001 else "under\u00a00.01\u00a0%"


def shown(token: int) -> str:
    """A token in Markdown: a character as code, or its name."""
    name = CharacterTokenizer().token_name(token)
    return name if len(name) > 1 else "space" if name == " " else f"`{name}`"


def steps_table(model: TinyArithmeticGPT, prompt: str) -> str:
    """What is fed in and what is scored highest at each step of a greedy answer, as a Markdown table."""
    written, reason = generate(model, prompt)
    lines = ["| step | fed in, after BOS | likeliest tokens | chosen |", "|--:|---|---|---|"]
    for step in range(len(written) + (reason == "EOS")):
        text = prompt + written[:step]
        top = shares(model, text)[:TOP]
        scores = ", ".join(f"{shown(token)} {percent(share)}" for token, share in top)
        lines.append(f"| {step + 1} | `{text}` | {scores} | {shown(top[0][0])} |")
    return "\n".join(lines)


def never_taught_table(model: TinyArithmeticGPT) -> str:
    """What follows prompts of kinds that training never showed, as a Markdown table."""
    lines = ["| prefix | what is new | the model writes | its first token has |", "|---|---|---|--:|"]
    for text, what in NEVER_TAUGHT:
        written, _ = generate(model, text)
        lines.append(f"| `{text}` | {what} | `{written}` | {percent(shares(model, text)[0][1])} |")
    return "\n".join(lines)
