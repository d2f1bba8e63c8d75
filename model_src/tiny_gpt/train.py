"""Train the arithmetic GPT from its seed-42 random weights.

    python -m tiny_gpt.train --run runs/mine            # the published recipe
    python -m tiny_gpt.train --run runs/mine --resume   # go on after a stop

A run is one folder. `state.safetensors` holds all that the next step depends on
(weights, optimizer, place in the problem stream, random state, step), replaced in
one step, so a run that is stopped or killed at any instant goes on to the same
weights as one that never stopped (same machine, device and thread count).
"""

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from tqdm import tqdm

from tiny_gpt.checkpoint import CheckpointError, save_model, stored_tensors, to_json, write_atomically
from tiny_gpt.command import CommandError, CommandParser, run_command
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import (
    TUNING,
    Mix,
    Problems,
    ProblemStream,
    encode_rows,
    inputs_and_targets,
    problems_in,
)
from tiny_gpt.evaluate import predicted_exactly
from tiny_gpt.model import TinyArithmeticGPT, next_token_loss
from tiny_gpt.prompt import LARGEST_OPERAND
from tiny_gpt.random32 import draws

INITIAL_SEED = 42
FIRST_LOSSES = 20  # steps at the start whose loss is always logged, for the test of the record

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
    matrix_optimizer: str = "muon"  # for the 8 matrices inside the blocks: muon or adamw
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


# --8<-- [end:recipe]


def initial_model() -> TinyArithmeticGPT:
    """The epoch-0 network: the same random weights for everybody (seed 42)."""
    torch.manual_seed(INITIAL_SEED)
    return TinyArithmeticGPT(ModelConfig())


# --8<-- [start:optimizers]
def new_optimizers(model: TinyArithmeticGPT, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al., 2024) for the matrices inside the blocks, AdamW for the rest.

    AdamW (Loshchilov and Hutter, 2019) scales each number's step by that number's
    past gradients. Muon treats a matrix as one thing: it evens out the step's
    directions, so that none of them is left behind. Vectors and embeddings have no
    such directions and stay with AdamW.
    """
    matrices = [p for name, p in model.named_parameters() if name.startswith("blocks.") and p.dim() == 2]
    inside = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in inside]
    betas = (recipe.beta1, recipe.beta2)
    adamw = torch.optim.AdamW(others, lr=recipe.learning_rate, betas=betas, weight_decay=0, fused=True)
    rate, decay = recipe.matrix_learning_rate, recipe.weight_decay
    if recipe.matrix_optimizer == "muon":
        return [torch.optim.Muon(matrices, lr=rate, weight_decay=decay), adamw]
    return [torch.optim.AdamW(matrices, lr=rate, betas=betas, weight_decay=decay, fused=True), adamw]


# --8<-- [end:optimizers]


class Run:
    """A training run: model, optimizer, problem stream and the step they are at."""

    def __init__(self, recipe: Recipe, device: str = "cpu") -> None:
        self.recipe = recipe
        self.device = torch.device(device)
        self.model = initial_model().to(self.device)
        self.optimizers = new_optimizers(self.model, recipe)
        self.highest_rates = [optimizer.defaults["lr"] for optimizer in self.optimizers]
        self.stream = ProblemStream(recipe.stream_seed, recipe.mix)
        self.step = 0
        self.log: list[dict[str, Any]] = []
        self.snapshots: list[int] = []

    # --8<-- [start:step]
    def train_step(self) -> float:
        """One batch: score every next token, measure the error, move the weights. Returns the loss."""
        problems = self.stream.take(self.recipe.batch_size)
        inputs, targets = inputs_and_targets(torch.from_numpy(encode_rows(problems)).to(self.device))
        share = schedule(self.step, self.recipe)
        for optimizer, highest in zip(self.optimizers, self.highest_rates, strict=True):
            optimizer.param_groups[0]["lr"] = highest * share
            optimizer.zero_grad()
        self.model.train()
        loss = next_token_loss(self.model(inputs), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        return loss.item()

    # --8<-- [end:step]

    def save(self, path: Path) -> None:
        """Write everything the next step depends on, in one atomic replacement."""
        tensors = {f"model.{name}": t for name, t in stored_tensors(self.model).items()}
        for number, optimizer in enumerate(self.optimizers):
            for index, state in optimizer.state_dict()["state"].items():
                for key, value in state.items():
                    tensors[f"optimizer.{number}.{index}.{key}"] = value.detach().cpu().clone()
        tensors["random_state"] = torch.get_rng_state()
        facts = {
            "recipe": self.recipe.to_dict(),
            "step": self.step,
            "next_candidate": self.stream.next_candidate,
            "log": self.log,
            "snapshots": self.snapshots,
        }
        write_atomically(path, safetensors.torch.save(tensors, {"run": json.dumps(facts)}))

    @staticmethod
    def load(path: Path, device: str = "cpu") -> "Run":
        """The run as it was saved. Raises `CheckpointError` for a missing or damaged file."""
        try:
            with safetensors.safe_open(str(path), framework="pt") as file:
                facts = json.loads(file.metadata()["run"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            run = Run(Recipe.from_dict(facts["recipe"]), device)
            run.step, run.log, run.snapshots = facts["step"], facts["log"], facts["snapshots"]
            run.stream.next_candidate = facts["next_candidate"]
            weights = {name: tensors[f"model.{name}"] for name in stored_tensors(run.model)}
            run.model.load_state_dict(weights, strict=False)
            for number, optimizer in enumerate(run.optimizers):
                state = optimizer.state_dict()
                for name, tensor in tensors.items():
                    if name.startswith(f"optimizer.{number}."):
                        index, key = name.split(".")[2:]
                        state["state"].setdefault(int(index), {})[key] = tensor
                optimizer.load_state_dict(state)
            torch.set_rng_state(tensors["random_state"])
        except FileNotFoundError:
            raise CheckpointError(f"{path} does not exist; start the run without --resume") from None
        except (safetensors.SafetensorError, KeyError, RuntimeError, TypeError, ValueError, OSError) as error:
            raise CheckpointError(f"{path} is damaged or not a training state: {error}") from None
        return run


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
        help="steps whose weights are kept too; the last one always is",
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
    return result


def recipe_settings(recipe: Recipe) -> dict[str, Any]:
    """The fields of a recipe and of its mix side by side."""
    own = {f.name: getattr(recipe, f.name) for f in fields(Recipe) if f.name != "mix"}
    return {**own, **{f.name: getattr(recipe.mix, f.name) for f in fields(Mix)}}


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The recipe's settings that stand on the command line."""
    given = {name: value for name, value in vars(options).items() if name in recipe_settings(Recipe())}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def recipe_from(options: argparse.Namespace) -> Recipe:
    """The default recipe with the settings that were given."""
    given = given_settings(options)
    mix = Mix(**{f.name: given.pop(f.name) for f in fields(Mix) if f.name in given})
    return Recipe(**given, mix=mix)


def check_options(options: argparse.Namespace) -> None:
    """Raise `CommandError` for a setting that can not work."""
    settings = {**vars(options), **recipe_settings(recipe_from(options))}
    for name, (low, high) in RANGES.items():
        values = settings[name] if isinstance(settings[name], tuple) else (settings[name],)
        for value in values:
            if value is not None and not low <= value <= high:
                raise CommandError(f"{option(name)} must be from {low:g} to {high:g}, got {value}")
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
        run = Run(recipe_from(options), options.device)
        run.snapshots = [0]
    else:
        run = Run.load(state, options.device)
        own = recipe_settings(run.recipe)
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
    write_atomically(options.run / "log.json", to_json({"recipe": run.recipe.to_dict(), "log": run.log}))
    if not finished:
        print(f"stopped after step {run.step}; go on with --resume", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    run_command(main)
