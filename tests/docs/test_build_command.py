"""`mkdocs build` exports once, leaves the git tree clean, and stops with one sentence."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files

import export.build
import export.site_files
from export import hook
from export.build import GENERATED, ROOT
from export.site_files import STYLES, code_folder, site_files
from tiny_gpt import checkpoint


class Page:
    """As much of a page as the hook asks for."""

    class file:
        src_uri = "part-1/page.md"


@pytest.fixture
def config() -> Iterator[MkDocsConfig]:
    """The site's configuration, as it is before the hook sees it."""
    added = copy.copy(hook._added)
    hook._added.clear()
    loaded = load_config(str(ROOT / "mkdocs.yml"))
    loaded.plugins._current_plugin = "export/hook.py"  # as MkDocs has it while it calls a hook
    yield loaded
    hook._added[:] = added


def addresses(config: MkDocsConfig) -> list[str]:
    return [*config.extra_css, *map(str, config.extra_javascript)]


def test_a_second_build_exports_nothing_and_gives_the_same_site(
    built: Any, build_site: Callable[[], Any], git: Callable[..., str]
) -> None:
    def contents() -> dict[str, bytes]:
        return {
            path.relative_to(built.site).as_posix(): path.read_bytes()
            for path in built.site.rglob("*")
            if path.is_file() and path.name != "sitemap.xml.gz"
        }

    status, before = git("status", "--porcelain"), contents()
    exported = {path: path.stat().st_mtime_ns for path in GENERATED.rglob("*")}
    again = build_site()
    assert again.code == 0, again.report
    assert "exported the models" not in again.report
    assert "WARNING" not in again.report
    assert {path: path.stat().st_mtime_ns for path in GENERATED.rglob("*")} == exported
    assert again.seconds < 60
    assert contents() == before
    assert git("status", "--porcelain") == status


def test_the_hook_adds_this_versions_script_and_styles_once(config: MkDocsConfig) -> None:
    before = addresses(config)
    hook.on_config(config)
    hook.on_config(config)  # `mkdocs serve` comes back for each change
    added = [a for a in addresses(config) if a not in before]
    assert sorted(added) == sorted(
        f"{code_folder()}/{name}" for name in ("main.mjs", *(f"css/{style}" for style in STYLES))
    )
    (script,) = [s for s in config.extra_javascript if str(s) in added]
    assert script.type == "module"


def test_the_hook_hands_over_every_file(config: MkDocsConfig) -> None:
    hook.on_config(config)
    files = hook.on_files(Files([]), config)
    assert {file.src_uri for file in files} == set(site_files())


@pytest.mark.parametrize("kind", ["extra_css", "extra_javascript"])
def test_a_wrong_path_to_a_style_or_script_stops_the_build(kind: str, config: MkDocsConfig) -> None:
    hook.on_config(config)
    config[kind].append("css/no-such-file.css")
    with pytest.raises(PluginError) as stop:
        hook.on_files(Files([]), config)
    sentence = "css/no-such-file.css is named for every page and does not exist"
    assert str(stop.value) == sentence


def test_an_unknown_fact_stops_the_build(config: MkDocsConfig) -> None:
    assert hook.on_page_markdown("{{ model.parameters }}", page=Page(), config=config) == "413,440"
    with pytest.raises(PluginError) as stop:
        hook.on_page_markdown("{{ model.wings }}", page=Page(), config=config)
    assert str(stop.value) == (
        "part-1/page.md names the fact model.wings, which export/facts does not compute"
    )


def test_the_sites_address_is_a_fact(config: MkDocsConfig) -> None:
    config.site_url = "https://example.org/a/"
    assert (
        hook.on_page_markdown("{{ site.address }}x", page=Page(), config=config) == "https://example.org/a/x"
    )


def one_sentence(text: str) -> bool:
    return "\n" not in text and "Traceback" not in text


def test_a_missing_runtime_stops_the_build(config: MkDocsConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export.build, "ORT_PACKAGE", ROOT / "site_assets" / "no_such_folder")
    with pytest.raises(PluginError, match="is missing; run: ") as stop:
        hook.on_config(config)
    assert one_sentence(str(stop.value))


def test_a_damaged_checkpoint_stops_the_build(
    config: MkDocsConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = checkpoint.published()[-1].name
    (tmp_path / name).write_bytes(checkpoint.LFS_POINTER + b"/spec/v1\n")
    (tmp_path / name).with_suffix(".json").write_text('{"config": {}, "sha256": ""}', encoding="utf-8")
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(export.build, "inputs_digest", lambda: "changed")
    monkeypatch.setattr(export.build, "GENERATED", tmp_path / "generated")
    with pytest.raises(PluginError, match="is a Git LFS pointer, not the file; run: git lfs pull") as stop:
        hook.on_config(config)
    assert name in str(stop.value)
    assert one_sentence(str(stop.value))


def test_a_missing_generated_file_stops_the_build(
    config: MkDocsConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook.on_config(config)
    missing = GENERATED / "models" / "no-such-model.bin"
    monkeypatch.setattr(hook, "site_files", lambda: {"assets/models/m.bin": missing})
    with pytest.raises(PluginError, match=r"no-such-model\.bin is missing; run: ") as stop:
        hook.on_files(Files([]), config)
    assert one_sentence(str(stop.value))


def test_the_sites_own_code_gets_a_new_address_when_it_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = code_folder()
    assert before == code_folder()
    changed = tmp_path / "main.mjs"
    changed.write_text("// another program\n", encoding="utf-8")
    files = export.site_files.code_files()
    monkeypatch.setattr(export.site_files, "code_files", lambda: {**files, "main.mjs": changed})
    assert code_folder() != before
