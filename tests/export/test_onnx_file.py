"""The .onnx files themselves: one file each, small, nothing in them that only a debugger reads."""

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, numpy_helper

from export.build import GENERATED, ROOT
from export.forms import IDS, output_names
from export.graph import OPSET, TRANSPOSED, fill, split_file, trace
from tiny_gpt.checkpoint import SMALL, published
from tiny_gpt.model import TinyArithmeticGPT

NAMES = [path.stem for path in published()]
LARGEST_FILE = 900_000
# Versions that readers two years older than ours know too. That the npm package reads them, tests/js shows.
NEWEST_OPSET, NEWEST_IR = 20, 10


@pytest.fixture(scope="module", params=[*NAMES, SMALL])
def file(request: pytest.FixtureRequest, manifest: dict[str, Any]) -> Path:
    return GENERATED / "onnx" / f"{request.param}.onnx"


def test_each_checkpoint_is_one_small_file(manifest: dict[str, Any]) -> None:
    folder = GENERATED / "onnx"
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{name}.onnx" for name in sorted([*NAMES, SMALL])
    ]
    sizes = {path.stat().st_size for path in folder.iterdir() if path.stem != SMALL}
    assert max(sizes) < LARGEST_FILE
    assert len(sizes) == 1  # one graph, other numbers
    assert (folder / f"{SMALL}.onnx").stat().st_size < max(sizes) / 4


def test_nothing_is_kept_outside_the_file(file: Path) -> None:
    proto = onnx.load(file, load_external_data=False)
    for tensor in proto.graph.initializer:
        assert tensor.data_location == TensorProto.DEFAULT
        assert not tensor.external_data
    onnx.checker.check_model(proto, full_check=True)


def test_no_dropout_and_nothing_random(file: Path) -> None:
    kinds = {node.op_type for node in onnx.load(file).graph.node}
    assert not {kind for kind in kinds if re.search("Dropout|Random|Bernoulli|Multinomial|If|Loop", kind)}
    assert not onnx.load(file).functions


def test_opset_and_ir_are_ones_the_browser_reads(file: Path) -> None:
    proto = onnx.load(file)
    assert [(opset.domain, opset.version) for opset in proto.opset_import] == [("", OPSET)]
    assert OPSET <= NEWEST_OPSET
    assert proto.ir_version <= NEWEST_IR


def test_each_parameter_is_stored_once_as_float16_and_cast(
    file: Path, exported: dict[str, TinyArithmeticGPT]
) -> None:
    proto, model = onnx.load(file), exported[file.stem]
    parameters = dict(model.named_parameters())  # the shared matrix is one parameter
    halves = [t for t in proto.graph.initializer if t.data_type == TensorProto.FLOAT16]
    others = [t for t in proto.graph.initializer if t.data_type != TensorProto.FLOAT16]
    stored = {}
    for tensor in halves:
        values = numpy_helper.to_array(tensor).astype(np.float32)
        name = tensor.name.removesuffix(".float16")
        stored[name.removesuffix(TRANSPOSED)] = values.T if name.endswith(TRANSPOSED) else values
    assert sorted(stored) == sorted(parameters)
    for name, values in stored.items():
        assert np.array_equal(values, parameters[name].detach().numpy()), name
    assert sum(values.size for values in stored.values()) == model.parameter_breakdown()["total"]
    assert sum(numpy_helper.to_array(tensor).size for tensor in others) < 100
    casts = {node.input[0]: node for node in proto.graph.node if node.op_type == "Cast"}
    readers = [name for node in proto.graph.node for name in node.input]
    for tensor in halves:
        assert tensor.name in casts
        assert readers.count(tensor.name) == 1


def test_input_and_outputs_are_named_and_sizes_are_free(
    file: Path, exported: dict[str, TinyArithmeticGPT]
) -> None:
    graph = onnx.load(file).graph
    (ids,) = graph.input
    assert ids.name == IDS
    assert ids.type.tensor_type.elem_type == TensorProto.INT64
    assert [bool(size.dim_param) for size in ids.type.tensor_type.shape.dim] == [True, True]
    assert [output.name for output in graph.output] == output_names(exported[file.stem].config.n_layers)
    assert {output.type.tensor_type.elem_type for output in graph.output} == {TensorProto.FLOAT}


def test_no_paths_stack_traces_or_program_names_inside(file: Path) -> None:
    data = file.read_bytes()
    proto = onnx.load(file)
    texts = b"".join(re.findall(rb"[\x20-\x7e]{6,}", data))
    for word in (str(ROOT).encode(), b"site-packages", b".py", b"Traceback", b"nn.Module", b"/home", b"/tmp"):
        assert word not in texts, word
    assert not proto.doc_string and not proto.graph.doc_string and not proto.metadata_props
    for holder in (*proto.graph.node, *proto.graph.initializer, *proto.graph.input, *proto.graph.output):
        assert not holder.doc_string
        assert not holder.metadata_props


def test_a_second_export_gives_the_same_bytes(
    file: Path, graph: onnx.ModelProto, exported: dict[str, TinyArithmeticGPT]
) -> None:
    model = exported[file.stem]
    own_graph = trace(model.config) if file.stem == SMALL else graph
    again = split_file(fill(own_graph, model))
    assert b"".join(again) == file.read_bytes()


@pytest.mark.parametrize("value", [1 / 3, 70_000.0, 1e-9, float("nan")])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_weight_that_float16_can_not_hold_is_refused(
    value: float, graph: onnx.ModelProto, models: dict[str, TinyArithmeticGPT]
) -> None:
    model = copy.deepcopy(models[NAMES[0]])
    with torch.no_grad():
        model.blocks[1].feed_forward.expand.weight[3, 4] = value
    with pytest.raises(ValueError, match=r"^blocks\.1\.feed_forward\.expand\.weight holds numbers"):
        fill(graph, model)


def test_filling_leaves_the_traced_graph_alone(
    graph: onnx.ModelProto, models: dict[str, TinyArithmeticGPT]
) -> None:
    before = graph.SerializeToString(deterministic=True)
    first, last = (fill(graph, models[name]) for name in (NAMES[0], NAMES[-1]))
    assert graph.SerializeToString(deterministic=True) == before
    assert first != last
