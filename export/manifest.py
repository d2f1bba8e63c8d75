"""The manifest: every fact about the model and its files that the page's own code needs.

JavaScript holds no copy of a constant; it reads this.
"""

from dataclasses import asdict
from typing import Any

from export.forms import FORMS, IDS, SWITCHES, WANTED, WantedLogits, switches
from export.graph import OPSET
from tiny_gpt.data import (
    DRAWS_PER_CANDIDATE,
    HELD_OUT_PARTS,
    ROW_LENGTH,
    SPLIT_PARTS,
    SPLIT_SALT,
    TUNING_PARTS,
    Mix,
)
from tiny_gpt.evaluate import CONFIDENT, SMALL_OPERAND
from tiny_gpt.generate import LONGEST_ANSWER
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import LARGEST_OPERAND, LIMITS, LONGEST_PREFIX, MESSAGES, TYPED_FOR
from tiny_gpt.tokenizer import FIRST_CHARACTER, FIRST_CHARACTER_ID, SPECIAL_NAMES, VOCABULARY

OWN_MODEL_LARGEST_BYTES = 20_000_000  # what a page opens of a reader's own; a phone has room for it


def rules(model: TinyArithmeticGPT) -> dict[str, Any]:
    """The vocabulary, the rules for typed text, and the shape of the trained model."""
    config = model.config
    plain, inside, fast = (form.outputs(config.n_layers) for form in FORMS)
    return {
        "vocabulary": {
            "name": VOCABULARY,
            "size": config.vocab_size,
            "first_character": FIRST_CHARACTER,
            "first_character_id": FIRST_CHARACTER_ID,
            "special": {str(token_id): name for token_id, name in SPECIAL_NAMES.items()},
        },
        "prompt": {
            "longest_prefix": LONGEST_PREFIX,
            "largest_operand": LARGEST_OPERAND,
            "limits": {name: list(limit) for name, limit in LIMITS.items()},
            "messages": dict(MESSAGES),
            "typed_for": dict(TYPED_FOR),
        },
        "data": data_rules(),
        "own_model": {"largest_bytes": OWN_MODEL_LARGEST_BYTES, "opset": OPSET},
        "answers": {
            "longest": LONGEST_ANSWER,
            "confident": CONFIDENT,
            "map_operands": SMALL_OPERAND + 1,
        },
        "model": {
            "config": config.to_dict(),
            "parameters": model.parameter_breakdown(),
            "input": IDS,
            "switches_input": SWITCHES,
            "wanted_input": WANTED,
            "outputs": plain,
            "inside_outputs": inside,
            "fast_outputs": fast,
            "fast_margin": WantedLogits.margin,
            "switches": [asdict(switch) for switch in switches(config)],
        },
    }


def data_rules() -> dict[str, Any]:
    """What the page needs to draw and split problems as `tiny_gpt.data` does."""
    return {
        "split": {
            "salt": SPLIT_SALT,
            "parts": SPLIT_PARTS,
            "held_out_parts": HELD_OUT_PARTS,
            "tuning_parts": TUNING_PARTS,
        },
        "mix": asdict(Mix()),
        "draws_per_candidate": DRAWS_PER_CANDIDATE,
        "row_length": ROW_LENGTH,
    }
