"""The manifest, the recorded walk and the golden cases say what Python computes."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

from export.build import GENERATED, ORT_PACKAGE, SITE_ASSETS, ort_file
from export.forms import IDS, output_names
from export.golden import golden_prefixes
from export.site_files import shipped_entries
from export.walk import DECIMALS, recorded_walk
from tiny_gpt import data, prompt, tokenizer
from tiny_gpt.checkpoint import SMALL, published, published_small, read_record, sha256
from tiny_gpt.config import ModelConfig
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import CharacterTokenizer

NAMES = [path.stem for path in published()]


@pytest.fixture(scope="module")
def golden(manifest: dict[str, Any]) -> dict[str, Any]:
    cases: dict[str, Any] = json.loads((GENERATED / "golden.json").read_text(encoding="utf-8"))
    return cases


def module_value(path: Path, name: str) -> Any:
    """What a generated module exports."""
    text = path.read_text(encoding="utf-8")
    assert text.isascii()
    found = re.fullmatch(rf"// [^\n]*\nexport const {name} = (.*);\n", text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_module_and_the_json_are_one_manifest(manifest: dict[str, Any]) -> None:
    assert module_value(GENERATED / "manifest.mjs", "manifest") == manifest


def test_each_published_checkpoint_is_listed_and_no_other_file_lies_there(manifest: dict[str, Any]) -> None:
    assert list(manifest["models"]) == [*NAMES, SMALL]
    assert [entry["size"] for entry in manifest["models"].values()] == [*["full"] * len(NAMES), SMALL]
    assert manifest["initial"] == NAMES[0]
    assert manifest["trained"] == NAMES[-1]
    for kind, entries in (
        ("models", manifest["models"].values()),
        ("runtime", [manifest["runtime"]["wasm"]]),
    ):
        assert sorted(f"{kind}/{path.name}" for path in (GENERATED / kind).iterdir()) == sorted(
            entry["file"] for entry in entries
        )


def test_files_have_the_sizes_hashes_and_content_that_the_manifest_says(manifest: dict[str, Any]) -> None:
    for entry in shipped_entries(manifest):
        packed = (GENERATED / entry["file"]).read_bytes()
        assert len(packed) == entry["bytes"]
        assert sha256(packed) == entry["sha256"]
        assert entry["file"].endswith(f"-{entry['sha256'][:12]}.bin")
        assert len(gzip.decompress(packed)) == entry["raw_bytes"]
        assert packed[:2] == b"\x1f\x8b" and packed[4:8] == bytes(4)  # gzip without a time stamp
    assert content(manifest["runtime"]["wasm"]) == ort_file("wasm").read_bytes()


def test_graph_and_weights_are_the_published_file(manifest: dict[str, Any]) -> None:
    for name in [*NAMES, SMALL]:
        entry = manifest["models"][name]
        pieces = content(manifest["graphs"][entry["size"]]["plain"]) + content(entry)
        assert (GENERATED / "onnx" / f"{name}.onnx").read_bytes() == pieces


def content(entry: dict[str, Any]) -> bytes:
    """What a shipped file holds."""
    return gzip.decompress((GENERATED / entry["file"]).read_bytes())


def test_steps_come_from_the_records(manifest: dict[str, Any], records: dict[str, dict[str, Any]]) -> None:
    with_small = {**records, SMALL: read_record(published_small())}
    for name, entry in manifest["models"].items():
        assert entry["step"] == with_small[name]["step"]
        assert entry["problems_seen"] == with_small[name]["problems_seen"]


def test_the_runtime_version_is_the_installed_and_the_locked_one(manifest: dict[str, Any]) -> None:
    installed = json.loads((ORT_PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    wanted = json.loads((SITE_ASSETS / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert manifest["runtime"]["version"] == installed == wanted["onnxruntime-web"]


def test_listed_outputs_are_the_graphs(manifest: dict[str, Any]) -> None:
    graph = onnx.load(GENERATED / "onnx" / f"{NAMES[-1]}.onnx").graph
    assert [i.name for i in graph.input] == [manifest["model"]["input"]] == [IDS]
    assert [o.name for o in graph.output] == manifest["model"]["outputs"] == output_names(2)


def test_constants_are_pythons(manifest: dict[str, Any], models: dict[str, TinyArithmeticGPT]) -> None:
    config = ModelConfig()
    assert manifest["model"]["config"] == config.to_dict()
    assert manifest["model"]["parameters"] == models[NAMES[-1]].parameter_breakdown()
    vocabulary = manifest["vocabulary"]
    assert vocabulary["name"] == tokenizer.VOCABULARY
    assert vocabulary["size"] == CharacterTokenizer.vocab_size == config.vocab_size
    assert vocabulary["first_character"] == tokenizer.FIRST_CHARACTER
    assert vocabulary["first_character_id"] == CharacterTokenizer.token_id(tokenizer.FIRST_CHARACTER)
    assert {int(i): name for i, name in vocabulary["special"].items()} == tokenizer.SPECIAL_NAMES
    rules = manifest["prompt"]
    assert rules["longest_prefix"] == prompt.LONGEST_PREFIX == config.context_length - 1
    assert rules["largest_operand"] == prompt.LARGEST_OPERAND
    assert rules["messages"] == dict(prompt.MESSAGES)
    assert rules["typed_for"] == dict(prompt.TYPED_FOR)


def test_problems_are_drawn_and_split_as_in_training(
    manifest: dict[str, Any], records: dict[str, dict[str, Any]]
) -> None:
    rules = manifest["data"]
    assert rules["split"] == {
        "salt": data.SPLIT_SALT,
        "parts": data.SPLIT_PARTS,
        "held_out_parts": data.HELD_OUT_PARTS,
        "tuning_parts": data.TUNING_PARTS,
    }
    assert rules["mix"] == records[NAMES[-1]]["recipe"]["mix"]
    assert rules["draws_per_candidate"] == data.DRAWS_PER_CANDIDATE
    assert rules["row_length"] == data.ROW_LENGTH


def test_the_recorded_walk_is_the_initial_models(
    manifest: dict[str, Any], models: dict[str, TinyArithmeticGPT]
) -> None:
    stored = module_value(GENERATED / "walk.mjs", "walk")
    assert close(stored, recorded_walk(models[NAMES[0]]))
    assert len(stored["positions"]) == 1 + len(stored["text"])


def close(mine: Any, other: Any) -> bool:
    """Equal, but for the last decimal of a number."""
    if isinstance(mine, dict):
        return mine.keys() == other.keys() and all(close(mine[key], other[key]) for key in mine)
    if isinstance(mine, list):
        return len(mine) == len(other) and all(map(close, mine, other))
    if isinstance(mine, float):
        return abs(mine - other) <= 2 * 10**-DECIMALS
    return bool(mine == other)


def test_golden_prefixes_have_every_length_and_real_problems(golden: dict[str, Any]) -> None:
    prefixes = [case["prefix"] for case in golden["cases"]]
    assert prefixes == golden_prefixes()
    assert {len(text) for text in prefixes} == set(range(prompt.LONGEST_PREFIX + 1))
    assert {"", "1+1=", "1+2=", "12+34=", "7-12="} <= set(prefixes)


def test_golden_logits_are_what_pytorch_computes_now(
    golden: dict[str, Any], models: dict[str, TinyArithmeticGPT]
) -> None:
    for case in golden["cases"][::5]:
        assert case["ids"] == CharacterTokenizer().encode(case["prefix"])
        assert set(case["logits"]) == {NAMES[0], NAMES[-1]}
        for name, logits in case["logits"].items():
            again = next_token_logits(models[name], case["prefix"]).double()
            assert torch.allclose(torch.tensor(logits).double(), again, rtol=1e-5, atol=1e-5)


def test_golden_rules_are_pythons(golden: dict[str, Any]) -> None:
    names = [CharacterTokenizer().token_name(i) for i in range(CharacterTokenizer.vocab_size)]
    assert golden["token_names"] == names
    for case in golden["bad_prefixes"]:
        with pytest.raises(prompt.PromptError) as refusal:
            prompt.check_prefix(case["prefix"])
        assert str(refusal.value) == case["message"]
    for case in golden["unseen_operands"]:
        assert prompt.unseen_operands(case["prefix"]) == case["warnings"]
    for case in golden["messages"]:
        assert prompt.message(case["name"], **case["values"]) == case["text"]
        assert "{" not in case["text"]
    assert {case["name"] for case in golden["messages"]} == set(prompt.MESSAGES)
