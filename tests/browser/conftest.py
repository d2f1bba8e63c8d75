"""What the browser tests share: the built site on a server, one browser, watched pages, PyTorch's models.

Each test opens pages by `open_page`. When it ends, a page must have made no complaint in the
console and no failed request, unless it was opened with `rough=True`; and no page at all may
have asked for anything outside the site.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from browser_setup import find_browser
from built_site import HOME, OpenPage, Site, Watch, served_site
from site_server import PREFIX
from tiny_gpt.checkpoint import CHECKPOINTS, load_model
from tiny_gpt.model import TinyArithmeticGPT

TIMEOUT_MS = 30_000  # the machine may be busy; nothing waits this long when all is well
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP course.test 127.0.0.1",  # a name without https, as on a local network
]


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served_site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="session")
def flat_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site built with use_directory_urls: false."""
    with served_site(tmp_path_factory.mktemp("flat-site"), "--no-directory-urls") as site:
        yield site


@pytest.fixture
def site(built_site: Site) -> Site:
    """The built site, its server without faults and without a memory of other tests."""
    built_site.server.reset()
    return built_site


@pytest.fixture(scope="session")
def trained_model(built_site: Site) -> TinyArithmeticGPT:
    return load_model(CHECKPOINTS / f"{built_site.manifest['trained']}.safetensors")


@pytest.fixture(scope="session")
def random_model(built_site: Site) -> TinyArithmeticGPT:
    return load_model(CHECKPOINTS / f"{built_site.manifest['initial']}.safetensors")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_browser(), args=BROWSER_ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def watches() -> dict[Page, Watch]:
    """The watch of each page that `open_page` opened."""
    return {}


@pytest.fixture
def open_page(browser: Browser, site: Site, watches: dict[Page, Watch]) -> Iterator[OpenPage]:
    """Open an address of the site in a context of its own; `at` is another site's address."""
    contexts, careful = [], []

    def open_address(
        address: str = HOME, *, at: str | None = None, rough: bool = False, **options: Any
    ) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        watch = Watch(at or site.url)
        watch.follow(context)
        if not rough:
            careful.append(watch)
        page = context.new_page()
        watches[page] = watch
        page.goto((at or site.url) + address)
        return page

    yield open_address
    for context in contexts:
        context.close()
    assert [complaint for watch in careful for complaint in watch.complaints] == []
    assert [url for watch in watches.values() for url in watch.strayed] == []
    outside = [request.path for request in site.server.requests if not request.path.startswith(PREFIX)]
    assert outside == []
