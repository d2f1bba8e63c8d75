"""What is learned first: signs, lengths, digits and carries at every step of the time line.

    python -m tiny_gpt.learned           # print the recorded table
    python -m tiny_gpt.learned --write   # measure again (some minutes) and record it

Each checkpoint answers the same held-out problems by real greedy decoding: all whose
operands are below 100, and a fixed draw of the longer ones. Of what it wrote, five
things are compared with the answer; see `verdicts`. The loss is measured on the same
problems with the true text in the rows, apart for the problem and for the answer.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from tqdm import tqdm

from tiny_gpt.checkpoint import (
    CHECKPOINTS,
    CheckpointError,
    load_model,
    published,
    read_record,
    to_json,
    write_atomically,
)
from tiny_gpt.command import CommandParser, run_command
from tiny_gpt.data import HELD_OUT, Problems, encode_rows, inputs_and_targets, join, problems_in
from tiny_gpt.evaluate import answer_rows, table
from tiny_gpt.generate import greedy_rows
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.random32 import draws
from tiny_gpt.tokenizer import EOS_ID, PAD_ID, CharacterTokenizer

RECORD = CHECKPOINTS / "learned.json"
MEASURES = ("sign", "length", "leading", "last", "exact")
LONG_PROBLEMS = 5000  # drawn from the held-out problems with an operand of three digits
DRAW_SEED = 0


def sample() -> Problems:
    """Every held-out problem with operands below 100, then the fixed draw of longer ones."""
    held_out = problems_in(HELD_OUT)
    is_long = held_out.longer_operand_digits == 3
    long = held_out[is_long]
    order = np.argsort(draws(DRAW_SEED, 0, len(long)), kind="stable")
    return join([held_out[~is_long], long[np.sort(order[:LONG_PROBLEMS])]])


# --8<-- [start:verdicts]
NOWHERE = -1


def parts_of(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of answers int64 [N, 5]: has a minus, place of EOS, first and last token of the number; each [N]."""
    is_end = ids == EOS_ID
    end = np.where(is_end.any(axis=1), is_end.argmax(axis=1), NOWHERE)
    minus = ids[:, 0] == CharacterTokenizer.token_id("-")
    everyone = np.arange(len(ids))
    first = ids[everyone, minus.astype(int)]
    last = np.where(end > 0, ids[everyone, np.maximum(end - 1, 0)], NOWHERE)
    return minus, end, first, last


def verdicts(written: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """Compare what was written with the answers, both int64 [N, 5] with EOS: bool [N] by measure.

    `sign`: the first token is `-` where the answer's is, and a digit where it is not.
    `length`: EOS is where it should be. `leading`: the first token after the sign, if
    there is one. `last`: the token before EOS. `exact`: all tokens.
    """
    minus, end, first, last = parts_of(written)
    right_minus, right_end, right_first, right_last = parts_of(right)
    zero, nine = CharacterTokenizer.token_id("0"), CharacterTokenizer.token_id("9")
    is_digit = (written[:, 0] >= zero) & (written[:, 0] <= nine)
    return {
        "sign": np.where(right_minus, minus, is_digit),
        "length": end == right_end,
        "leading": first == right_first,
        "last": last == right_last,
        "exact": (written == right).all(axis=1),
    }


# --8<-- [end:verdicts]


@torch.inference_mode()
def losses(model: TinyArithmeticGPT, problems: Problems, batch_size: int = 2048) -> dict[str, float]:
    """Mean -ln p in nats of the targets up to `=`, and of those after it, EOS included."""
    sums, counts = torch.zeros(2, dtype=torch.float64), torch.zeros(2)
    for start in range(0, len(problems), batch_size):
        inputs, targets = inputs_and_targets(
            torch.from_numpy(encode_rows(problems[start : start + batch_size]))
        )
        each = F.cross_entropy(model(inputs).transpose(1, 2), targets, ignore_index=PAD_ID, reduction="none")
        in_answer = (inputs == CharacterTokenizer.token_id("=")).cumsum(dim=1) > 0
        for place, part in enumerate((~in_answer, in_answer & (targets != PAD_ID))):
            sums[place] += each[part].double().sum()
            counts[place] += part.sum()
    problem, answer = (sums / counts).tolist()
    return {"problem": round(problem, 6), "answer": round(answer, 6)}


def counted(problems: Problems, by_measure: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """The rows of `evaluate.table`, with a count for each measure in place of `right`."""
    tables = {name: table(problems, values) for name, values in by_measure.items()}
    rows = []
    for cells in zip(*tables.values(), strict=True):
        counts = {name: cell["right"] for name, cell in zip(tables, cells, strict=True)}
        rows.append({**{k: v for k, v in cells[0].items() if k != "right"}, **counts})
    return rows


def measure(progress: bool = False) -> dict[str, Any]:
    """The record: for every published step, the counts of the sample."""
    problems = sample()
    right = answer_rows(problems)
    steps = []
    for path in tqdm(published(), unit="checkpoint", disable=not progress):
        model = load_model(path)
        rows = counted(problems, verdicts(greedy_rows(model, problems), right))
        step = read_record(path)["step"]
        steps.append({"step": step, "loss": losses(model, problems), "rows": rows})
    return {
        "command": "python -m tiny_gpt.learned --write",
        "method": "greedy decoding",
        "problems": len(problems),
        "long_problems": LONG_PROBLEMS,
        "draw_seed": DRAW_SEED,
        "steps": steps,
    }


def recorded() -> dict[str, Any]:
    """The committed record. Raises `CheckpointError` when it is missing or unreadable."""
    try:
        record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{RECORD} can not be read ({error}); restore it or add --write") from None
    return record


def row_of(
    rows: list[dict[str, Any]], operation: str, digits: int | None, carries: int | None = None
) -> dict[str, Any]:
    """The row of one cell; `digits` or `carries` None is the sum over all of them."""
    wanted = (operation, digits, carries)
    return next(row for row in rows if (row["operation"], row["digits"], row["carries"]) == wanted)


def percent(row: dict[str, Any], measure: str) -> float:
    """Per cent of a row's problems, rounded down to one decimal: 100 means all."""
    return 1000 * row[measure] // row["problems"] / 10


def printed(record: dict[str, Any]) -> str:
    """The record as the text that the command prints."""
    lines = [
        f"{record['problems']:,} held-out problems, {record['method']}; per cent that are right",
        f"(all with operands below 100, and {record['long_problems']:,} longer ones)",
    ]
    for operation in ("+", "-"):
        for digits in (2, 3):
            carries = [
                row["carries"]
                for row in record["steps"][0]["rows"]
                if (row["operation"], row["digits"]) == (operation, digits) and row["carries"] is not None
            ]
            problems = row_of(record["steps"][0]["rows"], operation, digits)["problems"]
            lines += ["", f"{operation}, longer operand of {digits} digits: {problems:,} problems"]
            names = [*MEASURES, *(f"{count} carries" for count in carries)]
            lines.append("  step" + "".join(f"{name:>11}" for name in names))
            for entry in record["steps"]:
                whole = row_of(entry["rows"], operation, digits)
                values = [percent(whole, name) for name in MEASURES]
                values += [percent(row_of(entry["rows"], operation, digits, c), "exact") for c in carries]
                lines.append(f"{entry['step']:>6}" + "".join(f"{value:>11.1f}" for value in values))
    lines += ["", "mean loss of the targets, in nats", "  step    problem     answer"]
    for entry in record["steps"]:
        loss = entry["loss"]
        lines.append(f"{entry['step']:>6}{loss['problem']:>11.4f}{loss['answer']:>11.4f}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the record, or measure and write it first."""
    parser = CommandParser("tiny_gpt.learned", "What each step of the time line can do already.")
    parser.add_argument("--write", action="store_true", help="measure again and write the record")
    parser.add_argument("--out", type=Path, default=RECORD, help="where --write puts the record")
    options = parser.parse_args(argv)
    if options.write:
        record = measure(progress=True)
        write_atomically(options.out, to_json(record))
    else:
        record = recorded()
    print(printed(record))
    return 0


if __name__ == "__main__":
    run_command(main)
