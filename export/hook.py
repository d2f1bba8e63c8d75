"""The MkDocs hook: export what changed, publish the files, fill questions and facts into the prose."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.config_options import ExtraScriptValue
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation

# `python -m mkdocs` finds the folder it runs in; the bare command `mkdocs` does not.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from export.build import GENERATED, build
from export.facts import FactError, fill_placeholders
from export.page_size import slim
from export.questions.bank import Question, QuestionError, load_bank
from export.questions.page import Chapter, MacroError, chapters, expand
from export.shipping import ExportError
from export.site_files import BEFORE_THEME, ENTRY, STYLES, code_folder, site_files
from tiny_gpt.checkpoint import CheckpointError

COURSE_ELEMENTS = "export.questions.markdown_elements"
ADDRESS_FACT = "site.address"  # known to MkDocs alone, and not an input of the export
log = logging.getLogger("mkdocs.hooks.export")
_added: list[str] = []
_bank: dict[str, Question] = {}
_chapters: list[Chapter] = []


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Export, then point the theme at this version's script and styles."""
    try:
        if build():
            log.info("exported the models to %s", GENERATED)
        folder = code_folder()
    except (ExportError, CheckpointError, OSError) as error:
        raise PluginError(str(error)) from None
    for address in _added:
        if address in config.extra_css:
            config.extra_css.remove(address)
    config.extra_javascript[:] = [s for s in config.extra_javascript if str(s) not in _added]
    # Not in mkdocs.yml: MkDocs loads that list before it loads this hook, which makes the folder known.
    if COURSE_ELEMENTS not in config.markdown_extensions:
        config.markdown_extensions.insert(0, COURSE_ELEMENTS)
    config.extra["polyfills"] = [f"{folder}/{BEFORE_THEME}"]  # the theme's word for scripts before its own
    script = f"{folder}/{ENTRY}"
    styles = [f"{folder}/css/{name}" for name in STYLES]
    _added[:] = [script, *styles]
    config.extra_css.extend(styles)
    module = ExtraScriptValue(script)
    module.type = "module"
    config.extra_javascript.append(module)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Hand over the generated files; they are copied, not kept below docs_dir."""
    for address, path in site_files().items():
        if not path.is_file():
            raise PluginError(f"{path} is missing; run: make build")
        files.append(File.generated(config, address, abs_src_path=str(path)))
    scripts = map(str, (*config.extra["polyfills"], *config.extra_javascript))
    for address in (*config.extra_css, *scripts):
        if files.get_file_from_path(address) is None:
            raise PluginError(f"{address} is named for every page and does not exist")
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, **_: Any) -> Navigation:
    """Read the question bank; a question that breaks a rule stops the build."""
    try:
        _bank.clear()
        _bank.update(load_bank(_facts()))
        _chapters[:] = chapters(config.nav, Path(config.docs_dir), _bank)
    except (QuestionError, CheckpointError, OSError) as error:
        raise PluginError(str(error)) from None
    return nav


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, **_: Any) -> str:
    """Put in questions, facts and the site's address; a name that is not known stops the build."""
    facts = {**_facts(), ADDRESS_FACT: str(config.site_url)}
    try:
        expanded = expand(markdown, page.file.src_uri, _bank, _chapters)
        return fill_placeholders(expanded, facts, page.file.src_uri)
    except (FactError, MacroError) as error:
        raise PluginError(str(error)) from None


def on_page_content(html: str, **_: Any) -> str:
    """Leave out of the page what a reader would not miss."""
    return slim(html)


def _facts() -> dict[str, str]:
    facts: dict[str, str] = json.loads((GENERATED / "facts.json").read_text(encoding="utf-8"))
    return facts
