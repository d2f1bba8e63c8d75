"""Numbers in the prose come from the model, the records and the exported files."""

import gzip
import json
from typing import Any

import pytest
import torch

from export.build import GENERATED, ROOT, ort_file
from export.facts import FactError, fill_placeholders
from export.facts.model import tokens_table
from export.facts.training import held_out_table
from export.walk import recorded_walk
from tiny_gpt.checkpoint import CHECKPOINTS, published
from tiny_gpt.data import HELD_OUT, problems_in, split_of
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT

NAMES = [path.stem for path in published()]


@pytest.fixture(scope="module")
def facts(manifest: dict[str, Any]) -> dict[str, str]:
    values: dict[str, str] = json.loads((GENERATED / "facts.json").read_text(encoding="utf-8"))
    return values


def test_placeholders_are_filled_with_and_without_spaces() -> None:
    facts = {"a.b_1": "7", "c": "8 | 9"}
    assert fill_placeholders("x {{ a.b_1 }} {{c}}{{a.b_1}} y", facts, "p.md") == "x 7 8 | 97 y"
    assert fill_placeholders("no braces {a.b_1} { { c } }", facts, "p.md") == "no braces {a.b_1} { { c } }"


def test_an_unknown_fact_names_page_and_key() -> None:
    with pytest.raises(FactError, match=r"^part-1/page\.md names the fact model\.wings, which"):
        fill_placeholders("{{ model.wings }}", {"model.width": "128"}, "part-1/page.md")


def test_all_facts_but_plots_are_plain_text(facts: dict[str, str]) -> None:
    for key, value in facts.items():
        assert isinstance(value, str) and value != "", key
        assert "{{" not in value, key
        assert value.startswith("<svg ") if key.endswith("_plot") else "<" not in value, key


def test_sizes_are_the_specs(facts: dict[str, str]) -> None:
    expected = {
        "parameters": "413,440",
        "token_embedding": "12,544",
        "position_embedding": "4,096",
        "blocks": "396,544",
        "final_norm": "256",
        "bytes": "1,653,760",
        "vocabulary": "98",
        "context": "32",
        "longest_prefix": "31",
        "head_width": "32",
    }
    assert {name: facts[f"model.{name}"] for name in expected} == expected


def test_qkv_parameters_are_counted(facts: dict[str, str], models: dict[str, TinyArithmeticGPT]) -> None:
    counts = {n: p.numel() for n, p in models[NAMES[0]].named_parameters() if n.startswith("blocks.0.")}
    qkv = sum(count for name, count in counts.items() if ".qkv." in name)
    assert facts["model.qkv_parameters"] == f"{qkv:,}"
    assert facts["model.block_parameters"] == f"{sum(counts.values()):,}"


def test_the_walks_rows_are_the_specs(facts: dict[str, str]) -> None:
    rows = {
        "token_row": ("0.018", "0.053", "0.032", "−0.024"),
        "position_row": ("0.012", "0.010", "−0.013", "−0.011"),
        "sum": ("0.029", "0.062", "0.019", "−0.035"),
    }
    for row, numbers in rows.items():
        assert tuple(facts[f"walk.{row}.{place}"] for place in (1, 2, 3, 4)) == numbers


def test_the_held_out_table_is_the_records(facts: dict[str, str], records: dict[str, dict[str, Any]]) -> None:
    rows = [row for row in records[NAMES[-1]]["held_out"] if row["carries"] is None]
    lines = facts["train.held_out_table"].splitlines()
    assert facts["train.held_out_table"] == held_out_table(records[NAMES[-1]]["held_out"])
    assert len(lines) == 2 + len(rows)
    for line, row in zip(lines[2:], rows, strict=True):
        name, digits, share, right, problems = (cell.strip() for cell in line.strip("|").split("|"))
        assert name == ("a + b" if row["operation"] == "+" else "a − b")
        assert digits.split()[0] == (str(row["digits"]) if row["digits"] else "all")
        assert int(problems.replace(",", "")) == row["problems"]
        assert int(right.replace(",", "")) == row["right"]
        assert float(share.removesuffix(" %")) == 10_000 * row["right"] // row["problems"] / 100


def test_a_share_below_all_is_never_shown_as_all() -> None:
    row = {"operation": "+", "digits": None, "carries": None, "problems": 50_000, "right": 49_999}
    assert "100.00 %" not in held_out_table([row])
    assert "100.00 %" in held_out_table([{**row, "right": 50_000}])


def test_training_facts_are_the_records(facts: dict[str, str], records: dict[str, dict[str, Any]]) -> None:
    initial, trained = records[NAMES[0]], records[NAMES[-1]]
    assert facts["train.steps"] == f"{trained['step']:,}"
    assert facts["train.batch_size"] == f"{trained['recipe']['batch_size']:,}"
    assert facts["train.problems_seen"] == f"{trained['problems_seen']:,}"
    assert facts["loss.initial"] == f"{initial['held_out_loss']:.3f}"
    assert facts["loss.trained"] == f"{trained['held_out_loss']:.3f}"
    assert facts["train.small_right"] == f"{trained['operands_0_to_99']['right']:,}"
    assert facts["train.small_problems"] == f"{trained['operands_0_to_99']['problems']:,}"


def test_held_out_pairs_are_counted(facts: dict[str, str]) -> None:
    assert facts["train.held_out_problems"] == f"{len(problems_in(HELD_OUT)):,}"
    pairs = sum(split_of(a, b) == HELD_OUT for a in range(60) for b in range(a, 60))
    small = problems_in(HELD_OUT, 59)
    assert len({frozenset(pair) for pair in zip(small.a.tolist(), small.b.tolist(), strict=True)}) == pairs
    held_out = problems_in(HELD_OUT)
    all_pairs = {
        (min(a, b), max(a, b)) for a, b in zip(held_out.a.tolist(), held_out.b.tolist(), strict=True)
    }
    assert facts["train.held_out_pairs"] == f"{len(all_pairs):,}"


@pytest.mark.parametrize(("role", "name"), [("initial", NAMES[0]), ("trained", NAMES[-1])])
def test_example_facts_are_what_the_model_says(
    role: str, name: str, facts: dict[str, str], models: dict[str, TinyArithmeticGPT]
) -> None:
    rows = {key: next_token_logits(models[name], text) for key, text in (("1", "1+1="), ("2", "1+2="))}
    for key, row in rows.items():
        share = 100 * float(torch.softmax(row, dim=0).max())
        assert 0 <= share - float(facts[f"{role}.top_percent_1_plus_{key}"]) < 0.01, "rounded down"
    change = float((rows["1"] - rows["2"]).abs().max())
    assert float(facts[f"{role}.largest_change"]) == pytest.approx(change, abs=0.0006)


def test_download_sizes_are_those_of_the_files(facts: dict[str, str], manifest: dict[str, Any]) -> None:
    runtime = manifest["runtime"]["wasm"]["bytes"]
    runtime += sum(ort_file(role).stat().st_size for role in ("module", "glue"))
    weights = manifest["models"][manifest["trained"]]["bytes"] + manifest["graphs"]["full"]["plain"]["bytes"]
    assert manifest["runtime"]["bytes"] == runtime, "the widgets name the size that the pages name"
    assert facts["site.runtime_mb"] == f"{runtime / 1e6:.2f}"
    assert facts["site.weights_mb"] == f"{weights / 1e6:.2f}"
    assert facts["site.first_use_mb"] == f"{(runtime + weights) / 1e6:.2f}"


def test_the_tokens_table_pairs_each_token_with_the_next(models: dict[str, TinyArithmeticGPT]) -> None:
    lines = tokens_table(recorded_walk(models[NAMES[0]])).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0] for row in cells] == [str(i) for i in range(len(cells))]
    assert [row[1] for row in cells] == ["BOS", "`1`", "`+`", "`1`", "`=`", "`2`"]
    assert [row[3] for row in cells] == [*[row[1] for row in cells[1:]], "EOS"]


def test_sizes_of_downloads_are_the_files(facts: dict[str, str]) -> None:
    (wheel,) = (GENERATED / "package").glob("*.whl")
    assert facts["files.wheel_size"] == f"{wheel.stat().st_size / 1e6:.2f}\u00a0MB"
    for path in (ROOT / "model_src/tiny_gpt").glob("*.py"):
        (line,) = [line for line in facts["files.sources"].splitlines() if f"`{path.name}`" in line]
        assert f"| {max(1, round(path.stat().st_size / 1000))}\u00a0kB |" in line
        assert line.split("|")[3].strip(), "the file's docstring says nothing"
    for name in (NAMES[0], NAMES[-1]):
        weights, onnx = CHECKPOINTS / f"{name}.safetensors", GENERATED / "onnx" / f"{name}.onnx"
        for path in (weights, weights.with_suffix(".json"), onnx):
            (line,) = [line for line in facts["files.models"].splitlines() if path.name in line]
            count = path.stat().st_size
            size = f"{count / 1e6:.2f}\u00a0MB" if count >= 1e6 else f"{round(count / 1e3)}\u00a0kB"
            assert line.startswith(f"| [{path.name}](downloads/{path.name}){{ download }} | {size} |")


def test_the_way_into_the_browser_in_numbers(
    facts: dict[str, str], manifest: dict[str, Any], models: dict[str, TinyArithmeticGPT]
) -> None:
    trained = manifest["models"][manifest["trained"]]
    parity = json.loads(gzip.decompress((GENERATED / manifest["parity"]["file"]).read_bytes()))
    assert facts["deploy.prefixes"] == str(len(parity)) == str(manifest["parity"]["prefixes"])
    assert facts["deploy.logits"] == f"{98 * len(parity):,}"
    assert {len(case["prefix"]) for case in parity} == set(range(32))
    for case in parity[::10]:
        expected = next_token_logits(models[manifest["trained"]], case["prefix"]).tolist()
        assert case["logits"] == pytest.approx(expected, rel=1e-8)
    assert facts["deploy.limit"] == "1e-5"
    assert float(facts["deploy.difference"]) == pytest.approx(trained["largest_difference"], rel=0.05)
    assert float(facts["deploy.difference"]) < 1e-5 and float(facts["deploy.float32_difference"]) > 1e-6
    lines = facts["deploy.table"].splitlines()
    assert f"| weights | {trained['raw_bytes']:,} | {trained['bytes']:,} |" in lines
    numbers = [
        [int(cell.strip(" *").replace(",", "")) for cell in line.split("|")[2:4]] for line in lines[2:]
    ]
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    graph = manifest["graphs"]["full"]["plain"]["bytes"]
    assert numbers[-1][1] == manifest["runtime"]["bytes"] + graph + trained["bytes"]
