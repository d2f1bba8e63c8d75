"""A step by hand: foretell from the gradient how the loss changes, then measure it."""

import torch

from tiny_gpt.data import Mix, ProblemStream, encode_rows, inputs_and_targets
from tiny_gpt.model import next_token_loss
from tiny_gpt.run import initial_model

model = initial_model().double()
problems = ProblemStream(seed=42, mix=Mix()).take(512)
inputs, targets = inputs_and_targets(torch.from_numpy(encode_rows(problems)))


def loss() -> torch.Tensor:
    return next_token_loss(model(inputs), targets)


before = loss()
before.backward()
bias = model.final_norm.bias
slope = bias.grad[0].item()

with torch.no_grad():
    bias[0] += 0.001
    nudged = loss() - before
    bias[0] -= 0.001
    for parameter in model.parameters():
        parameter -= 0.1 * parameter.grad
    after = loss()

print(f"loss of the batch    {before:.6f}")
print(f"slope of one number  {slope:+.6f}")
print(f"change, foretold     {0.001 * slope:+.9f}")
print(f"change, measured     {nudged:+.9f}")
print(f"loss after the step  {after:.6f}")
