"""Golden cases of what needs no model: draws, split, problem stream, rows, sampling, settings.

Where every problem is to agree, both sides compute all of them and compare sha256.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from export.facts.data import careless_parts, leaks
from tiny_gpt.checkpoint import sha256
from tiny_gpt.data import (
    Mix,
    Problems,
    ProblemStream,
    all_problems,
    candidates,
    encode_rows,
    split_of,
    split_parts,
)
from tiny_gpt.generate import choose
from tiny_gpt.prompt import PromptError, check_setting
from tiny_gpt.random32 import draws, unit_interval

DRAWS = [(0, 0), (1, 0), (42, 0), (42, 1_000_000), (7, 2**32 - 3), (2**32 - 1, 5), (2**31, 2**33 + 11)]
MIXES = [
    Mix(),
    Mix(near=100, nines=0),
    Mix(near=0, nines=100),
    Mix(minus=0, ranges=(10,)),
    Mix(minus=100, near=50, nines=30, near_distance=3, ranges=(1000, 7)),
]
STREAMS = [(0, 0), (1, 0), (42, 0), (42, 7_654_321), (2**32 - 1, 3), (123_456_789, 2**31)]
TAKES = [1, 3, 5, 100, 500]
LONG_TAKE = 20_000
TEMPERATURES = [0.0, 0.05, 0.7, 1.0, 5.0]
TOP_K = [1, 2, 3, 10, 97, 98]
SETTINGS = {
    "temperature": ["0.05", "5", "1", " 0.7 ", ".5", "1.", "5e-1", "+1", "0", "0.049", "5.01", "-1", "1e999",
                    "", "warm", "1,5", "0x1", "nan", "Infinity", "1e", "٣"],
    "top-k": ["1", "98", "3.0", "1e1", "0", "99", "2.5", "-3", "all", "1e999"],
    "seed": ["0", "-0", "4294967295", "4294967296", "42", "1.5", "-1", "", "4e9"],
}  # fmt: skip


def rule_cases() -> dict[str, Any]:
    """Everything that `tests/js` compares draw by draw."""
    from_candidate, count = 2**31 - 50, 300
    everything = all_problems()
    return {
        "draws": [
            {"seed": seed, "start": start, "values": draws(seed, start, 50).tolist()} for seed, start in DRAWS
        ],
        "split": _split(),
        "leaks": {
            "by_pair": leaks(split_parts(everything.a, everything.b)),
            "by_problem": leaks(careless_parts(everything)),
        },
        "problems": _problems(),
        "candidates": [
            {
                "seed": seed,
                "start": from_candidate,
                "mix": asdict(mix),
                **_columns(candidates(seed, from_candidate, count, mix)),
            }
            for seed, mix in enumerate(MIXES)
        ],
        "streams": [_stream(seed, start) for seed, start in STREAMS],
        "sampling": [_sampling(number, logits) for number, logits in enumerate(_logit_rows())],
        "settings": [_setting(name, text) for name, texts in SETTINGS.items() for text in texts],
    }


def _split() -> dict[str, Any]:
    """The parts of all ordered pairs, a first, as little-endian uint16; and some sides by name."""
    problems = all_problems()
    parts = split_parts(problems.a, problems.b)[: len(problems) // 2]
    pairs = draws(3, 0, 200).reshape(-1, 2) % 1000
    return {
        "sha256": sha256(parts.astype("<u2").tobytes()),
        "sides": [{"a": a, "b": b, "split": split_of(a, b)} for a, b in pairs.tolist()],
    }


def _problems() -> dict[str, str]:
    """sha256 over all problems: digits and carries as bytes, answers and token rows as text."""
    problems = all_problems()
    rows = (encode_rows(problems[start : start + 100_000]) for start in range(0, len(problems), 100_000))
    return {
        "digits": sha256(problems.longer_operand_digits.astype(np.uint8).tobytes()),
        "carries": sha256(problems.carries.astype(np.uint8).tobytes()),
        "answers": sha256(problems.answers.astype("<i2").tobytes()),
        "rows": sha256(b"".join(part.astype(np.uint8).tobytes() for part in rows)),
    }


def _columns(problems: Problems) -> dict[str, list[str]]:
    return {"prompts": problems.prompts(), "answers": problems.answer_texts()}


def _stream(seed: int, start: int) -> dict[str, Any]:
    """Some takes of a stream one after the other, each with where it ends; and one long take."""
    stream = ProblemStream(seed, Mix(), start)
    takes = [
        {"count": count, "prompts": stream.take(count).prompts(), "next": stream.next_candidate}
        for count in TAKES
    ]
    text = "".join(stream.take(LONG_TAKE).prompts())
    return {
        "seed": seed,
        "start": start,
        "takes": takes,
        "long_take": {"count": LONG_TAKE, "sha256": sha256(text.encode()), "next": stream.next_candidate},
    }


def _logit_rows() -> list[list[float]]:
    """Rows of 98 logits: smooth, peaked, with ties, all equal."""
    smooth = unit_interval(draws(11, 0, 98)) * 8 - 4
    peaked = np.where(np.arange(98) == 31, 20.0, smooth)
    tied = np.round(smooth)
    return [row.astype(np.float32).tolist() for row in (smooth, peaked, tied, np.zeros(98))]


def _sampling(number: int, logits: list[float]) -> dict[str, Any]:
    """What is chosen for each setting and draw, and the distribution that it is chosen from."""
    row = torch.tensor(logits)
    drawn = [0.0, 1 - 2.0**-32, *unit_interval(draws(number, 0, 30)).tolist()]
    return {
        "logits": logits,
        "draws": drawn,
        "settings": [
            {
                "temperature": temperature,
                "top_k": top_k,
                "tokens": [choose(row, temperature, top_k, draw) for draw in drawn],
                "distribution": _distribution(row, temperature, top_k),
            }
            for temperature in TEMPERATURES
            for top_k in TOP_K
        ],
    }


def _distribution(logits: torch.Tensor, temperature: float, top_k: int) -> list[float]:
    """By masking and softmax, another way than `choose` takes."""
    scores = logits.double()
    kept = torch.argsort(-scores, stable=True)[: 1 if temperature == 0 else top_k]
    masked = torch.full_like(scores, -torch.inf)
    masked[kept] = scores[kept]
    return (masked / (temperature or 1)).softmax(dim=0).tolist()


def _setting(name: str, text: str) -> dict[str, Any]:
    try:
        return {"name": name, "text": text, "value": check_setting(name, text)}
    except PromptError as error:
        return {"name": name, "text": text, "message": str(error)}
