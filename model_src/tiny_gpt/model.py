"""The arithmetic GPT: a decoder-only Transformer of 413,440 parameters.

Shapes use four letters: B rows in a batch, T positions, W width (128 numbers a
position), H heads. Layout and initialisation follow GPT-2 (Radford et al.,
2019): normalisation before each branch, residual additions around it, the output
tied to the token embedding, and a smaller start for the two projections that
end a residual branch.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tiny_gpt.config import ModelConfig
from tiny_gpt.tokenizer import PAD_ID, CharacterTokenizer

INITIAL_STD = 0.02


# --8<-- [start:attention]
class CausalSelfAttention(nn.Module):
    """Lets each position read from itself and earlier positions.

    Each step is a method of its own, so that a reader can look at what lies
    between and Part II can replace one of them.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.head_width = config.head_width
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.projection = nn.Linear(config.width, config.width)
        self.weight_dropout = nn.Dropout(config.dropout)
        self.output_dropout = nn.Dropout(config.dropout)

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[B, T, W] to three tensors [B, H, T, W / H]: one slice a head."""
        batch, positions, _ = x.shape
        split = self.qkv(x).view(batch, positions, 3, self.n_heads, self.head_width)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        return query, key, value

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """How well each query fits each key: [B, H, T, T], scaled by sqrt(W / H)."""
        return query @ key.transpose(-2, -1) / math.sqrt(self.head_width)

    def mask(self, scores: Tensor) -> Tensor:
        """Set the scores of later positions to -inf, so their weight is 0."""
        positions = torch.arange(scores.shape[-1], device=scores.device)
        is_future = positions[None, :] > positions[:, None]
        return scores.masked_fill(is_future, -math.inf)

    def weights(self, query: Tensor, key: Tensor) -> Tensor:
        """Attention weights [B, H, T, T]: each row is at least 0 and sums to 1."""
        return self.mask(self.scores(query, key)).softmax(dim=-1)

    def mix(self, weights: Tensor, value: Tensor) -> Tensor:
        """Add up the values by weight, put the heads side by side, project: [B, T, W]."""
        batch, _, positions, _ = weights.shape
        heads = self.weight_dropout(weights) @ value
        joined = heads.transpose(1, 2).reshape(batch, positions, -1)
        return self.output_dropout(self.projection(joined))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.queries_keys_values(x)
        return self.mix(self.weights(query, key), value)


# --8<-- [end:attention]


# --8<-- [start:feed_forward]
class FeedForward(nn.Module):
    """Works on each position alone: widen to 512, bend with GELU, narrow to 128."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.width, config.feed_forward_width)
        self.contract = nn.Linear(config.feed_forward_width, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.contract(F.gelu(self.expand(x))))


# --8<-- [end:feed_forward]


# --8<-- [start:block]
class TransformerBlock(nn.Module):
    """Attention, then feed-forward; each reads a normalised copy and adds its result."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = CausalSelfAttention(config)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.feed_forward = FeedForward(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


# --8<-- [end:block]


class TinyArithmeticGPT(nn.Module):
    """Scores the 98 tokens that could come next, at every position.

    Raises `ValueError` when the configuration's vocabulary is not the
    tokenizer's 98 tokens.
    """

    # --8<-- [start:construction]
    def __init__(self, config: ModelConfig | None = None) -> None:
        super().__init__()
        config = config or ModelConfig()
        if config.vocab_size != CharacterTokenizer.vocab_size:
            raise ValueError(
                f"vocab_size must be {CharacterTokenizer.vocab_size} for the arithmetic "
                f"model, got {config.vocab_size}"
            )
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.width)
        self.position_embedding = nn.Embedding(config.context_length, config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(TransformerBlock(config) for _ in range(config.n_layers))
        self.final_norm = nn.LayerNorm(config.width)
        self.lm_head = nn.Linear(config.width, config.vocab_size, bias=False)
        self._initialise()

    # --8<-- [end:construction]

    # --8<-- [start:initialisation]
    def _initialise(self) -> None:
        """N(0, 0.02) everywhere, biases 0; the order of the draws fixes the numbers."""
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=INITIAL_STD)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        self.tie_output()
        residual_std = INITIAL_STD / math.sqrt(2 * self.config.n_layers)
        for name, parameter in self.named_parameters():
            if name.endswith(("attention.projection.weight", "feed_forward.contract.weight")):
                nn.init.normal_(parameter, std=residual_std)

    # --8<-- [end:initialisation]

    def tie_output(self) -> None:
        """Let the output layer and the token embedding share one matrix."""
        self.lm_head.weight = self.token_embedding.weight

    def check_input(self, ids: Tensor) -> None:
        """Raise `ValueError` unless `ids` is torch.long [B, T] within the model's limits."""
        if kind(ids) != torch.long:
            raise ValueError(f"input IDs must be torch.long, got {kind(ids)}")
        if ids.dim() != 2:
            raise ValueError(f"input IDs must be [batch, positions], got shape {list(ids.shape)}")
        batch, positions = ids.shape
        if batch < 1 or positions < 1:
            raise ValueError(f"input IDs need at least one row and one position, got {list(ids.shape)}")
        if positions > self.config.context_length:
            raise ValueError(
                f"input IDs have {positions} positions, the context length is "
                f"{self.config.context_length}; nothing is cut, shorten the input"
            )
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= self.config.vocab_size:
            raise ValueError(
                f"input IDs must be 0 to {self.config.vocab_size - 1}, got {low if low < 0 else high}"
            )

    # --8<-- [start:embed]
    def embed(self, ids: Tensor) -> Tensor:
        """Token row + position row: [B, T] to [B, T, W]."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        return self.token_embedding(ids) + self.position_embedding(positions)

    # --8<-- [end:embed]

    # --8<-- [start:forward]
    def hidden_states(self, ids: Tensor) -> Tensor:
        """The normalised last hidden state of every position: [B, T] to [B, T, W].

        Raises `ValueError` for input outside the model's limits (`check_input`).
        """
        self.check_input(ids)
        x = self.dropout(self.embed(ids))
        for block in self.blocks:
            x = block(x)
        return self.final_norm(x)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits: one score a token for each position, [B, T] to [B, T, 98]."""
        return self.lm_head(self.hidden_states(ids))

    # --8<-- [end:forward]

    def parameter_breakdown(self) -> dict[str, int]:
        """Parameters by part; the shared matrix counts once."""
        parts = {
            "token_embedding_and_shared_output": self.token_embedding,
            "position_embedding": self.position_embedding,
            "transformer_blocks": self.blocks,
            "final_normalization": self.final_norm,
        }
        counts = {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}
        return {**counts, "total": sum(counts.values())}


# --8<-- [start:loss]
def next_token_loss(logits: Tensor, target_ids: Tensor) -> Tensor:
    """Mean cross-entropy in nats over every target that is not PAD.

    `logits` are [B, T, 98]; `target_ids` are torch.long [B, T] on the same
    device, each 0 to 97, at least one of them not PAD. Anything else is a
    `ValueError`.
    """
    check_targets(logits, target_ids)
    return F.cross_entropy(logits.flatten(0, 1), target_ids.flatten(), ignore_index=PAD_ID)


# --8<-- [end:loss]


def kind(value: object) -> torch.dtype | str:
    """A tensor's dtype, or the name of the type that stands in its place."""
    return value.dtype if isinstance(value, Tensor) else type(value).__name__


def check_targets(logits: Tensor, target_ids: Tensor) -> None:
    """Raise `ValueError` unless logits and targets fit each other."""
    vocab_size = CharacterTokenizer.vocab_size
    if not isinstance(logits, Tensor):
        raise ValueError(f"logits must be a tensor, got {kind(logits)}")
    if logits.dim() != 3 or logits.shape[-1] != vocab_size:
        raise ValueError(f"logits must be [batch, positions, {vocab_size}], got shape {list(logits.shape)}")
    if kind(target_ids) != torch.long:
        raise ValueError(f"target IDs must be torch.long, got {kind(target_ids)}")
    if target_ids.shape != logits.shape[:2]:
        raise ValueError(
            f"target IDs must match the logits' batch and positions {list(logits.shape[:2])}, "
            f"got {list(target_ids.shape)}"
        )
    if target_ids.device != logits.device:
        raise ValueError(f"target IDs are on {target_ids.device}, the logits on {logits.device}")
    if target_ids.numel() == 0 or bool((target_ids == PAD_ID).all()):
        raise ValueError("target IDs need at least one that is not PAD")
    low, high = int(target_ids.min()), int(target_ids.max())
    if low < 0 or high >= vocab_size:
        raise ValueError(f"target IDs must be 0 to {vocab_size - 1}, got {low if low < 0 else high}")
