"""What the pages move stays within the limits, and the command that says so finds what does not."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from export.budget import FIRST_USE_LIMIT, FIRST_VISIT_LIMIT, first_use, first_visit, main, pages
from export.build import ROOT
from export.site_files import STYLES

HOME, CHAPTER_4 = "index.html", "part-1/build-the-network/index.html"


@pytest.fixture
def copied(site: Path, tmp_path: Path) -> Path:
    """A copy of the built site, to be spoiled."""
    return Path(shutil.copytree(site, tmp_path / "site"))


def course(site: Path) -> Path:
    (folder,) = site.glob("assets/course-*")
    return folder


def test_the_limits_are_the_promised_ones() -> None:
    assert (FIRST_VISIT_LIMIT, FIRST_USE_LIMIT) == (600_000, 5_500_000)


def test_all_pages_are_within_the_limits(site: Path, command: Callable[..., Any]) -> None:
    outcome = command(main, site)
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    html = {p.relative_to(site).as_posix() for p in site.rglob("*.html")} - {"404.html"}
    lines = outcome.out.splitlines()[1:-1]
    assert {line.split()[0] for line in lines} == html
    for line in lines:
        *parts, visit, use = (int(cell.replace(",", "")) for cell in line.split()[1:])
        assert sum(parts) == visit <= FIRST_VISIT_LIMIT
        assert use <= FIRST_USE_LIMIT


def test_a_visit_loads_the_page_styles_scripts_and_what_they_import(site: Path) -> None:
    page = next(page for page in pages(site) if page.path == site / CHAPTER_4)
    names = {path.relative_to(site).as_posix() for path in first_visit(page, site)}
    folder = course(site).relative_to(site).as_posix()
    expected = {
        CHAPTER_4,
        "sitemap.xml",
        "assets/images/favicon.svg",
        *(f"{folder}/css/{name}" for name in STYLES),
        *(
            f"{folder}/widgets/{name}.mjs"
            for name in ("course-question", "position-walk", "prefix-scorer", "score-table", "dom")
        ),
        *(f"{folder}/generated/{name}" for name in ("manifest.mjs", "walk.mjs")),
        f"{folder}/main.mjs",
        f"{folder}/search-on-demand.js",
        f"{folder}/runtime/engine.mjs",
    }
    assert expected <= names
    assert "search/search_index.json" not in names  # held until a reader searches
    for pattern in (r"javascripts/bundle\.", r"workers/search\.", r"stylesheets/main\."):
        assert any(re.search(pattern, name) for name in names), pattern
    assert not [name for name in names if re.search(r"\.bin$|/vendor/|worker\.mjs$|\.map$|downloads/", name)]


def test_a_first_use_loads_the_runtime_one_model_and_the_workers_code(site: Path) -> None:
    page = next(page for page in pages(site) if page.path == site / HOME)
    names = sorted(path.relative_to(course(site).parent).as_posix() for path in first_use(page, site))
    patterns = [
        r"course-\w+/runtime/download\.mjs",
        r"course-\w+/runtime/greedy\.mjs",
        r"course-\w+/runtime/worker\.mjs",
        r"course-\w+/vendor/ort-wasm-simd-threaded\.mjs",
        r"course-\w+/vendor/ort\.wasm\.min\.mjs",
        r"graphs/full-\w+-\w+\.bin",
        r"models/step-\d+-\w+\.bin",
        r"runtime/ort-\w+\.bin",
    ]
    assert len(names) == len(patterns)
    for name, pattern in zip(names, patterns, strict=True):
        assert re.fullmatch(pattern, name)


def test_a_page_without_live_parts_uses_nothing(site: Path) -> None:
    page = next(page for page in pages(site) if page.path.parent.name == "about")
    assert first_use(page, site) == set()


def spoil_style(site: Path) -> None:
    with open(course(site) / "css" / "course.css", "a", encoding="utf-8") as file:
        file.write("/*" + "x" * FIRST_VISIT_LIMIT + "*/")


def spoil_picture(site: Path) -> None:
    (course(site) / "css" / "big.png").write_bytes(bytes(FIRST_VISIT_LIMIT))
    with open(course(site) / "css" / "course.css", "a", encoding="utf-8") as file:
        file.write('body { background: url("big.png") }')


def spoil_import(site: Path) -> None:
    (course(site) / "widgets" / "big.mjs").write_text(f"/* {'x' * FIRST_VISIT_LIMIT} */", encoding="utf-8")
    module = course(site) / "widgets" / "dom.mjs"
    text = module.read_text(encoding="utf-8")
    module.write_text(f'import {{\n  a,\n}} from "./big.mjs";\n{text}', encoding="utf-8")


def spoil_search(site: Path) -> None:
    """Without the script that holds it, the index is loaded with the page."""
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        path.write_text(re.sub("<script[^>]*search-on-demand[^>]*></script>", "", page), encoding="utf-8")
    with open(site / "search" / "search_index.json", "ab") as file:
        file.write(b" " * FIRST_VISIT_LIMIT)


def spoil_runtime(site: Path) -> None:
    (runtime,) = site.glob("assets/runtime/*.bin")
    runtime.write_bytes(bytes(FIRST_USE_LIMIT))


def spoil_models(site: Path) -> None:
    for path in site.glob("assets/models/*.bin"):
        path.write_bytes(bytes(FIRST_USE_LIMIT))


def spoil_worker(site: Path) -> None:
    (course(site) / "runtime" / "big.mjs").write_text(f"/* {'x' * FIRST_USE_LIMIT} */", encoding="utf-8")
    with open(course(site) / "runtime" / "worker.mjs", "a", encoding="utf-8") as file:
        file.write('\nimport "./big.mjs";\n')


@pytest.mark.parametrize(
    "spoil",
    [spoil_style, spoil_picture, spoil_import, spoil_search, spoil_runtime, spoil_models, spoil_worker],
)
def test_a_large_file_breaks_a_limit(
    spoil: Callable[[Path], None], copied: Path, command: Callable[..., Any]
) -> None:
    spoil(copied)
    outcome = command(main, copied)
    assert outcome.code == 1
    assert outcome.err.startswith("error: over the limit: ")
    assert HOME in outcome.err
    assert outcome.err.count("\n") == 1


def test_large_downloads_that_no_page_loads_do_not_count(copied: Path, command: Callable[..., Any]) -> None:
    (copied / "downloads" / "big.bin").write_bytes(bytes(FIRST_USE_LIMIT))
    assert command(main, copied).code == 0


def test_a_site_that_lacks_a_file_or_is_not_there_is_named(copied: Path, command: Callable[..., Any]) -> None:
    outcome = command(main, copied / "nowhere")
    assert (outcome.code, outcome.out.count("\n")) == (1, 0)
    assert outcome.err.endswith("nowhere holds no pages; run: make build\n")
    (course(copied) / "widgets" / "dom.mjs").unlink()
    outcome = command(main, copied)
    assert outcome.code == 1
    assert "loads ./dom.mjs, which is not in the site" in outcome.err
    assert outcome.err.count("\n") == 1


def test_help_says_where_the_site_is(command: Callable[..., Any]) -> None:
    assert str(ROOT / "site") in re.sub(r"\s+", "", command(main, "--help").out)
