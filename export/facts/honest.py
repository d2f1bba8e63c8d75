"""Facts of chapter 8: the held-out table in full, seen against unseen, the maps, what lies outside."""

from typing import Any

import numpy as np
import torch

from export.ablation import interval
from export.forms import WantedLogits
from tiny_gpt.checkpoint import SMALL
from tiny_gpt.data import HELD_OUT, TRAIN
from tiny_gpt.evaluate import exact_percent
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.random32 import draws
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

SIGNS = {"+": "a + b", "-": "a − b"}
OUTSIDE_SUMS = 100
OUTSIDE_SEED = 8


def honest_facts(
    trained: TinyArithmeticGPT,
    record: dict[str, Any],
    small_record: dict[str, Any],
    counted: dict[str, Any],
    early: str,
    parameters: dict[str, int],
) -> dict[str, str]:
    """What chapter 8 says.

    `record` and `small_record` belong to the trained and the smaller model; `counted` is the record
    of `tiny_gpt.maps`; `early` names a checkpoint that is often wrong; `parameters` counts by model name.
    """
    held_out = record["held_out"]
    sums, differences = _whole(held_out, "+"), _whole(held_out, "-")
    wrong = sum(row["problems"] - row["right"] for row in (sums, differences))
    two_digits = next(r for r in held_out if (r["operation"], r["digits"], r["carries"]) == ("+", 2, None))
    return {
        "honest.table": held_out_in_full(held_out),
        "honest.wrong": f"{wrong:,}",
        "honest.problems": f"{sums['problems'] + differences['problems']:,}",
        "honest.percent": f"{exact_percent(_sum_of(sums, differences)):.2f}",
        "honest.hardest": _hardest(held_out),
        "honest.two_digit_problems": f"{two_digits['problems']:,}",
        "honest.two_digit_right": f"{two_digits['right']:,}",
        "honest.two_digit_low": f"{100 * interval(two_digits['right'], two_digits['problems'])[0]:.2f}",
        "honest.models_table": _models_table(record, small_record, parameters),
        "honest.seen_table": _seen_table(counted, [_trained_name(record), early, SMALL]),
        "honest.long_problems": f"{counted['long_problems']:,}",
        "honest.outside_right": f"{outside_right(trained)}",
        "honest.outside_sums": f"{OUTSIDE_SUMS}",
        **_map_facts(counted, record, early),
    }


def held_out_in_full(rows: list[dict[str, Any]]) -> str:
    """The cells by operation, digits and carries, with an interval, as a Markdown table."""
    lines = [
        "| problem | longer operand | carries | exact match | wrong | problems | 95 % interval (%) |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        digits = f"{row['digits']} digit{'s' if row['digits'] > 1 else ''}" if row["digits"] else "all"
        carries = "all" if row["carries"] is None else row["carries"]
        low, high = interval(row["right"], row["problems"])
        lines.append(
            f"| {SIGNS[row['operation']]} | {digits} | {carries} | {exact_percent(row):.2f} % "
            f"| {row['problems'] - row['right']:,} | {row['problems']:,} "
            f"| {100 * low:.2f} to {100 * high:.2f} |"
        )
    return "\n".join(lines)


def _whole(rows: list[dict[str, Any]], operation: str) -> dict[str, Any]:
    return next(row for row in rows if row["operation"] == operation and row["digits"] is None)


def _sum_of(*rows: dict[str, Any]) -> dict[str, Any]:
    return {key: sum(row[key] for row in rows) for key in ("problems", "right")}


def _trained_name(record: dict[str, Any]) -> str:
    return f"step-{record['step']:06d}"


def _hardest(rows: list[dict[str, Any]]) -> str:
    """The cell with the largest share of wrong answers, in words."""
    cells = [row for row in rows if row["carries"] is not None]
    row = max(cells, key=lambda cell: (cell["problems"] - cell["right"]) / cell["problems"])
    kind = {"+": ("sums", "carry", "carries"), "-": ("differences", "borrow", "borrows")}[row["operation"]]
    count = f"{row['carries'] or 'no'} {kind[1] if row['carries'] == 1 else kind[2]}"
    return (
        f"{row['digits']}-digit {kind[0]} with {count}: "
        f"{row['problems'] - row['right']:,} of {row['problems']:,} are wrong"
    )


def _models_table(record: dict[str, Any], small_record: dict[str, Any], parameters: dict[str, int]) -> str:
    lines = [
        "| model | parameters | steps | held-out sums | held-out differences | both maps, right |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, one in (("trained", record), ("smaller", small_record)):
        small = one["operands_0_to_99"]
        shares = [f"{exact_percent(_whole(one['held_out'], sign)):.2f} %" for sign in SIGNS]
        lines.append(
            f"| {name} | {parameters[name]:,} | {one['step']:,} | {' | '.join(shares)} "
            f"| {small['right']:,} of {small['problems']:,} |"
        )
    return "\n".join(lines)


def _model_name(name: str, trained: str) -> str:
    if name == trained:
        return "trained"
    return "smaller model" if name == SMALL else f"step {int(name.removeprefix('step-')):,}"


def seen_and_unseen(maps: list[dict[str, Any]]) -> tuple[dict[str, int], dict[str, int]]:
    """Problems and right ones of both maps, trained on and not."""
    seen = {
        "problems": sum(row["in_training"] for row in maps),
        "right": sum(row["in_training"] - row["wrong_in_training"] for row in maps),
    }
    total = _sum_of(*maps)
    return seen, {key: total[key] - seen[key] for key in total}


def _seen_table(counted: dict[str, Any], names: list[str]) -> str:
    """Accuracy on what training saw and on what it did not, for problems up to 99 and for longer ones."""
    lines = [
        "| answered by | up to 99, seen | up to 99, unseen | 3 digits, seen | 3 digits, unseen |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in names:
        entry = counted["models"][name]
        long = [{"problems": counted["long_problems"], "right": entry["long"][s]} for s in (TRAIN, HELD_OUT)]
        cells = [f"{exact_percent(row):.2f} %" for row in (*seen_and_unseen(entry["maps"]), *long)]
        lines.append(f"| {_model_name(name, names[0])} | {' | '.join(cells)} |")
    lines.append("| lookup table | 100.00 % | 0.00 % | 100.00 % | 0.00 % |")
    return "\n".join(lines)


def _map_facts(counted: dict[str, Any], record: dict[str, Any], early: str) -> dict[str, str]:
    trained = _trained_name(record)
    sums, differences = counted["models"][early]["maps"]
    seen, unseen = seen_and_unseen(counted["models"][trained]["maps"])
    lines = [
        "| answered by | sums right | of the wrong, p > 0.9 | differences right | of the wrong, p > 0.9 |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, entry in counted["models"].items():
        cells = [f"{row['right']:,} | {row['confident_wrong']:,}" for row in entry["maps"]]
        lines.append(f"| {_model_name(name, trained)} | {' | '.join(cells)} |")
    return {
        "map.table": "\n".join(lines),
        "map.margin": f"{WantedLogits.margin:g}",
        "map.problems": f"{sums['problems']:,}",
        "map.confident_percent": f"{100 * counted['confident']:.0f}",
        "map.seen": f"{seen['problems'] // 2:,}",
        "map.unseen": f"{unseen['problems'] // 2:,}",
        "map.early_step": f"{int(early.removeprefix('step-')):,}",
        "map.early_right": f"{sums['right']:,}",
        "map.early_wrong": f"{sums['wrong']:,}",
        "map.early_confident": f"{sums['confident_wrong']:,}",
        "map.early_minus_right": f"{differences['right']:,}",
        "map.early_minus_confident": f"{differences['confident_wrong']:,}",
    }


@torch.inference_mode()
def outside_right(model: TinyArithmeticGPT) -> int:
    """Of 100 drawn sums whose first operand has four digits, how many greedy decoding answers right."""
    drawn = draws(OUTSIDE_SEED, 0, 2 * OUTSIDE_SUMS).astype(np.int64).reshape(2, -1)
    first, second = 1000 + drawn[0] % 9000, 100 + drawn[1] % 900
    tokenizer = CharacterTokenizer()
    ids = torch.tensor([tokenizer.encode(f"{a}+{b}=") for a, b in zip(first, second, strict=True)])
    start = ids.shape[1]
    for _ in range(len("10998") + 1):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    right = 0
    for row, a, b in zip(ids[:, start:].tolist(), first, second, strict=True):
        end = row.index(EOS_ID) if EOS_ID in row else len(row)
        right += EOS_ID in row and tokenizer.decode(row[:end]) == str(a + b)
    return right
