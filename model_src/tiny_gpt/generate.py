"""Let the model write: score the next token, choose one, append it, again until EOS.

python -m tiny_gpt.generate "12+34="
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from tiny_gpt.checkpoint import load_model, published
from tiny_gpt.command import CommandParser, add_checkpoint_argument, run_command
from tiny_gpt.data import Problems, encode_rows
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import LIMITS, check_prefix, check_setting, number, unseen_operands
from tiny_gpt.random32 import draws, unit_interval
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, CharacterTokenizer


# --8<-- [start:score]
@torch.inference_mode()
def next_token_logits(model: TinyArithmeticGPT, text: str) -> Tensor:
    """The 98 logits for the token after `text`.

    Raises `PromptError` when the text is too long or not printable ASCII.
    """
    check_prefix(text)
    ids = torch.tensor([CharacterTokenizer().encode(text)])
    return model(ids)[0, -1]


# --8<-- [end:score]


# --8<-- [start:choose]
def choose(logits: Tensor, temperature: float, top_k: int, draw: float) -> int:
    """Sample one token ID with a draw in [0, 1); temperature 0 takes the highest score.

    The `top_k` highest scores (ties: the lower ID first) are divided by the
    temperature and turned into probabilities; the draw falls into one of them,
    counted from the likeliest. Sums are float64, so JavaScript gets the same.
    """
    scores = logits.double().numpy()
    order = np.argsort(-scores, kind="stable")[:top_k]
    if temperature == 0:
        return int(order[0])
    weights = np.exp((scores[order] - scores[order[0]]) / temperature)
    cumulative = np.cumsum(weights)
    place = int(np.searchsorted(cumulative, draw * cumulative[-1], side="right"))
    return int(order[min(place, len(order) - 1)])


# --8<-- [end:choose]


Score = Callable[[str], Tensor]


# --8<-- [start:generate]
def generate(
    model: TinyArithmeticGPT,
    text: str,
    temperature: float = 0.0,
    top_k: int = CharacterTokenizer.vocab_size,
    seed: int = 0,
) -> tuple[str, str]:
    """Continue `text` until EOS or until the context is full.

    Returns what was written and why it stopped: `EOS`, `PAD or BOS` or `context full`.
    Draw number i of `seed` chooses token i; temperature 0 needs no draws.
    Raises `PromptError` when the model can not read `text`.
    """
    score = partial(next_token_logits, model)
    return write(score, model.config.context_length, text, temperature, top_k, seed)


# --8<-- [end:generate]


def write(
    score: Score, context_length: int, text: str, temperature: float, top_k: int, seed: int
) -> tuple[str, str]:
    """`generate`, with whatever gives the logits after a text."""
    check_prefix(text)
    tokenizer = CharacterTokenizer()
    # --8<-- [start:loop]
    written = ""
    while len(text + written) < context_length:  # BOS takes one position
        logits = score(text + written)
        draw = float(unit_interval(draws(seed, len(written), 1))[0])
        token = choose(logits, temperature, top_k, draw)
        if token == EOS_ID:
            return written, "EOS"
        name = tokenizer.decode([token])
        if not name:
            return written, "PAD or BOS"
        written += name
    return written, "context full"
    # --8<-- [end:loop]


# --8<-- [start:sampled]
def sampled_answers(
    model: TinyArithmeticGPT, text: str, temperature: float, top_k: int, seeds: Iterable[int]
) -> Counter[tuple[str, str]]:
    """What `generate` gives for each seed, counted. Every text on the way is scored once."""
    score = lru_cache(maxsize=None)(partial(next_token_logits, model))
    context_length = model.config.context_length
    return Counter(write(score, context_length, text, temperature, top_k, seed) for seed in seeds)


# --8<-- [end:sampled]


LONGEST_ANSWER = len("-999") + 1  # with EOS; "1998" is as long


def greedy_rows(model: TinyArithmeticGPT, problems: Problems, batch_size: int = 2048) -> np.ndarray:
    """What `greedy_answers` writes, without the probabilities: int64 [N, 5]."""
    return greedy_answers(model, problems, batch_size)[0]


@torch.inference_mode()
def greedy_answers(
    model: TinyArithmeticGPT, problems: Problems, batch_size: int = 2048
) -> tuple[np.ndarray, np.ndarray]:
    """Real greedy decoding of many problems: what follows each prompt, int64 [N, 5].

    Each answer is written token by token from the prompt alone and ends at EOS;
    after it comes PAD. Rows of one prompt length run together. The second result is
    the probability of each answer, float64 [N]: the product of its tokens' own,
    EOS included.
    """
    rows = encode_rows(problems)
    equals_id = CharacterTokenizer.token_id("=")
    prompt_lengths = (rows == equals_id).argmax(axis=1) + 1
    written = np.full((len(problems), LONGEST_ANSWER), PAD_ID, dtype=np.int64)
    probability = np.ones(len(problems))
    device = model.token_embedding.weight.device
    for length in np.unique(prompt_lengths):
        members = np.flatnonzero(prompt_lengths == length)
        for start in range(0, len(members), batch_size):
            alive = members[start : start + batch_size]
            # --8<-- [start:greedy]
            ids = torch.from_numpy(rows[alive, :length]).to(device)
            for place in range(LONGEST_ANSWER):
                share, token = model(ids)[:, -1].softmax(dim=-1).max(dim=-1)
                written[alive, place] = token.cpu().numpy()
                probability[alive] *= share.cpu().numpy()
                goes_on = token != EOS_ID
                alive = alive[goes_on.cpu().numpy()]
                if not len(alive):
                    break
                ids = torch.cat([ids, token[:, None]], dim=1)[goes_on]
            # --8<-- [end:greedy]
    return written, probability


def main(argv: Sequence[str] | None = None) -> int:
    """Print what the model writes after a prefix."""
    parser = CommandParser("tiny_gpt.generate", "Continue a prefix with the trained model.")
    parser.add_argument("prefix", nargs="?", help='the text to continue, such as "12+34="')
    parser.add_argument("--temperature", default="0", help=f"0 is greedy; else {_range('temperature')}")
    parser.add_argument("--top-k", default="98", help=f"keep the k highest scores, {_range('top-k')}")
    parser.add_argument("--seed", default="0", help=f"seed of the draws, {_range('seed')}")
    add_checkpoint_argument(parser)
    options, others = parser.parse_known_args(argv)
    if options.prefix is None and len(others) == 1:
        options.prefix = others.pop()  # a prefix such as -5+3= looks like an option
    if options.prefix is None or others:
        parser.error(f"unknown arguments: {' '.join(others)}" if others else "a prefix is needed")
    is_greedy = re.fullmatch(r"[+-]?0+(\.0*)?(e[+-]?[0-9]+)?", options.temperature.strip().lower())
    temperature = 0.0 if is_greedy else check_setting("temperature", options.temperature)
    top_k = int(check_setting("top-k", options.top_k))
    seed = int(check_setting("seed", options.seed))
    check_prefix(options.prefix)
    model = load_model(options.checkpoint or published()[-1])
    for warning in unseen_operands(options.prefix):
        print(f"warning: {warning}", file=sys.stderr)
    written, reason = generate(model, options.prefix, temperature, top_k, seed)
    print(written)
    if reason != "EOS":
        print(f"warning: the model did not end its answer ({reason})", file=sys.stderr)
    return 0


def _range(name: str) -> str:
    low, high, _ = LIMITS[name]
    return f"{number(low)} to {number(high)}"


if __name__ == "__main__":
    run_command(main)
