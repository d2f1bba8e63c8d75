"""The package that the site offers: the same bytes each time, and complete wherever it is installed."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from export.build import GENERATED, PROGRAMS, ROOT
from export.program_output import program_facts
from export.wheel import PROJECT_FILES, build_wheel
from tiny_gpt.checkpoint import published

PROGRAM_FILES = sorted((ROOT / PROGRAMS).glob("*.py"))
WITHOUT_TORCH = "import runpy, sys; sys.modules.update(torch=None, tiny_gpt=None); sys.argv = sys.argv[1:]; "
RunPython = Callable[..., str]


def pip_install(what: Path, target: Path) -> None:
    """Install one project or wheel into a folder, without network and without its dependencies."""
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(what)],
        check=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def wheel(manifest: dict[str, Any]) -> Path:
    """The package as the export made it."""
    (path,) = (GENERATED / "package").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    pip_install(wheel, target)
    return target


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Run Python in an empty folder, with the installed package in front of everything else."""

    def run(target: Path, *arguments: object) -> str:
        outcome = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(target), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=300,
        )
        assert outcome.returncode == 0, outcome.stderr
        return outcome.stdout

    return run


@pytest.fixture(scope="module")
def facts(manifest: dict[str, Any]) -> dict[str, str]:
    values: dict[str, str] = json.loads((GENERATED / "facts.json").read_text(encoding="utf-8"))
    return values


def test_the_wheel_holds_the_package_and_two_checkpoints(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {f"tiny_gpt/{path.name}" for path in (ROOT / "model_src/tiny_gpt").glob("*.py")}
    weights = {
        f"tiny_gpt/checkpoints/{path.stem}{suffix}"
        for path in (published()[0], published()[-1])
        for suffix in (".safetensors", ".json")
    }
    others = [name for name in names if name not in sources | weights]
    assert len(names) == len(set(names)) == len(sources) + len(weights) + len(others)
    assert all(re.match(r"tiny_gpt_course-[\d.]+\.dist-info/", name) for name in others)


def test_the_same_sources_give_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        again = build_wheel(ROOT, [published()[0], published()[-1]], tmp_path)
    finally:
        os.umask(before)
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_a_failed_build_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("export.wheel.BUILD", "raise SystemExit('no such builder')")
    with pytest.raises(RuntimeError, match=r"^setuptools could not build the package: no such builder$"):
        build_wheel(ROOT, published()[-1:], tmp_path)


def test_the_installed_package_answers(installed: Path, run_python: RunPython) -> None:
    where = run_python(installed, "-c", "import tiny_gpt; print(tiny_gpt.__file__)")
    assert Path(where.strip()).is_relative_to(installed)
    assert run_python(installed, "-m", "tiny_gpt.generate", "12+34=") == "46\n"
    assert "413,440" in run_python(installed, "-m", "tiny_gpt.inspect_model")
    tests_some = (
        "from tiny_gpt import evaluate, checkpoint, data;"
        "print(evaluate.answered_exactly(checkpoint.load_model(checkpoint.published()[-1]),"
        " data.problems_in(data.HELD_OUT)[:200]).mean())"
    )
    assert float(run_python(installed, "-c", tests_some)) > 0.9


@pytest.mark.parametrize("program", PROGRAM_FILES, ids=lambda path: path.stem)
def test_programs_print_what_the_page_shows(
    program: Path, installed: Path, run_python: RunPython, facts: dict[str, str], manifest: dict[str, Any]
) -> None:
    onnx_file = GENERATED / "onnx" / f"{manifest['trained']}.onnx"
    shown = facts[f"output.{program.stem}"]
    assert shown.count("\n") >= 2
    assert run_python(installed, program, onnx_file).rstrip("\n") == shown
    page = (ROOT / "docs/use-from-python.md").read_text(encoding="utf-8")
    assert f'"{PROGRAMS}/{program.name}"' in page and f"{{{{ output.{program.stem} }}}}" in page


def test_the_exported_file_needs_no_pytorch(
    run_python: RunPython, facts: dict[str, str], manifest: dict[str, Any], tmp_path: Path
) -> None:
    onnx_file = GENERATED / "onnx" / f"{manifest['trained']}.onnx"
    program = ROOT / PROGRAMS / "score_onnx.py"
    run = f"{WITHOUT_TORCH} runpy.run_path(sys.argv[0], run_name='__main__')"
    assert run_python(tmp_path, "-c", run, program, onnx_file).rstrip("\n") == facts["output.score_onnx"]


def test_outputs_are_recorded_not_imagined(tmp_path: Path) -> None:
    (tmp_path / "sum.py").write_text("import sys\nprint(sys.argv[1:])\n", encoding="utf-8")
    assert program_facts(tmp_path, Path("m.onnx")) == {"output.sum": "['m.onnx']"}


def test_pip_install_of_the_repository_brings_all_checkpoints(tmp_path: Path, run_python: RunPython) -> None:
    project = tmp_path / "project"  # a copy: setuptools builds inside the project's folder
    shutil.copytree(ROOT / "model_src", project / "model_src")
    for name in PROJECT_FILES:
        shutil.copyfile(ROOT / name, project / name)
    pip_install(project, tmp_path / "target")
    listed = (
        "from tiny_gpt.checkpoint import CHECKPOINTS;"
        "print(*sorted(path.name for path in CHECKPOINTS.iterdir()), sep='\\n')"
    )
    names = run_python(tmp_path / "target", "-c", listed).splitlines()
    assert names == sorted(path.name for path in (ROOT / "model_src/checkpoints").iterdir())
    assert run_python(tmp_path / "target", "-m", "tiny_gpt.generate", "7-12=") == "-5\n"
