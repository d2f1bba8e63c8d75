"""Golden cases: prompts, token IDs and logits that every implementation must agree on."""

from typing import Any

import torch

from tiny_gpt.data import HELD_OUT, problems_in
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import LONGEST_PREFIX, MESSAGES, PromptError, check_prefix, check_setting
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
SETTINGS = [
    ("temperature", "0.7"), ("temperature", "0"), ("temperature", "9"), ("temperature", "warm"),
    ("temperature", ""), ("temperature", "1e0"), ("top-k", "5"), ("top-k", "1.5"), ("top-k", "99"),
    ("seed", "4294967295"), ("seed", "-1"), ("seed", "0x10"),
]  # fmt: skip


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
    """What Python says about prefixes, broken rules and settings; logits by model name."""
    tokenizer = CharacterTokenizer()
    cases: list[dict[str, Any]] = []
    for text in golden_prefixes():
        with torch.inference_mode():
            logits = {name: next_token_logits(model, text).tolist() for name, model in models.items()}
        cases.append({"prefix": text, "ids": tokenizer.encode(text), "logits": logits})
    return {
        "cases": cases,
        "token_names": [tokenizer.token_name(i) for i in range(tokenizer.vocab_size)],
        "bad_prefixes": [{"prefix": text, "message": _message(check_prefix, text)} for text in BAD_PREFIXES],
        "settings": [{"name": name, "value": value, **_setting(name, value)} for name, value in SETTINGS],
        "messages": dict(MESSAGES),
    }


def _message(check: Any, *arguments: str) -> str:
    try:
        check(*arguments)
    except PromptError as error:
        return str(error)
    raise AssertionError(f"{arguments} breaks no rule")


def _setting(name: str, value: str) -> dict[str, Any]:
    try:
        return {"read": check_setting(name, value)}
    except PromptError as error:
        return {"message": str(error)}
