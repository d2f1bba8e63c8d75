"""Facts about sampling: scores under temperature and top-k, and answers counted over many draws."""

import numpy as np

from export.facts.answers import percent, shown
from export.questions.computations import result
from tiny_gpt.generate import generate, next_token_logits, sampled_answers
from tiny_gpt.model import TinyArithmeticGPT

DRAWS = 200
TOP = 4
SHAPED, COUNTED = "12+34=", "457+385="
SHAPES = ((1.0, 98), (0.5, 98), (2.0, 98), (1.0, 2))
SETTINGS = ((0.5, 98), (1.0, 98), (2.0, 98), (3.0, 98), (3.0, 2))


def sampling_facts(trained: TinyArithmeticGPT, early: TinyArithmeticGPT, name: str) -> dict[str, str]:
    """What chapter 7 says; `early` is a checkpoint that still hesitates, `name` its name."""
    step = f"step {int(name.removeprefix('step-')):,}"
    rows = [*count_rows(trained, "trained", COUNTED), *count_rows(early, step, SHAPED)]
    heading = "| weights | prefix | temperature | top-k | wrong | different answers | most frequent |"
    return {
        "sampling.draws": f"{DRAWS}",
        "sampling.step": step,
        "sampling.shape_table": shape_table(early),
        "sampling.count_table": "\n".join([heading, "|---|---|--:|--:|--:|--:|---|", *rows]),
        "sampling.early_greedy": generate(early, SHAPED)[0],
        "sampling.early_greedy_percent": percent(float(shaped(early, 1.0, 98).max())),
    }


def shaped(model: TinyArithmeticGPT, temperature: float, top_k: int) -> np.ndarray:
    """Probability of each token after SHAPED under these settings: float64 [98]."""
    logits = next_token_logits(model, SHAPED).double().numpy()
    kept = np.argsort(-logits, kind="stable")[:top_k]
    weights = np.zeros_like(logits)
    weights[kept] = np.exp((logits[kept] - logits.max()) / temperature)
    shares: np.ndarray = weights / weights.sum()
    return shares


def shape_table(model: TinyArithmeticGPT) -> str:
    """The likeliest tokens after SHAPED under each of SHAPES, as a Markdown table."""
    titles = [
        f"temperature {temperature:g}" if top_k == len(shaped(model, 1.0, 98)) else f"top-k {top_k}"
        for temperature, top_k in SHAPES
    ]
    lines = [f"| token | {' | '.join(titles)} |", "|---|" + "--:|" * len(SHAPES)]
    columns = [shaped(model, *shape) for shape in SHAPES]
    top = np.argsort(-columns[0], kind="stable")[:TOP]
    for token in top:
        lines.append(f"| {shown(int(token))} | {' | '.join(cell(column[token]) for column in columns)} |")
    others = [cell(max(0.0, 1 - float(column[top].sum()))) for column in columns]
    return "\n".join([*lines, f"| {len(columns[0]) - TOP} others | {' | '.join(others)} |"])


def cell(share: float) -> str:
    """A share; what top-k leaves out has none."""
    return percent(share) if share > 1e-12 else "–"


def count_rows(model: TinyArithmeticGPT, name: str, prompt: str) -> list[str]:
    """A row of the table of draws for each of SETTINGS, seeds from 0 on."""
    rows = []
    for temperature, top_k in SETTINGS:
        answers = sampled_answers(model, prompt, temperature, top_k, range(DRAWS))
        wrong = DRAWS - answers[str(result(prompt)), "EOS"]
        ((written, _), count), *_ = answers.most_common(1)
        rows.append(
            f"| {name} | `{prompt}` | {temperature:g} | {top_k} | {wrong} | {len(answers)} "
            f"| `{written}`, {count} times |"
        )
    return rows
