"""The page's own code is shipped small, and a mistake in it stops the build with one sentence."""

import re
from pathlib import Path

import pytest

from export.build import NPM_PACKAGES
from export.minify import minified
from export.shipping import ExportError
from export.site_files import code_files, code_sources

MODULE = '/** Adds. */\nimport { one } from "./one.mjs";\n\nexport const two = () => one + 1; // 2\n'


def make(folder: Path, text: str) -> dict[str, Path]:
    (folder / "widgets").mkdir(exist_ok=True)
    (folder / "widgets" / "two.mjs").write_text(text, encoding="utf-8")
    sources = {"widgets/two.mjs": folder / "widgets" / "two.mjs"}
    return minified(sources, folder, NPM_PACKAGES, folder / "made")


def test_comments_and_spaces_go_and_imports_stay(tmp_path: Path) -> None:
    text = make(tmp_path, MODULE)["widgets/two.mjs"].read_text(encoding="utf-8")
    assert "Adds" not in text and "// 2" not in text
    assert re.search(r'from"\./one\.mjs"', text)
    assert re.search(r"export\{\w+ as two\}", text)
    assert text.count("\n") == 1


def test_what_was_made_is_kept_until_a_source_changes(tmp_path: Path) -> None:
    first = make(tmp_path, MODULE)["widgets/two.mjs"]
    written = first.stat().st_mtime_ns
    assert make(tmp_path, MODULE)["widgets/two.mjs"].stat().st_mtime_ns == written
    changed = make(tmp_path, MODULE.replace("+ 1", "+ 2"))["widgets/two.mjs"]
    assert changed != first and not first.exists()
    assert [path.name for path in tmp_path.iterdir()] != []
    assert not list(tmp_path.glob("*.part"))


def test_a_mistake_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"esbuild: .*Unexpected.* in widgets/two\.mjs:1:\d+$") as caught:
        make(tmp_path, "export const two = ;\n")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "made").exists()


def test_a_missing_esbuild_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="esbuild is missing in node_modules; run: make build"):
        minified({}, tmp_path, tmp_path / "node_modules", tmp_path / "made")


def test_all_code_of_our_own_is_shipped_and_smaller() -> None:
    sources, shipped = code_sources(), code_files()
    assert set(sources) <= set(shipped)
    before = sum(path.stat().st_size for path in sources.values())
    after = sum(shipped[address].stat().st_size for address in sources)
    assert after < 0.6 * before
