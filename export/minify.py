"""The page's own modules and style sheets as they are shipped: without comments and spare spaces, by esbuild.

Each file stays a file of its own and keeps its imports, so a page loads what it uses. What
was made is kept beside the export by a hash of all that went in.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from export.shipping import HASH_LENGTH, ExportError

OPTIONS = (
    "--minify",
    "--format=esm",
    "--target=es2022",
    "--charset=utf8",
    "--legal-comments=none",
    "--out-extension:.js=.mjs",
    "--log-level=warning",
    "--log-limit=1",
)


def minified(sources: Mapping[str, Path], base: Path, packages: Path, made: Path) -> dict[str, Path]:
    """Address of each file: its minified copy, under `made`.

    `sources` are files below `base`, whose address is their path in it. `packages` is the
    folder of npm packages. Raises `ExportError` when esbuild is missing or finds a mistake.
    """
    program = next(packages.glob("@esbuild/*/bin/esbuild"), None)
    if program is None:
        raise ExportError(f"esbuild is missing in {packages.name}; run: make build")
    package = json.loads((packages / "esbuild" / "package.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(" ".join((package["version"], *OPTIONS)).encode())
    for address, path in sources.items():
        digest.update(b"\0" + address.encode() + b"\0" + path.read_bytes())
    folder = made / digest.hexdigest()[:HASH_LENGTH]
    if not folder.is_dir():
        part = made.with_name(f"{made.name}.{os.getpid()}.part")
        try:
            _run([str(program), *sources, f"--outdir={part}", f"--outbase={base}", *OPTIONS], base)
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return {address: folder / address for address in sources}


def _run(command: list[str], folder: Path) -> None:
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        said = [line.strip() for line in outcome.stderr.splitlines() if line.strip()]
        raise ExportError(f"esbuild: {' in '.join(said[:2])}".rstrip(":"))  # the mistake and its place
