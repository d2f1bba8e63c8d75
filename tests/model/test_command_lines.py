"""The command lines: help with defaults, one line for an error, any code page."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_gpt import evaluate, generate, inspect_model
from tiny_gpt.checkpoint import load_model, save_model
from tiny_gpt.command import CommandError, run_command
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.recipe import Recipe

Start = Callable[..., subprocess.Popen[bytes]]
Command = Callable[..., Any]
MODULES = {
    "evaluate": ["--split", "--json", "--checkpoint", "(default: held-out)"],
    "generate": ["prefix", "--temperature", "--top-k", "--seed", "--checkpoint", "(default: 98)"],
    "inspect_model": ["--save-initial", "--checkpoint", "(default: None)"],
    "line_loss": ["line", "--checkpoint", "(default: None)"],
    "learned": ["--write", "--out", "(default: False)"],
    "maps": ["--write", "--out", "(default: False)"],
    "publish": ["--name", "--trials", "--out", "(default: None)"],
    "train": ["--resume", "--device", "--steps", "--ranges", f"default: {Recipe().steps}", "(default: 100)"],
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, initial_model: TinyArithmeticGPT) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "initial.safetensors"
    save_model(path, initial_model)
    return path


@pytest.fixture(scope="module")
def helps(start_python: Start) -> dict[str, tuple[int, bytes, bytes]]:
    """`--help` of each module in a Python of its own, on a Windows code page."""
    started = {
        name: start_python("-m", f"tiny_gpt.{name}", "--help", PYTHONIOENCODING="cp1252") for name in MODULES
    }
    ended = {name: process.communicate(timeout=120) for name, process in started.items()}
    return {name: (started[name].returncode, *ended[name]) for name in MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_help(helps: dict[str, tuple[int, bytes, bytes]], name: str) -> None:
    code, out, err = helps[name]
    assert (code, err) == (0, b"")
    text = " ".join(out.decode("cp1252").split())
    assert f"usage: python -m tiny_gpt.{name}" in text
    for expected in MODULES[name]:
        assert expected in text


def assert_one_line(outcome: Any, *fragments: str) -> None:
    assert outcome.code == 1
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    for fragment in fragments:
        assert fragment in lines[0]


class TestGenerate:
    def test_prints_what_the_model_writes(
        self, command: Command, checkpoint: Path, initial_model: TinyArithmeticGPT
    ) -> None:
        written, reason = generate.generate(initial_model, "1+1=")
        outcome = command(generate.main, "1+1=", "--checkpoint", checkpoint)
        assert outcome.code == 0
        assert outcome.out == written + "\n"
        assert (outcome.err == "") == (reason == "EOS")

    def test_settings_reach_the_model(
        self, command: Command, checkpoint: Path, initial_model: TinyArithmeticGPT
    ) -> None:
        expected, _ = generate.generate(initial_model, "1+1=", temperature=0.7, top_k=40, seed=3)
        options = ["--temperature", "0.7", "--top-k", "40", "--seed", "3", "--checkpoint", checkpoint]
        assert command(generate.main, "1+1=", *options).out == expected + "\n"

    def test_the_trained_model_is_the_last_published(
        self, command: Command, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(generate, "published", lambda: [Path("earlier.safetensors"), checkpoint])
        assert command(generate.main, "1+1=").code == 0

    def test_empty_prefix(self, command: Command, checkpoint: Path) -> None:
        assert command(generate.main, "", "--checkpoint", checkpoint).code == 0

    def test_an_operand_never_seen_is_answered_with_a_warning(
        self, command: Command, checkpoint: Path
    ) -> None:
        outcome = command(generate.main, "1000+1=", "--checkpoint", checkpoint)
        assert outcome.code == 0
        assert outcome.out
        assert outcome.err.splitlines()[0].startswith("warning: 1000 is above 999.")

    def test_an_answer_without_an_end_is_said(
        self, command: Command, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(generate, "generate", lambda *_: ("777", "context full"))
        outcome = command(generate.main, "1+1=", "--checkpoint", checkpoint)
        assert (outcome.code, outcome.out) == (0, "777\n")
        assert outcome.err == "warning: the model did not end its answer (context full)\n"

    @pytest.mark.parametrize(
        ("arguments", "fragments"),
        [
            (["7–12="], ["Character 2 ", "U+2013", "Type - instead."]),
            (["1\n+1="], ["Character 2 ", "U+000A"]),
            (["1" * 32], ["has 32 characters", "Shorten it by 1."]),
            (["1+1=", "--temperature", "9"], ["temperature must be from 0.05 to 5", "“9”"]),
            (["1+1=", "--temperature", "hot"], ["temperature must be a number", "“hot”"]),
            (["1+1=", "--temperature", "-1"], ["temperature must be from 0.05 to 5"]),
            (["1+1=", "--top-k", "0"], ["top-k must be from 1 to 98"]),
            (["1+1=", "--top-k", "1.5"], ["top-k must be a whole number"]),
            (["1+1=", "--seed", "4294967296"], ["seed must be from 0 to 4294967295"]),
        ],
    )
    def test_bad_input(
        self, command: Command, checkpoint: Path, arguments: list[str], fragments: list[str]
    ) -> None:
        assert_one_line(command(generate.main, *arguments, "--checkpoint", checkpoint), *fragments)

    @pytest.mark.parametrize("typed", ["0", "0.0", " 0 ", "0.00", "+0", "0e0"])
    def test_temperature_0_is_greedy_however_written(
        self, command: Command, checkpoint: Path, typed: str
    ) -> None:
        greedy = command(generate.main, "1+1=", "--checkpoint", checkpoint)
        assert command(generate.main, "1+1=", "--temperature", typed, "--checkpoint", checkpoint) == greedy

    def test_a_prefix_may_begin_with_minus(
        self, command: Command, checkpoint: Path, initial_model: TinyArithmeticGPT
    ) -> None:
        expected, _ = generate.generate(initial_model, "-5+3=")
        assert command(generate.main, "--checkpoint", checkpoint, "--", "-5+3=").out == expected + "\n"


class TestCheckpointOption:
    @pytest.mark.parametrize("main", [generate.main, evaluate.main, inspect_model.main])
    @pytest.mark.parametrize("name", ["none.safetensors", "none.pt"])
    def test_missing(self, command: Command, tmp_path: Path, main: Callable[..., int], name: str) -> None:
        prefix = ["1+1="] if main is generate.main else []
        outcome = command(main, *prefix, "--checkpoint", tmp_path / name)
        assert_one_line(outcome, str(tmp_path / "none"), "does not exist")

    @pytest.mark.parametrize("main", [generate.main, evaluate.main, inspect_model.main])
    def test_damaged(self, command: Command, tmp_path: Path, main: Callable[..., int]) -> None:
        path = tmp_path / "damaged.pt"
        path.write_bytes(b"damaged")
        prefix = ["1+1="] if main is generate.main else []
        assert_one_line(command(main, *prefix, "--checkpoint", path), str(path))


class TestInspectModel:
    @pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
    def test_saves_the_initial_weights(
        self, command: Command, tmp_path: Path, suffix: str, initial_model: TinyArithmeticGPT
    ) -> None:
        path = tmp_path / "checkpoints" / f"initial{suffix}"
        outcome = command(inspect_model.main, "--save-initial", path)
        assert (outcome.code, outcome.err) == (0, "")
        loaded = load_model(path).state_dict()
        assert all(torch.equal(t, loaded[name]) for name, t in initial_model.state_dict().items())
        assert str(path) in outcome.out

    def test_prints_the_breakdown(self, command: Command) -> None:
        words = [line.split() for line in command(inspect_model.main).out.splitlines()]
        for name, count in (
            ("token_embedding_and_shared_output", "12,544"),
            ("position_embedding", "4,096"),
            ("transformer_blocks", "396,544"),
            ("final_normalization", "256"),
            ("total", "413,440"),
        ):
            assert [name, count] in words
        assert words[-1][-1] == "1,653,760"

    def test_prints_that_of_a_checkpoint(self, command: Command, checkpoint: Path) -> None:
        outcome = command(inspect_model.main, "--checkpoint", checkpoint)
        assert outcome.code == 0
        assert str(checkpoint) in outcome.out
        assert "413,440" in outcome.out

    def test_another_ending_is_refused(self, command: Command, tmp_path: Path) -> None:
        path = tmp_path / "initial.bin"
        assert_one_line(command(inspect_model.main, "--save-initial", path), str(path), ".pt or .safetensors")
        assert not path.exists()

    def test_a_place_that_can_not_be_written(self, command: Command, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        outcome = command(inspect_model.main, "--save-initial", tmp_path / "file" / "initial.pt")
        assert outcome.code == 1
        assert len(outcome.err.splitlines()) == 1
        assert str(tmp_path / "file") in outcome.err


class TestRunCommand:
    @pytest.mark.parametrize(("code", "expected"), [(0, 0), (3, 3)])
    def test_exits_with_the_code_of_main(self, code: int, expected: int) -> None:
        with pytest.raises(SystemExit) as exit_info:
            run_command(lambda: code)
        assert exit_info.value.code == expected

    def test_expected_errors_are_one_line(self, command: Command) -> None:
        def fails(_: object) -> int:
            raise CommandError("what is wrong")

        assert command(fails) == (1, "", "error: what is wrong\n")

    def test_ctrl_c_is_one_word(self, command: Command) -> None:
        def interrupted(_: object) -> int:
            raise KeyboardInterrupt

        assert command(interrupted) == (130, "", "stopped\n")

    def test_an_unexpected_error_is_not_hidden(self) -> None:
        def broken() -> int:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            run_command(broken)


def test_an_error_is_printed_on_any_code_page(start_python: Start) -> None:
    started = {
        encoding: start_python("-m", "tiny_gpt.generate", "7−12=", PYTHONIOENCODING=encoding)
        for encoding in ("cp1252", "ascii")
    }
    for encoding, process in started.items():
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (1, b"")
        lines = err.decode(encoding).splitlines()
        assert len(lines) == 1
        assert "U+2212" in lines[0]
        assert lines[0].endswith("Type - instead.")
