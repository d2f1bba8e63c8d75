"""Make everything the site needs from the checkpoints and the npm package.

All of it lands in `site_assets/generated/`, which git ignores:

    models/NAME-HASH.bin     a checkpoint as ONNX, gzipped
    runtime/ort-HASH.bin     onnxruntime-web's plain WASM build, gzipped
    onnx/NAME.onnx           the same models, not compressed, to download and to test
    manifest.mjs, walk.mjs   what the page's own code reads
    golden.json, facts.json  what the tests and the prose read

A digest over all inputs is kept beside them: nothing is made twice. Files are
gzipped here because many hosts compress nothing; names carry a content hash, so
that a browser may keep them for ever.
"""

import gzip
import hashlib
import json
import os
import shutil
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from export.facts import example_facts, model_facts, size_facts, training_facts, walk_facts
from export.golden import golden_cases
from export.graph import INPUT_NAME, NamedOutputs, fill, output_names, trace
from export.walk import recorded_walk
from tiny_gpt.checkpoint import load_model, published, read_record, sha256, to_json
from tiny_gpt.data import (
    DRAWS_PER_CANDIDATE,
    HELD_OUT_PARTS,
    ROW_LENGTH,
    SPLIT_PARTS,
    SPLIT_SALT,
    TUNING_PARTS,
    Mix,
)
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.prompt import LARGEST_OPERAND, LIMITS, LONGEST_PREFIX, MESSAGES, TYPED_FOR
from tiny_gpt.tokenizer import FIRST_CHARACTER, FIRST_CHARACTER_ID, SPECIAL_NAMES, VOCABULARY

ROOT = Path(__file__).resolve().parent.parent
SITE_ASSETS = ROOT / "site_assets"
GENERATED = SITE_ASSETS / "generated"
ORT_PACKAGE = SITE_ASSETS / "node_modules" / "onnxruntime-web"
ORT_FILES = {
    "module": "ort.wasm.min.mjs",
    "glue": "ort-wasm-simd-threaded.mjs",
    "wasm": "ort-wasm-simd-threaded.wasm",
}
TOLERANCE = 1e-5  # times max(1, |value|)
HASH_LENGTH = 12


class ExportError(RuntimeError):
    """The export can not go on; the message says what is missing or wrong."""


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
    for name in ("torch", "onnx", "onnxscript", "onnxruntime", "numpy"):
        digest.update(f"{name} {version(name)}\n".encode())
    package = "model_src/tiny_gpt"
    files = [
        *sorted((ROOT / "export").glob("*.py")),
        *sorted((ROOT / package).glob("*.py")),
        *sorted((ROOT / "model_src/checkpoints").glob("step-*")),
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


def check_parity(proto: onnx.ModelProto, model: TinyArithmeticGPT) -> float:
    """Compare every named output with PyTorch at every length; returns the largest difference.

    Differences count relative to max(1, |value|). Raises `ExportError` above TOLERANCE.
    """
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = output_names(model.config.n_layers)
    generator = torch.Generator().manual_seed(0)
    largest = 0.0
    for length in range(1, model.config.context_length + 1):
        ids = torch.randint(0, model.config.vocab_size, (2, length), generator=generator)
        with torch.inference_mode():
            expected = NamedOutputs(model)(ids)
        for name, mine, theirs in zip(
            names, session.run(names, {INPUT_NAME: ids.numpy()}), expected, strict=True
        ):
            reference = theirs.numpy()
            gap = float((np.abs(mine - reference) / np.maximum(1, np.abs(reference))).max())
            if not gap <= TOLERANCE:
                raise ExportError(f"{name} differs from PyTorch by {gap:.2e} at length {length}")
            largest = max(largest, gap)
    return largest


def _make(folder: Path) -> None:
    checkpoints = {path.stem: path for path in published()}
    models = {name: load_model(path) for name, path in checkpoints.items()}
    records = {name: _record(path) for name, path in checkpoints.items()}
    initial, trained = min(models), max(models)
    if "operands_0_to_99" not in records[trained]:
        raise ExportError(f"{trained}.json lacks operands_0_to_99; make it by python -m tiny_gpt.publish")
    for kind in ("models", "runtime", "onnx"):
        (folder / kind).mkdir(parents=True)

    graph = trace(models[trained].config)
    shipped = {}
    for name, model in models.items():
        try:
            proto = fill(graph, model)
        except ValueError as error:
            raise ExportError(f"{checkpoints[name].name}: {error}") from None
        gap = check_parity(proto, model)
        data = proto.SerializeToString(deterministic=True)
        (folder / "onnx" / f"{name}.onnx").write_bytes(data)
        shipped[name] = {
            **_ship(data, folder, "models", name),
            "step": records[name]["step"],
            "problems_seen": records[name]["problems_seen"],
            "largest_difference": gap,
        }
    runtime = {
        "version": json.loads((ORT_PACKAGE / "package.json").read_text(encoding="utf-8"))["version"],
        "wasm": _ship(ort_file("wasm").read_bytes(), folder, "runtime", "ort"),
    }
    walk = recorded_walk(models[initial])
    config = models[trained].config
    manifest = {
        "vocabulary": {
            "name": VOCABULARY,
            "size": config.vocab_size,
            "first_character": FIRST_CHARACTER,
            "first_character_id": FIRST_CHARACTER_ID,
            "special": {str(token_id): name for token_id, name in SPECIAL_NAMES.items()},
        },
        "prompt": {
            "longest_prefix": LONGEST_PREFIX,
            "largest_operand": LARGEST_OPERAND,
            "limits": {name: list(limit) for name, limit in LIMITS.items()},
            "messages": dict(MESSAGES),
            "typed_for": dict(TYPED_FOR),
        },
        "data": data_rules(),
        "model": {
            "config": config.to_dict(),
            "parameters": models[trained].parameter_breakdown(),
            "input": INPUT_NAME,
            "outputs": output_names(config.n_layers),
        },
        "models": shipped,
        "initial": initial,
        "trained": trained,
        "runtime": runtime,
    }
    modules = sum(ort_file(role).stat().st_size for role in ("module", "glue"))
    facts = {
        **model_facts(models[trained]),
        **training_facts(records[initial], records[trained]),
        **walk_facts(walk),
        **example_facts("initial", models[initial]),
        **example_facts("trained", models[trained]),
        **size_facts(runtime["wasm"]["bytes"] + modules, shipped[trained]["bytes"]),
    }
    golden = golden_cases({name: models[name] for name in (initial, trained)})
    _write_module(folder / "manifest.mjs", "manifest", manifest)
    _write_module(folder / "walk.mjs", "walk", walk)
    (folder / "manifest.json").write_bytes(to_json(manifest))
    (folder / "golden.json").write_bytes(to_json(golden))
    (folder / "facts.json").write_bytes(to_json(facts))


def data_rules() -> dict[str, Any]:
    """What the page needs to draw and split problems as `tiny_gpt.data` does."""
    return {
        "split": {
            "salt": SPLIT_SALT,
            "parts": SPLIT_PARTS,
            "held_out_parts": HELD_OUT_PARTS,
            "tuning_parts": TUNING_PARTS,
        },
        "mix": asdict(Mix()),
        "draws_per_candidate": DRAWS_PER_CANDIDATE,
        "row_length": ROW_LENGTH,
    }


def _record(path: Path) -> dict[str, Any]:
    """The JSON of a published checkpoint, with the results that `tiny_gpt.publish` adds."""
    record = read_record(path)
    missing = {"step", "problems_seen", "held_out_loss", "held_out"} - record.keys()
    if missing:
        raise ExportError(
            f"{path.stem}.json lacks {', '.join(sorted(missing))}; make it by python -m tiny_gpt.publish"
        )
    return record


def _ship(data: bytes, folder: Path, kind: str, name: str) -> dict[str, Any]:
    """Write `data` gzipped under a name with its hash; returns file, sizes and sha256."""
    packed = gzip.compress(data, 9, mtime=0)
    digest = sha256(packed)
    file = f"{kind}/{name}-{digest[:HASH_LENGTH]}.bin"
    (folder / file).write_bytes(packed)
    return {"file": file, "bytes": len(packed), "raw_bytes": len(data), "sha256": digest}


def _write_module(path: Path, name: str, value: object) -> None:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    path.write_text(f"// Written by `python -m export`.\nexport const {name} = {text};\n", encoding="utf-8")
