"""One trained model to one ONNX file whose inner values have names.

The file takes `ids`, int64 [batch, positions], both of any size the model
permits, and gives the logits and what lies on the way to them. Weights are
stored as float16 and cast once when the session starts; checkpoints are rounded
to float16 before they are published, so the cast restores them exactly. Between
them and the outputs, which are float32, everything is float64 like the loaded
checkpoint, apart from erf, which onnxruntime has in float32 alone.
"""

import logging
import math
import warnings

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn

from tiny_gpt.config import ModelConfig
from tiny_gpt.model import TinyArithmeticGPT

OPSET = 20
TRANSPOSED = ".transposed"
INPUT_NAME = "ids"


def output_names(n_layers: int) -> list[str]:
    """The outputs of the graph in order."""
    names = ["logits", "token_rows", "position_rows", "embeddings"]
    for block in range(1, n_layers + 1):
        names += [
            f"block_{block}_attention_weights",
            f"block_{block}_after_attention",
            f"block_{block}_output",
        ]
    return [*names, "final_hidden"]


class NamedOutputs(nn.Module):
    """The model's own parts in the model's own order, with the values between them returned.

    Checks on the input stay outside: this is what is traced.
    """

    def __init__(self, model: TinyArithmeticGPT) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """[B, T] to the tensors of `output_names`."""
        model = self.model
        token_rows = model.token_embedding(ids)
        position_rows = model.position_embedding(torch.arange(ids.shape[1]))
        x = token_rows + position_rows
        between = [token_rows, position_rows, x]
        for block in model.blocks:
            query, key, value = block.attention.queries_keys_values(block.attention_norm(x))
            weights = block.attention.weights(query, key)
            after_attention = x + block.attention.mix(weights, value)
            x = after_attention + block.feed_forward(block.feed_forward_norm(after_attention))
            between += [weights, after_attention, x]
        final_hidden = model.final_norm(x)
        outputs = (model.lm_head(final_hidden), *between, final_hidden)
        return tuple(values.float() for values in outputs)


def trace(config: ModelConfig) -> onnx.ModelProto:
    """The graph of every model of this configuration, its weights named after the parameters.

    Traced from random weights, all different, so that each stored matrix can be
    told from the others and none is merged with an equal one.
    """
    model = TinyArithmeticGPT(config).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
    proto = _torch_export(model)
    _name_weights(proto, model)
    _strip(proto)
    _write_out_gelu(proto)
    onnx.checker.check_model(proto)
    return proto


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
        casts.append(
            helper.make_node("Cast", [f"{tensor.name}.float16"], [tensor.name], to=onnx.TensorProto.DOUBLE)
        )
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(stored), f"{tensor.name}.float16"))
    nodes = [*casts, *proto.graph.node]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    onnx.checker.check_model(proto)
    return proto


def _torch_export(model: TinyArithmeticGPT) -> onnx.ModelProto:
    batch = torch.export.Dim("batch", min=1)
    positions = torch.export.Dim("positions", min=1, max=model.config.context_length)
    noisy = logging.getLogger("torch.onnx")
    level, noisy.level = noisy.level, logging.ERROR
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            program = torch.onnx.export(
                NamedOutputs(model).eval(),
                (torch.ones(2, 5, dtype=torch.long),),
                input_names=[INPUT_NAME],
                output_names=output_names(model.config.n_layers),
                dynamic_shapes=({0: batch, 1: positions},),
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
    stored = {name.removesuffix(TRANSPOSED) for name in renamed.values()}
    missing = {name for name, _ in model.named_parameters()} - stored
    if missing or len(stored) != len(renamed):
        raise RuntimeError(f"the traced graph does not store each parameter once: {sorted(missing)}")
    for node in proto.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = renamed.get(name, name)


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
