"""Every published checkpoint in every form: traced once a size, filled, compared, written.

A model on the wire is two files: a graph, which all checkpoints of its size share,
and weights, which all graphs share.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from export.forms import FORMS, Form, NamedOutputs
from export.graph import fill, split_file, trace
from export.shipping import ExportError, ship
from tiny_gpt.model import TinyArithmeticGPT


# --8<-- [start:check_parity]
def check_parity(proto: onnx.ModelProto, model: TinyArithmeticGPT, form: type[Form] = NamedOutputs) -> float:
    """Compare every output of a form with PyTorch at every length; returns the largest difference.

    Differences count relative to max(1, |value|). Raises `ExportError` above the form's tolerance.
    """
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = form.outputs(model.config.n_layers)
    reference_form = form(model)
    generator = torch.Generator().manual_seed(0)
    largest = 0.0
    for length in range(1, model.config.context_length + 1):
        ids = torch.randint(0, model.config.vocab_size, (2, length), generator=generator)
        inputs = form.inputs_for(ids, model.config)
        with torch.inference_mode():
            expected = reference_form(*inputs)
        feed = {name: tensor.numpy() for name, tensor in zip(form.inputs, inputs, strict=True)}
        for name, mine, theirs in zip(names, session.run(names, feed), expected, strict=True):
            reference = theirs.numpy()
            gap = float((np.abs(mine - reference) / np.maximum(1, np.abs(reference))).max())
            if not gap <= form.tolerance:
                raise ExportError(f"{name} differs from PyTorch by {gap:.2e} at length {length}")
            largest = max(largest, gap)
    return largest


# --8<-- [end:check_parity]


class ModelShipment:
    """What is written for the models, and what the manifest says of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graphs: dict[str, dict[str, dict[str, Any]]] = {}  # by size, then by form
        self.models: dict[str, dict[str, Any]] = {}
        self._traced: dict[str, dict[type[Form], onnx.ModelProto]] = {}  # by size
        for kind in ("models", "graphs", "onnx"):
            (folder / kind).mkdir(parents=True)

    def add(self, name: str, size: str, model: TinyArithmeticGPT, **facts: Any) -> None:
        """Write a checkpoint's weights and, for the first of its size, the graphs. Raises `ExportError`."""
        if size not in self.graphs:
            self.graphs[size] = {}
            self._traced[size] = {form: trace(model.config, form) for form in FORMS}
        largest, stored = 0.0, set()
        for form, graph in self._traced[size].items():
            try:
                proto = fill(graph, model)
            except ValueError as error:
                raise ExportError(f"{name}.safetensors: {error}") from None
            gap = check_parity(proto, model, form)
            graph_bytes, weights_bytes = split_file(proto)
            if form.name not in self.graphs[size]:
                self.graphs[size][form.name] = ship(graph_bytes, self.folder, "graphs", f"{size}-{form.name}")
            stored.add(weights_bytes)
            if form is NamedOutputs:
                largest = gap
                (self.folder / "onnx" / f"{name}.onnx").write_bytes(graph_bytes + weights_bytes)
        if len(stored) != 1:
            raise ExportError(f"the forms of {name} do not store the same weights")
        self.models[name] = {
            **ship(stored.pop(), self.folder, "models", name),
            "size": size,
            "largest_difference": largest,
            **facts,
        }
