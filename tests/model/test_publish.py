"""Publishing a run: which files are written, and which are left alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_gpt import checkpoint, publish, train
from tiny_gpt.checkpoint import CHECKPOINTS, load_model, published, read_record
from tiny_gpt.config import ModelConfig

Command = Callable[..., Any]
SIZES = ["--n-layers", "1", "--width", "16", "--n-heads", "2", "--feed-forward-width", "24"]
CONFIG = ModelConfig(n_layers=1, width=16, n_heads=2, feed_forward_width=24)
RESULTS = {"held_out_loss": 1.5, "method": "a stand-in, since measuring takes a minute"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of three steps and another size."""
    folder = tmp_path_factory.mktemp("publish") / "run"
    settings = ["--steps", "3", "--batch-size", "16", "--sample", "20", "--threads", "1", "--quiet"]
    assert train.main(["--run", str(folder), *settings, *SIZES]) == 0
    return folder


@pytest.fixture(autouse=True)
def no_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "results", lambda model, is_last: {**RESULTS, "is_last": is_last})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_becomes_the_time_line(run: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "step-000009.safetensors").touch()
    (tmp_path / "small.json").touch()
    assert command(publish.main, run, "--out", tmp_path).code == 0
    files = [f"step-{step:06d}.{kind}" for step in (0, 3) for kind in ("json", "safetensors")]
    assert names(tmp_path) == ["small.json", *files, "training.json"]
    assert not read_record(tmp_path / "step-000000.safetensors")["is_last"]
    assert read_record(tmp_path / "step-000003.safetensors")["is_last"]


class TestName:
    def test_the_last_step_alone_under_its_name(self, run: Path, command: Command, tmp_path: Path) -> None:
        (tmp_path / "step-000009.safetensors").touch()
        assert command(publish.main, run, "--out", tmp_path, "--name", "small").code == 0
        assert names(tmp_path) == ["small.json", "small.safetensors", "step-000009.safetensors"]
        record = read_record(tmp_path / "small.safetensors")
        assert (record["step"], record["is_last"]) == (3, True)
        assert ModelConfig(**record["config"]) == CONFIG

    def test_weights_are_the_runs_rounded(self, run: Path, command: Command, tmp_path: Path) -> None:
        assert command(publish.main, run, "--out", tmp_path, "--name", "small").code == 0
        stored = load_model(tmp_path / "small.safetensors").state_dict()
        trained = load_model(run / "step-000003.safetensors").state_dict()
        assert all(torch.equal(t, trained[name].half().double()) for name, t in stored.items())

    def test_is_not_a_step_of_the_time_line(
        self, run: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert command(publish.main, run, "--out", tmp_path).code == 0
        assert command(publish.main, run, "--out", tmp_path, "--name", "small").code == 0
        monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
        assert [path.stem for path in published()] == ["step-000000", "step-000003"]
        assert "small" not in {path.stem for path in CHECKPOINTS.glob("step-*")}

    @pytest.mark.parametrize("name", ["step-000005", "../small", "Small", "a b", "training.json"])
    def test_other_names_are_refused(self, run: Path, command: Command, tmp_path: Path, name: str) -> None:
        outcome = command(publish.main, run, "--out", tmp_path, "--name", name)
        assert outcome.code == 1
        assert outcome.err.startswith(f"error: --name {name}: ")
        assert names(tmp_path) == []

    def test_trials_belong_to_the_time_line(self, run: Path, command: Command, tmp_path: Path) -> None:
        outcome = command(publish.main, run, "--out", tmp_path, "--name", "small", "--trials", run)
        assert outcome.code == 1
        assert len(outcome.err.splitlines()) == 1
        assert names(tmp_path) == []
