"""README.md and the pages for maintainers describe the repository as it is."""

import re
from collections.abc import Callable

from export.build import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMED_ELSEWHERE = {"LICENSE", "LICENSE-TEXT", ".github"}  # in the text below the tree
NEEDS_NO_NAME = {"README.md", ".gitignore"}
ALLOWED_INDEX = "download.pytorch.org"
INDEX_HOST = re.compile(
    r"\b[\w.-]*(?:pypi|pythonhosted|npmjs|registry|mirror|artifactory|nexus)[\w-]*\.[\w./-]+", re.IGNORECASE
)
TEXT_FILES = {".md", ".toml", ".json", ".yml", ".html", ""}


def tree() -> dict[str, str]:
    """The entries of README's tree: path and what it says about it."""
    found = re.search(r"## Where things are\n+```\n(.*?)\n```", README, re.DOTALL)
    assert found
    lines = [re.split(r"\s{2,}", line, maxsplit=1) for line in found[1].splitlines()]
    return {path: text for path, text in lines}


def test_the_tree_names_what_exists(git: Callable[..., str]) -> None:
    tracked = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for path, text in tree().items():
        assert text
        assert any(name == path or name.startswith(path.rstrip("/") + "/") for name in tracked), path
        assert path.endswith("/") == (ROOT / path).is_dir(), path


def test_each_top_level_entry_is_named(git: Callable[..., str]) -> None:
    tracked = git("ls-files").splitlines()
    top = {name.split("/")[0] for name in tracked}
    named = {path.split("/")[0] for path in tree()}
    assert top - named == NAMED_ELSEWHERE | NEEDS_NO_NAME
    for name in NAMED_ELSEWHERE:
        assert re.search(rf"[`(]{re.escape(name)}[/)]", README), f"README.md does not name {name}"


def test_make_targets_and_files_that_the_texts_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*##", makefile, re.MULTILINE))
    texts = [README, *(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))]
    for text in texts:
        code = " ".join(re.findall(r"`[^`]+`|```.*?```", text, re.DOTALL))
        assert set(re.findall(r"\bmake ([a-z]+)\b", code)) <= targets
        for path in re.findall(r"`((?:docs|export|model_src|site_assets|tests)/[\w./-]+)`", text):
            assert (ROOT / path).exists() or path.startswith("site_assets/generated"), path


def test_no_index_or_mirror_is_named_but_pytorchs(git: Callable[..., str]) -> None:
    """Files of the repository work with whatever package index a machine is set up for."""
    for name in git("ls-files").splitlines():
        path = ROOT / name
        if path.suffix in TEXT_FILES and path.is_file():
            found = INDEX_HOST.findall(path.read_text(encoding="utf-8"))
            assert [host for host in found if ALLOWED_INDEX not in host] == [], name
    for text in (README, (ROOT / "docs/maintain.md").read_text(encoding="utf-8")):
        indexes = re.findall(r"INDEX_URL=https?://([\w.-]+)", text)
        assert set(indexes) == {ALLOWED_INDEX}


def test_the_lock_file_holds_hashes_and_no_addresses() -> None:
    text = (ROOT / "site_assets/package-lock.json").read_text(encoding="utf-8")
    assert "://" not in re.sub(r'"(?:url|homepage|funding)": .*', "", text)
    assert text.count('"integrity": "sha512-') == text.count('"node_modules/')
