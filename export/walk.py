"""The recorded position walk: what the untrained network computes for `1+1=2`.

The page shows it before the runtime is there. `site_assets/widgets/position-walk.mjs`
makes the same structure from live outputs, and a test compares the two.
"""

from typing import Any

import torch

from export.forms import NamedOutputs, output_names
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

WALK_TEXT = "1+1=2"
SHOWN_NUMBERS = 4  # of each vector
DECIMALS = 6  # stored; the page shows three


def recorded_walk(model: TinyArithmeticGPT, text: str = WALK_TEXT) -> dict[str, Any]:
    """Vectors (first 4 numbers), attention weights and scores for each position of `text`."""
    ids = CharacterTokenizer().encode(text)
    with torch.inference_mode():
        values = NamedOutputs(model)(torch.tensor([ids]))
    outputs = dict(zip(output_names(model.config.n_layers), values, strict=True))
    blocks = range(1, model.config.n_layers + 1)
    logits = outputs["logits"][0]
    positions = []
    for position, token_id in enumerate(ids):
        target_id = ids[position + 1] if position + 1 < len(ids) else EOS_ID
        row = logits[position]
        top_id = int(row.argmax())
        positions.append(
            {
                "token_id": token_id,
                "token_row": _first(outputs["token_rows"][0, position]),
                "position_row": _first(outputs["position_rows"][position]),
                "sum": _first(outputs["embeddings"][0, position]),
                "blocks": [
                    {
                        "before": _first(
                            outputs["embeddings" if block == 1 else f"block_{block - 1}_output"][0, position]
                        ),
                        "after_attention": _first(outputs[f"block_{block}_after_attention"][0, position]),
                        "output": _first(outputs[f"block_{block}_output"][0, position]),
                        "attention": _rounded(outputs[f"block_{block}_attention_weights"][0, :, position]),
                    }
                    for block in blocks
                ],
                "top": {"token_id": top_id, "logit": _rounded(row[top_id])},
                "target": {
                    "token_id": target_id,
                    "logit": _rounded(row[target_id]),
                    "rank": 1 + int((row > row[target_id]).sum()),
                },
            }
        )
    return {"text": text, "positions": positions}


def _first(vector: torch.Tensor) -> Any:
    return _rounded(vector[:SHOWN_NUMBERS])


def _rounded(values: torch.Tensor) -> Any:
    nested = values.double().tolist()
    return _round(nested)


def _round(value: Any) -> Any:
    return [_round(v) for v in value] if isinstance(value, list) else round(value, DECIMALS)
