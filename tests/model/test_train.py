"""Training: a run that is stopped or killed at any instant goes on to the same weights."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_gpt import train
from tiny_gpt.checkpoint import load_model, published, read_record
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import TUNING, Mix, split_of
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.recipe import Recipe
from tiny_gpt.run import Run
from tiny_gpt.train import cell_shares, tuning_sample

Start = Callable[..., subprocess.Popen[bytes]]
STEPS = 8
TINY = ["--steps", STEPS, "--batch-size", 16, "--sample", 20, "--save-every", 2, "--quiet", "--threads", 1]
SMALL = ["--n-layers", 1, "--width", 16, "--n-heads", 2, "--feed-forward-width", 24]
SMALL_CONFIG = ModelConfig(n_layers=1, width=16, n_heads=2, feed_forward_width=24)
FINAL = f"step-{STEPS:06d}.safetensors"

# Run the training command, and die by SIGKILL right before a chosen call of fsync or replace.
DYING = """
import os, signal, sys
from tiny_gpt import train
name, left = sys.argv[1], int(sys.argv[2])
real = getattr(os, name)
def call(*values):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*values)
setattr(os, name, call)
sys.exit(train.main(sys.argv[3:]))
"""


def train_here(folder: Path, *more: object) -> int:
    return train.main([str(argument) for argument in ("--run", folder, *TINY, *more)])


def losses(log: list[dict[str, Any]]) -> list[tuple[int, float]]:
    return [(entry["step"], entry["loss"]) for entry in log]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    assert train_here(folder) == 0
    return folder


def assert_same_result(folder: Path, unbroken: Path) -> None:
    assert (folder / FINAL).read_bytes() == (unbroken / FINAL).read_bytes()
    assert losses(Run.load(folder / "state.safetensors").log) == losses(
        Run.load(unbroken / "state.safetensors").log
    )
    log = json.loads((folder / "log.json").read_text(encoding="utf-8"))["log"]
    assert [entry["step"] for entry in log] == list(range(1, STEPS + 1))


def resume_flag(folder: Path) -> list[str]:
    return ["--resume"] if (folder / "state.safetensors").exists() else []


class TestOptions:
    def test_settings_reach_the_recipe(self) -> None:
        options = train.parser().parse_args(
            ["--steps", "5", "--learning-rate", "0.1", "--minus", "20", "--ranges", "10", "1000"]
        )
        expected = Recipe(steps=5, learning_rate=0.1, mix=Mix(minus=20, ranges=(10, 1000)))
        assert train.recipe_from(options) == expected
        assert train.config_from(options) == ModelConfig()

    def test_sizes_reach_the_model_and_not_the_recipe(self) -> None:
        options = train.parser().parse_args(list(map(str, SMALL)))
        assert train.config_from(options) == SMALL_CONFIG
        assert train.recipe_from(options) == Recipe()


class TestKeptSteps:
    def test_without_a_word_a_run_keeps_what_the_site_needs(self, tmp_path: Path) -> None:
        run = train.start_or_resume(train.parser().parse_args(["--run", str(tmp_path)]))
        kept = [f"step-{step:06d}" for step in (*run.snapshots, run.recipe.steps)]
        assert kept == [path.stem for path in published()]

    def test_steps_that_are_named_replace_them(self, tmp_path: Path) -> None:
        options = train.parser().parse_args(["--run", str(tmp_path), "--snapshots", "3", "5"])
        assert train.start_or_resume(options).snapshots == [3, 5]


class TestAnotherSize:
    def test_state_kept_records_and_log_hold_the_sizes(self, tmp_path: Path) -> None:
        assert train_here(tmp_path, *SMALL) == 0
        assert Run.load(tmp_path / "state.safetensors").model.config == SMALL_CONFIG
        assert load_model(tmp_path / FINAL).config == SMALL_CONFIG
        log = json.loads((tmp_path / "log.json").read_text(encoding="utf-8"))
        assert log["config"] == SMALL_CONFIG.to_dict()
        assert log["log"][-1]["step"] == STEPS

    def test_resume_needs_no_sizes(self, tmp_path: Path) -> None:
        assert train_here(tmp_path, *SMALL) == 0
        final = (tmp_path / FINAL).read_bytes()
        assert train_here(tmp_path, "--resume") == 0
        assert train_here(tmp_path, "--resume", *SMALL) == 0
        assert (tmp_path / FINAL).read_bytes() == final


class TestChecks:
    def test_tuning_sample_is_fixed_and_from_the_tuning_slice(self) -> None:
        sample = tuning_sample(200)
        assert len(sample) == 200
        assert len(set(sample.prompts())) == 200
        pairs = zip(sample.a.tolist(), sample.b.tolist(), strict=True)
        assert {split_of(a, b) for a, b in pairs} == {TUNING}
        assert sample.prompts() == tuning_sample(200).prompts()

    def test_cell_shares(self) -> None:
        sample = tuning_sample(400)
        right = sample.is_minus
        shares = cell_shares(sample, right)
        assert set(shares) == {"+2", "+3", "-2", "-3"}
        assert [shares[cell] for cell in ("+2", "+3", "-2", "-3")] == [0, 0, 1, 1]


class TestUnbrokenRun:
    def test_files(self, unbroken: Path) -> None:
        assert sorted(path.name for path in unbroken.iterdir()) == [
            "log.json",
            "state.safetensors",
            "step-000000.json",
            "step-000000.safetensors",
            f"step-{STEPS:06d}.json",
            FINAL,
        ]

    def test_first_snapshot_is_the_initial_model(
        self, unbroken: Path, initial_model: TinyArithmeticGPT
    ) -> None:
        first = load_model(unbroken / "step-000000.safetensors").state_dict()
        assert all(torch.equal(t, first[name]) for name, t in initial_model.state_dict().items())

    def test_record(self, unbroken: Path) -> None:
        record = read_record(unbroken / FINAL)
        assert (record["step"], record["problems_seen"], record["initial_seed"]) == (STEPS, STEPS * 16, 42)
        assert Recipe.from_dict(record["recipe"]) == Recipe(steps=STEPS, batch_size=16)

    def test_a_second_run_is_the_same_bit_for_bit(self, unbroken: Path, tmp_path: Path) -> None:
        assert train_here(tmp_path) == 0
        assert_same_result(tmp_path, unbroken)

    def test_other_problems_give_other_weights(self, unbroken: Path, tmp_path: Path) -> None:
        assert train_here(tmp_path, "--stream-seed", 43) == 0
        assert (tmp_path / FINAL).read_bytes() != (unbroken / FINAL).read_bytes()

    def test_resuming_a_finished_run_changes_nothing(self, unbroken: Path, tmp_path: Path) -> None:
        state = tmp_path / "state.safetensors"
        state.write_bytes((unbroken / "state.safetensors").read_bytes())
        assert train.main(["--run", str(tmp_path), "--resume", "--quiet", "--threads", "1"]) == 0
        assert (tmp_path / FINAL).read_bytes() == (unbroken / FINAL).read_bytes()
        assert state.read_bytes() == (unbroken / "state.safetensors").read_bytes()

    def test_loss_falls(self, unbroken: Path) -> None:
        log = losses(Run.load(unbroken / "state.safetensors").log)
        assert log[0][1] == pytest.approx(4.6, abs=0.1)  # near ln 98 = 4.585
        assert log[-1][1] < log[0][1]


@pytest.fixture(scope="module")
def killed_and_resumed(start_python: Start, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that died at four chosen instants and was resumed after each.

    A tiny run writes: the state, snapshot 0 (tensors, JSON), the state after steps
    2, 4, 6 and 8, snapshot 8 and the state again. It dies in the first state, between
    the two files of snapshot 0, in the state after step 4, and between the two files
    of snapshot 8.
    """
    folder = tmp_path_factory.mktemp("killed") / "run"
    for call, number, saved_step in (
        ("fsync", 1, None),
        ("replace", 3, 0),
        ("fsync", 5, 2),
        ("replace", 6, 8),
    ):
        arguments = ["--run", folder, *TINY, *resume_flag(folder)]
        process = start_python("-c", DYING, call, number, *arguments)
        _, err = process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, err.decode("utf-8")
        if saved_step is not None:
            assert Run.load(folder / "state.safetensors").step == saved_step
    assert not (folder / FINAL).with_suffix(".json").exists()
    assert train_here(folder, "--resume") == 0
    return folder


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
class TestKill:
    def test_same_weights_and_losses_as_unbroken(self, killed_and_resumed: Path, unbroken: Path) -> None:
        assert_same_result(killed_and_resumed, unbroken)

    def test_nothing_is_left_lying_about(self, killed_and_resumed: Path, unbroken: Path) -> None:
        names = {path.name for path in killed_and_resumed.iterdir()}
        assert names == {path.name for path in unbroken.iterdir()}

    def test_killed_from_outside_at_any_time(
        self, start_python: Start, unbroken: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "run"
        for wait in (0.0, 0.15):
            state = folder / "state.safetensors"
            before = state.stat().st_mtime_ns if state.exists() else None
            process = start_python("-m", "tiny_gpt.train", "--run", folder, *TINY, *resume_flag(folder))
            while process.poll() is None and (not state.exists() or state.stat().st_mtime_ns == before):
                time.sleep(0.002)
            time.sleep(wait)
            process.kill()
            process.communicate(timeout=60)
            Run.load(state)
        assert train_here(folder, "--resume") == 0
        assert_same_result(folder, unbroken)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")
def test_ctrl_c_leaves_a_loadable_state_and_one_line(start_python: Start, tmp_path: Path) -> None:
    arguments = [
        "--run",
        tmp_path,
        "--steps",
        100_000,
        "--batch-size",
        16,
        "--sample",
        20,
        "--quiet",
        "--threads",
        1,
    ]
    process = start_python("-m", "tiny_gpt.train", *arguments)
    while process.poll() is None and not (tmp_path / "step-000000.json").exists():
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    lines = err.decode("utf-8").splitlines()
    assert len(lines) == 1
    said = re.fullmatch(r"stopped after step (\d+); go on with --resume", lines[0])
    assert said
    assert Run.load(tmp_path / "state.safetensors").step == int(said[1])
    assert "log.json" in {path.name for path in tmp_path.iterdir()}


def test_stop_requests_puts_the_signal_handlers_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with train.stop_requests() as requests:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert requests == [signal.SIGINT, signal.SIGTERM]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


class TestWrongOptions:
    @pytest.mark.parametrize(
        ("options", "fragment"),
        [
            (["--steps", 0], "--steps must be from 1 to 1e+09, got 0"),
            (["--steps", -5], "--steps must be from 1 to 1e+09, got -5"),
            (["--batch-size", 0], "--batch-size must be from 1 to"),
            (["--save-every", 0], "--save-every must be from 1 to"),
            (["--check-every", 0], "--check-every must be from 1 to"),
            (["--log-every", 0], "--log-every must be from 1 to"),
            (["--sample", 0], "--sample must be from 1 to"),
            (["--threads", -1], "--threads must be from 1 to"),
            (["--threads", 0], "--threads must be from 1 to"),
            (["--learning-rate", 0], "--learning-rate must be from 1e-09 to"),
            (["--learning-rate", "nan"], "--learning-rate must be from 1e-09 to"),
            (["--matrix-learning-rate", "inf"], "--matrix-learning-rate must be from 1e-09 to"),
            (["--clip", -1], "--clip must be from 1e-09 to"),
            (["--matrix-optimizer", "sgd"], "--matrix-optimizer must be muon or adamw, got sgd"),
            (["--weight-decay", -1], "--weight-decay"),
            (["--beta1", 2], "--beta1"),
            (["--beta2", -1], "--beta2"),
            (["--ranges", 0], "--ranges"),
            (["--ranges", 10, 5000], "--ranges"),
            (["--minus", 101], "--minus"),
            (["--near", -1], "--near"),
            (["--near-distance", -1], "--near-distance"),
            (["--n-layers", 0], "--n-layers must be from 1 to 64, got 0"),
            (["--width", 10**9], "--width must be from 1 to 4096, got 1000000000"),
            (["--feed-forward-width", -1], "--feed-forward-width must be from 1 to"),
            (["--width", 64, "--n-heads", 3], "--width 64 --n-heads 3: width must divide evenly by n_heads"),
            (["--n-heads", 3], "--n-heads 3: width must divide evenly by n_heads, got 128 and 3"),
            (["--resume"], "does not exist; start the run without --resume"),
        ],
        ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
    )
    def test_one_line_and_no_run(
        self, command: Callable[..., Any], tmp_path: Path, options: list[object], fragment: str
    ) -> None:
        folder = tmp_path / "run"
        outcome = command(train.main, "--run", folder, *TINY, *options)
        assert outcome.code == 1
        assert fragment in outcome.err
        assert len(outcome.err.splitlines()) == 1
        assert outcome.err.startswith("error: ")
        assert not folder.exists()

    @pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is here")
    def test_a_device_that_is_not_here(self, command: Callable[..., Any], tmp_path: Path) -> None:
        outcome = command(train.main, "--run", tmp_path / "run", "--device", "cuda")
        assert outcome.code == 1
        assert "use --device cpu" in outcome.err

    def test_folder_already_holds_a_run(self, command: Callable[..., Any], unbroken: Path) -> None:
        before = (unbroken / "state.safetensors").read_bytes()
        outcome = command(train.main, "--run", unbroken, *TINY)
        assert outcome.code == 1
        assert len(outcome.err.splitlines()) == 1
        assert "already holds a run; add --resume to go on, or choose another --run" in outcome.err
        assert (unbroken / "state.safetensors").read_bytes() == before

    @pytest.mark.parametrize(
        ("options", "fragment"),
        [
            (["--steps", 9], "--steps 9: the run in "),
            (["--learning-rate", 0.5], "--learning-rate 0.5: the run in "),
            (["--minus", 10], "--minus 10: the run in "),
            (["--ranges", 10], "--ranges"),
            (["--width", 64], "--width 64: the run in "),
        ],
        ids=["steps", "learning-rate", "minus", "ranges", "width"],
    )
    def test_resume_with_another_recipe_or_size(
        self, command: Callable[..., Any], unbroken: Path, options: list[object], fragment: str
    ) -> None:
        before = (unbroken / "state.safetensors").read_bytes()
        outcome = command(train.main, "--run", unbroken, "--resume", "--quiet", *options)
        assert outcome.code == 1
        assert len(outcome.err.splitlines()) == 1
        assert fragment in outcome.err
        assert (unbroken / "state.safetensors").read_bytes() == before

    def test_damaged_state(self, command: Callable[..., Any], tmp_path: Path) -> None:
        (tmp_path / "state.safetensors").write_bytes(b"damaged")
        outcome = command(train.main, "--run", tmp_path, "--resume", "--quiet")
        assert outcome.code == 1
        assert len(outcome.err.splitlines()) == 1
        assert str(tmp_path / "state.safetensors") in outcome.err

    def test_the_folder_can_not_be_made(self, command: Callable[..., Any], tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        outcome = command(train.main, "--run", tmp_path / "file", *TINY)
        assert outcome.code == 1
        assert len(outcome.err.splitlines()) == 1
        assert str(tmp_path / "file") in outcome.err
