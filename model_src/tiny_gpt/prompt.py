"""The rules for typed text and settings, and what is said when one is broken.

One place for the page and the command line: `export` writes `MESSAGES` and
`LIMITS` into the site's manifest, and the page fills in the same sentences.
A rule that is broken is an error; nothing is cut, replaced or ignored.
"""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

LARGEST_OPERAND = 999
LONGEST_PREFIX = 31

# name: (lowest, highest, whole numbers only)
LIMITS: Mapping[str, tuple[float, float, bool]] = MappingProxyType(
    {
        "temperature": (0.05, 5.0, False),
        "top-k": (1, 98, True),
        "seed": (0, 2**32 - 1, True),
    }
)

MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "character": (
            "Character {position} of the input is {shown}, which is not one of the 95 "
            "printable ASCII characters. {advice}"
        ),
        "advice-replace": "Type {replacement} instead.",
        "advice-remove": "Remove it, or type a character from space to ~.",
        "too-long": (
            "The input has {length} characters and the model reads at most {limit}: its 32 "
            "positions hold BOS and {limit} characters. Shorten it by {excess}."
        ),
        "not-a-number": "The {name} must be a number from {low} to {high}, and {shown} is not a number.",
        "not-whole": "The {name} must be a whole number from {low} to {high}, and {shown} is not one.",
        "out-of-range": (
            "The {name} must be from {low} to {high}, and {shown} is outside. Choose a value between them."
        ),
        "unseen-operand": (
            "{operand} is above 999. The model was trained on numbers from 0 to 999, so its "
            "answer is a guess about something it never saw."
        ),
    }
)

# What phones and word processors put in place of a key, and the key to press.
TYPED_FOR: Mapping[str, str] = MappingProxyType(
    {
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
        "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"',
        "\u00d7": "*", "\u00f7": "/", "\u2026": "...", "\u00a0": "a plain space",
        "\uff0b": "+", "\uff1d": "=", "\uff0d": "-",
    }
)  # fmt: skip


class PromptError(ValueError):
    """Typed text or a setting breaks a rule; the message says which and what to do."""


def message(name: str, /, **values: object) -> str:
    """The sentence `name` of MESSAGES with its values filled in."""
    return MESSAGES[name].format(**values)


def shown(character: str) -> str:
    """A character in quotes with its code point: “–” (U+2013)."""
    code = f"U+{ord(character):04X}"
    return f"“{character}” ({code})" if character.isprintable() else code


def check_characters(text: str) -> None:
    """Raise `PromptError` for the first character that is not printable ASCII."""
    for position, character in enumerate(text, start=1):
        if not " " <= character <= "~":
            replacement = TYPED_FOR.get(character)
            advice = (
                message("advice-replace", replacement=replacement)
                if replacement
                else message("advice-remove")
            )
            raise PromptError(message("character", position=position, shown=shown(character), advice=advice))


def check_prefix(text: str) -> None:
    """Raise `PromptError` unless the model can read `text`: printable ASCII, at most 31 characters."""
    check_characters(text)
    if len(text) > LONGEST_PREFIX:
        raise PromptError(
            message(
                "too-long",
                length=len(text),
                limit=LONGEST_PREFIX,
                excess=len(text) - LONGEST_PREFIX,
            )
        )


def check_setting(name: str, value: str | float) -> float:
    """Read a setting of LIMITS from what was typed; `PromptError` when it is out of range."""
    low, high, whole = LIMITS[name]
    limits = {"name": name, "low": number(low), "high": number(high), "shown": f"“{value}”"}
    text = str(value).strip()
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise PromptError(message("not-a-number", **limits))
    read = float(text)
    if whole and math.isfinite(read) and read != int(read):
        raise PromptError(message("not-whole", **limits))
    if not low <= read <= high:
        raise PromptError(message("out-of-range", **limits))
    return int(read) if whole else read


def number(value: float) -> str:
    """A limit as people write it: 5, not 5.0."""
    return str(int(value)) if value == int(value) else str(value)


def unseen_operands(text: str) -> list[str]:
    """A warning for each number in `text` that training never showed (above 999)."""
    return [
        message("unseen-operand", operand=digits)
        for digits in re.findall(r"[0-9]+", text.partition("=")[0])
        if int(digits) > LARGEST_OPERAND
    ]
