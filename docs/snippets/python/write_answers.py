"""Let the model write: the likeliest token each time, then drawn ones."""

from tiny_gpt.checkpoint import load_model, published
from tiny_gpt.generate import generate

model = load_model(published()[-1])
text, reason = generate(model, "12+34=")  # greedy
print(f"greedy: {text} ({reason})")
for seed in range(4):
    text, reason = generate(model, "12+34=", temperature=5.0, top_k=5, seed=seed)
    print(f"seed {seed}: {text} ({reason})")
