"""Set-up that every test shares: one CPU thread, repeatable properties, models and commands."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from hypothesis import settings

import tiny_gpt  # noqa: F401  (sets OpenMP's wait policy, so it comes before torch)
from tiny_gpt.command import run_command
from tiny_gpt.data import Mix
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.recipe import Recipe
from tiny_gpt.run import Run
from tiny_gpt.run import initial_model as new_initial_model

ROOT = Path(__file__).resolve().parent.parent

# The same examples on each run, and no time limit for one: the machine may be busy.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def initial_model() -> TinyArithmeticGPT:
    """The seed-42 random weights in eval mode; shared, so a test must not change it."""
    return new_initial_model().eval()


@pytest.fixture(scope="session")
def briefly_trained_model() -> TinyArithmeticGPT:
    """A model that knows some sums of operands 0 to 4 and nothing else; shared, not to be changed."""
    recipe = Recipe(
        steps=60,
        batch_size=32,
        warmup_steps=5,
        matrix_optimizer="adamw",
        matrix_learning_rate=5e-3,
        learning_rate=5e-3,
        mix=Mix(minus=30, near=0, nines=0, ranges=(5,)),
    )
    run = Run(recipe)
    while run.step < recipe.steps:
        run.train_step()
    return run.model.eval()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command line inside this process: `command(generate.main, "1+1=")`."""

    def run(main: Callable[[Sequence[str]], int], *arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            run_command(lambda: main([str(argument) for argument in arguments]))
        return Outcome(int(exit_info.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def start_python() -> Callable[..., subprocess.Popen[bytes]]:
    """Start a new Python that finds the repo's packages: `start_python("-m", "tiny_gpt.train")`."""
    path = [str(ROOT / "model_src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "COLUMNS": "200"}

    def start(*arguments: object, **variables: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, **variables},
        )

    return start
