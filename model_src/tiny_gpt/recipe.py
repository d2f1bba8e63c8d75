"""The settings that decide which weights come out of a training run, and the learning rate they give."""

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tiny_gpt.data import Mix
from tiny_gpt.prompt import LARGEST_OPERAND

# What a setting may be: lowest and highest.
RANGES: dict[str, tuple[float, float]] = {
    "steps": (1, 10**9),
    "batch_size": (1, 10**6),
    "matrix_learning_rate": (1e-9, 10),
    "learning_rate": (1e-9, 10),
    "warmup_steps": (0, 10**9),
    "final_fraction": (0, 1),
    "restart_step": (0, 10**9),
    "restart_fraction": (0, 1),
    "weight_decay": (0, 10),
    "beta1": (0, 0.9999),
    "beta2": (0, 0.999999),
    "clip": (1e-9, 1e9),
    "stream_seed": (0, 2**32 - 1),
    "minus": (0, 100),
    "near": (0, 100),
    "nines": (0, 100),
    "ranges": (1, LARGEST_OPERAND + 1),
    "near_distance": (0, LARGEST_OPERAND),
    "n_layers": (1, 64),
    "width": (1, 4096),
    "n_heads": (1, 4096),
    "feed_forward_width": (1, 16384),
    "threads": (1, 1024),
    "save_every": (1, 10**9),
    "check_every": (1, 10**9),
    "log_every": (1, 10**9),
    "sample": (1, 10**9),
}


# --8<-- [start:recipe]
@dataclass(frozen=True)
class Recipe:
    """All settings that decide which weights come out; units in the comments."""

    steps: int = 14000  # updates of the weights
    batch_size: int = 512  # problems a step
    matrix_optimizer: str = "muon"  # for the matrices inside the blocks, 4 a block: muon or adamw
    matrix_learning_rate: float = 0.02  # theirs, the highest, after the warm-up
    learning_rate: float = 3e-3  # of all other parameters (AdamW)
    warmup_steps: int = 100  # straight up from 0
    final_fraction: float = 0.01  # a cosine ends at this share of the highest
    restart_step: int = 12000  # here the rate goes up once more
    restart_fraction: float = 0.2  # to this share of the highest, and down again
    weight_decay: float = 0.05  # on the matrices inside the blocks only
    beta1: float = 0.9
    beta2: float = 0.98
    clip: float = 1.0  # largest length of the gradient
    stream_seed: int = 42  # which problems, in which order
    mix: Mix = field(default_factory=Mix)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Recipe":
        mix = {**values["mix"], "ranges": tuple(values["mix"]["ranges"])}
        return Recipe(**{**values, "mix": Mix(**mix)})


# --8<-- [start:schedule]
def schedule(step: int, recipe: Recipe) -> float:
    """The share of the highest learning rate: up in a line, then half a cosine down, twice.

    `step` counts from 0. The second, smaller cosine is a warm restart (Loshchilov and
    Hutter, 2017); a run that ends before `restart_step` has the first alone.
    """
    warm = min(1.0, (step + 1) / max(1, recipe.warmup_steps))
    if step < recipe.restart_step:
        start, end, top = 0, min(recipe.restart_step, recipe.steps), 1.0
    else:
        start, end, top = recipe.restart_step, recipe.steps, recipe.restart_fraction
    cosine = 0.5 * (1 + math.cos(math.pi * (step - start) / max(1, end - start)))
    return warm * (recipe.final_fraction + (top - recipe.final_fraction) * cosine)


# --8<-- [end:schedule]
# --8<-- [end:recipe]


def recipe_settings(recipe: Recipe) -> dict[str, Any]:
    """The fields of a recipe and of its mix side by side."""
    own = {f.name: getattr(recipe, f.name) for f in fields(Recipe) if f.name != "mix"}
    return {**own, **{f.name: getattr(recipe.mix, f.name) for f in fields(Mix)}}
