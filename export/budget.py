"""How many bytes the pages of a built site move: `python -m export.budget [SITE]`.

A first visit loads the page and all that it asks for before anything is used. The
first use of a live part loads the runtime and one model. Files count at the size
they have on disk, since many hosts compress nothing.
"""

import json
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from export.build import ROOT
from export.site_files import BEFORE_THEME, ENTRY
from tiny_gpt.command import CommandError, CommandParser, run_command

FIRST_VISIT_LIMIT = 600_000
FIRST_USE_LIMIT = 5_500_000
KINDS = {".html": "HTML", ".css": "CSS", ".js": "JS", ".mjs": "JS"}
COLUMNS = ("HTML", "CSS", "JS", "other")

STATIC_IMPORT = re.compile(r"""(?:^|;)\s*(?:import|export)\b[^;"'()]*?["'](\.[^"']+)["']""", re.MULTILINE)
WORKER = re.compile(r"""new Worker\(\s*new URL\(["']([^"']+)["'],\s*import\.meta\.url\)""")
CSS_URL = re.compile(r"""url\(\s*["']?([^"')]+)""")


class Page(HTMLParser):
    """What a page's HTML asks for."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.loads: list[str] = []  # addresses of style sheets, icons, scripts and pictures
        self.models: list[str | None] = []  # the attribute `model` of each live part
        self.elements: set[str] = set()  # the live parts' names
        self.theme: dict[str, Any] = {}  # what the theme's script is told
        self._in_theme = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._in_theme = tag == "script" and attributes.get("id") == "__config"
        if tag == "link" and {"stylesheet", "icon"} & set((attributes.get("rel") or "").split()):
            self.loads.append(attributes.get("href") or "")
        if tag in ("script", "img") and attributes.get("src"):
            self.loads.append(attributes["src"] or "")
        if "-" in tag:  # a custom element
            self.models.append(attributes.get("model"))
            self.elements.add(tag)

    def handle_data(self, data: str) -> None:
        if self._in_theme:
            self.theme = json.loads(data)
            self._in_theme = False


def pages(site: Path) -> list[Page]:
    """The pages of a built site, without the one for wrong addresses."""
    found = [Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    if not found:
        raise CommandError(f"{site} holds no pages; run: make build")
    return found


def first_visit(page: Page, site: Path) -> set[Path]:
    """The files that a browser loads when it opens the page."""
    addresses = list(page.loads)
    base = page.theme.get("base", ".")
    if page.theme.get("search"):
        addresses.append(page.theme["search"])
        if not any(address.endswith(BEFORE_THEME) for address in page.loads):
            addresses.append(f"{base}/search/search_index.json")
    if "navigation.instant" in page.theme.get("features", []):
        addresses.append(f"{base}/sitemap.xml")
    files = {page.path}
    for address in addresses:
        files |= _with_imports(_file(page.path, address, site), site)
    for entry in [path for path in files if path.name == ENTRY]:
        for element in page.elements:
            files |= _with_imports(_file(entry, f"widgets/{element}.mjs", site), site)
    return files


def first_use(page: Page, site: Path) -> set[Path]:
    """The further files that the first use of a live part loads: the largest, if its parts differ."""
    if not page.models:
        return set()
    loaded = first_visit(page, site)
    files: set[Path] = set()
    for module in loaded:
        if module.suffix == ".mjs":
            for address in WORKER.findall(module.read_text(encoding="utf-8")):
                files |= _with_imports(_file(module, address, site), site)
    manifest_module = next((path for path in files | loaded if path.name == "manifest.mjs"), None)
    if manifest_module is None:
        raise CommandError(f"{page.path.relative_to(site)} has a live part and loads no manifest.mjs")
    manifest = _read_manifest(manifest_module)
    models = manifest["models"]
    named = [models[manifest.get(name, name)] for name in page.models if name]
    candidates = named if len(named) == len(page.models) else list(models.values())
    model = max(candidates, key=lambda entry: int(entry["bytes"]))
    graph = max(manifest["graphs"][model["size"]].values(), key=lambda entry: int(entry["bytes"]))
    assets = manifest_module.parents[2]
    shipped = {assets / entry["file"] for entry in (manifest["runtime"]["wasm"], model, graph)}
    vendor = set((manifest_module.parents[1] / "vendor").glob("*.mjs"))
    for path in shipped:
        if not path.is_file():
            raise CommandError(f"{path.relative_to(site)} is in the manifest and not in the site")
    return (files | shipped | vendor) - loaded


def _with_imports(path: Path, site: Path) -> set[Path]:
    """A file and what it loads by itself: static imports of a module, pictures of a style sheet."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        waiting += [_file(file, address, site) for address in _loaded_by(file)]
    return found


def _loaded_by(file: Path) -> Iterator[str]:
    if file.suffix == ".mjs":
        yield from STATIC_IMPORT.findall(file.read_text(encoding="utf-8"))
    elif file.suffix == ".css":
        for address in CSS_URL.findall(file.read_text(encoding="utf-8")):
            if not address.startswith(("data:", "#")):
                yield address


def _file(source: Path, address: str, site: Path) -> Path:
    """The file that `address` means in `source`."""
    parts = urlsplit(address)
    path = (source.parent / unquote(parts.path)).resolve()
    if parts.scheme or parts.netloc or not path.is_file():
        raise CommandError(f"{source.relative_to(site)} loads {address}, which is not in the site")
    return path


def _read_manifest(module: Path) -> dict[str, Any]:
    text = module.read_text(encoding="utf-8")
    manifest: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return manifest


def _size(files: set[Path], kind: str | None = None) -> int:
    return sum(p.stat().st_size for p in files if kind in (None, KINDS.get(p.suffix, "other")))


def main(argv: Sequence[str] | None = None) -> int:
    """Print for each page the bytes of a first visit and of the first use of a live part."""
    parser = CommandParser("export.budget", "Print what each page of a built site moves, in bytes.")
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "site", help="folder of a built site")
    site = parser.parse_args(argv).site.resolve()
    found = pages(site)
    print(f"{'bytes':<38}" + "".join(f"{name:>10}" for name in (*COLUMNS, "visit", "first use")))
    broken = []
    for page in found:
        visit, use = first_visit(page, site), first_use(page, site)
        name = page.path.relative_to(site).as_posix()
        sizes = [*(_size(visit, kind) for kind in COLUMNS), _size(visit), _size(use)]
        print(f"{name:<38}" + "".join(f"{size:>10,}" for size in sizes))
        for what, size, limit in (
            ("a first visit", sizes[-2], FIRST_VISIT_LIMIT),
            ("the first use of a live part", sizes[-1], FIRST_USE_LIMIT),
        ):
            if size > limit:
                broken.append(f"{name}: {what} moves {size:,} bytes")
    print(f"{'limit':<38}" + " " * 40 + f"{FIRST_VISIT_LIMIT:>10,}{FIRST_USE_LIMIT:>10,}")
    if broken:
        raise CommandError(f"over the limit: {'; '.join(broken)}")
    return 0


if __name__ == "__main__":
    run_command(main)
