"""The runtime in a real browser computes what PyTorch computes, value by value, at every length."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from built_site import OpenPage, Site
from export.forms import NamedOutputs, output_names
from live_parts import run_in_page
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import BOS_ID, CharacterTokenizer

ROWS_A_LENGTH = 10
LENGTHS = range(1, 33)
RUN_FIVE_TIMES = """
async ({ code, model, ids, outputs }) => {
  const { engine } = await import(code + "runtime/engine.mjs");
  const runs = [];
  for (let i = 0; i < 5; i += 1) runs.push((await engine.run(model, [ids], outputs)).outputs);
  const [first, ...others] = runs;
  const bits = ({ data }) => new Uint32Array(data.buffer, data.byteOffset, data.length);
  return outputs.every((name) => others.every((run) => {
    const [a, b] = [bits(first[name]), bits(run[name])];
    return a.length > 0 && a.length === b.length && a.every((word, index) => word === b[index]);
  }));
}
"""


@dataclass
class Agreement:
    """Compares outputs by name and keeps the largest difference."""

    largest: float = 0.0

    def check(self, found: dict[str, np.ndarray], expected: dict[str, np.ndarray], where: str) -> None:
        for name, reference in expected.items():
            assert found[name].shape == reference.shape, f"{where}: {name}"
            gap = float((np.abs(found[name] - reference) / np.maximum(1, np.abs(reference))).max())
            assert gap <= NamedOutputs.tolerance, f"{where}: {name} differs by {gap:.2e}"
            self.largest = max(self.largest, gap)


def expect_same_top(found: np.ndarray, reference: np.ndarray) -> None:
    """The same token leads everywhere, but for ties within the tolerance."""
    at_found = np.take_along_axis(reference, found.argmax(-1)[..., None], axis=-1)[..., 0]
    best = reference.max(-1)
    assert np.all(best - at_found <= 2 * NamedOutputs.tolerance * np.maximum(1, np.abs(best)))


def rows_of_length(length: int, vocabulary: int) -> list[list[int]]:
    """Problems cut to the length, arbitrary characters, and arbitrary tokens of all 98."""
    generator = np.random.default_rng(length)
    rows = []
    for index in range(ROWS_A_LENGTH):
        if index < 4:
            a, b = (int(number) for number in generator.integers(0, 1000, 2))
            sums = f"{a}{'+-'[index % 2]}{b}={a + b if index % 2 == 0 else a - b}" * 6
            rows.append(CharacterTokenizer().encode(sums[: length - 1]))
        else:
            lowest = 3 if index < 8 else 0
            rows.append([BOS_ID, *map(int, generator.integers(lowest, vocabulary, length - 1))])
    return rows


@pytest.mark.parametrize("name", ["trained", "initial"])
def test_every_output_at_every_length(
    open_page: OpenPage,
    site: Site,
    name: str,
    trained_model: TinyArithmeticGPT,
    random_model: TinyArithmeticGPT,
) -> None:
    model = {"trained": trained_model, "initial": random_model}[name]
    names = output_names(model.config.n_layers)
    assert names == site.manifest["model"]["outputs"]
    page = open_page()
    agreement = Agreement()
    with torch.inference_mode():
        for length in LENGTHS:
            rows = rows_of_length(length, model.config.vocab_size)
            reference = dict(
                zip(names, (t.numpy() for t in NamedOutputs(model)(torch.tensor(rows))), strict=True)
            )
            found = run_in_page(page, site.code, site.manifest[name], rows, names)
            agreement.check(found, reference, f"length {length}")
            expect_same_top(found["logits"], reference["logits"])
            # one row alone, as the widgets ask
            alone = run_in_page(page, site.code, site.manifest[name], rows[:1], ["logits"])
            agreement.check(alone, {"logits": reference["logits"][:1]}, f"length {length}, alone")
    assert agreement.largest > 0, "the comparison compared nothing"


def test_five_runs_are_identical(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    request = {
        "code": site.code,
        "model": site.manifest["trained"],
        "ids": CharacterTokenizer().encode("12+34="),
        "outputs": site.manifest["model"]["outputs"],
    }
    assert page.evaluate(RUN_FIVE_TIMES, request) is True
