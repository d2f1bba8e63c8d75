"""Train the arithmetic GPT from its seed-42 random weights.

    python -m tiny_gpt.train --run runs/mine            # the published recipe
    python -m tiny_gpt.train --run runs/mine --resume   # go on after a stop
    python -m tiny_gpt.train --run runs/small --n-layers 1 --width 64 --n-heads 2  # another size

A run is one folder. `state.safetensors` holds all that the next step depends on
(weights, optimizer, place in the problem stream, random state, step) and is replaced
in one step. The kept steps and `log.json` lie beside it.
"""

import argparse
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from tiny_gpt.checkpoint import save_model, to_json, write_atomically
from tiny_gpt.command import CommandError, CommandParser, run_command
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import TUNING, Mix, Problems, problems_in
from tiny_gpt.evaluate import predicted_exactly
from tiny_gpt.random32 import draws
from tiny_gpt.recipe import RANGES, Recipe, recipe_settings
from tiny_gpt.run import INITIAL_SEED, Run

SIZES = ("n_layers", "width", "n_heads", "feed_forward_width")  # of `ModelConfig`, that a run may choose
TIME_LINE = (0, 100, 250, 500, 1000, 2000, 4000, 6000, 8000, 10000, 12000)  # steps that the site shows
FIRST_LOSSES = 20  # steps at the start whose loss is always logged, for the test of the record


def tuning_sample(count: int) -> Problems:
    """A fixed sample of the tuning slice, the same for every run."""
    problems = problems_in(TUNING)
    return problems[np.sort(np.argsort(draws(0, 0, len(problems)), kind="stable")[:count])]


def cell_shares(problems: Problems, right: np.ndarray) -> dict[str, float]:
    """Share of exact answers by operation and digits of the longer operand: `{"+2": 0.99}`."""
    shares = {}
    for operation, is_minus in (("+", False), ("-", True)):
        for digits in (2, 3):
            cell = (problems.is_minus == is_minus) & (problems.longer_operand_digits == digits)
            if cell.any():
                shares[f"{operation}{digits}"] = round(float(right[cell].mean()), 6)
    return shares


@contextmanager
def stop_requests() -> Iterator[list[int]]:
    """Turn Ctrl-C and SIGTERM into an entry in a list, so that a step is never cut in two."""
    requests: list[int] = []
    handled = [signal.SIGINT, signal.SIGTERM]
    before = {s: signal.signal(s, lambda number, _: requests.append(number)) for s in handled}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def train(run: Run, folder: Path, options: argparse.Namespace) -> bool:
    """Run to the last step or to a stop request; True when the last step is done."""
    sample = tuning_sample(options.sample)
    state = folder / "state.safetensors"
    run.save(state)
    seconds_before = run.log[-1]["seconds"] if run.log else 0.0
    started = time.monotonic()
    bar = tqdm(total=run.recipe.steps, initial=run.step, unit="step", disable=options.quiet)
    with stop_requests() as requests:
        while run.step < run.recipe.steps and not requests:
            if run.step in run.snapshots:
                save_snapshot(run, folder)
            loss = run.train_step()
            bar.update()
            is_check = run.step % options.check_every == 0 or run.step == run.recipe.steps
            if is_check or run.step % options.log_every == 0 or run.step <= FIRST_LOSSES:
                entry: dict[str, Any] = {"step": run.step, "loss": loss}
                if is_check:
                    right = predicted_exactly(run.model.eval(), sample)
                    entry["tuning"] = cell_shares(sample, right)
                    bar.set_postfix(loss=f"{loss:.4f}", accuracy=f"{right.mean():.2%}")
                entry["seconds"] = round(seconds_before + time.monotonic() - started, 1)
                run.log.append(entry)
            if run.step % options.save_every == 0:
                run.save(state)
        if run.step == run.recipe.steps:
            save_snapshot(run, folder)
        run.save(state)
    bar.close()
    return run.step == run.recipe.steps


def save_snapshot(run: Run, folder: Path) -> None:
    """Keep the weights of this step for the time line."""
    record = {
        "step": run.step,
        "problems_seen": run.step * run.recipe.batch_size,
        "recipe": run.recipe.to_dict(),
        "initial_seed": INITIAL_SEED,
    }
    save_model(folder / f"step-{run.step:06d}.safetensors", run.model, record)


def option(name: str) -> str:
    """The command-line option of a setting: `--batch-size`."""
    return f"--{name.replace('_', '-')}"


def parser() -> CommandParser:
    """The command line; every field of `Recipe` and `Mix` is an option."""
    result = CommandParser("tiny_gpt.train", "Train the arithmetic GPT from its seed-42 random weights.")
    add = result.add_argument
    add("--run", type=Path, default=Path("runs/default"), help="folder of the run")
    add("--resume", action="store_true", help="go on from the folder's saved state")
    add("--device", choices=("cpu", "cuda", "mps"), default="cpu", help="where to compute")
    add("--threads", type=int, default=None, help="CPU threads; None is one a core")
    add(
        "--snapshots",
        type=int,
        nargs="*",
        metavar="STEP",
        help="steps whose weights are kept; the last one always is; None is what the site needs: "
        + " ".join(map(str, TIME_LINE)),
    )
    add("--save-every", type=int, default=100, help="steps between saved states")
    add("--check-every", type=int, default=250, help="steps between accuracy checks")
    add("--log-every", type=int, default=25, help="steps between logged losses")
    add("--sample", type=int, default=2000, help="tuning problems in a check")
    add("--quiet", action="store_true", help="no progress bar")
    recipe = result.add_argument_group("recipe (a resumed run keeps its own)")
    for name, value in recipe_settings(Recipe()).items():
        many = isinstance(value, tuple)
        recipe.add_argument(
            option(name),
            type=int if many else type(value),
            nargs="+" if many else None,
            default=argparse.SUPPRESS,
            help=f"(default: {' '.join(map(str, value)) if many else value})",
        )
    sizes = result.add_argument_group("size of the model (a resumed run keeps its own)")
    for name in SIZES:
        default = getattr(ModelConfig(), name)
        sizes.add_argument(option(name), type=int, default=argparse.SUPPRESS, help=f"(default: {default})")
    return result


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of recipe and size that stand on the command line."""
    choosable = {*recipe_settings(Recipe()), *SIZES}
    given = {name: value for name, value in vars(options).items() if name in choosable}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def recipe_from(options: argparse.Namespace) -> Recipe:
    """The default recipe with the settings that were given."""
    given = {name: value for name, value in given_settings(options).items() if name not in SIZES}
    mix = Mix(**{f.name: given.pop(f.name) for f in fields(Mix) if f.name in given})
    return Recipe(**given, mix=mix)


def config_from(options: argparse.Namespace) -> ModelConfig:
    """The default sizes with those that were given. Raises `CommandError` when they do not fit together."""
    given = {name: value for name, value in given_settings(options).items() if name in SIZES}
    try:
        return ModelConfig(**given)
    except ValueError as error:
        said = " ".join(f"{option(name)} {value}" for name, value in given.items())
        raise CommandError(f"{said}: {error}") from None


def check_options(options: argparse.Namespace) -> None:
    """Raise `CommandError` for a setting that can not work."""
    settings = {**ModelConfig().to_dict(), **vars(options), **recipe_settings(recipe_from(options))}
    for name, (low, high) in RANGES.items():
        values = settings[name] if isinstance(settings[name], tuple) else (settings[name],)
        for value in values:
            if value is not None and not low <= value <= high:
                raise CommandError(f"{option(name)} must be from {low:g} to {high:g}, got {value}")
    config_from(options)
    if settings["near"] + settings["nines"] > 100:
        raise CommandError("--near and --nines are per cents of one whole; together they must not exceed 100")
    if settings["matrix_optimizer"] not in ("muon", "adamw"):
        raise CommandError(f"--matrix-optimizer must be muon or adamw, got {settings['matrix_optimizer']}")
    if options.device == "cuda" and not torch.cuda.is_available():
        raise CommandError("--device cuda: torch finds no CUDA device here; use --device cpu")
    if options.device == "mps" and not torch.backends.mps.is_available():
        raise CommandError("--device mps: torch finds no Apple GPU here; use --device cpu")


def start_or_resume(options: argparse.Namespace) -> Run:
    """A new run, or the one that the folder holds. Raises `CommandError` when both are asked for."""
    state = options.run / "state.safetensors"
    if not options.resume:
        if state.exists():
            raise CommandError(
                f"{options.run} already holds a run; add --resume to go on, or choose another --run"
            )
        run = Run(recipe_from(options), options.device, config_from(options))
        run.snapshots = list(TIME_LINE)
    else:
        run = Run.load(state, options.device)
        own = {**run.model.config.to_dict(), **recipe_settings(run.recipe)}
        for name, value in given_settings(options).items():
            if value != own[name]:
                raise CommandError(
                    f"{option(name)} {value}: the run in {options.run} was started with {own[name]}; "
                    "resume without it or start a new --run"
                )
    if options.snapshots is not None:
        run.snapshots = options.snapshots
    return run


def main(argv: Sequence[str] | None = None) -> int:
    """Train or go on training; 130 when a stop request ended it early."""
    options = parser().parse_args(argv)
    check_options(options)
    if options.threads:
        torch.set_num_threads(options.threads)
    run = start_or_resume(options)
    options.run.mkdir(parents=True, exist_ok=True)
    finished = train(run, options.run, options)
    facts = {"config": run.model.config.to_dict(), "recipe": run.recipe.to_dict(), "log": run.log}
    write_atomically(options.run / "log.json", to_json(facts))
    if not finished:
        print(f"stopped after step {run.step}; go on with --resume", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    run_command(main)
