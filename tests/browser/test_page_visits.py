"""Visits: hard load and instant navigation, what is downloaded when, and how much."""

import pytest
from playwright.sync_api import Page, expect

from built_site import CHAPTER_4, HOME, PAGES, OpenPage, Site, Watch, follow_link
from live_parts import Scorer, Walk
from site_server import PREFIX, Held
from test_page_scorer import expect_scores
from tiny_gpt.model import TinyArithmeticGPT

PAGE_BUDGET = 600_000
FIRST_USE_BUDGET = 5_500_000
USED_ON_DEMAND = ("assets/runtime/*", "assets/models/*", "*/vendor/*", "*/worker.mjs", "downloads/*")
OTHER_BUILDS = ("jsep", "asyncify", "webgpu", "jspi", "threaded.wasm")


def expect_plain_runtime_only(site: Site) -> None:
    asked = " ".join(site.server.paths()).lower()
    assert not [build for build in OTHER_BUILDS if build in asked]


@pytest.mark.parametrize("address", PAGES)
def test_page_before_first_use(open_page: OpenPage, site: Site, address: str) -> None:
    page = open_page(address)
    page.wait_for_load_state("networkidle")
    for part in page.locator("prefix-scorer, position-walk").all():
        expect(part).to_have_attribute("data-state", "idle")
        expect(part.get_by_role("textbox")).to_be_editable()
    for pattern in USED_ON_DEMAND:
        assert site.server.paths(pattern) == []
    assert all(request.status == 200 for request in site.server.requests)
    sent = site.server.bytes_sent()
    assert 100_000 < sent <= PAGE_BUDGET, f"{sent:,} bytes"


@pytest.mark.parametrize("address", [HOME, CHAPTER_4])
def test_first_use(open_page: OpenPage, site: Site, address: str) -> None:
    page = open_page(address)
    page.wait_for_load_state("networkidle")
    before = site.server.bytes_sent()
    Scorer(page).score("12+34=")
    sent = site.server.bytes_sent() - before
    assert 3_000_000 < sent <= FIRST_USE_BUDGET, f"{sent:,} bytes"
    assert len(site.server.paths("assets/runtime/*")) == 1
    assert len(site.server.paths("assets/models/*")) == 1
    expect_plain_runtime_only(site)


def test_instant_navigation(
    open_page: OpenPage,
    site: Site,
    watches: dict[Page, Watch],
    trained_model: TinyArithmeticGPT,
    random_model: TinyArithmeticGPT,
) -> None:
    page = open_page("about/")
    watch: Watch = watches[page]
    follow_link(page, "Build the network")
    Scorer(page).score("1+1=")
    expect_scores(Scorer(page), random_model, "1+1=")
    walk = Walk(page)
    walk.submit("2+3=5")
    walk.wait("ready")

    follow_link(page, "Build a tiny GPT")
    scorer = Scorer(page)
    expect(page.locator("prefix-scorer")).to_have_count(1)
    scorer.wait("idle")
    scorer.expect_no_result()
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")

    page.go_back()
    expect(page.locator("h1")).to_contain_text("Build the network")
    Scorer(page).wait("idle")
    Scorer(page).score("1+2=")
    expect_scores(Scorer(page), random_model, "1+2=")
    assert page.evaluate("window.sameDocument") is True

    for pattern, times in {
        "assets/runtime/*": 1,
        "assets/models/*": 2,
        "*/vendor/*": 2,
        "*/worker.mjs": 1,
    }.items():
        assert len(site.server.paths(pattern)) == times, pattern
    runtime = [url for url in watch.urls if "/assets/runtime/" in url]
    assert len(set(runtime)) <= 1 and len(runtime) <= 1  # not from the browser's cache either
    expect_plain_runtime_only(site)


def test_several_live_parts_at_once(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_4)
    parts = [Scorer(page, 0), Scorer(page, 1), Walk(page)]
    for part in parts:
        part.wait("idle")
    page.evaluate("document.querySelectorAll('.live-form').forEach((form) => form.requestSubmit())")
    for part in parts:
        part.wait("ready")
    assert len(site.server.paths("assets/runtime/*")) == 1
    assert len(site.server.paths("assets/models/*")) == 2
    identifiers = page.locator("[id]").evaluate_all("elements => elements.map((element) => element.id)")
    assert len(identifiers) == len(set(identifiers))


def test_download_shows_bytes(open_page: OpenPage, site: Site) -> None:
    held = Held()
    site.server.fail("assets/runtime/*", held)
    runtime = site.manifest["runtime"]["wasm"]["bytes"]
    weights = site.manifest["models"][site.manifest["trained"]]
    model = weights["bytes"] + site.manifest["graphs"][weights["size"]]["plain"]["bytes"]
    scorer = Scorer(open_page())
    scorer.submit("12+34=")
    expect(scorer.root).to_have_attribute("aria-busy", "true")
    expect(scorer.progress).to_be_visible()
    total = f"{(runtime + model) / 1e6:.2f} MB"
    loaded = (runtime // 2 + model) / 1e6
    expect(scorer.status).to_contain_text(f"{loaded:.2f} of {total}")
    value, largest = scorer.progress.evaluate("bar => [bar.value, bar.max]")
    assert (value, largest) == (runtime // 2 + model, runtime + model)
    scorer.expect_no_result()
    held.release()
    scorer.wait("ready")
    expect(scorer.progress).to_be_hidden()
    expect(scorer.root).to_have_attribute("aria-busy", "false")


def test_every_file_of_a_visit_is_below_the_prefix(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_4)
    Scorer(page).score("1+1=")
    Walk(page).submit("1+1=2")
    Walk(page).wait("ready")
    assert len(site.server.requests) > 10
    assert all(request.path.startswith(PREFIX) for request in site.server.requests)
    assert all(request.status == 200 for request in site.server.requests)
