"""Facts of chapter 9: what is still answered with parts switched off, and what the logit lens shows."""

import itertools
import math

import torch
from torch import Tensor, nn

from export.ablation import A_KIND, LIST_SEED, Outcome, ablation_list, in_words, interval, measure, percent
from export.forms import Switched, switches
from tiny_gpt.data import TUNING, encode_rows, inputs_and_targets, problems_in
from tiny_gpt.evaluate import answered_exactly
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, SPECIAL_NAMES, CharacterTokenizer

PAIRS = (
    ("block_1_head_2", "block_2_head_3"),
    ("block_1_head_2", "block_1_head_4"),
    ("block_2_head_2", "block_2_head_4"),
    ("scale", "block_2_head_3"),
)
LINE = "12+34=46"  # whose attention the page describes
MEAN_STEP = 25  # every 25th tuning problem counts in the mean of a head


def inside_facts(model: TinyArithmeticGPT) -> dict[str, str]:
    """Everything that chapter 9 says in numbers about the trained model."""
    all_switches = switches(model.config)
    words = {switch.name: in_words(switch, model.config) for switch in all_switches}
    all_on = measure(model)
    alone = {switch.name: measure(model, (switch.name,)) for switch in all_switches}
    heads = [switch.name for switch in all_switches if switch.kind == "head"]
    best_head = max(heads, key=lambda name: alone[name].total)
    dead_heads = [name for name in heads if alone[name].total == 0]
    count = len(all_on.right)
    facts = {
        "inside.switches": f"{len(all_switches)}",
        "inside.problems": f"{count}",
        "inside.a_kind": f"{A_KIND}",
        "inside.seed": f"{LIST_SEED}",
        "inside.all_right": f"{all_on.total}",
        "inside.all_interval": shown_interval(all_on.total, count),
        "inside.half_interval": shown_interval(count // 2, count),
        "inside.best_head": words[best_head],
        "inside.best_head_percent": percent(alone[best_head].total, count),
        "inside.best_head_interval": shown_interval(alone[best_head].total, count),
        "inside.dead_heads": " and ".join(words[name] for name in dead_heads),
        "inside.scale_factor": f"{math.sqrt(model.config.head_width):.2f}",
        **attention_facts(model, LINE),
        "inside.table": switch_table(all_on, [(words[name], one) for name, one in alone.items()]),
        "inside.pairs_table": pairs_table(model, alone, words),
        "inside.mean_table": mean_table(model, alone, words, heads),
        "inside.mean_problems": f"{len(mean_problems()):,}",
        **lens_facts(model),
    }
    for name, outcome in alone.items():
        facts[f"inside.right.{name}"] = f"{outcome.total}"
        facts[f"inside.percent.{name}"] = percent(outcome.total, count)
        facts[f"inside.interval.{name}"] = shown_interval(outcome.total, count)
    return facts


def shown_interval(right: int, count: int) -> str:
    """`78.3 to 88.4 %`."""
    low, high = interval(right, count)
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def switch_table(all_on: Outcome, alone: list[tuple[str, Outcome]]) -> str:
    """What is right with nothing off and with each part off, as a Markdown table."""
    lines = ["| off | a + b | a − b | right | share | 95 % interval |", "|---|--:|--:|--:|--:|---|"]
    for words, outcome in [("nothing", all_on), *alone]:
        count = len(outcome.right)
        lines.append(
            f"| {words} | {outcome.sums} | {outcome.differences} | {outcome.total} | "
            f"{percent(outcome.total, count)} % | {shown_interval(outcome.total, count)} |"
        )
    return "\n".join(lines)


def pairs_table(model: TinyArithmeticGPT, alone: dict[str, Outcome], words: dict[str, str]) -> str:
    """Two parts off together, beside what their single results would give if they were independent."""
    lines = [
        "| off together | right, first alone | second alone | both, if independent | both, measured |",
        "|---|--:|--:|--:|--:|",
    ]
    for one, other in PAIRS:
        first, second = alone[one].total, alone[other].total
        expected = first * second / len(alone[one].right)
        both = measure(model, (one, other)).total
        lines.append(f"| {words[one]}; {words[other]} | {first} | {second} | {expected:.0f} | {both} |")
    return "\n".join(lines)


def mean_problems() -> Tensor:
    """Rows of tuning problems with their answers, on which a head's mean is taken: [N, 14]."""
    return torch.from_numpy(encode_rows(problems_in(TUNING)[::MEAN_STEP]))


def mean_table(
    model: TinyArithmeticGPT, alone: dict[str, Outcome], words: dict[str, str], heads: list[str]
) -> str:
    """Each head replaced by 0 and by its own mean, as a Markdown table."""
    lines = ["| head | right with 0 in its place | right with its mean |", "|---|--:|--:|"]
    means = head_means(model)
    places = itertools.product(range(len(means)), range(model.config.n_heads))
    for name, (block, head) in zip(heads, places, strict=True):
        right = right_with_mean(model, block, head, means[block][head])
        lines.append(f"| {words[name]} | {alone[name].total} | {right} |")
    return "\n".join(lines)


@torch.inference_mode()
def head_means(model: TinyArithmeticGPT) -> list[Tensor]:
    """What each head passes on, on average over all positions: a tensor [H, W / H] a block."""
    rows = mean_problems()
    counts = rows != PAD_ID
    means: list[Tensor] = []

    def note(module: nn.Module, given: tuple[Tensor]) -> None:
        means.append(given[0][counts].mean(dim=0).view(model.config.n_heads, -1))

    hooks = [block.attention.projection.register_forward_pre_hook(note) for block in model.blocks]
    model(rows)
    for hook in hooks:
        hook.remove()
    return means


def right_with_mean(model: TinyArithmeticGPT, block: int, head: int, mean: Tensor) -> int:
    """How many problems of the list are right with a head (both from 0) replaced by a constant."""
    attention = model.blocks[block].attention
    start = head * attention.head_width

    def replace(module: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
        joined = given[0].clone()
        joined[..., start : start + attention.head_width] = mean
        return (joined,)

    hook = attention.projection.register_forward_pre_hook(replace)
    try:
        return int(answered_exactly(model, ablation_list()).sum())
    finally:
        hook.remove()


@torch.inference_mode()
def attention_facts(model: TinyArithmeticGPT, line: str) -> dict[str, str]:
    """The position that each head reads most at `=` and at the position after it; how many heads turn."""
    tokenizer = CharacterTokenizer()
    ids = tokenizer.encode(line)
    equals = ids.index(tokenizer.token_id("="))
    names = Switched.outputs(model.config.n_layers)
    inputs = Switched.inputs_for(torch.tensor([ids]), model.config)
    values = dict(zip(names, Switched(model)(*inputs), strict=True))

    def most(weights: Tensor) -> str:
        source = int(weights.argmax())
        token = tokenizer.token_name(ids[source])
        shown = token if ids[source] in SPECIAL_NAMES else f"`{token}`"
        return f"position {source}, {shown}: {100 * float(weights[source]):.0f} %"

    after = tokenizer.token_name(ids[equals + 1])
    lines = [f"| block | head | at `=`, position {equals} | at `{after}`, position {equals + 1} |"]
    lines.append("|--:|--:|---|---|")
    turning = 0
    for block in range(1, model.config.n_layers + 1):
        for head, weights in enumerate(values[f"block_{block}_attention_weights"][0], start=1):
            lines.append(f"| {block} | {head} | {most(weights[equals])} | {most(weights[equals + 1])} |")
            turning += int(weights[equals].argmax() != weights[equals + 1].argmax())
    return {"inside.attention_table": "\n".join(lines), "inside.turning_heads": f"{turning}"}


@torch.inference_mode()
def lens_facts(model: TinyArithmeticGPT) -> dict[str, str]:
    """How often the right token is on top at each stage, with the true answer in the row."""
    inputs, targets = inputs_and_targets(torch.from_numpy(encode_rows(ablation_list())))
    names = Switched.outputs(model.config.n_layers)
    values = dict(zip(names, Switched(model)(*Switched.inputs_for(inputs, model.config)), strict=True))
    at_equals = inputs == CharacterTokenizer.token_id("=")
    in_answer = (at_equals.cumsum(dim=1) > 0) & (targets != PAD_ID)
    ends = in_answer & (targets == EOS_ID)
    lines = [
        "| read after | first token of the answer | all tokens of the answer | EOS |",
        "|---|--:|--:|--:|",
    ]
    last = model.config.n_layers
    stages = [("the embeddings", "lens_0_logits")]
    stages += [(f"block {block}", f"lens_{block}_logits") for block in range(1, last)]
    stages.append((f"block {last}, the end", "logits"))
    facts = {}
    for words, name in stages:
        hits = values[name].argmax(dim=-1) == targets
        cells = [
            f"{int((hits & where).sum())} of {int(where.sum())}" for where in (at_equals, in_answer, ends)
        ]
        lines.append(f"| {words} | {' | '.join(cells)} |")
        facts[f"inside.lens.first.{name.removesuffix('_logits')}"] = cells[0]
        facts[f"inside.lens.ends.{name.removesuffix('_logits')}"] = cells[2]
    return {"inside.lens_table": "\n".join(lines), **facts}
