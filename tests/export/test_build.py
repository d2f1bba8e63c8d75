"""The export runs when an input changed, and an input that is missing or damaged stops it."""

import contextlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from export import build as export_build
from export import models as export_models
from export.__main__ import main
from export.build import build
from export.forms import NamedOutputs
from export.shipping import ExportError
from export.site_files import shipped_entries
from tiny_gpt import checkpoint
from tiny_gpt.checkpoint import LFS_POINTER, published, published_small


@pytest.fixture
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the first and the last published checkpoint and of the small one, which the export reads."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for path in (published()[0], published()[-1], published_small()):
        for suffix in (".safetensors", ".json"):
            shutil.copy(path.with_suffix(suffix), folder)
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", folder)
    return folder


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An earlier export of the test's own, which a failed one must leave alone."""
    folder = tmp_path / "site_assets" / "generated"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "old.bin").write_bytes(b"old")
    (folder / "inputs.sha256").write_text("of an earlier export", encoding="utf-8")
    monkeypatch.setattr(export_build, "GENERATED", folder)
    return folder


def untouched(generated: Path) -> bool:
    files = sorted(p.relative_to(generated).as_posix() for p in generated.rglob("*") if p.is_file())
    return (
        files == ["inputs.sha256", "models/old.bin"]
        and (generated / "models/old.bin").read_bytes() == b"old"
        and [path.name for path in generated.parent.iterdir()] == ["generated"]
    )


def test_a_second_export_makes_nothing(manifest: dict[str, Any]) -> None:
    before = {p: p.stat().st_mtime_ns for p in export_build.GENERATED.rglob("*")}
    started = time.monotonic()
    assert build() is False
    assert time.monotonic() - started < 5
    assert {p: p.stat().st_mtime_ns for p in export_build.GENERATED.rglob("*")} == before


def test_a_changed_input_makes_everything_again(generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def make(folder: Path) -> None:
        made.append(folder.name)
        folder.mkdir()
        (folder / "new").write_bytes(b"new")

    monkeypatch.setattr(export_build, "_make", make)
    monkeypatch.setattr(export_build, "inputs_digest", lambda: "of an earlier export")
    assert build() is False and made == []
    monkeypatch.setattr(export_build, "inputs_digest", lambda: "of today")
    assert build() is True and len(made) == 1
    assert sorted(path.name for path in generated.iterdir()) == ["inputs.sha256", "new"]
    assert [path.name for path in generated.parent.iterdir()] == ["generated"]
    assert build() is False
    assert build(force=True) is True


def test_the_digest_covers_all_that_the_export_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        "export/graph.py",
        "export/facts/model.py",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "docs/snippets/python/look_inside.py",
        "model_src/tiny_gpt/model.py",
        "model_src/checkpoints/step-000000.json",
        "model_src/checkpoints/step-000000.safetensors",
        "model_src/checkpoints/learned.json",
        "model_src/checkpoints/maps.json",
        "model_src/checkpoints/training.json",
        "model_src/checkpoints/small.json",
        "model_src/checkpoints/small.safetensors",
        *(f"ort/dist/{name}" for name in export_build.ORT_FILES.values()),
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"one")
    monkeypatch.setattr(export_build, "ROOT", tmp_path)
    monkeypatch.setattr(export_build, "ORT_PACKAGE", tmp_path / "ort")
    digests = {export_build.inputs_digest()}
    for name in names:
        (tmp_path / name).write_bytes(b"two")
        digests.add(export_build.inputs_digest())
    (tmp_path / "model_src/checkpoints/step-000100.json").write_bytes(b"one")
    digests.add(export_build.inputs_digest())
    monkeypatch.setattr(export_build, "version", lambda name: "0.0")
    digests.add(export_build.inputs_digest())
    assert len(digests) == len(names) + 3


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def point(path: Path) -> None:
    path.write_bytes(LFS_POINTER + b"/spec/v1\noid sha256:00\nsize 1656464\n")


DAMAGES: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "truncated": (".safetensors", truncate, "is not the file its JSON describes"),
    "changed": (".safetensors", flip, "is not the file its JSON describes"),
    "LFS pointer": (".safetensors", point, "is a Git LFS pointer, not the file; run: git lfs pull"),
    "record is an LFS pointer": (".json", point, "is a Git LFS pointer, not the file; run: git lfs pull"),
    "record missing": (".json", Path.unlink, "does not exist; restore it from git or train it again"),
    "record cut": (".json", truncate, "is not readable JSON"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("which", [0, -1, None], ids=["first", "last", "small"])
def test_a_damaged_checkpoint_stops_the_export(
    damage: str, which: int | None, checkpoints: Path, generated: Path, command: Callable[..., Any]
) -> None:
    suffix, spoil, sentence = DAMAGES[damage]
    path = (published_small() if which is None else published()[which]).with_suffix(suffix)
    spoil(path)
    outcome = command(main)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith(f"error: {path}")
    assert sentence in outcome.err
    assert outcome.err.count("\n") == 1
    assert untouched(generated)


def test_no_checkpoint_at_all_stops_the_export(
    checkpoints: Path, generated: Path, command: Callable[..., Any]
) -> None:
    for path in checkpoints.iterdir():
        path.unlink()
    outcome = command(main)
    assert outcome.code == 1
    assert outcome.err == f"error: {checkpoints} holds no step-*.safetensors; restore it from git\n"
    assert untouched(generated)


def test_weights_that_were_not_rounded_stop_the_export(
    checkpoints: Path,
    generated: Path,
    command: Callable[..., Any],
    graph: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = published()[-1]
    model = checkpoint.load_model(path)
    model.final_norm.bias.data[5] = 1 / 3
    record = {k: v for k, v in checkpoint.read_record(path).items() if k not in ("config", "sha256")}
    checkpoint.save_model(path, model, record)
    monkeypatch.setattr(export_models, "FORMS", (NamedOutputs,))
    monkeypatch.setattr(export_models, "trace", lambda config, form: graph)
    outcome = command(main)
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: {path.name}: final_norm.bias holds numbers that float16")
    assert outcome.err.count("\n") == 1
    assert untouched(generated)


def test_a_missing_npm_package_is_named(
    generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Any]
) -> None:
    monkeypatch.setattr(export_build, "ORT_PACKAGE", export_build.ROOT / "site_assets/no_such_folder")
    with pytest.raises(ExportError, match=r"^site_assets/no_such_folder/dist/.* is missing; run: "):
        build()
    outcome = command(main)
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert untouched(generated)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_export_leaves_the_old_one_whole(
    stop: Any, generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(folder: Path) -> None:
        (folder / "models").mkdir(parents=True)
        (folder / "models" / "half.bin").write_bytes(b"half")
        raise stop

    monkeypatch.setattr(export_build, "_make", make)
    with pytest.raises(stop if isinstance(stop, type) else OSError):
        build()
    assert untouched(generated)


@pytest.mark.parametrize("last", range(6))
def test_a_stop_at_any_call_leaves_no_half_of_either(
    last: int, generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in the folder's place is a whole export, or nothing; a removal may stop halfway."""
    calls = iter(range(100))
    rename, rmtree = Path.rename, shutil.rmtree

    def stopping_rename(path: Path, target: Path) -> Path:
        if next(calls) >= last:
            raise KeyboardInterrupt
        return rename(path, target)

    def stopping_rmtree(path: Path, ignore_errors: bool) -> None:
        if next(calls) >= last:
            rmtree(path / "models", ignore_errors=True)
            raise KeyboardInterrupt
        rmtree(path, ignore_errors=ignore_errors)

    def make(folder: Path) -> None:
        (folder / "models").mkdir(parents=True)
        (folder / "models" / "new.bin").write_bytes(b"new")

    monkeypatch.setattr(export_build, "_make", make)
    monkeypatch.setattr(Path, "rename", stopping_rename)
    monkeypatch.setattr(shutil, "rmtree", stopping_rmtree)
    with contextlib.suppress(KeyboardInterrupt):
        build(force=True)
    if generated.exists():
        stamp = (generated / "inputs.sha256").read_text(encoding="utf-8")
        name = "old.bin" if stamp == "of an earlier export" else "new.bin"
        assert [path.name for path in (generated / "models").iterdir()] == [name]


def test_the_printed_sizes_are_the_manifests(manifest: dict[str, Any], command: Callable[..., Any]) -> None:
    outcome = command(main)
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out.startswith("site_assets/generated: up to date\n")
    for entry in shipped_entries(manifest):
        (line,) = [line for line in outcome.out.splitlines() if line.startswith(entry["file"])]
        assert f"{entry['bytes']:,}" in line and f"{entry['raw_bytes']:,}" in line


def test_generated_json_is_readable_utf8(manifest: dict[str, Any]) -> None:
    for name in ("manifest.json", "golden.json", "facts.json"):
        json.loads((export_build.GENERATED / name).read_text(encoding="utf-8"))
