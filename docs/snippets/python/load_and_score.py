"""Load the trained model and score the token after a prefix."""

from tiny_gpt.checkpoint import load_model, published
from tiny_gpt.generate import next_token_logits
from tiny_gpt.tokenizer import CharacterTokenizer

model = load_model(published()[-1])  # the last step; [0] is untrained
logits = next_token_logits(model, "12+34=")  # 98 numbers
shares = logits.softmax(dim=0)
for token_id in shares.topk(3).indices.tolist():
    name = CharacterTokenizer().token_name(token_id)
    print(name, f"logit {logits[token_id]:.4f}, probability {shares[token_id]:.6f}")
