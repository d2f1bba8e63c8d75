"""The built site: complete, self-contained, every link of it leads somewhere."""

import json
import re
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from export.build import ROOT
from export.site_files import site_files

SITE_URL = "http://127.0.0.1:8000/a/b/course/"  # as in conftest.py
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
CHAPTER_4 = "part-1/build-the-network/index.html"
MODEL = ROOT / "model_src" / "tiny_gpt" / "model.py"


class Page(HTMLParser):
    """Links, anchors, loaded addresses and the text of code blocks of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.code: list[str] = []
        self.text = ""
        self.prose = ""  # without code
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link":
            is_load = not {"canonical", "next", "prev"} & set(values.get("rel", "").split())
            (self.loads if is_load else self.links).append(values.get("href", ""))
        self.loads += [values[key] for key in ("src", "srcset", "poster", "data") if key in values]
        if "style" in values:
            self.faults.append(f"<{tag} style={values['style']}>")
        if tag not in VOID:
            self._open.append(tag)
        if tag == "pre":
            self.code.append("")
        if tag != "p" and "p" in self._open and tag in ("div", "table", "ul", "ol", "pre", "section", "form"):
            self.faults.append(f"<{tag}> inside a paragraph")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style", "pre", "code"} & set(self._open):
            self.prose += data
        if not {"script", "style"} & set(self._open):
            self.text += data
            if "pre" in self._open:
                self.code[-1] += data


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def address(page: str) -> str:
    return SITE_URL + page.removesuffix("index.html")


def file_of(url: str, site: Path) -> Path:
    """The file that a plain server answers with."""
    assert url.startswith(SITE_URL), f"{url} leaves the site's folder"
    path = site / unquote(urlsplit(url).path.removeprefix(urlsplit(SITE_URL).path))
    return path / "index.html" if path.is_dir() else path


def test_every_page_of_the_navigation_is_built(pages: dict[str, Page]) -> None:
    sources = [path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")]
    expected = {p.as_posix() + ("" if p.name == "index" else "/index") + ".html" for p in sources}
    assert set(pages) == expected | {"404.html"}


def test_every_local_link_and_anchor_leads_somewhere(pages: dict[str, Page], site: Path) -> None:
    checked = 0
    for name, page in pages.items():
        for link in page.links:
            url = urljoin(address(name), link)
            if urlsplit(url).netloc != urlsplit(SITE_URL).netloc:
                assert urlsplit(url).scheme in ("https", "mailto"), f"{name}: {link}"
                continue
            target = file_of(url, site)
            assert target.is_file(), f"{name}: {link}"
            anchor = unquote(urlsplit(url).fragment)
            if anchor and target.suffix == ".html":
                assert anchor in pages[target.relative_to(site).as_posix()].anchors, f"{name}: {link}"
            checked += 1
    assert checked > 100


def test_links_are_relative_but_on_the_404_page(pages: dict[str, Page]) -> None:
    prefix = urlsplit(SITE_URL).path
    for name, page in pages.items():
        for link in (*page.links, *page.loads):
            if name == "404.html":
                assert link.startswith((prefix, "http", "#")), link
            else:
                assert not link.startswith("/"), f"{name}: {link}"


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, Page], site: Path) -> None:
    for name, page in pages.items():
        for load in page.loads:
            if not load.startswith("data:"):
                url = urljoin(address(name), load)
                assert file_of(url, site).is_file(), f"{name}: {load}"
    for path in site.rglob("*.css"):
        for load in re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s]+)""", path.read_text(encoding="utf-8")):
            if not load.startswith(("data:", "#")):
                assert (path.parent / load).is_file(), f"{path.name}: {load}"
    for path in site.glob("assets/course-*/**/*.mjs"):
        if "vendor" not in path.parts:
            assert not re.search(r"https?://", path.read_text(encoding="utf-8")), path.name


def test_html_is_clean(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert page.faults == [], name


def test_every_heading_anchor_is_there_once(site: Path) -> None:
    for path in site.rglob("*.html"):
        ids = re.findall(r'\sid="([^"]+)"', path.read_text(encoding="utf-8"))
        assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)


def sections(source: str) -> dict[str, str]:
    """Each named section as a page shows it: without marker lines, without the outer indent."""
    found: dict[str, list[str]] = {}
    opened: list[str] = []
    for line in source.splitlines():
        marker = re.search(r"--8<-- \[(start|end):(\w+)\]", line)
        if marker and marker[1] == "start":
            opened.append(marker[2])
            found[marker[2]] = []
        elif marker:
            opened.remove(marker[2])
        else:
            for name in opened:
                found[name].append(line)
    return {name: textwrap.dedent("\n".join(lines)).strip() for name, lines in found.items()}


def test_chapter_4_shows_the_code_that_runs(pages: dict[str, Page]) -> None:
    source = MODEL.read_text(encoding="utf-8")
    shown = [block.strip() for block in pages[CHAPTER_4].code]
    assert len(sections(source)) >= 8
    for name, code in sections(source).items():
        assert code in shown, name
    without_markers = "\n".join(line for line in source.splitlines() if "--8<--" not in line).strip()
    assert without_markers in shown


def test_no_marker_or_placeholder_is_visible(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert not re.search(r"\[(start|end):\w+\]", page.text), name
        assert "{{" not in page.text and "}}" not in page.text, name
        if not name.startswith("maintain/"):  # which shows how an include is written
            assert "8<" not in page.text, name


@pytest.mark.parametrize("mark", ["|--", "`", "**", "](", "<"])
def test_no_markdown_is_left_as_text(pages: dict[str, Page], mark: str) -> None:
    left = {name: page.prose.partition(mark)[2][:60] for name, page in pages.items() if mark in page.prose}
    assert left == {}


def test_search_finds_prose_and_no_listing(site: Path) -> None:
    index = site / "search" / "search_index.json"
    text = " ".join(entry["text"] for entry in json.loads(index.read_text(encoding="utf-8"))["docs"])
    assert "residual stream" in text
    for line in ("class CausalSelfAttention", "class FeedForward", "def next_token_loss"):
        assert line not in text, line  # the index is loaded with every page
    assert "Live parts need JavaScript" not in text  # stands in for a live part until it starts


def test_the_site_holds_the_intended_files_and_no_other(site: Path, pages: dict[str, Page]) -> None:
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    theme = {name for name in files if name.startswith(("assets/javascripts/", "assets/stylesheets/"))}
    theme |= {"assets/images/favicon.svg", "assets/images/favicon.png"}
    assert all(name.endswith((".js", ".css", ".map", ".svg", ".png")) for name in theme)
    made = {*pages, "sitemap.xml", "sitemap.xml.gz", "search/search_index.json"}
    assert files - theme == made | set(site_files())
    unwanted = re.compile(r"\.part|\.old|node_modules|golden|\.pt$|facts|__pycache__|\.d\.ts|jsep|\.wasm$")
    assert not [name for name in files - theme if unwanted.search(name)]


def test_published_files_are_the_repositorys(site: Path) -> None:
    for name, source in site_files().items():
        assert (site / name).read_bytes() == source.read_bytes(), name


def test_the_runtime_and_models_are_published_packed_only(site: Path) -> None:
    for path in (*site.glob("assets/models/*"), *site.glob("assets/runtime/*")):
        assert path.suffix == ".bin"
        assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert not list(site.rglob("*.wasm"))


def test_the_sitemap_and_canonical_links_name_the_sub_path(site: Path, pages: dict[str, Page]) -> None:
    listed = re.findall(r"<loc>([^<]+)</loc>", (site / "sitemap.xml").read_text(encoding="utf-8"))
    assert set(listed) == {address(name) for name in pages if name != "404.html"}
    for name in pages:
        if name != "404.html":
            assert f'<link rel="canonical" href="{address(name)}">' in (site / name).read_text("utf-8")


def test_next_and_previous_point_at_pages(pages: dict[str, Page], site: Path) -> None:
    for name in pages:
        html = (site / name).read_text(encoding="utf-8")
        for link in re.findall(r'<link rel="(?:next|prev)" href="([^"]+)"', html):
            assert file_of(urljoin(address(name), link), site).is_file()
