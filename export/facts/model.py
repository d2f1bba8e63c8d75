"""Facts about the network: its sizes, the recorded walk, what it says to two prefixes."""

import math
from typing import Any

from export.facts.files import megabytes
from export.walk import SHOWN_NUMBERS, WALK_TEXT
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import INITIAL_STD, TinyArithmeticGPT
from tiny_gpt.prompt import LONGEST_PREFIX
from tiny_gpt.tokenizer import SPECIAL_NAMES, CharacterTokenizer


def model_facts(model: TinyArithmeticGPT) -> dict[str, str]:
    """Sizes of the model."""
    config, parts = model.config, model.parameter_breakdown()
    numbers = {
        "parameters": parts["total"],
        "token_embedding": parts["token_embedding_and_shared_output"],
        "position_embedding": parts["position_embedding"],
        "blocks": parts["transformer_blocks"],
        "block_parameters": parts["transformer_blocks"] // config.n_layers,
        "final_norm": parts["final_normalization"],
        "bytes": parts["total"] * 4,
        "vocabulary": config.vocab_size,
        "vocabulary_less_1": config.vocab_size - 1,
        "context": config.context_length,
        "longest_prefix": LONGEST_PREFIX,
        "layers": config.n_layers,
        "width": config.width,
        "heads": config.n_heads,
        "head_width": config.head_width,
        "feed_forward": config.feed_forward_width,
        "qkv_parameters": 3 * config.width * (config.width + 1),
    }
    facts = {f"model.{name}": f"{value:,}" for name, value in numbers.items()}
    facts["model.megabytes"] = megabytes(parts["total"] * 4)
    facts["model.initial_std"] = f"{INITIAL_STD:g}"
    facts["loss.blind_guess"] = f"{math.log(config.vocab_size):.3f}"
    return facts


def walk_facts(walk: dict[str, Any]) -> dict[str, str]:
    """The rows of `=` in the recorded walk."""
    at_equals = walk["positions"][1 + WALK_TEXT.index("=")]
    cells = {
        f"walk.{row}.{place + 1}": f"{at_equals[row][place]:.3f}".replace("-", "−")
        for row in ("token_row", "position_row", "sum")
        for place in range(SHOWN_NUMBERS)
    }
    return {**cells, "walk.tokens_table": tokens_table(walk)}


def tokens_table(walk: dict[str, Any]) -> str:
    """Position, token, ID and target of the walk's line, as a Markdown table."""
    tokenizer = CharacterTokenizer()

    def shown(token_id: int) -> str:
        name = tokenizer.token_name(token_id)
        return name if token_id in SPECIAL_NAMES else f"`{name}`"

    lines = ["| position | token | ID | target |", "|--:|---|--:|---|"]
    for position, values in enumerate(walk["positions"]):
        token_id, target_id = values["token_id"], values["target"]["token_id"]
        lines.append(f"| {position} | {shown(token_id)} | {token_id} | {shown(target_id)} |")
    return "\n".join(lines)


def example_facts(name: str, model: TinyArithmeticGPT) -> dict[str, str]:
    """What a model puts on top after `1+1=` and `1+2=`, and how far the two rows of logits differ."""
    facts, rows = {}, []
    for prefix, key in (("1+1=", "1_plus_1"), ("1+2=", "1_plus_2")):
        logits = next_token_logits(model, prefix)
        top = int(logits.argmax())
        facts[f"{name}.top_{key}"] = CharacterTokenizer().token_name(top)
        # rounded down: 100 % would mean certain
        percent = math.floor(10_000 * float(logits.softmax(dim=0)[top])) / 100
        facts[f"{name}.top_percent_{key}"] = f"{percent:.2f}"
        rows.append(logits)
    facts[f"{name}.largest_change"] = f"{float((rows[0] - rows[1]).abs().max()):.3f}"
    facts[f"{name}.even_percent"] = f"{100 / model.config.vocab_size:.2f}"
    return facts
