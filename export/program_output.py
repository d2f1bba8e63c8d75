"""What the short programs of docs/snippets/python print, to stand below them on the page."""

import io
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock


def printed_by(program: Path, *arguments: str) -> str:
    """Run a program in this process and return what it prints, without the last newline."""
    output = io.StringIO()
    with mock.patch.object(sys, "argv", [str(program), *arguments]), redirect_stdout(output):
        runpy.run_path(str(program), run_name="__main__")
    return output.getvalue().rstrip("\n")


def program_facts(folder: Path, onnx_file: Path) -> dict[str, str]:
    """The output of each program in `folder`; each is given `onnx_file` as its argument."""
    return {f"output.{path.stem}": printed_by(path, str(onnx_file)) for path in sorted(folder.glob("*.py"))}
