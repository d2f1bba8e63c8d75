"""How long the map of chapter 8 takes in the browser, against onnxruntime in Python on one thread.

    make bench
    make bench ARGS="--rounds 9 --model step-001000"

Builds the site, opens the page and lets it compute the map of sums once, so that all files
are there and the runtime has started. Then, round after round and never at once, it times

- Python: onnxruntime's CPU provider with one thread, the graph that the page uses, the same
  10,000 problems in the same batches, decoded and graded in the same way, sessions open;
- the page: from the press of Run until the result is shown, further workers started anew.

Prints each round with the machine's load, the medians, their ratio, and the longest task of the
page's main thread in one more run. Ends with exit code 1 when the ratio is above 3, a task keeps
the thread at work for more than 200 ms, or the counts differ. Other programs at work spoil the
times: the page needs two cores to itself, Python one.
"""

import argparse
import gzip
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from playwright.sync_api import Browser, Page, expect, sync_playwright

from browser_setup import find_browser
from built_site import CHAPTER_8, served_site
from conftest import BROWSER_ARGUMENTS
from export.build import GENERATED
from export.forms import IDS, WANTED, WantedLogits
from export.site_files import read_manifest
from main_thread import watched_tasks
from tiny_gpt.data import Problems, all_problems, encode_rows
from tiny_gpt.evaluate import CONFIDENT, SMALL_OPERAND
from tiny_gpt.generate import LONGEST_ANSWER
from tiny_gpt.tokenizer import EOS_ID, CharacterTokenizer

LARGEST_RATIO, LONGEST_TASK_MS = 3.0, 200
ROWS_A_BATCH = 200  # as site_assets/runtime/error-map.mjs
TIMED_RUN = """
async (map) => {
  const ready = () => map.dataset.state === "ready";
  const started = performance.now();
  map.querySelector("button[type=submit]").click();
  await new Promise((resolve) => {
    new MutationObserver(() => ready() && resolve()).observe(map, { attributes: true });
  });
  return (performance.now() - started) / 1000;
}
"""


class Grader:
    """The page's grading, in numpy: see `grade` of site_assets/runtime/greedy.mjs."""

    def __init__(self, model: str) -> None:
        self.fast, self.plain = (self.session(model, graph) for graph in ("fast", "plain"))

    @staticmethod
    def session(model: str, graph: str) -> onnxruntime.InferenceSession:
        manifest = read_manifest()
        entry = manifest["models"][model]
        files = (manifest["graphs"][entry["size"]][graph]["file"], entry["file"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        data = b"".join(gzip.decompress((GENERATED / file).read_bytes()) for file in files)
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def best(self, ids: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, ...]:
        """Top token, its probability and its lead: each [rows, positions], by the fast graph."""
        (logits,) = self.fast.run(["logits"], {IDS: ids, WANTED: positions})
        return choose(logits)

    def go_on(self, ids: np.ndarray, written: np.ndarray, state: np.ndarray, exact: bool = False) -> None:
        """Decode rows of one length to their end; `written` [N, 5] and `state` [N, 2] are changed in place."""
        alive = np.arange(len(ids))
        for place in range(int((written[0] >= 0).sum()), LONGEST_ANSWER):
            if exact:
                (logits,) = self.plain.run(["logits"], {IDS: ids})
                token, share, lead = (values[:, 0] for values in choose(logits[:, -1:]))
            else:
                at = np.array([ids.shape[1] - 1])
                token, share, lead = (values[:, 0] for values in self.best(ids, at))
            written[alive, place] = token
            state[alive, 0] *= share
            state[alive, 1] = np.minimum(state[alive, 1], lead)
            stays = token != EOS_ID
            alive, ids = alive[stays], np.concatenate([ids, token[:, None]], axis=1)[stays]
            if not len(alive):
                return

    def batch(self, prompts: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Grade rows of one shape: whether right, and the probability of what was written."""
        length, size = prompts.shape[1], answers.shape[1]
        lines = np.concatenate([prompts, answers[:, :-1]], axis=1)
        token, share, lead = self.best(lines, np.arange(length - 1, length - 1 + size))
        wrong = token != answers
        count = np.where(wrong.any(axis=1), wrong.argmax(axis=1) + 1, size)  # tokens that are settled
        is_settled = np.arange(size) < count[:, None]
        written = np.full((len(lines), LONGEST_ANSWER), -1)
        written[:, :size] = np.where(is_settled, token, -1)
        state = np.stack(
            [np.where(is_settled, share, 1).prod(axis=1), np.where(is_settled, lead, np.inf).min(axis=1)],
            axis=1,
        )
        ended = np.take_along_axis(written, count[:, None] - 1, axis=1)[:, 0] == EOS_ID
        for settled in np.unique(count[~ended]):
            rows = np.flatnonzero(~ended & (count == settled))
            ids = np.concatenate([prompts[rows], written[rows, :settled]], axis=1)
            self.part(rows, ids, written, state)
        close = np.flatnonzero(
            (state[:, 1] < WantedLogits.margin) | (np.abs(state[:, 0] - CONFIDENT) < WantedLogits.margin)
        )
        if len(close):
            written[close], state[close] = -1, (1, np.inf)
            self.part(close, prompts[close], written, state, exact=True)
        expected = np.full_like(written, -1)
        expected[:, :size] = answers
        return (written == expected).all(axis=1), state[:, 0]

    def part(
        self, rows: np.ndarray, ids: np.ndarray, written: np.ndarray, state: np.ndarray, exact: bool = False
    ) -> None:
        mine, own = written[rows], state[rows]
        self.go_on(ids, mine, own, exact)
        written[rows], state[rows] = mine, own

    def grade(self, problems: Problems) -> dict[str, int]:
        """Counts of right and of confidently wrong problems."""
        rows = encode_rows(problems)
        prompt = (rows == CharacterTokenizer.token_id("=")).argmax(axis=1) + 1
        end = (rows == EOS_ID).argmax(axis=1) + 1
        right = confident = 0
        for length, stop in sorted(set(zip(prompt.tolist(), end.tolist(), strict=True))):
            members = np.flatnonzero((prompt == length) & (end == stop))
            for start in range(0, len(members), ROWS_A_BATCH):
                part = rows[members[start : start + ROWS_A_BATCH]]
                ok, probability = self.batch(part[:, :length], part[:, length:stop])
                right += int(ok.sum())
                confident += int((~ok & (probability > CONFIDENT)).sum())
        return {"right": right, "confident": confident}


def choose(logits: np.ndarray) -> tuple[np.ndarray, ...]:
    """Top token, its probability and its lead over the next: each [rows, positions]."""
    second, first = np.partition(logits, -2, axis=-1)[..., -2:].transpose(2, 0, 1)
    shares = 1 / np.exp(logits - first[..., None]).sum(axis=-1)
    return logits.argmax(axis=-1), shares, first - second


def sums() -> Problems:
    problems = all_problems(SMALL_OPERAND)
    return problems[: len(problems) // 2]


def time_python(grader: Grader, problems: Problems) -> tuple[float, dict[str, int]]:
    started = time.perf_counter()
    counts = grader.grade(problems)
    return time.perf_counter() - started, counts


def open_map(page: Page, address: str, model: str) -> Any:
    """The map's element after its first run."""
    page.goto(address)
    element = page.locator("error-map")
    expect(element).to_have_attribute("data-state", "idle")
    element.get_by_label("Answered by").select_option(model)
    element.evaluate(TIMED_RUN)
    return element


def shown_counts(element: Any) -> dict[str, int]:
    """Right and confidently wrong, as the page's table says."""
    cells = element.locator("tr[data-count=all] td").all_inner_texts()
    right, confident = (int(cells[place].replace(",", "")) for place in (1, 3))
    return {"right": right, "confident": confident}


def compare(browser: Browser, page: Page, address: str, model: str, rounds: int) -> int:
    """Time both sides and print; the exit code."""
    problems = sums()
    grader = Grader(model)
    grader.grade(problems)
    element = open_map(page, address, model)
    python, in_page = [], []
    print(f"{len(problems):,} sums, {model}; {page.evaluate('navigator.hardwareConcurrency')} cores")
    print("round  Python s  browser s  ratio  load")
    for number in range(1, rounds + 1):
        seconds, expected = time_python(grader, problems)
        python.append(seconds)
        in_page.append(element.evaluate(TIMED_RUN))
        if shown_counts(element) != expected:
            print(f"error: the page counts {shown_counts(element)}, Python {expected}", file=sys.stderr)
            return 1
        load = os.getloadavg()[0]
        print(
            f"{number:>5}  {seconds:>8.2f}  {in_page[-1]:>9.2f}  {in_page[-1] / seconds:>5.2f}  {load:>4.1f}"
        )
    ratio = statistics.median(in_page) / statistics.median(python)
    with watched_tasks(browser, page) as longest:
        element.evaluate(TIMED_RUN)
    print(f"median {statistics.median(python):>8.2f}  {statistics.median(in_page):>9.2f}  {ratio:>5.2f}")
    print(f"both count {expected['right']:,} right, {expected['confident']:,} wrong with p above {CONFIDENT}")
    print(f"ratio of the medians: {ratio:.2f} (at most {LARGEST_RATIO:g})")
    print(
        f"longest task of the main thread: {longest.own:.0f} ms at work (below {LONGEST_TASK_MS}), "
        f"{longest.wall:.0f} ms by the clock, of {longest.tasks:,} tasks"
    )
    return int(ratio > LARGEST_RATIO or longest.own >= LONGEST_TASK_MS)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often both are timed (default: 5)")
    parser.add_argument("--model", default="", help="key of a model (default: the trained one)")
    options = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory() as folder,
        served_site(Path(folder)) as site,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=find_browser(), args=BROWSER_ARGUMENTS)
        page = browser.new_page()
        page.set_default_timeout(300_000)
        model = options.model or site.manifest["trained"]
        code = compare(browser, page, site.url + CHAPTER_8, model, options.rounds)
        browser.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
