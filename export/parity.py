"""PyTorch's logits for the device report of chapter 10, which repeats them in the reader's browser.

A small file of its own, loaded when the report is asked for.
"""

import json
from pathlib import Path
from typing import Any

from export.forms import NamedOutputs
from export.golden import golden_prefixes
from export.shipping import ship
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT

DIGITS = 9  # significant; far finer than the limit of the comparison


def parity_cases(model: TinyArithmeticGPT) -> list[dict[str, Any]]:
    """Prefixes of every length and of held-out problems, each with the 98 logits of the token after it."""
    return [
        {
            "prefix": text,
            "logits": [float(f"{x:.{DIGITS}g}") for x in next_token_logits(model, text).tolist()],
        }
        for text in golden_prefixes()
    ]


def ship_parity(model: TinyArithmeticGPT, folder: Path) -> dict[str, Any]:
    """Write the cases to `folder`/checks; returns the manifest's entry with the limit of the comparison."""
    cases = parity_cases(model)
    (folder / "checks").mkdir()
    return {
        **ship(json.dumps(cases, separators=(",", ":")).encode(), folder, "checks", "parity"),
        "prefixes": len(cases),
        "logits": sum(len(case["logits"]) for case in cases),
        "limit": NamedOutputs.tolerance,
    }
