"""A built site, made once in a folder of its own for a sub-path, and what lies in the repository."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from export.build import ROOT

SITE_URL = "http://127.0.0.1:8000/a/b/course/"


class Build(NamedTuple):
    """One run of `mkdocs build --strict`."""

    site: Path
    code: int
    report: str
    seconds: float


@pytest.fixture(scope="session")
def build_site(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Build]:
    """Build the site into one folder, the same each time."""
    folder = tmp_path_factory.mktemp("built") / "site"
    path = [str(ROOT / "model_src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "SITE_URL": SITE_URL}

    def build() -> Build:
        started = time.monotonic()
        outcome = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
            cwd=ROOT,
            env={**os.environ, **variables, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        seconds = time.monotonic() - started
        return Build(folder, outcome.returncode, outcome.stdout + outcome.stderr, seconds)

    return build


@pytest.fixture(scope="session")
def built(build_site: Callable[[], Build]) -> Build:
    build = build_site()
    assert build.code == 0, build.report
    return build


@pytest.fixture(scope="session")
def site(built: Build) -> Path:
    """The folder of the built site."""
    return built.site


@pytest.fixture(scope="session")
def git() -> Callable[..., str]:
    """Ask git about the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the course is not a git repository")

    def ask(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
        ).stdout

    return ask
