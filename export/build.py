"""Make everything the site needs from the checkpoints and the npm package.

All of it lands in `site_assets/generated/`, which git ignores:

    graphs/SIZE-FORM-HASH.bin   a form of the model as an ONNX graph, gzipped
    models/NAME-HASH.bin        the weights of a checkpoint, gzipped
    runtime/ort-HASH.bin        onnxruntime-web's plain WASM build, gzipped
    checks/parity-HASH.bin      PyTorch's logits for the device report, gzipped
    onnx/NAME.onnx              graph and weights of a checkpoint, to download and to test
    package/*.whl               the package `tiny_gpt` with weights, to install
    manifest.mjs, walk.mjs      what the page's own code reads
    ablation.mjs                the fixed list of held-out problems of chapter 9
    timeline.mjs                what the records of the kept steps say, for chapter 6
    golden.json, facts.json     what the tests and the prose read
    code/HASH/                  the page's own code, minified (by `export.minify`)

A digest over all inputs is kept beside them: nothing is made twice.
"""

import hashlib
import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from export.ablation import shipped_list
from export.facts import Sources, all_facts
from export.facts.deployment import deployment_facts
from export.facts.downloads import download_facts
from export.golden import golden_cases
from export.golden_answers import answer_cases
from export.manifest import rules
from export.models import ModelShipment
from export.parity import ship_parity
from export.program_output import program_facts
from export.shipping import ExportError, ship
from export.timeline import timeline
from export.walk import recorded_walk
from export.wheel import PROJECT_FILES, build_wheel
from tiny_gpt import maps
from tiny_gpt.checkpoint import (
    SMALL,
    load_model,
    published,
    published_small,
    read_record,
    sha256,
    to_json,
)

ROOT = Path(__file__).resolve().parent.parent
SITE_ASSETS = ROOT / "site_assets"
GENERATED = SITE_ASSETS / "generated"
NPM_PACKAGES = SITE_ASSETS / "node_modules"
ORT_PACKAGE = NPM_PACKAGES / "onnxruntime-web"
ORT_FILES = {
    "module": "ort.wasm.min.mjs",
    "glue": "ort-wasm-simd-threaded.mjs",
    "wasm": "ort-wasm-simd-threaded.wasm",
}
PROGRAMS = "docs/snippets/python"


def build(force: bool = False) -> bool:
    """Bring `generated/` up to date; True when something was made.

    Raises `ExportError` or `CheckpointError` when an input is missing or damaged.
    """
    digest = inputs_digest()
    stamp = GENERATED / "inputs.sha256"
    if not force and stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return False
    part = GENERATED.with_name(f"generated.{os.getpid()}.part")
    old = GENERATED.with_name(f"generated.{os.getpid()}.old")
    shutil.rmtree(part, ignore_errors=True)
    try:
        _make(part)
        (part / stamp.name).write_text(digest, encoding="utf-8")
        if GENERATED.exists():  # moved away whole: a stop in between leaves no half of a folder
            GENERATED.rename(old)
        part.rename(GENERATED)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    return True


def inputs_digest() -> str:
    """sha256 over everything the export depends on."""
    digest = hashlib.sha256()
    for name in ("torch", "onnx", "onnxscript", "onnxruntime", "numpy", "setuptools"):
        digest.update(f"{name} {version(name)}\n".encode())
    package = "model_src/tiny_gpt"
    files = [
        *(ROOT / name for name in PROJECT_FILES),
        *sorted((ROOT / PROGRAMS).glob("*.py")),
        *sorted((ROOT / "export").rglob("*.py")),
        *sorted((ROOT / package).glob("*.py")),
        *sorted((ROOT / "model_src/checkpoints").glob("*.*")),
        *(ort_file(role) for role in ORT_FILES),
    ]
    for path in files:
        digest.update(f"{path.relative_to(ROOT).as_posix()} {sha256(path.read_bytes())}\n".encode())
    return digest.hexdigest()


def ort_file(role: str) -> Path:
    """A file of the npm package: `module`, `glue` or `wasm`."""
    path = ORT_PACKAGE / "dist" / ORT_FILES[role]
    if not path.is_file():
        raise ExportError(f"{path.relative_to(ROOT)} is missing; run: make build")
    return path


def _make(folder: Path) -> None:
    checkpoints = {path.stem: path for path in published()}
    models = {name: load_model(path) for name, path in checkpoints.items()}
    records = {name: _record(path) for name, path in checkpoints.items()}
    initial, trained = min(models), max(models)
    early = list(models)[len(models) // 3]  # knows something and is often wrong
    small, records[SMALL] = load_model(published_small()), _record(published_small())
    for name in (trained, SMALL):
        if "operands_0_to_99" not in records[name]:
            raise ExportError(f"{name}.json lacks operands_0_to_99; make it by python -m tiny_gpt.publish")
    (folder / "runtime").mkdir(parents=True)
    shipment = ModelShipment(folder)
    for name, model in {**models, SMALL: small}.items():
        record = records[name]
        size = SMALL if name == SMALL else "full"
        shipment.add(name, size, model, step=record["step"], problems_seen=record["problems_seen"])
    wasm = ship(ort_file("wasm").read_bytes(), folder, "runtime", "ort")
    runtime = {
        "version": json.loads((ORT_PACKAGE / "package.json").read_text(encoding="utf-8"))["version"],
        "wasm": wasm,
        "bytes": wasm["bytes"] + sum(ort_file(role).stat().st_size for role in ("module", "glue")),
    }
    manifest = {
        **rules(models[trained]),
        "graphs": shipment.graphs,
        "models": shipment.models,
        "initial": initial,
        "trained": trained,
        "early": early,
        "runtime": runtime,
        "parity": ship_parity(models[trained], folder),
    }
    walk = recorded_walk(models[initial])
    facts = all_facts(
        Sources(
            models=models,
            records=records,
            initial=initial,
            trained=trained,
            early=early,
            small=small,
            counted=maps.recorded(),
            walk=walk,
            runtime_bytes=runtime["bytes"],
            weights_bytes=shipment.models[trained]["bytes"] + shipment.graphs["full"]["plain"]["bytes"],
        )
    )
    _build_package(folder / "package", [checkpoints[name] for name in (initial, trained)])
    package = ROOT / "model_src" / "tiny_gpt"
    facts |= download_facts(package, folder, checkpoints[trained].parent, initial, trained)
    facts |= deployment_facts(manifest, folder, models[trained])
    facts |= program_facts(ROOT / PROGRAMS, folder / "onnx" / f"{trained}.onnx")
    golden = golden_cases({name: models[name] for name in (initial, trained)})
    decoded = {name: models[name] for name in (initial, early, trained)} | {SMALL: small}
    golden["greedy"] = answer_cases(decoded)
    _write_module(folder / "manifest.mjs", "manifest", manifest)
    _write_module(folder / "walk.mjs", "walk", walk)
    _write_module(folder / "ablation.mjs", "ablation", shipped_list())
    _write_module(folder / "timeline.mjs", "timeline", timeline({name: records[name] for name in models}))
    (folder / "manifest.json").write_bytes(to_json(manifest))
    (folder / "golden.json").write_bytes(to_json(golden))
    (folder / "facts.json").write_bytes(to_json(facts))


def _build_package(folder: Path, checkpoints: list[Path]) -> None:
    folder.mkdir()
    try:
        build_wheel(ROOT, checkpoints, folder)
    except RuntimeError as error:
        raise ExportError(str(error)) from None


def _record(path: Path) -> dict[str, Any]:
    """The JSON of a published checkpoint, with the results that `tiny_gpt.publish` adds."""
    record = read_record(path)
    missing = {"step", "problems_seen", "held_out_loss", "held_out"} - record.keys()
    if missing:
        raise ExportError(
            f"{path.stem}.json lacks {', '.join(sorted(missing))}; make it by python -m tiny_gpt.publish"
        )
    return record


def _write_module(path: Path, name: str, value: object) -> None:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    path.write_text(f"// Written by `python -m export`.\nexport const {name} = {text};\n", encoding="utf-8")
