"""Hosts: any plain one, in a folder, compressing or not, with a policy, or none at all."""

import re
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

import site_server
from built_site import CHAPTER_4, HOME, ROOT, OpenPage, Site, follow_link
from live_parts import Scorer, Walk
from site_server import PREFIX
from test_page_scorer import expect_scores
from tiny_gpt.model import TinyArithmeticGPT

CSP_SNIPPET = ROOT / "docs" / "snippets" / "csp_header.py"


@pytest.fixture
def plain_server(built_site: Site) -> Iterator[str]:
    """`python -m http.server` on the folder above the prefix; gives the address of the site."""
    root = built_site.folder.parents[len(Path(PREFIX).parts) - 2]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout
    port = re.search(r"port (\d+)", process.stdout.readline())
    assert port
    yield f"http://127.0.0.1:{port[1]}{PREFIX}"
    process.terminate()
    process.wait()


def test_python_http_server(
    open_page: OpenPage,
    plain_server: str,
    trained_model: TinyArithmeticGPT,
    random_model: TinyArithmeticGPT,
) -> None:
    page = open_page(HOME, at=plain_server)
    scorer = Scorer(page)
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")
    page.get_by_role("link", name="Build the network").first.click()
    expect(page.locator("h1")).to_contain_text("Build the network")
    Scorer(page).score("1+1=")
    expect_scores(Scorer(page), random_model, "1+1=")


def test_host_that_declares_gzip(open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT) -> None:
    site.server.fail("*.bin", site_server.declared_gzip)
    scorer = Scorer(open_page())
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")


def test_plain_http_without_secure_context(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT
) -> None:
    page = open_page(at=site.url.replace("127.0.0.1", "course.test"))
    assert page.evaluate("[isSecureContext, typeof crypto.subtle]") == [False, "undefined"]
    scorer = Scorer(page)
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")


def test_content_security_policy(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT, random_model: TinyArithmeticGPT
) -> None:
    policy = runpy.run_path(str(CSP_SNIPPET))["policy"](site.folder)
    assert "unsafe-inline" not in policy and "'unsafe-eval'" not in policy
    site.server.headers["Content-Security-Policy"] = policy
    page = open_page(HOME)  # a violation is an error in the console, which fails the test
    scorer = Scorer(page)
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")
    page.locator(".md-header__option label:visible").click()
    follow_link(page, "Build the network")
    Scorer(page).score("1+1=")
    expect_scores(Scorer(page), random_model, "1+1=")
    Walk(page).submit("2+2=4")
    Walk(page).wait("ready")
    Walk(page).choose("Operation", 1)
    shares = (
        Walk(page)
        .panel.locator(".score-bar")
        .evaluate_all("bars => bars.map((bar) => bar.offsetWidth / bar.parentElement.offsetWidth)")
    )
    assert len(shares) == 5 and 0.1 < max(shares) < 0.5  # the bars have their lengths
    page.goto(site.url + CHAPTER_4)
    Scorer(page).wait("idle")


@pytest.mark.parametrize("address", ["index.html", CHAPTER_4 + "index.html"])
def test_page_opened_from_disk(open_page: OpenPage, site: Site, address: str) -> None:
    page = open_page(address, at=site.folder.as_uri() + "/", rough=True)
    parts = page.locator("prefix-scorer, position-walk")
    assert parts.count() >= 1
    for part in parts.all():
        expect(part).to_be_visible()
        expect(part).to_contain_text("a page opened from disk cannot load the model")
        expect(part).to_contain_text("python -m http.server")
    expect(page.locator("h1")).to_be_visible()


def test_page_without_javascript(open_page: OpenPage) -> None:
    page = open_page(CHAPTER_4, java_script_enabled=False)
    expect(page.locator("position-walk")).to_contain_text("Live parts need JavaScript")


@pytest.mark.parametrize("address", ["no-such-page/", "x/y/z/no-such-page/", "part-1/wrong.html"])
def test_wrong_address(open_page: OpenPage, site: Site, address: str) -> None:
    page = open_page(rough=True)
    answer = page.goto(site.url + address)
    assert answer and answer.status == 404
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    header = page.locator(".md-header")
    assert header.evaluate("element => getComputedStyle(element).position") == "sticky"  # styled
    wrong = [r.path for r in site.server.requests if r.status == 404 and not r.path.endswith(address)]
    assert wrong == []
    links = page.locator("a[href]").evaluate_all("links => links.map((link) => link.href)")
    inside = {link.partition("#")[0] for link in links if link.startswith(site.url)}
    assert {link for link in links if link.startswith("http://127.0.0.1")} == {
        link for link in links if link.startswith(site.url)
    }
    assert len(inside) >= 4
    for link in inside - {page.url}:
        assert page.request.get(link).status == 200, link
    page.locator("article").get_by_role("link", name="Build the network").click()
    expect(page.locator("h1")).to_contain_text("Build the network")
    Scorer(page).wait("idle")


def test_without_directory_urls(
    open_page: OpenPage,
    flat_site: Site,
    trained_model: TinyArithmeticGPT,
    random_model: TinyArithmeticGPT,
) -> None:
    page = open_page(HOME, at=flat_site.url)
    scorer = Scorer(page)
    scorer.score("12+34=")
    expect_scores(scorer, trained_model, "12+34=")
    follow_link(page, "Build the network")
    assert page.url.endswith("/part-1/build-the-network.html")
    Scorer(page).score("1+1=")
    expect_scores(Scorer(page), random_model, "1+1=")
    page.reload()
    Scorer(page).score("1+2=")
    expect_scores(Scorer(page), random_model, "1+2=")
    assert all(request.path.startswith(PREFIX) for request in flat_site.server.requests)
    assert all(request.status in (200, 304) for request in flat_site.server.requests)


def test_copied_to_another_folder(
    open_page: OpenPage, site: Site, tmp_path: Path, trained_model: TinyArithmeticGPT
) -> None:
    """A site built for one address works at another; only instant navigation is off."""
    shutil.copytree(site.folder, tmp_path / PREFIX.strip("/"))
    with site_server.SiteServer(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        scorer = Scorer(open_page(at=server.url))
        scorer.score("12+34=")
        expect_scores(scorer, trained_model, "12+34=")
        server.shutdown()
