"""Reading and writing weights: tensors in safetensors, everything else in readable JSON.

A published checkpoint is `NAME.safetensors` and `NAME.json`; the JSON holds the
configuration, the recipe, the results and the sha256 of the tensors. `.pt` files
(tensors and plain types only, read with `weights_only=True`) work too. The matrix
that the output shares with the token embedding is stored once and tied again on
load. Files are replaced in one step, so a reader never sees half of one.
"""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from tiny_gpt.config import ModelConfig
from tiny_gpt.model import TinyArithmeticGPT

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "checkpoints"  # an installed package carries them inside
CHECKPOINTS = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent / "checkpoints"
SMALL = "small"  # name of the smaller model that chapter 8 compares with
TIED_NAME = "lm_head.weight"
LFS_POINTER = b"version https://git-lfs"


class CheckpointError(ValueError):
    """A checkpoint is missing or damaged; the message names the file and what to do."""


# --8<-- [start:write]
def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step: readers see the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


# --8<-- [end:write]


def to_json(value: object) -> bytes:
    """Readable JSON as UTF-8 bytes, ending in a newline."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stored_tensors(model: TinyArithmeticGPT) -> dict[str, Tensor]:
    """The state dict on the CPU in float32, the tied matrix once."""
    return {
        name: tensor.detach().float().cpu().contiguous()
        for name, tensor in model.state_dict().items()
        if name != TIED_NAME
    }


def save_model(path: Path, model: TinyArithmeticGPT, record: dict[str, Any] | None = None) -> None:
    """Write the model as `.safetensors` with `record` as JSON beside it, or as `.pt`."""
    tensors = stored_tensors(model)
    if path.suffix == ".pt":
        buffer = io.BytesIO()
        torch.save({"config": model.config.to_dict(), "weights": tensors}, buffer)
        write_atomically(path, buffer.getvalue())
        return
    data = safetensors.torch.save(tensors)
    write_atomically(path, data)
    facts = {"config": model.config.to_dict(), **(record or {}), "sha256": sha256(data)}
    write_atomically(path.with_suffix(".json"), to_json(facts))


def load_model(path: Path) -> TinyArithmeticGPT:
    """The model of a checkpoint, in eval mode on the CPU, computing in float64.

    A trained network magnifies what float32 rounds off, to more than 1e-5 in its
    logits, and each program rounds elsewhere. In float64 all of them agree.

    Raises `CheckpointError` for a file that is missing, cut short, a Git LFS pointer,
    not what its JSON says, or not this model's tensors.
    """
    config, tensors = _read_pt(path) if path.suffix == ".pt" else _read_safetensors(path)
    try:
        model = TinyArithmeticGPT(ModelConfig(**config))
    except (TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path}: its configuration does not fit this model: {error}") from None
    expected = stored_tensors(model)
    for name in sorted(expected.keys() ^ tensors.keys()):
        what = "lacks the tensor" if name in expected else "has the unknown tensor"
        raise CheckpointError(f"{path}: {what} {name}; is it a checkpoint of another model?")
    for name, tensor in expected.items():
        if not isinstance(tensors[name], Tensor):
            raise CheckpointError(f"{path}: {name} is not a tensor; is it a checkpoint of another model?")
        if tensors[name].shape != tensor.shape:
            raise CheckpointError(
                f"{path}: {name} has shape {list(tensors[name].shape)}, expected {list(tensor.shape)}"
            )
    model.load_state_dict(tensors, strict=False)
    model.tie_output()
    return model.double().eval()


def read_record(path: Path) -> dict[str, Any]:
    """The JSON beside a `.safetensors` checkpoint."""
    if not path.suffix:
        raise CheckpointError(f"{path} is not a checkpoint; name a .safetensors or .pt file")
    record_path = path.with_suffix(".json")
    data = _read(record_path)
    try:
        record = json.loads(data.decode("utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{record_path} is not readable JSON: {error}") from None
    if not isinstance(record, dict) or "config" not in record or "sha256" not in record:
        raise CheckpointError(f"{record_path} must hold an object with config and sha256")
    return record


def published() -> list[Path]:
    """The committed checkpoints in order of step; the last one is the trained model."""
    paths = sorted(CHECKPOINTS.glob("step-*.safetensors"))
    if not paths:
        raise CheckpointError(f"{CHECKPOINTS} holds no step-*.safetensors; restore it from git")
    return paths


def published_small() -> Path:
    """The committed smaller model, which is no step of the time line."""
    return CHECKPOINTS / f"{SMALL}.safetensors"


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise CheckpointError(f"{path} {reason}; restore it from git or train it again") from None
    if data.startswith(LFS_POINTER):
        raise CheckpointError(f"{path} is a Git LFS pointer, not the file; run: git lfs pull")
    return data


def _read_safetensors(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    record = read_record(path)
    data = _read(path)
    if sha256(data) != record["sha256"]:
        raise CheckpointError(
            f"{path} is not the file its JSON describes (sha256 differs); it is damaged or was "
            "replaced alone, restore both from git"
        )
    try:
        return record["config"], safetensors.torch.load(data)
    except safetensors.SafetensorError as error:
        raise CheckpointError(f"{path} is not a safetensors file: {error}") from None


def _read_pt(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    data = _read(path)
    try:
        content = torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")
    except Exception:  # what torch raises on a damaged file depends on where the damage is
        content = None
    if isinstance(content, dict):
        config, weights = content.get("config"), content.get("weights")
        if isinstance(config, dict) and isinstance(weights, dict):
            return config, weights
    raise CheckpointError(f"{path} is damaged or not a checkpoint of tensors and plain types")
