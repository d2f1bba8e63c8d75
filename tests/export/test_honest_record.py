"""The committed weights are what their records say: recipe, losses, tables, hashes."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from tiny_gpt.checkpoint import CHECKPOINTS, load_model, published, read_record, sha256
from tiny_gpt.data import HELD_OUT, Problems, all_problems, encode_rows, inputs_and_targets, problems_in
from tiny_gpt.evaluate import SMALL_OPERAND, answered_exactly, predicted_exactly, table
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.publish import GREEDY, ONE_PASS, round_to_float16
from tiny_gpt.random32 import draws
from tiny_gpt.recipe import Recipe
from tiny_gpt.run import INITIAL_SEED, Run, initial_model
from tiny_gpt.tokenizer import PAD_ID, CharacterTokenizer

PATHS = published()
FIRST_STEPS = 10
SAMPLE = 1500


def rows_off(mine: list[dict[str, Any]], recorded: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    return [pair for pair in zip(mine, recorded, strict=True) if pair[0] != pair[1]]


@pytest.fixture(scope="module")
def log() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((CHECKPOINTS / "training.json").read_text(encoding="utf-8"))
    return value


def test_records_fit_their_weights_and_each_other(
    records: dict[str, dict[str, Any]], log: dict[str, Any]
) -> None:
    recipe = log["recipe"]
    for path in PATHS:
        record = records[path.stem]
        assert record["sha256"] == sha256(path.read_bytes())
        assert path.stem == f"step-{record['step']:06d}"
        assert record["recipe"] == recipe
        assert record["problems_seen"] == record["step"] * recipe["batch_size"]
        assert record["initial_seed"] == INITIAL_SEED
    steps = [records[path.stem]["step"] for path in PATHS]
    assert steps[0] == 0
    assert steps[-1] == recipe["steps"] == log["log"][-1]["step"]


def test_every_table_counts_the_whole_held_out_set(records: dict[str, dict[str, Any]]) -> None:
    held_out = problems_in(HELD_OUT)
    nothing_right = table(held_out, np.zeros(len(held_out), dtype=bool))
    for record in records.values():
        assert [{**row, "right": 0} for row in record["held_out"]] == nothing_right
        assert all(0 <= row["right"] <= row["problems"] for row in record["held_out"])


def test_methods_are_named(records: dict[str, dict[str, Any]]) -> None:
    *earlier, last = (record["method"] for record in records.values())
    assert set(earlier) == {ONE_PASS}
    assert last == GREEDY


def test_the_recipe_is_the_programs_default(log: dict[str, Any]) -> None:
    assert Recipe.from_dict(log["recipe"]) == Recipe()


def test_step_0_is_the_seed_42_network_rounded(models: dict[str, TinyArithmeticGPT]) -> None:
    expected = round_to_float16(initial_model()).state_dict()
    stored = models[PATHS[0].stem].state_dict()
    assert stored.keys() == expected.keys()
    for name, values in stored.items():
        assert torch.equal(values.float(), expected[name]), name


def test_all_weights_are_float16_numbers(models: dict[str, TinyArithmeticGPT]) -> None:
    for model in models.values():
        for name, parameter in model.named_parameters():
            assert torch.equal(parameter, parameter.half().to(parameter.dtype)), name


def test_the_first_steps_of_the_recipe_give_the_recorded_losses(log: dict[str, Any]) -> None:
    recorded = {entry["step"]: entry["loss"] for entry in log["log"]}
    run = Run(Recipe.from_dict(log["recipe"]))
    for step in range(1, FIRST_STEPS + 1):
        assert run.train_step() == pytest.approx(recorded[step], rel=1e-3), f"step {step}"


def test_the_trained_model_has_its_recorded_table(
    models: dict[str, TinyArithmeticGPT], records: dict[str, dict[str, Any]]
) -> None:
    name = PATHS[-1].stem
    held_out = problems_in(HELD_OUT)
    right = predicted_exactly(models[name], held_out)
    assert rows_off(table(held_out, right), records[name]["held_out"]) == []


def test_the_trained_model_has_its_recorded_small_problems(
    models: dict[str, TinyArithmeticGPT], records: dict[str, dict[str, Any]]
) -> None:
    name = PATHS[-1].stem
    small = all_problems(SMALL_OPERAND)
    right = predicted_exactly(models[name], small)
    wrong = [text for text, ok in zip(small.prompts(), right, strict=True) if not ok]
    assert records[name]["operands_0_to_99"] == {
        "problems": len(small),
        "right": int(right.sum()),
        "first_wrong": wrong[:20],
    }


def test_real_greedy_decoding_gives_the_verdicts_of_one_pass(models: dict[str, TinyArithmeticGPT]) -> None:
    held_out = problems_in(HELD_OUT)
    sample = held_out[np.argsort(draws(0, 0, len(held_out)), kind="stable")[:SAMPLE]]
    for path in (PATHS[len(PATHS) // 2], PATHS[-1]):
        model = models[path.stem]
        assert (answered_exactly(model, sample) == predicted_exactly(model, sample)).all()


@torch.inference_mode()
def loss_and_verdicts(model: TinyArithmeticGPT, problems: Problems) -> tuple[float, np.ndarray]:
    """Mean loss over all targets, and whether each answer is predicted, in one pass over the problems."""
    losses, verdicts = [], []
    for start in range(0, len(problems), 2048):
        inputs, targets = inputs_and_targets(torch.from_numpy(encode_rows(problems[start : start + 2048])))
        logits = model(inputs)
        counts = targets != PAD_ID
        losses.append(functional.cross_entropy(logits[counts], targets[counts], reduction="none"))
        is_answer = counts & ((inputs == CharacterTokenizer.token_id("=")).cumsum(dim=1) > 0)
        verdicts.append(((logits.argmax(dim=-1) == targets) | ~is_answer).all(dim=1))
    return float(torch.cat(losses).double().mean()), torch.cat(verdicts).numpy()


def test_the_middle_checkpoint_has_its_recorded_loss_and_table(
    models: dict[str, TinyArithmeticGPT], records: dict[str, dict[str, Any]]
) -> None:
    """The middle one of the time line stands for the others."""
    name = PATHS[(len(PATHS) - 1) // 2].stem
    held_out = problems_in(HELD_OUT)
    loss, right = loss_and_verdicts(models[name], held_out)
    assert loss == pytest.approx(records[name]["held_out_loss"], rel=1e-4)
    assert rows_off(table(held_out, right), records[name]["held_out"]) == []


class TestSmallModel:
    """The model that chapter 8 compares with is no step of the time line, and as honest."""

    path = CHECKPOINTS / "small.safetensors"

    def test_record_fits_its_weights(self) -> None:
        record = read_record(self.path)
        assert record["sha256"] == sha256(self.path.read_bytes())
        assert record["method"] == GREEDY
        assert record["problems_seen"] == record["step"] * record["recipe"]["batch_size"]
        assert self.path not in PATHS

    def test_it_is_smaller_and_only_its_steps_and_size_differ(self, log: dict[str, Any]) -> None:
        record, trained = read_record(self.path), read_record(PATHS[-1])
        assert {**record["recipe"], "steps": log["recipe"]["steps"]} == log["recipe"]
        sizes = ("n_layers", "width", "n_heads", "feed_forward_width")
        assert all(record["config"][size] < trained["config"][size] for size in sizes)
        assert record["step"] == record["recipe"]["steps"]

    def test_all_weights_are_float16_numbers(self) -> None:
        for name, parameter in load_model(self.path).named_parameters():
            assert torch.equal(parameter, parameter.half().to(parameter.dtype)), name

    def test_has_its_recorded_loss_tables_and_small_problems(self) -> None:
        record, model = read_record(self.path), load_model(self.path)
        held_out, small = problems_in(HELD_OUT), all_problems(SMALL_OPERAND)
        loss, right = loss_and_verdicts(model, held_out)
        assert loss == pytest.approx(record["held_out_loss"], rel=1e-4)
        assert rows_off(table(held_out, right), record["held_out"]) == []
        small_right = predicted_exactly(model, small)
        assert record["operands_0_to_99"]["right"] == int(small_right.sum())
        assert record["operands_0_to_99"]["problems"] == len(small)
