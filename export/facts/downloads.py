"""Facts about the files that the site offers for download: names, sizes, what each source file does."""

import ast
from pathlib import Path

from export.facts.files import MEGABYTE, megabytes

KILOBYTE = 1000
NO_BREAK_SPACE = "\u00a0"


def size(path: Path) -> str:
    """Size of a file in kB (10**3 bytes, at least 1), or in MB (10**6) from there on."""
    count = path.stat().st_size
    if count >= MEGABYTE:
        return f"{megabytes(count)}{NO_BREAK_SPACE}MB"
    return f"{max(1, round(count / KILOBYTE))}{NO_BREAK_SPACE}kB"


def summary(source: Path) -> str:
    """The first sentence of a Python file's docstring, without its full stop."""
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n\n")[0].replace("\n", " ").rstrip(".")


def sources_table(sources: list[Path]) -> str:
    """Markdown table of the package's files, with links from a page beside `downloads/`."""
    lines = ["| file | size | what it does |", "|---|--:|---|"]
    for path in sources:
        link = f"[`{path.name}`](downloads/tiny_gpt/{path.name}){{ download }}"
        lines.append(f"| {link} | {size(path)} | {summary(path)} |")
    return "\n".join(lines)


def models_table(names: dict[str, str], onnx_folder: Path, checkpoints: Path) -> str:
    """Markdown table of the offered models, three files for each `name: what its weights are`."""
    lines = ["| file | size | what it is |", "|---|--:|---|"]
    for name, weights in names.items():
        for path, what in (
            (checkpoints / f"{name}.safetensors", f"{weights} weights: tensors"),
            (checkpoints / f"{name}.json", f"{weights} weights: configuration, recipe, results, sha256"),
            (onnx_folder / f"{name}.onnx", f"{weights} network, exported"),
        ):
            lines.append(f"| [{path.name}](downloads/{path.name}){{ download }} | {size(path)} | {what} |")
    return "\n".join(lines)


def download_facts(
    package: Path, made: Path, checkpoints: Path, initial: str, trained: str
) -> dict[str, str]:
    """Tables of all downloads. `package` holds the sources of tiny_gpt, `made` is what the export wrote."""
    (wheel,) = (made / "package").glob("*.whl")
    names = {trained: "trained", initial: "untrained"}
    return {
        "files.sources": sources_table(sorted(package.glob("*.py"))),
        "files.models": models_table(names, made / "onnx", checkpoints),
        "files.onnx": f"{trained}.onnx",
        "files.wheel": wheel.name,
        "files.wheel_size": size(wheel),
        "files.wheel_path": f"downloads/{wheel.name}",
    }
