"""Parts of the real network switched off by hooks: a second way to what `export.forms.Switched` does.

Nothing here shares code with the exported form. The network itself runs, and hooks change
what its modules take in or give out.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tiny_gpt.model import CausalSelfAttention, TinyArithmeticGPT

Hook = Callable[[nn.Module, Any, Tensor], Tensor]


@contextmanager
def switched_off(model: TinyArithmeticGPT, names: Sequence[str]) -> Iterator[None]:
    """While this lasts, the named parts of `model` are off; afterwards it is as it was."""
    with ExitStack() as stack:
        for name in names:
            undo = _start(model, name)
            for one in undo:
                stack.callback(one)
        yield


def _start(model: TinyArithmeticGPT, name: str) -> list[Callable[[], None]]:
    """Switch one part off; what is returned undoes it."""
    if name == "positions":
        return [_on_output(model.position_embedding, lambda module, given, rows: torch.zeros_like(rows))]
    if name == "mask":
        return [_replace(block.attention, "mask", lambda scores: scores) for block in model.blocks]
    if name == "scale":
        return [_replace(block.attention, "scores", _dot_products) for block in model.blocks]
    prefix, number, part = name.split("_", 2)
    assert prefix == "block"
    block = model.blocks[int(number) - 1]
    if part.startswith("head_"):
        silence = partial(_silence, block.attention, int(part.removeprefix("head_")))
        return [block.attention.projection.register_forward_pre_hook(silence).remove]
    if part == "feed_forward":
        return [_on_output(block.feed_forward, lambda module, given, added: torch.zeros_like(added))]
    branch, norm = {
        "attention_add": (block.attention, block.attention_norm),
        "feed_forward_add": (block.feed_forward, block.feed_forward_norm),
    }[part]
    return _without_stream(branch, norm)


def _on_output(module: nn.Module, hook: Hook) -> Callable[[], None]:
    return module.register_forward_hook(hook).remove


def _replace(module: nn.Module, method: str, other: Callable[..., Tensor]) -> Callable[[], None]:
    setattr(module, method, other)
    return partial(delattr, module, method)


def _dot_products(query: Tensor, key: Tensor) -> Tensor:
    """Scores that nothing divides."""
    return torch.einsum("bhqd,bhkd->bhqk", query, key)


def _silence(
    attention: CausalSelfAttention, head: int, module: nn.Module, given: tuple[Tensor]
) -> tuple[Tensor]:
    """Zeros in the slice that a head (from 1) hands to the output projection."""
    joined = given[0].clone()
    joined[..., (head - 1) * attention.head_width : head * attention.head_width] = 0
    return (joined,)


def _without_stream(branch: nn.Module, norm: nn.Module) -> list[Callable[[], None]]:
    """The branch gives its result minus the stream, so that adding the stream leaves the result alone.

    The norm in front of the branch is handed the stream itself, which is noted there.
    """
    noted: list[Tensor] = []

    def note(module: nn.Module, given: tuple[Tensor]) -> None:
        noted[:] = given

    def subtract(module: nn.Module, given: Any, result: Tensor) -> Tensor:
        return result - noted[0]

    return [norm.register_forward_pre_hook(note).remove, _on_output(branch, subtract)]


@torch.inference_mode()
def inside(model: TinyArithmeticGPT, ids: Tensor, off: Sequence[str] = ()) -> dict[str, Tensor]:
    """What the graph `inside` gives for IDs [B, T], read off the running network by hooks.

    logits and lens_N_logits are [B, T, 98], block_N_attention_weights [B, H, T, T].
    """
    found: dict[str, Tensor] = {}

    def note_weights(attention: CausalSelfAttention, name: str, query: Tensor, key: Tensor) -> Tensor:
        scores = attention.mask(attention.scores(query, key))
        found[name] = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
        return found[name]

    def note_lens(name: str, module: nn.Module, given: tuple[Tensor]) -> None:
        found[name] = given[0]

    with ExitStack() as stack:
        stack.enter_context(switched_off(model, off))
        for number, block in enumerate(model.blocks):
            note = partial(note_weights, block.attention, f"block_{number + 1}_attention_weights")
            stack.callback(_replace(block.attention, "weights", note))
            hook = partial(note_lens, f"lens_{number}_logits")
            stack.callback(block.register_forward_pre_hook(hook).remove)
        found["logits"] = model(ids)
        for number in range(len(model.blocks)):
            name = f"lens_{number}_logits"
            found[name] = model.final_norm(found[name]) @ model.token_embedding.weight.T
    return found
