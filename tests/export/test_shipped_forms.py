"""Each form of each size, put together from the shipped files, computes what PyTorch computes."""

import gzip
from typing import Any

import onnx
import pytest
import torch

from export.build import GENERATED
from export.forms import FORMS, Form, NamedOutputs
from export.models import check_parity
from export.shipping import ExportError
from export.site_files import shipped_entries, site_files
from tiny_gpt.checkpoint import SMALL, published
from tiny_gpt.model import TinyArithmeticGPT

TRAINED = published()[-1].stem


def shipped(manifest: dict[str, Any], name: str, form: type[Form]) -> onnx.ModelProto:
    """Graph and weights as the site delivers them, as one model."""
    entry = manifest["models"][name]
    files = (manifest["graphs"][entry["size"]][form.name]["file"], entry["file"])
    pieces = [gzip.decompress((GENERATED / file).read_bytes()) for file in files]
    return onnx.load_model_from_string(b"".join(pieces))


@pytest.mark.parametrize("form", FORMS, ids=[form.name for form in FORMS])
@pytest.mark.parametrize("name", [TRAINED, SMALL])
def test_parity_at_every_length(
    name: str, form: type[Form], manifest: dict[str, Any], exported: dict[str, TinyArithmeticGPT]
) -> None:
    proto = shipped(manifest, name, form)
    assert [output.name for output in proto.graph.output] == form.outputs(exported[name].config.n_layers)
    gap = check_parity(proto, exported[name], form)
    assert gap <= form.tolerance
    if form is NamedOutputs:
        assert gap == pytest.approx(manifest["models"][name]["largest_difference"], abs=form.tolerance / 10)


def test_other_weights_are_found(manifest: dict[str, Any], exported: dict[str, TinyArithmeticGPT]) -> None:
    for form in FORMS:
        other = TinyArithmeticGPT(exported[SMALL].config).double()
        other.load_state_dict(exported[SMALL].state_dict())
        with torch.no_grad():
            other.final_norm.bias[7] += 0.25
        with pytest.raises(ExportError, match=r"^logits differs from PyTorch"):
            check_parity(shipped(manifest, SMALL, form), other, form)


def test_all_of_it_is_published(manifest: dict[str, Any]) -> None:
    files = site_files()
    sizes = {entry["size"] for entry in manifest["models"].values()}
    assert set(manifest["graphs"]) == sizes == {"full", SMALL}
    for forms in manifest["graphs"].values():
        assert list(forms) == [form.name for form in FORMS]
    for entry in shipped_entries(manifest):
        assert files[f"assets/{entry['file']}"] == GENERATED / entry["file"]
    assert any(address.startswith(f"assets/models/{SMALL}-") for address in files)
