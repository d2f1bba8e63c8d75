"""What a question can ask the model: one function for each name in `compute:` of the bank.

`site_assets/runtime/computations.mjs` has a function of the same name that computes
the same value on the reader's device; tests compare the two.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from export.ablation import in_words, measure, switch_values
from export.forms import NamedOutputs, Switched, switches
from tiny_gpt.checkpoint import CHECKPOINTS, load_model, published
from tiny_gpt.data import Problems, split_of
from tiny_gpt.generate import generate, greedy_answers, next_token_logits, sampled_answers
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

Value = str | bool | int | float


@dataclass(frozen=True)
class Computation:
    """A function, how its value is shown (see `shown`), and the sentence that says what it is."""

    compute: Callable[..., Value]
    kind: str
    sentence: str  # Markdown; {name} stands for a parameter, {value} for the result


def token_id(token: str) -> int:
    """ID of a token by the name that the page shows: a character, `space`, PAD, BOS or EOS."""
    for candidate in range(CharacterTokenizer.vocab_size):
        if token_name(candidate) == token:
            return candidate
    raise ValueError(f"there is no token {token!r}")


def token_name(token: int) -> str:
    """How the page writes a token."""
    name = CharacterTokenizer().token_name(token)
    return "space" if name == " " else name


def top_token(model: str, prefix: str) -> str:
    return token_name(int(next_token_logits(opened(model), prefix).argmax()))


def answer(model: str, prompt: str) -> str:
    """What greedy decoding writes after the prompt, up to EOS or the end of the context."""
    return generate(opened(model), prompt)[0]


def answer_probability(model: str, prompt: str) -> float:
    """Probability of what greedy decoding writes: the product over its tokens, EOS included."""
    a, sign, b = _operands(prompt)
    problem = Problems(np.array([a]), np.array([b]), np.array([sign == "-"]))
    return float(greedy_answers(opened(model), problem)[1][0])


def is_right(model: str, prompt: str) -> bool:
    """Whether greedy decoding writes the answer of `a+b=` or `a-b=` and then EOS."""
    return generate(opened(model), prompt) == (str(result(prompt)), "EOS")


def result(prompt: str) -> int:
    """The number that is right after `a+b=` or `a-b=`."""
    a, sign, b = _operands(prompt)
    return a + b if sign == "+" else a - b


def _operands(prompt: str) -> tuple[int, str, int]:
    """First operand, sign and second operand of `a+b=` or `a-b=`."""
    a, sign, b = prompt.removesuffix("=").partition("+" if "+" in prompt else "-")
    return int(a), sign, int(b)


def logit(model: str, prefix: str, token: str) -> float:
    return float(next_token_logits(opened(model), prefix)[token_id(token)])


def probability(model: str, prefix: str, token: str) -> float:
    return float(next_token_logits(opened(model), prefix).double().softmax(dim=0)[token_id(token)])


def rank(model: str, prefix: str, token: str) -> int:
    """1 for the highest logit."""
    logits = next_token_logits(opened(model), prefix)
    return 1 + int((logits > logits[token_id(token)]).sum())


def token_loss(model: str, prefix: str, token: str) -> float:
    """-ln p of one token, in nats."""
    return -math.log(probability(model, prefix, token))


@torch.inference_mode()
def loss(model: str, line: str) -> float:
    """Mean of -ln p over all targets of a line, EOS included, in nats."""
    ids = CharacterTokenizer().encode(line)
    targets = torch.tensor([*ids[1:], EOS_ID])
    return float(F.cross_entropy(opened(model)(torch.tensor([ids]))[0].double(), targets))


def cheapest_line(model: str, lines: list[str]) -> str:
    """The line with the smallest mean loss."""
    return min(lines, key=lambda line: loss(model, line))


@torch.inference_mode()
def attention_weight(model: str, line: str, block: int, head: int, position: int, source: int) -> float:
    """The share that `position` takes from `source` in a head; blocks and heads count from 1."""
    network = opened(model)
    values = NamedOutputs(network)(torch.tensor([CharacterTokenizer().encode(line)]))
    place = NamedOutputs.outputs(network.config.n_layers).index(f"block_{block}_attention_weights")
    return float(values[place][0, head - 1, position, source])


def right_without(switch: str) -> int:
    """How many problems of the list of chapter 9 the trained model answers with one part off."""
    return measure(opened("trained"), (switch,)).total


def costliest_switch(names: list[str]) -> str:
    """The switch whose absence leaves the fewest right answers, in words."""
    return switch_in_words(min(names, key=right_without))


def switch_in_words(name: str) -> str:
    config = opened("trained").config
    return next(in_words(switch, config) for switch in switches(config) if switch.name == name)


@torch.inference_mode()
def lens_token(model: str, prefix: str, block: int) -> str:
    """The highest-scoring token if the network ended after a block; 0 is after the embeddings."""
    network = opened(model)
    ids = torch.tensor([CharacterTokenizer().encode(prefix)])
    values = Switched(network)(ids, switch_values(network.config, ()))
    place = Switched.outputs(network.config.n_layers).index(f"lens_{block}_logits")
    return token_name(int(values[place][0, -1].argmax()))


def sampled_errors(model: str, prompt: str, temperature: float, top_k: int, count: int) -> int:
    """How many of `count` answers, drawn with the seeds from 0 on, are not the right one and EOS."""
    answers = sampled_answers(opened(model), prompt, temperature, top_k, range(count))
    return count - answers[str(result(prompt)), "EOS"]


def split(a: int, b: int) -> str:
    return split_of(a, b)


def carries(a: int, operation: str, b: int) -> int:
    """Columns that carry (for +) or borrow (for -)."""
    return int(Problems(np.array([a]), np.array([b]), np.array([operation == "-"])).carries[0])


COMPUTATIONS: dict[str, Computation] = {
    "top_token": Computation(
        top_token, "token", "The highest-scoring token after {prefix} ({model}): {value}"
    ),
    "answer": Computation(answer, "token", "What the model writes after {prompt} ({model}): {value}"),
    "answer_probability": Computation(
        answer_probability,
        "percent",
        "The probability of what the model writes after {prompt} ({model}): {value}",
    ),
    "is_right": Computation(is_right, "verdict", "The model's answer to {prompt} ({model}) is {value}"),
    "logit": Computation(logit, "decimal", "The logit of {token} after {prefix} ({model}): {value}"),
    "probability": Computation(
        probability, "percent", "The probability of {token} after {prefix} ({model}): {value}"
    ),
    "rank": Computation(rank, "whole", "The rank of {token} after {prefix} ({model}): {value}"),
    "token_loss": Computation(
        token_loss, "decimal", "The loss for the target {token} after {prefix} ({model}): {value}"
    ),
    "loss": Computation(loss, "decimal", "The mean loss over all targets of {line} ({model}): {value}"),
    "cheapest_line": Computation(
        cheapest_line, "token", "Of the lines {lines}, the one with the smallest mean loss ({model}): {value}"
    ),
    "attention_weight": Computation(
        attention_weight,
        "percent",
        "The weight that position {position} of {line} gives to position {source} in head {head} of block "
        "{block} ({model}): {value}",
    ),
    "right_without": Computation(
        right_without,
        "whole",
        "Right of the 200 problems without {switch} (trained weights): {value}",
    ),
    "costliest_switch": Computation(
        costliest_switch, "token", "Of {names}, the one without which the fewest are right: {value}"
    ),
    "lens_token": Computation(
        lens_token,
        "token",
        "The highest token after {prefix}, read after block {block} ({model}): {value}",
    ),
    "sampled_errors": Computation(
        sampled_errors,
        "whole",
        "Wrong answers to {prompt} among {count} draws at temperature {temperature} and top-k {top_k} "
        "({model}): {value}",
    ),
    "split": Computation(split, "token", "The part that the pair of {a} and {b} belongs to: {value}"),
    "carries": Computation(
        carries, "whole", "The number of columns of {a} {operation} {b} that carry or borrow: {value}"
    ),
}


def shown(kind: str, value: Value) -> str:
    """A value as the page writes it; `shown` of computations.mjs writes the same."""
    if kind == "verdict":
        return "right" if value else "wrong"
    if isinstance(value, str):
        return value
    if kind == "whole":
        return f"{value:,}"
    if kind == "percent":
        if value < 0.0001:
            return "less than 0.01 %"
        return f"{math.floor(10_000 * value) / 100:.2f} %"  # rounded down: 100 % would mean certain
    return f"{value:.3f}".replace("-", "−")


def shown_parameter(name: str, value: Value | list[str]) -> str:
    """A parameter inside the sentence, as Markdown."""
    if name == "switch":
        return switch_in_words(str(value))
    if name == "names" and isinstance(value, list):
        return ", ".join(map(switch_in_words, value))
    if isinstance(value, list):
        return ", ".join(f"`{item}`" for item in value)
    if name == "model":
        if value in ("trained", "initial"):
            return {"trained": "trained weights", "initial": "random weights"}[str(value)]
        step = str(value).removeprefix("step-")
        return f"weights of step {int(step):,}" if step.isdigit() else f"{value} model"
    if name in ("prefix", "prompt", "line") and value == "":
        return "the empty prefix"
    return f"`{value}`" if isinstance(value, str) else str(value)


def opened(model: str) -> TinyArithmeticGPT:
    """A published model by its name on the page: trained, initial or step-NNNNNN."""
    files = published()
    named = {"trained": files[-1], "initial": files[0]}
    path = named.get(model, CHECKPOINTS / f"{model}.safetensors")
    if not path.is_file():
        raise ValueError(f"there is no model {model!r}")
    return _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load(path: Path, changed: int) -> TinyArithmeticGPT:
    """A checkpoint, read again when its file has changed while `mkdocs serve` runs."""
    return load_model(path)
