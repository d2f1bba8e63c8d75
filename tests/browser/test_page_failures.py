"""What can fail between the server and the result: each failure ends in a sentence and can be tried again."""

import pytest
from playwright.sync_api import expect

import site_server
from built_site import CHAPTER_4, OpenPage, Site, follow_link
from live_parts import Scorer, Walk
from site_server import Fault, Held
from test_page_scorer import expect_scores
from tiny_gpt.model import TinyArithmeticGPT

RUNTIME = "assets/runtime/*"
MODEL = "assets/models/*"
WORKER = "*/runtime/worker.mjs"
WORKER_IMPORT = "*/runtime/download.mjs"
ORT_MODULE = "*/vendor/ort.wasm.min.mjs"
ORT_GLUE = "*/vendor/ort-wasm-simd-threaded.mjs"

FAILURES = {
    "runtime missing": (RUNTIME, site_server.missing, "The runtime did not arrive: the server answered 404."),
    "runtime busy": (RUNTIME, site_server.busy, "the server answered 503"),
    "runtime closed": (RUNTIME, site_server.closed, "The runtime did not arrive: the connection"),
    "runtime interrupted": (RUNTIME, site_server.interrupted, "The runtime did not arrive"),
    "runtime cut": (RUNTIME, site_server.cut, "The runtime arrived damaged or is another file."),
    "runtime html": (RUNTIME, site_server.kept_html_page, "The runtime arrived damaged or is another file."),
    "runtime other": (RUNTIME, site_server.other_file, "The runtime could not start"),
    "model missing": (MODEL, site_server.missing, "The model did not arrive: the server answered 404."),
    "model closed": (MODEL, site_server.closed, "The model did not arrive: the connection"),
    "model interrupted": (MODEL, site_server.interrupted, "The model did not arrive"),
    "model cut": (MODEL, site_server.cut, "The model arrived damaged or is another file."),
    "model html": (MODEL, site_server.kept_html_page, "The model arrived damaged or is another file."),
    "model other": (MODEL, site_server.other_file, "The model is not a model that this runtime can open."),
    "worker missing": (WORKER, site_server.missing, "The runtime did not arrive"),
    "worker html": (WORKER, site_server.html_page, "The runtime did not arrive"),
    "worker import missing": (WORKER_IMPORT, site_server.missing, "The runtime did not arrive"),
    "module missing": (ORT_MODULE, site_server.missing, "The runtime did not arrive"),
    "glue missing": (ORT_GLUE, site_server.missing, "The runtime"),
}


@pytest.mark.parametrize(("pattern", "fault", "sentence"), FAILURES.values(), ids=FAILURES)
def test_failure_and_retry(
    open_page: OpenPage,
    site: Site,
    trained_model: TinyArithmeticGPT,
    pattern: str,
    fault: Fault,
    sentence: str,
) -> None:
    site.server.fail(pattern, fault)
    scorer = Scorer(open_page(rough=True))
    scorer.submit("7-12=")
    scorer.expect_error(sentence)
    expect(scorer.box).to_have_value("7-12=")
    assert scorer.box.get_attribute("aria-invalid") is None  # the text is not to blame
    scorer.expect_no_result()
    site.server.heal()
    scorer.retry.click()
    scorer.wait("ready")
    expect(scorer.retry).to_be_hidden()
    expect_scores(scorer, trained_model, "7-12=")


def test_offline(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    page = open_page(rough=True)
    scorer = Scorer(page)
    scorer.wait("idle")
    page.context.set_offline(True)
    scorer.submit("12+34=")
    scorer.expect_error("This device is offline, so the runtime could not be downloaded.")
    expect(scorer.box).to_have_value("12+34=")
    page.context.set_offline(False)
    scorer.retry.click()
    scorer.wait("ready")
    expect_scores(scorer, trained_model, "12+34=")
    page.context.set_offline(True)  # what is there already needs no network
    scorer.score("7-12=")
    expect_scores(scorer, trained_model, "7-12=")


def test_failed_load_does_not_poison_another_part(
    open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT, random_model: TinyArithmeticGPT
) -> None:
    page = open_page(CHAPTER_4, rough=True)
    first, second, walk = Scorer(page, 0), Scorer(page, 1), Walk(page)
    site.server.fail("assets/models/step-000000*", site_server.missing)
    first.submit("1+1=")
    first.expect_error("The model did not arrive")
    first.retry.click()  # the fault is still there
    first.expect_error("The model did not arrive")
    second.score("1+1=")  # another model, which is there
    expect_scores(second, trained_model, "1+1=")
    walk.submit("1+1=2")
    walk.expect_error("The model did not arrive")
    second.score("1+2=")  # a ready model may be needed anew
    expect_scores(second, trained_model, "1+2=")
    site.server.heal()
    first.retry.click()
    first.wait("ready")
    expect_scores(first, random_model, "1+1=")
    walk.retry.click()
    walk.wait("ready")
    expect_scores(second, trained_model, "1+2=")


def test_typing_after_a_failure(open_page: OpenPage, site: Site, trained_model: TinyArithmeticGPT) -> None:
    site.server.fail(RUNTIME, site_server.missing)
    scorer = Scorer(open_page(rough=True))
    scorer.submit("12+34=")
    scorer.expect_error("The runtime did not arrive")
    scorer.box.fill("7-12=")
    scorer.wait("idle")
    expect(scorer.retry).to_be_hidden()  # it would ask the old question
    site.server.heal()
    scorer.button.click()
    scorer.wait("ready")
    expect_scores(scorer, trained_model, "7-12=")


def test_failure_after_leaving_the_page(
    open_page: OpenPage, site: Site, random_model: TinyArithmeticGPT
) -> None:
    held = Held()
    site.server.fail(MODEL, held)
    page = open_page(rough=True)
    Scorer(page).submit("12+34=")
    Scorer(page).wait("loading")
    site.server.fail(RUNTIME, site_server.missing)
    follow_link(page, "Build the network")
    held.release()
    scorer = Scorer(page)
    scorer.wait("idle")
    site.server.heal()
    scorer.score("1+1=")
    expect_scores(scorer, random_model, "1+1=")


def test_page_code_that_does_not_arrive(open_page: OpenPage, site: Site) -> None:
    site.server.fail("*/main.mjs", site_server.missing)
    page = open_page(rough=True)
    expect(page.locator("prefix-scorer")).to_contain_text("The live scorer starts here")
    expect(page.locator("prefix-scorer")).to_contain_text("need JavaScript and a web server")


def test_browser_without_webassembly(open_page: OpenPage, site: Site) -> None:
    page = open_page(rough=True)
    page.route(
        WORKER.replace("*/", "**/"),
        lambda route: route.fulfill(
            body="self.WebAssembly = undefined;\n" + _text(site, "runtime/worker.mjs"),
            content_type="text/javascript",
        ),
    )
    scorer = Scorer(page)
    scorer.submit("12+34=")
    scorer.expect_error("This browser can not run WebAssembly")
    expect(scorer.retry).to_be_hidden()


def _text(site: Site, name: str) -> str:
    (path,) = site.folder.glob(f"assets/course-*/{name}")
    return path.read_text(encoding="utf-8")
