"""Checkpoints: what is written reads back, and a missing or damaged file is named."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

from tiny_gpt import checkpoint
from tiny_gpt.checkpoint import (
    CheckpointError,
    load_model,
    published,
    read_record,
    save_model,
    sha256,
    to_json,
    write_atomically,
)
from tiny_gpt.config import ModelConfig
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.run import initial_model as new_initial_model

SUFFIXES = pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1656464\n"


@pytest.fixture
def saved(tmp_path: Path, initial_model: TinyArithmeticGPT) -> Callable[[str], Path]:
    """Save the initial model under a suffix and return its path."""

    def save(suffix: str) -> Path:
        path = tmp_path / f"model{suffix}"
        save_model(path, initial_model, {"step": 0, "note": "−5 é"})
        return path

    return save


def refusal(path: Path, named: Path | None = None) -> str:
    """What load_model says; it must be one line that names the file."""
    with pytest.raises(CheckpointError) as error:
        load_model(path)
    said = str(error.value)
    assert str(named or path) in said
    assert "\n" not in said
    return said


def rewrite(path: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change the tensors of a checkpoint and let its JSON describe the new file."""
    if path.suffix == ".pt":
        content = torch.load(path, weights_only=True)
        change(content["weights"])
        torch.save(content, path)
        return
    tensors = safetensors.torch.load(path.read_bytes())
    change(tensors)
    data = safetensors.torch.save(tensors)
    path.write_bytes(data)
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    path.with_suffix(".json").write_bytes(to_json({**record, "sha256": sha256(data)}))


class TestRoundTrip:
    @SUFFIXES
    def test_same_weights(
        self, saved: Callable[[str], Path], suffix: str, initial_model: TinyArithmeticGPT
    ) -> None:
        loaded = load_model(saved(suffix))
        assert loaded.config == initial_model.config
        assert not loaded.training
        expected = initial_model.state_dict()
        assert loaded.state_dict().keys() == expected.keys()
        assert all(torch.equal(tensor, expected[name]) for name, tensor in loaded.state_dict().items())

    @SUFFIXES
    def test_output_is_tied_again(self, saved: Callable[[str], Path], suffix: str) -> None:
        loaded = load_model(saved(suffix))
        assert loaded.lm_head.weight is loaded.token_embedding.weight

    @SUFFIXES
    def test_other_sizes(self, tmp_path: Path, suffix: str) -> None:
        torch.manual_seed(0)
        model = TinyArithmeticGPT(
            ModelConfig(n_layers=1, width=16, n_heads=2, feed_forward_width=8, dropout=0.1)
        )
        path = tmp_path / f"deep/er/small{suffix}"
        save_model(path, model)
        assert load_model(path).config == model.config

    @SUFFIXES
    def test_float16_values_survive(self, tmp_path: Path, suffix: str) -> None:
        model = new_initial_model()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.half().float())
        save_model(tmp_path / f"rounded{suffix}", model)
        loaded = load_model(tmp_path / f"rounded{suffix}")
        assert all(torch.equal(p, p.half().double()) for p in loaded.parameters())
        assert all(p.dtype == torch.float64 for p in loaded.parameters())

    def test_saving_twice_gives_the_same_bytes(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        first = path.read_bytes(), path.with_suffix(".json").read_bytes()
        saved(".safetensors")
        assert (path.read_bytes(), path.with_suffix(".json").read_bytes()) == first


class TestWhatIsStored:
    def test_safetensors_hold_the_tied_matrix_once(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        tensors = safetensors.torch.load_file(path)
        assert "lm_head.weight" not in tensors
        assert sum(tensor.numel() for tensor in tensors.values()) == 413_440
        assert path.stat().st_size < 1_653_760 + 4096

    def test_pt_holds_tensors_and_plain_types_once(self, saved: Callable[[str], Path]) -> None:
        path = saved(".pt")
        content = torch.load(path, weights_only=True)
        assert content["config"] == ModelConfig().to_dict()
        assert "lm_head.weight" not in content["weights"]
        assert sum(tensor.numel() for tensor in content["weights"].values()) == 413_440
        assert path.stat().st_size < 1_653_760 + 16_384
        assert not path.with_suffix(".json").exists()

    def test_record(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        record = read_record(path)
        assert record["config"] == ModelConfig().to_dict()
        assert (record["step"], record["note"]) == (0, "−5 é")
        assert record["sha256"] == sha256(path.read_bytes())
        text = path.with_suffix(".json").read_bytes().decode("utf-8")
        assert "−5 é" in text  # readable, not \u escapes
        assert text.endswith("}\n")


class TestRefusals:
    @SUFFIXES
    def test_missing(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"none{suffix}"
        assert "does not exist" in refusal(path, path if suffix == ".pt" else path.with_suffix(".json"))

    def test_missing_tensors_beside_a_record(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        path.unlink()
        assert "does not exist" in refusal(path)

    def test_missing_record_beside_tensors(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        path.with_suffix(".json").unlink()
        assert "does not exist" in refusal(path, path.with_suffix(".json"))

    @SUFFIXES
    def test_a_folder(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"folder{suffix}"
        path.mkdir()
        refusal(path, path if suffix == ".pt" else path.with_suffix(".json"))

    @pytest.mark.parametrize("name", ["", ".", "/"])
    def test_no_file_name(self, name: str) -> None:
        with pytest.raises(CheckpointError):
            load_model(Path(name))

    @SUFFIXES
    @pytest.mark.parametrize("kept", [0.0, 0.0005, 0.5, 0.9999])
    def test_cut_short(self, saved: Callable[[str], Path], suffix: str, kept: float) -> None:
        path = saved(suffix)
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * kept)])
        refusal(path)

    @SUFFIXES
    def test_git_lfs_pointer(self, saved: Callable[[str], Path], suffix: str) -> None:
        path = saved(suffix)
        path.write_bytes(POINTER)
        assert "git lfs pull" in refusal(path)

    def test_git_lfs_pointer_as_record(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        path.with_suffix(".json").write_bytes(POINTER)
        assert "git lfs pull" in refusal(path, path.with_suffix(".json"))

    def test_one_flipped_bit(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        assert "sha256 differs" in refusal(path)

    def test_not_safetensors_though_the_record_fits(self, saved: Callable[[str], Path]) -> None:
        path = saved(".safetensors")
        data = b"this is no tensor file"
        path.write_bytes(data)
        record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        path.with_suffix(".json").write_bytes(to_json({**record, "sha256": sha256(data)}))
        assert "not a safetensors file" in refusal(path)

    @pytest.mark.parametrize(
        "text", [b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"config": {}}', b'{"sha256": "00"}', b'"text"']
    )
    def test_damaged_record(self, saved: Callable[[str], Path], text: bytes) -> None:
        path = saved(".safetensors")
        path.with_suffix(".json").write_bytes(text)
        refusal(path, path.with_suffix(".json"))

    @pytest.mark.parametrize(
        "config",
        [None, [], 5, {"width": "128"}, {"width": -1}, {"n_heads": 3}, {"vocab_size": 37}, {"color": "blue"}],
    )
    def test_record_with_a_wrong_configuration(self, saved: Callable[[str], Path], config: object) -> None:
        path = saved(".safetensors")
        record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        path.with_suffix(".json").write_bytes(to_json({**record, "config": config}))
        assert "configuration" in refusal(path)

    @SUFFIXES
    def test_a_tensor_is_lacking(self, saved: Callable[[str], Path], suffix: str) -> None:
        path = saved(suffix)
        rewrite(path, lambda tensors: tensors.pop("blocks.1.attention.qkv.bias"))
        assert "lacks the tensor blocks.1.attention.qkv.bias" in refusal(path)

    @SUFFIXES
    def test_an_unknown_tensor(self, saved: Callable[[str], Path], suffix: str) -> None:
        # The prefix that torch.compile adds.
        path = saved(suffix)
        rewrite(path, lambda tensors: tensors.update({"_orig_mod.final_norm.bias": torch.zeros(128)}))
        assert "unknown tensor _orig_mod.final_norm.bias" in refusal(path)

    @SUFFIXES
    def test_another_shape(self, saved: Callable[[str], Path], suffix: str) -> None:
        path = saved(suffix)
        rewrite(path, lambda tensors: tensors.update({"position_embedding.weight": torch.zeros(16, 128)}))
        assert "position_embedding.weight has shape [16, 128], expected [32, 128]" in refusal(path)

    @pytest.mark.parametrize(
        "content",
        [
            None,
            5,
            "text",
            [1],
            {},
            torch.zeros(3),
            {"weights": {}},
            {"config": {}},
            {"config": 1, "weights": {}},
            {"config": {}, "weights": None},
            {"config": {}, "weights": [1]},
        ],
        ids=repr,
    )
    def test_pt_with_other_content(self, tmp_path: Path, content: object) -> None:
        path = tmp_path / "other.pt"
        torch.save(content, path)
        refusal(path)

    def test_pt_with_numbers_in_place_of_tensors(self, saved: Callable[[str], Path]) -> None:
        path = saved(".pt")
        rewrite(path, lambda tensors: tensors.update({name: 1 for name in tensors}))
        refusal(path)

    @pytest.mark.parametrize(
        "data", [b"", b"text", b"X0", b"\x80\x02.", b"0" * 100, b"PK\x03\x04 no archive"]
    )
    def test_pt_with_any_bytes(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "bytes.pt"
        path.write_bytes(data)
        refusal(path)

    def test_pt_runs_no_code(self, tmp_path: Path) -> None:
        class Trap:
            def __reduce__(self) -> tuple[object, tuple[str]]:
                return os.mkdir, (str(tmp_path / "trap"),)

        path = tmp_path / "trap.pt"
        torch.save({"config": ModelConfig().to_dict(), "weights": Trap()}, path)
        refusal(path)
        assert not (tmp_path / "trap").exists()


class TestAtomicWriting:
    def test_writes_and_replaces(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "file.bin"
        write_atomically(path, b"one")
        write_atomically(path, b"two")
        assert path.read_bytes() == b"two"
        assert [entry.name for entry in path.parent.iterdir()] == ["file.bin"]

    @pytest.mark.parametrize("dies_in", ["fsync", "replace"])
    def test_the_old_file_stays_when_the_writer_dies(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_in: str
    ) -> None:
        path = tmp_path / "file.bin"
        write_atomically(path, b"old")

        def die(*_: object) -> None:
            raise OSError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint.os, dies_in, die)
            with pytest.raises(OSError, match="no space left"):
                write_atomically(path, b"new")
        assert path.read_bytes() == b"old"
        write_atomically(path, b"new")
        assert path.read_bytes() == b"new"
        assert [entry.name for entry in tmp_path.iterdir()] == ["file.bin"]

    def test_the_data_is_on_disk_before_the_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[str] = []
        real = {"fsync": os.fsync, "replace": os.replace}
        for name, function in real.items():

            def record(*values: object, name: str = name, function: Callable[..., None] = function) -> None:
                calls.append(name)
                function(*values)

            monkeypatch.setattr(checkpoint.os, name, record)
        write_atomically(tmp_path / "file.bin", b"data")
        assert calls == ["fsync", "replace"]


class TestPublished:
    def test_in_order_of_step(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
        for step in (12_000, 0, 500):
            (tmp_path / f"step-{step:06d}.safetensors").touch()
        (tmp_path / "other.safetensors").touch()
        assert [path.stem for path in published()] == ["step-000000", "step-000500", "step-012000"]

    def test_none_is_an_error_that_names_the_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
        with pytest.raises(CheckpointError, match="holds no step") as error:
            published()
        assert str(tmp_path) in str(error.value)
