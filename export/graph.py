"""A form of the model to an ONNX graph, and a graph with weights to an ONNX file.

Every graph takes `ids`, int64 [batch, positions], both of any size the model
permits. Weights are stored as float16 and cast once when the session starts;
checkpoints are rounded to float16 before they are published, so the cast restores
them exactly. Between them and the outputs, which are float32, a float64 form
computes like the loaded checkpoint, apart from erf, which onnxruntime has in
float32 alone.

The site ships a graph and the weights as two files, since all graphs of a
checkpoint share its weights. The bytes of one after the other are the ONNX file:
protobuf merges a message that is written twice, repeated fields by appending.
"""

import logging
import math
import warnings

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

from export.forms import IDS, WANTED, Form, NamedOutputs
from tiny_gpt.config import ModelConfig
from tiny_gpt.model import TinyArithmeticGPT

OPSET = 20
TRANSPOSED = ".transposed"
FLOAT16 = ".float16"


def trace(config: ModelConfig, form: type[Form] = NamedOutputs) -> onnx.ModelProto:
    """The graph of a form for every model of this configuration, its weights named after the parameters.

    Traced from random weights, all different, so that each stored matrix can be
    told from the others and none is merged with an equal one.
    """
    model = TinyArithmeticGPT(config).to(form.dtype)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
    proto = _torch_export(form(model), config)
    _name_weights(proto, model)
    _store_once(proto, model)
    _strip(proto)
    if form.dtype == torch.float64:
        _write_out_gelu(proto)
    onnx.checker.check_model(proto)
    return proto


# --8<-- [start:fill]
def fill(graph: onnx.ModelProto, model: TinyArithmeticGPT) -> onnx.ModelProto:
    """A copy of a traced graph with this model's weights, stored as float16 and cast.

    Raises `ValueError` when a weight is not exactly a float16 number.
    """
    proto = onnx.ModelProto()
    proto.CopyFrom(graph)
    parameters = dict(model.named_parameters())
    casts = []
    for tensor in proto.graph.initializer:
        name = tensor.name.removesuffix(TRANSPOSED)
        if name not in parameters:
            continue
        values = parameters[name].detach().numpy()
        if tensor.name.endswith(TRANSPOSED):
            values = values.T
        stored = values.astype(np.float16)
        if not np.array_equal(stored.astype(values.dtype), values):
            raise ValueError(f"{name} holds numbers that float16 can not store exactly; round them first")
        casts.append(helper.make_node("Cast", [tensor.name + FLOAT16], [tensor.name], to=tensor.data_type))
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(stored), tensor.name + FLOAT16))
    nodes = [*casts, *proto.graph.node]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    onnx.checker.check_model(proto)
    return proto


# --8<-- [end:fill]


# --8<-- [start:split_file]
def split_file(proto: onnx.ModelProto) -> tuple[bytes, bytes]:
    """A filled graph as two pieces whose bytes, one after the other, are an ONNX file: graph, weights."""
    graph, weights = onnx.ModelProto(), onnx.ModelProto()
    graph.CopyFrom(proto)
    del graph.graph.initializer[:]
    for tensor in proto.graph.initializer:
        piece = weights if tensor.name.endswith(FLOAT16) else graph
        piece.graph.initializer.append(tensor)
    weights.graph.initializer.sort(key=lambda tensor: tensor.name)
    return graph.SerializeToString(deterministic=True), weights.SerializeToString(deterministic=True)


# --8<-- [end:split_file]


def _torch_export(form: Form, config: ModelConfig) -> onnx.ModelProto:
    example = form.inputs_for(torch.ones(2, 5, dtype=torch.long), config)
    batch = torch.export.Dim("batch", min=1)
    positions = torch.export.Dim("positions", min=1, max=config.context_length)
    sizes = {IDS: {0: batch, 1: positions}, WANTED: {0: torch.export.Dim("wanted", min=1)}}
    noisy = logging.getLogger("torch.onnx")
    level, noisy.level = noisy.level, logging.ERROR
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            program = torch.onnx.export(
                form.eval(),
                example,
                input_names=list(form.inputs),
                output_names=form.outputs(config.n_layers),
                dynamic_shapes=tuple(sizes.get(name) for name in form.inputs),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
    finally:
        noisy.level = level
    if program is None:
        raise RuntimeError("torch.onnx.export returned no program")
    return program.model_proto


def _name_weights(proto: onnx.ModelProto, model: TinyArithmeticGPT) -> None:
    """Rename each stored weight to its parameter, with TRANSPOSED where the exporter turned it."""
    known = {}
    for name, parameter in model.named_parameters():
        values = parameter.detach().numpy()
        known[values.shape, values.tobytes()] = name
        if values.ndim == 2:
            known.setdefault((values.T.shape, values.T.tobytes()), name + TRANSPOSED)
    renamed = {}
    for tensor in proto.graph.initializer:
        values = numpy_helper.to_array(tensor)
        key = (values.shape, values.tobytes())
        if key in known:
            renamed[tensor.name] = tensor.name = known[key]
    for node in proto.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = renamed.get(name, name)


def _store_once(proto: onnx.ModelProto, model: TinyArithmeticGPT) -> None:
    """Turn a matrix when the file is opened, where the exporter stored it both ways.

    It does so with a small one, such as the embedding of a narrow model that the output shares.
    Raises `RuntimeError` when a parameter is then missing or stored more than once.
    """
    names = {tensor.name for tensor in proto.graph.initializer}
    twice = {name for name in names if name.removesuffix(TRANSPOSED) in names - {name}}
    kept = [tensor for tensor in proto.graph.initializer if tensor.name not in twice]
    turned = [
        helper.make_node("Transpose", [name.removesuffix(TRANSPOSED)], [name], perm=[1, 0])
        for name in sorted(twice)
    ]
    nodes = [*turned, *proto.graph.node]
    del proto.graph.initializer[:], proto.graph.node[:]
    proto.graph.initializer.extend(kept)
    proto.graph.node.extend(nodes)
    parameters = {name for name, _ in model.named_parameters()}
    stored = [name for tensor in kept if (name := tensor.name.removesuffix(TRANSPOSED)) in parameters]
    if sorted(stored) != sorted(parameters):
        raise RuntimeError(f"the traced graph does not store each parameter once, but {sorted(stored)}")


def _strip(proto: onnx.ModelProto) -> None:
    """Remove what only a debugger reads: stack traces, build paths, inner shapes."""
    for holder in (
        proto,
        proto.graph,
        *proto.graph.node,
        *proto.graph.input,
        *proto.graph.output,
        *proto.graph.initializer,
    ):
        holder.ClearField("doc_string")
        holder.ClearField("metadata_props")
    for node in proto.graph.node:
        node.ClearField("name")
    proto.graph.ClearField("value_info")
    proto.graph.name = "tiny_gpt"


def _write_out_gelu(proto: onnx.ModelProto) -> None:
    """Replace GELU(x) by x * (0.5 + 0.5 * erf(x / sqrt(2))), erf alone in float32."""
    for name, value in (("sqrt_2", math.sqrt(2)), ("half", 0.5)):
        proto.graph.initializer.append(numpy_helper.from_array(np.array(value), name))
    nodes = []
    for node in proto.graph.node:
        if node.op_type != "Gelu":
            nodes.append(node)
            continue
        x, y = node.input[0], node.output[0]
        for kind, inputs, output, to in (
            ("Div", [x, "sqrt_2"], "scaled", None),
            ("Cast", ["scaled"], "scaled32", onnx.TensorProto.FLOAT),
            ("Erf", ["scaled32"], "erf32", None),
            ("Cast", ["erf32"], "erf", onnx.TensorProto.DOUBLE),
            ("Mul", ["erf", "half"], "half_erf", None),
            ("Add", ["half_erf", "half"], "share", None),
            ("Mul", [x, "share"], "", None),
        ):
            own = [i if i in (x, "sqrt_2", "half") else f"{y}.{i}" for i in inputs]
            nodes.append(helper.make_node(kind, own, [f"{y}.{output}" if output else y]))
            if to is not None:
                nodes[-1].attribute.append(helper.make_attribute("to", to))
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
