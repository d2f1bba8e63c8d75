"""The sizes of a model, written once. Everything else reads them from here."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of a decoder-only Transformer; the defaults are the arithmetic GPT's.

    Every size is a positive int, `width` divides evenly by `n_heads`, and
    `0 <= dropout < 1`. A value that breaks a rule is a `ValueError` that names the field.
    """

    vocab_size: int = 98
    context_length: int = 32
    n_layers: int = 2
    width: int = 128
    n_heads: int = 4
    feed_forward_width: int = 512
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "context_length",
            "n_layers",
            "width",
            "n_heads",
            "feed_forward_width",
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"{name} must be an int, got {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be above 0, got {value}")
        if self.width % self.n_heads:
            raise ValueError(f"width must divide evenly by n_heads, got {self.width} and {self.n_heads}")
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, (int, float)):
            raise ValueError(f"dropout must be a number, got {self.dropout!r}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")

    @property
    def head_width(self) -> int:
        """Numbers in one head's query, key or value."""
        return self.width // self.n_heads

    def to_dict(self) -> dict[str, int | float]:
        """Plain types, ready for JSON; `ModelConfig(**d)` reads them back."""
        return asdict(self)
