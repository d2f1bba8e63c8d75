"""The package that readers install: `tiny_gpt` with the untrained and the trained weights, as a wheel.

setuptools builds it as `pip install .` does, from a copy of the sources that holds
two checkpoints and not the whole time line. The same sources give the same bytes:
the copy has fixed times and permissions.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
ZIP_EPOCH = 315_532_800  # 1980-01-01, the first date that a ZIP file can hold
PROJECT_FILES = ("pyproject.toml", "README.md", "LICENSE")


def wheel_sources(root: Path, checkpoints: Sequence[Path]) -> dict[str, Path]:
    """Path inside the project of every file that the wheel is built from: where it lies."""
    files = {name: root / name for name in PROJECT_FILES}
    for path in sorted((root / "model_src" / "tiny_gpt").glob("*.py")):
        files[f"model_src/tiny_gpt/{path.name}"] = path
    for path in checkpoints:
        for suffix in (".safetensors", ".json"):
            files[f"model_src/checkpoints/{path.stem}{suffix}"] = path.with_suffix(suffix)
    return files


def build_wheel(root: Path, checkpoints: Sequence[Path], folder: Path) -> Path:
    """Build the wheel into `folder` and return its path. Raises `RuntimeError` when setuptools can not."""
    with tempfile.TemporaryDirectory() as name:
        project = Path(name)
        for inside, path in wheel_sources(root, checkpoints).items():
            copy = project / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o644)
        outcome = subprocess.run(
            [sys.executable, "-c", BUILD, str(folder.resolve())],
            cwd=project,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(ZIP_EPOCH)},
            umask=0o022,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    if outcome.returncode:
        reason = outcome.stderr.strip().rpartition("\n")[2]
        raise RuntimeError(f"setuptools could not build the package: {reason}")
    (wheel,) = folder.glob("*.whl")
    return wheel
