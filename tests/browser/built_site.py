"""The built site that the browser tests open, and the watch that is kept on each page."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

from site_server import PREFIX, SiteServer

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ""
CHAPTER_1 = "part-1/predict-the-next-character/"
CHAPTER_2 = "part-1/make-problems/"
CHAPTER_3 = "part-1/text-to-ids/"
CHAPTER_4 = "part-1/build-the-network/"
CHAPTER_5 = "part-1/measure-the-error/"
CHAPTER_6 = "part-1/train-it/"
CHAPTER_7 = "part-1/let-it-answer/"
CHAPTER_8 = "part-1/test-it-honestly/"
CHAPTER_9 = "part-1/look-inside/"
CHAPTER_10 = "part-1/put-it-in-the-browser/"
GATE = "part-1/gate/"
PAGES = (
    HOME,
    CHAPTER_1,
    CHAPTER_2,
    CHAPTER_3,
    CHAPTER_4,
    CHAPTER_5,
    CHAPTER_6,
    CHAPTER_7,
    CHAPTER_8,
    CHAPTER_9,
    CHAPTER_10,
    GATE,
    "glossary/",
    "use-from-python/",
    "maintain/",
    "about/",
)


def build_site(folder: Path, url: str, *options: str) -> None:
    """Build the site for an address into `folder`, strictly."""
    path = [str(ROOT / "model_src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder), *options],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "SITE_URL": url,
            "NO_MKDOCS_2_WARNING": "1",
        },
        check=True,
    )


@dataclass
class Site:
    """A built site and the server that shows it."""

    server: SiteServer
    folder: Path
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def code(self) -> str:
        """Address of the site's own modules, with its hash."""
        (folder,) = self.folder.glob("assets/course-*")
        return f"{self.url}assets/{folder.name}/"

    def module_value(self, name: str) -> Any:
        """What `generated/NAME.mjs` of the built site exports."""
        (path,) = self.folder.glob(f"assets/course-*/generated/{name}.mjs")
        return json.loads(path.read_text(encoding="utf-8").partition(" = ")[2].rstrip().rstrip(";"))


@contextmanager
def served_site(root: Path, *options: str) -> Iterator[Site]:
    """Build the site below `root`, for the address of a new server that serves it."""
    with SiteServer(root) as server:
        folder = root / PREFIX.strip("/")
        build_site(folder, server.url, *options)
        site = Site(server, folder)
        site.manifest = site.module_value("manifest")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()


@dataclass
class Watch:
    """Everything a page's browser complained about, and every request that left the site."""

    home: str
    complaints: list[str] = field(default_factory=list)
    strayed: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    def follow(self, context: BrowserContext) -> None:
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))
        context.on("requestfailed", lambda request: self._on_failure(request.url, request.failure or ""))
        context.on("request", lambda request: self._on_request(request.url))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _on_failure(self, url: str, reason: str) -> None:
        if reason != "net::ERR_ABORTED":  # the page was left
            self.complaints.append(f"failed: {url} {reason}")

    def _on_request(self, url: str) -> None:
        self.urls.append(url)
        if not url.startswith((self.home, "data:", "blob:")):
            self.strayed.append(url)


class OpenPage(Protocol):
    """The fixture `open_page`."""

    def __call__(
        self, address: str = HOME, *, at: str | None = None, rough: bool = False, **options: Any
    ) -> Page: ...


def follow_link(page: Page, name: str) -> None:
    """Go to another page of the site by a click that keeps the document: instant navigation."""
    page.evaluate("window.sameDocument = true")
    page.get_by_role("link", name=name).first.click()
    expect(page.locator("h1")).to_contain_text(name)
    assert page.evaluate("window.sameDocument") is True, "the page was loaded anew"
