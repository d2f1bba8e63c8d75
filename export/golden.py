"""Golden cases: what every implementation must agree on, written by Python."""

from string import Formatter
from typing import Any

import torch

from export.golden_rules import rule_cases
from tiny_gpt.data import HELD_OUT, problems_in
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import LONGEST_PREFIX, MESSAGES, PromptError, check_prefix, message, unseen_operands
from tiny_gpt.random32 import draws
from tiny_gpt.tokenizer import CharacterTokenizer

BAD_PREFIXES = [
    "1\u22122=",
    "\u201c1+1=\u201d",
    "1+1=\u00e9",
    "1+1=\n",
    "\U0001f600",
    "\u00a01+1",
    "9" * 32,
    "~" * 40,
]
OPERANDS = ["", "1+1=", "999+0=", "1000+1=", "0999+0001=", "12345-1000=9999", "a1000b2000", "1+1=5000"]
LOGITS = [[0.0] * 5, [1000.0, -1000.0, 1000.0, 999.0], [-3.5, 0.25, -3.5, 7.0, 6.75, 0.0]]


def golden_prefixes() -> list[str]:
    """Every length 0 to 31 in arbitrary characters, and prompts of real problems."""
    characters = [chr(code) for code in range(ord(" "), ord("~") + 1)]
    prefixes = []
    for length in range(LONGEST_PREFIX + 1):
        picks = draws(length, 0, length) % len(characters)
        prefixes.append("".join(characters[i] for i in picks))
    held_out = problems_in(HELD_OUT)
    prefixes += held_out[:: len(held_out) // 40].prompts()
    return [*prefixes, "1+1=", "1+2=", "12+34=", "7-12=", "12+34=4", "".join(characters[:31])]


def golden_cases(models: dict[str, TinyArithmeticGPT]) -> dict[str, Any]:
    """What Python says about prefixes, logits and messages; logits of prefixes by model name."""
    tokenizer = CharacterTokenizer()
    cases: list[dict[str, Any]] = []
    for text in golden_prefixes():
        logits = {name: next_token_logits(model, text).tolist() for name, model in models.items()}
        cases.append({"prefix": text, "ids": tokenizer.encode(text), "logits": logits})
    return {
        "cases": cases,
        "token_names": [tokenizer.token_name(i) for i in range(tokenizer.vocab_size)],
        "bad_prefixes": [{"prefix": text, "message": _refusal(text)} for text in BAD_PREFIXES],
        "unseen_operands": [{"prefix": text, "warnings": unseen_operands(text)} for text in OPERANDS],
        "messages": [_filled(name) for name in MESSAGES],
        "scores": [_scores(logits) for logits in LOGITS],
        **rule_cases(),
    }


def _refusal(prefix: str) -> str:
    try:
        check_prefix(prefix)
    except PromptError as error:
        return str(error)
    raise AssertionError(f"{prefix!r} breaks no rule")


def _filled(name: str) -> dict[str, Any]:
    """A message with each of its values replaced by the value's own name in angle brackets."""
    fields = [field for _, field, _, _ in Formatter().parse(MESSAGES[name]) if field]
    values = {field: f"<{field}>" for field in fields}
    return {"name": name, "values": values, "text": message(name, **values)}


def _scores(logits: list[float]) -> dict[str, Any]:
    """What one computes from a row of logits, in float64."""
    row = torch.tensor(logits, dtype=torch.float64)
    return {
        "logits": logits,
        "probabilities": row.softmax(dim=0).tolist(),
        "top": int(row.argmax()),
        "ranks": [1 + int((row > logit).sum()) for logit in row],
    }
