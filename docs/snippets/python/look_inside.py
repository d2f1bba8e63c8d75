"""Read the attention weights of one head: what `=` takes from where."""

import torch

from tiny_gpt.checkpoint import load_model, published
from tiny_gpt.tokenizer import CharacterTokenizer

BLOCK, HEAD = 0, 2  # both counted from 0
model = load_model(published()[-1])
ids = CharacterTokenizer().encode("12+34=")
with torch.inference_mode():
    x = model.embed(torch.tensor([ids]))
    for block in model.blocks[:BLOCK]:
        x = block(x)
    block = model.blocks[BLOCK]
    attention = block.attention
    query, key, _ = attention.queries_keys_values(block.attention_norm(x))
    weights = attention.weights(query, key)[0, HEAD]  # one row a position
for token_id, weight in zip(ids, weights[-1].tolist(), strict=True):
    print(f"{CharacterTokenizer().token_name(token_id):<4} {weight:.4f}")
