"""What a blind guess costs: with equal logits the loss is ln 98, whatever the targets are."""

import math

import torch

from tiny_gpt.model import next_token_loss
from tiny_gpt.run import initial_model
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

ids = CharacterTokenizer().encode("12+34=46")
inputs, targets = torch.tensor([ids]), torch.tensor([[*ids[1:], EOS_ID]])
equal = torch.zeros(1, len(ids), CharacterTokenizer.vocab_size)

print(f"all logits 0          {next_token_loss(equal, targets):.4f}")
print(f"all logits 7          {next_token_loss(equal + 7, targets):.4f}")
print(f"ln 98                 {math.log(98):.4f}")
print(f"untrained network     {next_token_loss(initial_model()(inputs), targets):.4f}")
