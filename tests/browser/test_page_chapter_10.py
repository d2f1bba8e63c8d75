"""Chapter 10: the device report is what PyTorch and the files say, and a reader's own model is opened or refused."""

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Locator, Page, expect

from built_site import CHAPTER_10, OpenPage, Site
from live_parts import LivePart
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import CharacterTokenizer

Make = Callable[..., Path]
# A copy of the worker's answer is changed on its way to the page, so that one logit is wrong.
SPOIL = """
const add = Worker.prototype.addEventListener;
Worker.prototype.addEventListener = function (kind, listener) {
  add.call(this, kind, (event) => {
    const logits = event.data?.result?.outputs?.logits;
    if (logits) logits.data[logits.data.length - 1] += 0.01;
    listener(event);
  });
};
"""
DROP = """
([name, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const files = new DataTransfer();
  files.items.add(new File([bytes], name));
  const zone = document.querySelector(".own-zone");
  for (const kind of ["dragover", "drop"])
    zone.dispatchEvent(new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));
}
"""


class Report(LivePart):
    element, label, press = "device-report", "", "Measure on this device"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.stop = self.root.get_by_role("button", name="Stop")
        self.results = self.root.locator(".report-results")

    def rows(self, table: int) -> dict[str, list[str]]:
        """The first cell of each row: the other cells."""
        cells: list[list[str]] = (
            self.results.locator("table")
            .nth(table)
            .evaluate(
                "table => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
            )
        )
        return {name: values for name, *values in cells}


class Own(LivePart):
    element, label, press = "own-model", "Prefix", "Score with both"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.file = self.root.get_by_label("Your .onnx file")
        self.results = self.root.locator(".own-results")

    def rows(self) -> list[tuple[int, float, float]]:
        """Token ID and both probabilities as shown, from the top."""
        cells = self.results.locator("tbody tr").evaluate_all(
            "rows => rows.map((row) => [Number(row.dataset.id), ...[1, 2].map((i) => Number(row.cells[i].textContent))])"
        )
        return [tuple(row) for row in cells]


def whole(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A small model file: a table of scores picked by the last token alone, or something that is none."""

    def build(name: str, **how: Any) -> Path:
        width, kind = how.get("width", 98), how.get("kind", TensorProto.INT64)
        table = numpy_helper.from_array(
            np.random.default_rng(0).random((98, width), dtype=np.float32), "table"
        )
        ids = how.get("ids", "ids")
        inputs = [helper.make_tensor_value_info(ids, kind, how.get("shape", ("rows", "positions")))]
        if how.get("second"):
            inputs.append(helper.make_tensor_value_info("switches", TensorProto.FLOAT, [3]))
        nodes = [
            helper.make_node("Cast", [ids], ["whole"], to=TensorProto.INT64),
            helper.make_node("Gather", ["table", "whole"], ["picked"]),
            helper.make_node(how.get("operation", "Identity"), ["picked"], [how.get("logits", "logits")]),
        ]
        outputs = [helper.make_tensor_value_info(how.get("logits", "logits"), TensorProto.FLOAT, None)]
        graph = helper.make_graph(nodes, "small", inputs, outputs, [table])
        opset = helper.make_opsetid("", how.get("opset", 20))
        model = helper.make_model(graph, opset_imports=[opset], ir_version=how.get("ir_version", 10))
        path = tmp_path / name
        if how.get("apart"):
            onnx.save_model(
                model, str(path), save_as_external_data=True, location="weights.data", size_threshold=0
            )
        else:
            path.write_bytes(model.SerializeToString())
        return path

    return build


def onnx_file(site: Site, name: str) -> Path:
    return site.folder / "downloads" / f"{site.manifest[name]}.onnx"


def test_the_report_passes_and_shows_the_manifests_numbers(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_10)
    report = Report(page)
    report.button.click()
    report.wait("ready")
    parity = site.manifest["parity"]
    expect(report.status).to_contain_text(f"Passed: the largest of {parity['logits']:,} differences")
    measured = report.rows(0)
    assert measured["Compared with PyTorch"] == [
        f"{parity['prefixes']} prefixes, {parity['logits']:,} logits"
    ]
    assert 0 < float(measured["Largest difference"][0]) <= parity["limit"] == 1e-5
    assert float(measured["Largest difference in the build"][0]) == pytest.approx(
        site.manifest["models"][site.manifest["trained"]]["largest_difference"], rel=0.05
    )
    assert 0 < float(measured["Start-up, download included"][0].removesuffix(" s")) < 60
    for positions in (5, 32):
        (line,) = measured[f"One pass, {positions} positions"]
        median, low, high = map(float, re.findall(r"([\d.]+) ms", line))
        assert line.startswith("median of 30: ") and 0 <= low <= median <= high
    files = report.rows(1)
    model = site.manifest["models"][site.manifest["trained"]]
    for name, entry in {
        "runtime, WASM": site.manifest["runtime"]["wasm"],
        "graph": site.manifest["graphs"][model["size"]]["plain"],
        "weights": model,
    }.items():
        unpacked, packed, moved = map(whole, files[name])
        assert (unpacked, packed) == (entry["raw_bytes"], entry["bytes"])
        assert packed <= moved <= packed + 2000, "the first visit moves the file and its headers"
    assert [whole(cell) for cell in files["together"]] == [
        sum(whole(row[column]) for name, row in files.items() if name != "together") for column in range(3)
    ]
    report.root.get_by_text("The results as text").click()
    text = report.root.get_by_label("Measure and value").input_value()
    for name, cells in {**measured, **files}.items():
        assert "\t".join([name, *cells]) in text
    report.root.get_by_role("button", name="Copy").click()
    expect(report.root.get_by_text(re.compile("Copied|The text is selected"))).to_be_visible()


def test_the_reports_logits_are_pytorchs(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT
) -> None:
    page = open_page(CHAPTER_10)
    report = Report(page)
    report.button.click()
    report.wait("ready")
    (place,) = report.rows(0)["Where it is largest"]
    found = re.fullmatch(r'"(.*)", token (.+): (-?[\d.]+) here, (-?[\d.]+) in PyTorch', place)
    assert found
    prefix, name, here, pytorch = found.groups()
    names = [CharacterTokenizer().token_name(i) for i in range(98)]
    logit = float(next_token_logits(trained_model, prefix)[names.index({"space": " "}.get(name, name))])
    assert float(pytorch) == pytest.approx(logit, abs=1e-6)
    difference = float(report.rows(0)["Largest difference"][0])
    assert abs(float(here) - logit) / max(1, abs(logit)) == pytest.approx(difference, abs=2e-7)


def test_a_wrong_logit_fails_the_report(open_page: OpenPage) -> None:
    page = open_page("about/")
    page.add_init_script(SPOIL)
    page.goto(page.url.replace("about/", CHAPTER_10))
    report = Report(page)
    report.button.click()
    report.wait("ready")
    expect(report.status).to_contain_text("Failed: ")


def test_stop_ends_the_report_and_it_can_start_again(open_page: OpenPage) -> None:
    report = Report(open_page(CHAPTER_10))
    report.button.focus()
    report.page.keyboard.press("Enter")
    expect(report.status).to_contain_text("Comparing")
    expect(report.stop).to_be_focused()
    report.page.keyboard.press("Enter")
    report.wait("idle")
    expect(report.status).to_contain_text("Stopped.")
    expect(report.results).to_be_hidden()
    expect(report.button).to_be_focused()
    report.page.keyboard.press("Enter")
    report.wait("ready")
    expect(report.button).to_be_focused()


def test_a_lost_connection_ends_in_a_sentence_and_retry_works(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_10, rough=True)
    report = Report(page)
    page.context.route("**/checks/*", lambda route: route.abort())
    report.button.click()
    report.wait("error")
    expect(report.alert).to_contain_text("PyTorch's list of logits did not arrive")
    page.context.unroute("**/checks/*")
    report.retry.click()
    report.wait("ready")


@pytest.mark.parametrize("name", ["trained", "initial"])
def test_an_exported_file_scores_like_pytorch(
    name: str,
    open_page: OpenPage,
    site: Site,
    trained_model: TinyArithmeticGPT,
    random_model: TinyArithmeticGPT,
) -> None:
    own = Own(open_page(CHAPTER_10))
    file = onnx_file(site, name)
    own.file.set_input_files(file)
    own.wait("ready")
    expect(own.root.locator(".own-card")).to_contain_text(f"{file.name}, {file.stat().st_size:,} bytes")
    for prefix in ("12+34=", "", "999-1000=-1"):
        own.submit(prefix)
        expect(own.results.locator("code").first).to_have_text(f'"{prefix}"')
        rows = own.rows()
        mine = {"trained": trained_model, "initial": random_model}[name]
        for column, model in ((1, mine), (2, trained_model)):
            shares = next_token_logits(model, prefix).softmax(dim=0)
            assert [row[column] for row in rows] == pytest.approx(
                [float(shares[row[0]]) for row in rows], abs=6e-7
            )
        assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
        tops = [
            CharacterTokenizer().token_name(int(next_token_logits(model, prefix).argmax()))
            for model in (mine, trained_model)
        ]
        said = f"Both put {tops[0]} on top" if tops[0] == tops[1] else f"Yours puts {tops[0]} on top"
        expect(own.status).to_contain_text(said)


def test_a_dropped_file_is_opened(open_page: OpenPage, make: Make) -> None:
    own = Own(open_page(CHAPTER_10))
    own.wait("idle")
    data = make("mine.onnx").read_bytes()
    own.page.evaluate(DROP, ["mine.onnx", base64.b64encode(data).decode("ascii")])
    own.wait("ready")
    own.box.focus()
    own.page.keyboard.press("Enter")
    expect(own.results.locator("tbody tr")).to_have_count(98)
    own.box.fill("1+1")
    expect(own.results).to_be_hidden()
    own.submit("1−1=")
    own.expect_error("Type - instead.")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown operation": (
        {"operation": "Frobnicate"},
        "uses an operation that this page's runtime does not have",
    ),
    "another input": ({"ids": "tokens"}, "The inputs of this model: tokens. It must have one input, ids"),
    "two inputs": ({"second": True}, "The inputs of this model: ids, switches."),
    "an input of another type": ({"kind": TensorProto.FLOAT}, "The input ids is float32 of shape"),
    "an input of one dimension": ({"shape": ("positions",)}, "The input ids is int64 of shape [positions]"),
    "a fixed length": ({"shape": (1, 8)}, "The input ids has the fixed shape [1, 8]"),
    "another output": ({"logits": "scores"}, "The outputs of this model: scores. One of them must be logits"),
    "another vocabulary": ({"width": 37}, "It must be float32 of shape [rows, positions, 98]"),
    "a newer opset": ({"opset": 99}, "written for a newer version of ONNX"),
    "a newer format": ({"ir_version": 99}, "written for a newer version of ONNX"),
    "weights in another file": ({"apart": True}, "its weights lie in another file"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_file_that_does_not_fit_is_refused_in_a_sentence(
    what: str, open_page: OpenPage, make: Make
) -> None:
    how, sentence = REFUSED[what]
    page = open_page(CHAPTER_10, rough=True)  # the runtime writes to the console what it refuses
    own = Own(page)
    own.file.set_input_files(make("mine.onnx", **how))
    own.wait("error")
    expect(own.alert).to_contain_text("mine.onnx: ")
    expect(own.alert).to_contain_text(sentence)
    expect(own.box).to_be_hidden()
    own.file.set_input_files(make("good.onnx"))
    own.wait("ready")


def test_what_is_no_model_or_too_large_is_refused(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    own = Own(open_page(CHAPTER_10, rough=True))
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(onnx_file(site, "trained").read_bytes()[:-1000])
    text = tmp_path / "text.onnx"
    text.write_text("This is a letter.\n" * 50, encoding="utf-8")
    empty = tmp_path / "empty.onnx"
    empty.touch()
    for path in (cut, text, empty):
        own.file.set_input_files(path)
        expect(own.alert).to_contain_text(f"{path.name}: This is not an ONNX model, or it was cut short.")
    large = tmp_path / "large.onnx"
    large.write_bytes(bytes(site.manifest["own_model"]["largest_bytes"] + 1))
    own.file.set_input_files(large)
    expect(own.alert).to_contain_text("large.onnx: This file has 20.0 MB, and this page opens at most 20 MB.")


def test_a_run_that_fails_keeps_the_file(open_page: OpenPage, tmp_path: Path, make: Make) -> None:
    """A model that knows fewer tokens than the text needs: the file stays, another prefix works."""
    model = onnx.load(make("few.onnx"))
    table = numpy_helper.to_array(model.graph.initializer[0])[:50]
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(table, "table"))
    path = tmp_path / "fewer.onnx"
    path.write_bytes(model.SerializeToString())
    own = Own(open_page(CHAPTER_10, rough=True))
    own.file.set_input_files(path)
    own.wait("ready")
    own.submit("abc")
    own.wait("error")
    expect(own.alert).to_contain_text("This model could not score 4 positions. It said: ")
    own.submit("1+1=")
    own.wait("ready")


def exercise(page: Page) -> tuple[Locator, Locator, Locator]:
    root = page.locator("course-exercise")
    return root, root.get_by_label("Prefix"), root.get_by_role("button", name="Check")


def test_the_exercise_can_be_solved_and_a_wrong_try_is_told_so(
    open_page: OpenPage, trained_model: TinyArithmeticGPT, random_model: TinyArithmeticGPT
) -> None:
    page = open_page(CHAPTER_10)
    root, box, check = exercise(page)
    box.fill("1+1=")
    check.click()
    expect(root).to_have_attribute("data-passed", "false")
    expect(root).to_contain_text("The untrained network puts = on top")
    box.fill("11+0=1")
    check.click()
    expect(root).to_have_attribute("data-passed", "true")
    for model, who in ((random_model, "untrained network puts"), (trained_model, "published one")):
        shares = next_token_logits(model, "11+0=1").softmax(dim=0)
        percent = int(10_000 * float(shares.max())) / 100
        expect(root).to_contain_text(f"{who} 1 on top with {percent:.2f} %")
