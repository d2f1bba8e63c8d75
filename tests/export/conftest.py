"""The export's results, brought up to date once, and the models they were made from."""

from typing import Any

import onnx
import pytest

from export.build import build
from export.graph import trace
from export.site_files import read_manifest
from tiny_gpt.checkpoint import SMALL, load_model, published, published_small, read_record
from tiny_gpt.config import ModelConfig
from tiny_gpt.model import TinyArithmeticGPT


@pytest.fixture(scope="session")
def manifest() -> dict[str, Any]:
    build()
    return read_manifest()


@pytest.fixture(scope="session")
def models() -> dict[str, TinyArithmeticGPT]:
    """Each published checkpoint by name, in order of step; shared, not to be changed."""
    return {path.stem: load_model(path) for path in published()}


@pytest.fixture(scope="session")
def records() -> dict[str, dict[str, Any]]:
    """The JSON beside each published checkpoint."""
    return {path.stem: read_record(path) for path in published()}


@pytest.fixture(scope="session")
def exported(models: dict[str, TinyArithmeticGPT]) -> dict[str, TinyArithmeticGPT]:
    """Every exported model by name: the published checkpoints and the smaller model."""
    return {**models, SMALL: load_model(published_small())}


@pytest.fixture(scope="session")
def graph() -> onnx.ModelProto:
    """The graph traced anew, in this process."""
    return trace(ModelConfig())
