"""The small programs of docs/snippets print what the pages show."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SNIPPETS = Path(__file__).resolve().parents[2] / "docs" / "snippets"
OUTPUTS = sorted(SNIPPETS.glob("*.txt"))


def test_there_are_programs_with_outputs() -> None:
    assert {path.stem for path in OUTPUTS} >= {"one_step", "uniform_loss"}


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_output_is_what_the_program_prints(
    start_python: Callable[..., subprocess.Popen[bytes]], path: Path
) -> None:
    process = start_python(path.with_suffix(".py"), PYTHONIOENCODING="utf-8")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode("utf-8")
    assert out.decode("utf-8").splitlines() == path.read_text(encoding="utf-8").splitlines()
