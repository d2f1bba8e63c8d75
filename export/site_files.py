"""Which files the site publishes besides its pages, and under which addresses.

The page's own code goes to `assets/course-HASH/`, with the hash of all of it, so
that a browser never mixes two versions. Models and runtime carry their own hash
and keep their address from one deployment to the next.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from export.build import GENERATED, NPM_PACKAGES, ORT_FILES, ROOT, SITE_ASSETS, ort_file
from export.minify import minified
from export.shipping import HASH_LENGTH
from tiny_gpt.checkpoint import CHECKPOINTS

CODE_FOLDERS = ("exercises", "runtime", "widgets")
ENTRY = "main.mjs"
BEFORE_THEME = "search-on-demand.js"  # a script that must run before the theme's
STYLES = tuple(sorted(path.name for path in (SITE_ASSETS / "css").glob("*.css")))


def code_sources() -> dict[str, Path]:
    """Address inside `assets/course-HASH/` of each module and style sheet of our own: its source file."""
    files = {ENTRY: SITE_ASSETS / ENTRY}
    for folder in CODE_FOLDERS:
        for path in sorted((SITE_ASSETS / folder).glob("*.mjs")):
            files[f"{folder}/{path.name}"] = path
    for name in STYLES:
        files[f"css/{name}"] = SITE_ASSETS / "css" / name
    return files


def code_files() -> dict[str, Path]:
    """Address inside `assets/course-HASH/` of all code: the file that is shipped."""
    files = minified(code_sources(), SITE_ASSETS, NPM_PACKAGES, GENERATED / "code")
    files[BEFORE_THEME] = SITE_ASSETS / BEFORE_THEME
    for path in sorted(GENERATED.glob("*.mjs")):
        files[f"generated/{path.name}"] = path
    for role in ("module", "glue"):
        files[f"vendor/{ORT_FILES[role]}"] = ort_file(role)
    return files


def code_folder() -> str:
    """`assets/course-HASH`, the address of the page's own code."""
    digest = hashlib.sha256()
    for address, path in code_files().items():
        digest.update(address.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"assets/course-{digest.hexdigest()[:HASH_LENGTH]}"


def site_files() -> dict[str, Path]:
    """Address from the site's root of every published file: where it lies in the repo."""
    folder = code_folder()
    files = {f"{folder}/{address}": path for address, path in code_files().items()}
    manifest = read_manifest()
    for entry in shipped_entries(manifest):
        files[f"assets/{entry['file']}"] = GENERATED / entry["file"]
    for path in sorted((ROOT / "model_src" / "tiny_gpt").glob("*.py")):
        files[f"downloads/tiny_gpt/{path.name}"] = path
    for path in (GENERATED / "package").glob("*.whl"):
        files[f"downloads/{path.name}"] = path
    for name in (manifest["initial"], manifest["trained"]):
        files[f"downloads/{name}.onnx"] = GENERATED / "onnx" / f"{name}.onnx"
        for suffix in (".safetensors", ".json"):
            files[f"downloads/{name}{suffix}"] = CHECKPOINTS / f"{name}{suffix}"
    return files


def shipped_entries(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The manifest's entries of all gzipped files: runtime, graphs, weights, the report's logits."""
    graphs = [graph for forms in manifest["graphs"].values() for graph in forms.values()]
    return [manifest["runtime"]["wasm"], *graphs, *manifest["models"].values(), manifest["parity"]]


def read_manifest() -> dict[str, Any]:
    """The manifest as the export wrote it."""
    manifest: dict[str, Any] = json.loads((GENERATED / "manifest.json").read_text(encoding="utf-8"))
    return manifest
