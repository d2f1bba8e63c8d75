"""The forms of the model that are exported: what goes in, what comes out, in which precision.

Each form runs the model's own parts in the model's own order. Checks on the input
stay outside: a form is what is traced. All forms of a model share one set of weights.

    plain    every named value on the way to the logits; float64
    inside   the same with switches and the prediction after each block; float64
    fast     the logits of some positions alone, for thousands of rows; float32
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tiny_gpt.config import ModelConfig
from tiny_gpt.model import TinyArithmeticGPT, TransformerBlock

IDS, SWITCHES, WANTED = "ids", "switches", "wanted"

SwitchValue = Callable[[str], Tensor]


class Form(nn.Module):
    """A model made ready for tracing; subclasses name their inputs and outputs."""

    name: str
    inputs: tuple[str, ...] = (IDS,)
    dtype: torch.dtype = torch.float64
    tolerance = 1e-5  # largest difference from PyTorch, times max(1, |value|)

    def __init__(self, model: TinyArithmeticGPT) -> None:
        super().__init__()
        self.model = model

    @staticmethod
    def outputs(n_layers: int) -> list[str]:
        """Names of the outputs in order."""
        raise NotImplementedError

    @staticmethod
    def inputs_for(ids: Tensor, config: ModelConfig) -> tuple[Tensor, ...]:
        """A value for each of `inputs`: the IDs [B, T], and what goes with them."""
        return (ids,)


def output_names(n_layers: int) -> list[str]:
    """The outputs of the plain form in order."""
    names = ["logits", "token_rows", "position_rows", "embeddings"]
    for block in range(1, n_layers + 1):
        names += [
            f"block_{block}_attention_weights",
            f"block_{block}_after_attention",
            f"block_{block}_output",
        ]
    return [*names, "final_hidden"]


class NamedOutputs(Form):
    """The plain form: the values between the model's parts, returned by name."""

    name = "plain"

    @staticmethod
    def outputs(n_layers: int) -> list[str]:
        return output_names(n_layers)

    # --8<-- [start:plain]
    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """[B, T] to the tensors of `output_names`."""
        model = self.model
        token_rows = model.token_embedding(ids)
        position_rows = model.position_embedding(torch.arange(ids.shape[1]))
        x = token_rows + position_rows
        between = [token_rows, position_rows, x]
        for block in model.blocks:
            query, key, value = block.attention.queries_keys_values(block.attention_norm(x))
            weights = block.attention.weights(query, key)
            after_attention = x + block.attention.mix(weights, value)
            x = after_attention + block.feed_forward(block.feed_forward_norm(after_attention))
            between += [weights, after_attention, x]
        final_hidden = model.final_norm(x)
        outputs = (model.lm_head(final_hidden), *between, final_hidden)
        return tuple(values.float() for values in outputs)

    # --8<-- [end:plain]


@dataclass(frozen=True)
class Switch:
    """One part that can be switched off. `block` and `head` count from 1; None where there is none."""

    name: str
    kind: str
    block: int | None = None
    head: int | None = None


def switches(config: ModelConfig) -> list[Switch]:
    """Every switch of a model in the order of the input `switches`; 1 is on, 0 is off."""

    def each() -> Iterator[Switch]:
        yield Switch("positions", "positions")
        yield Switch("mask", "mask")
        yield Switch("scale", "scale")
        for block in range(1, config.n_layers + 1):
            for head in range(1, config.n_heads + 1):
                yield Switch(f"block_{block}_head_{head}", "head", block, head)
            yield Switch(f"block_{block}_attention_add", "attention_add", block)
            yield Switch(f"block_{block}_feed_forward", "feed_forward", block)
            yield Switch(f"block_{block}_feed_forward_add", "feed_forward_add", block)

    return list(each())


class Switched(Form):
    """The inside form: every part times its switch, and the prediction after each block.

    With all switches at 1 the values are those of the plain form, bit for bit.
    Off means: `positions` adds no position rows; `mask` lets positions read later ones;
    `scale` leaves the scores undivided; a head passes on nothing; `attention_add` and
    `feed_forward_add` keep the branch's result alone, without what it was to be added to;
    `feed_forward` adds nothing. The prediction after block n ("logit lens", nostalgebraist,
    2020) puts the unfinished residual stream through the final norm and the output layer.
    """

    name = "inside"
    inputs = (IDS, SWITCHES)

    def __init__(self, model: TinyArithmeticGPT) -> None:
        super().__init__(model)
        self.places = {switch.name: place for place, switch in enumerate(switches(model.config))}

    @staticmethod
    def outputs(n_layers: int) -> list[str]:
        blocks = range(1, n_layers + 1)
        return [
            "logits",
            *(f"block_{block}_attention_weights" for block in blocks),
            *(f"lens_{block}_logits" for block in range(n_layers)),
        ]

    @staticmethod
    def inputs_for(ids: Tensor, config: ModelConfig) -> tuple[Tensor, ...]:
        """All switches on."""
        return ids, torch.ones(len(switches(config)))

    # --8<-- [start:switched]
    def forward(self, ids: Tensor, switch_values: Tensor) -> tuple[Tensor, ...]:
        """[B, T] and one number a switch to logits, weights a block, lens logits a block."""
        values = switch_values.double()

        def switch(name: str) -> Tensor:
            return values[self.places[name]]

        model = self.model
        positions = model.position_embedding(torch.arange(ids.shape[1]))
        x = model.token_embedding(ids) + switch("positions") * positions
        all_weights, lens = [], []
        for number, block in enumerate(model.blocks, start=1):
            assert isinstance(block, TransformerBlock)
            lens.append(model.lm_head(model.final_norm(x)))
            weights, attended = self.attend(x, block, number, switch)
            all_weights.append(weights)
            x = switch(f"block_{number}_attention_add") * x + attended
            forwarded = block.feed_forward(block.feed_forward_norm(x))
            x = (
                switch(f"block_{number}_feed_forward_add") * x
                + switch(f"block_{number}_feed_forward") * forwarded
            )
        logits = model.lm_head(model.final_norm(x))
        return tuple(output.float() for output in (logits, *all_weights, *lens))

    # --8<-- [end:switched]

    # --8<-- [start:attend]
    def attend(
        self, x: Tensor, block: TransformerBlock, number: int, switch: SwitchValue
    ) -> tuple[Tensor, Tensor]:
        """The attention weights of a block and what it passes on, with mask, scale and heads switched."""
        attention = block.attention
        query, key, value = attention.queries_keys_values(block.attention_norm(x))
        scores = attention.scores(query, key)
        scores = torch.where(switch("scale") > 0, scores, scores * math.sqrt(attention.head_width))
        scores = torch.where(switch("mask") > 0, attention.mask(scores), scores)
        weights = scores.softmax(dim=-1)
        heads = [switch(f"block_{number}_head_{head}") for head in range(1, attention.n_heads + 1)]
        return weights, attention.mix(weights * torch.stack(heads)[:, None, None], value)

    # --8<-- [end:attend]


class WantedLogits(Form):
    """The fast form: the logits of some positions, without the work that only others need."""

    name = "fast"
    inputs = (IDS, WANTED)
    dtype = torch.float32
    margin = 1e-3  # two scores that lie this close are computed again in float64
    tolerance = margin / 10

    @staticmethod
    def outputs(n_layers: int) -> list[str]:
        return ["logits"]

    @staticmethod
    def inputs_for(ids: Tensor, config: ModelConfig) -> tuple[Tensor, ...]:
        """The later half of the positions is wanted."""
        return ids, torch.arange(ids.shape[1] // 2, ids.shape[1])

    def forward(self, ids: Tensor, wanted: Tensor) -> tuple[Tensor, ...]:
        """[B, T] and positions [K] to the logits [B, K, 98]."""
        model = self.model
        x = model.embed(ids)
        for block in model.blocks[:-1]:
            x = block(x)
        last = model.blocks[-1]
        query, key, value = last.attention.queries_keys_values(last.attention_norm(x))
        weights = last.attention.weights(query, key)[:, :, wanted]
        x = x[:, wanted] + last.attention.mix(weights, value)
        x = x + last.feed_forward(last.feed_forward_norm(x))
        return (model.lm_head(model.final_norm(x)),)


FORMS: tuple[type[Form], ...] = (NamedOutputs, Switched, WantedLogits)
