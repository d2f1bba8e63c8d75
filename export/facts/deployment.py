"""Facts about the way into the browser: sizes of what is delivered, agreement with PyTorch."""

import copy
from pathlib import Path
from typing import Any

import onnx

from export.facts.files import MEGABYTE, megabytes
from export.forms import WantedLogits
from export.golden import golden_prefixes
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT


def deployment_facts(manifest: dict[str, Any], made: Path, model: TinyArithmeticGPT) -> dict[str, str]:
    """Facts about the trained model's files; `made` is the folder that the export writes."""
    trained, parity, own = manifest["trained"], manifest["parity"], manifest["own_model"]
    weights = manifest["models"][trained]
    graph = manifest["graphs"][weights["size"]]["plain"]
    file = made / "onnx" / f"{trained}.onnx"
    runtime = manifest["runtime"]
    scripts = runtime["bytes"] - runtime["wasm"]["bytes"]
    delivered = {
        "runtime, WebAssembly": runtime["wasm"],
        "runtime, JavaScript": {"raw_bytes": scripts, "bytes": scripts},  # left to the host to compress
        "graph": graph,
        "weights": weights,
    }
    return {
        "deploy.initial": manifest["initial"],
        "deploy.table": delivered_table(delivered),
        "deploy.weights_mb": megabytes(weights["bytes"]),
        "deploy.weights_raw_mb": megabytes(weights["raw_bytes"]),
        "deploy.graph_kb": f"{graph['raw_bytes'] / 1000:.1f}",
        "deploy.onnx_kb": f"{round(file.stat().st_size / 1000):,}",
        "deploy.operations": str(len(onnx.load(file).graph.node)),
        "deploy.outputs": str(len(manifest["model"]["outputs"])),
        "deploy.forms": str(len(manifest["graphs"][weights["size"]])),
        "deploy.checkpoints": str(sum(one["size"] == weights["size"] for one in manifest["models"].values())),
        "deploy.difference": scientific(weights["largest_difference"]),
        "deploy.float32_difference": scientific(float32_difference(model)),
        "deploy.limit": scientific(parity["limit"]),
        "deploy.fast_limit": scientific(WantedLogits.tolerance),
        "deploy.prefixes": str(parity["prefixes"]),
        "deploy.logits": f"{parity['logits']:,}",
        "deploy.parity_kb": str(round(parity["bytes"] / 1000)),
        "deploy.own_limit_mb": f"{own['largest_bytes'] / MEGABYTE:g}",
        "deploy.opset": str(own["opset"]),
    }


def scientific(value: float) -> str:
    """A small number with at most two digits: 1.7e-6, 1e-5."""
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent)}"


def delivered_table(entries: dict[str, dict[str, Any]]) -> str:
    """Markdown table of the delivered files in bytes, as they are and as delivered, with their sum."""
    lines = ["| file | bytes | delivered |", "|---|--:|--:|"]
    for name, entry in entries.items():
        lines.append(f"| {name} | {entry['raw_bytes']:,} | {entry['bytes']:,} |")
    raw, packed = (sum(entry[key] for entry in entries.values()) for key in ("raw_bytes", "bytes"))
    return "\n".join([*lines, f"| **together** | **{raw:,}** | **{packed:,}** |"])


def float32_difference(model: TinyArithmeticGPT) -> float:
    """How far the logits of PyTorch in float32 lie from those in float64, relative to max(1, |logit|)."""
    narrow = copy.deepcopy(model).float()
    largest = 0.0
    for prefix in golden_prefixes():
        wide = next_token_logits(model, prefix)
        gap = (next_token_logits(narrow, prefix).double() - wide).abs() / wide.abs().clamp(min=1)
        largest = max(largest, float(gap.max()))
    return largest
