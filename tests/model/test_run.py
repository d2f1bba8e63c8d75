"""A run: its steps, its optimizers, and the state that it saves and loads."""

import re
from pathlib import Path

import pytest
import torch

from tiny_gpt.checkpoint import CheckpointError, save_model
from tiny_gpt.config import ModelConfig
from tiny_gpt.data import Mix
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.recipe import Recipe, schedule
from tiny_gpt.run import Run, initial_model

SMALL = ModelConfig(n_layers=1, width=16, n_heads=2, feed_forward_width=24)


class TestSteps:
    def test_starts_from_the_seed_42_weights(self, initial_model: TinyArithmeticGPT) -> None:
        expected = initial_model.state_dict()
        assert all(torch.equal(t, expected[name]) for name, t in Run(Recipe()).model.state_dict().items())

    def test_every_parameter_moves_and_the_output_stays_tied(self, initial_model: TinyArithmeticGPT) -> None:
        run = Run(Recipe(steps=10, batch_size=16, warmup_steps=1))
        run.train_step()
        before = dict(initial_model.named_parameters())
        assert all(not torch.equal(p, before[name]) for name, p in run.model.named_parameters())
        assert run.model.lm_head.weight is run.model.token_embedding.weight
        assert run.step == 1

    def test_both_optimizers_follow_it(self) -> None:
        run = Run(Recipe(steps=100, batch_size=4, warmup_steps=10))
        run.train_step()
        share = schedule(0, run.recipe)
        rates = [optimizer.param_groups[0]["lr"] for optimizer in run.optimizers]
        assert rates == [run.recipe.matrix_learning_rate * share, run.recipe.learning_rate * share]

    @pytest.mark.parametrize("matrix_optimizer", ["muon", "adamw"])
    def test_each_parameter_has_one_optimizer(self, matrix_optimizer: str) -> None:
        run = Run(Recipe(matrix_optimizer=matrix_optimizer))
        owned = [
            p for optimizer in run.optimizers for group in optimizer.param_groups for p in group["params"]
        ]
        assert len({id(p) for p in owned}) == len(owned)
        assert {id(p) for p in owned} == {id(p) for p in run.model.parameters()}
        assert len(run.optimizers[0].param_groups[0]["params"]) == 8

    def test_another_size_starts_from_seed_42_too(self) -> None:
        first, second = Run(Recipe(), config=SMALL).model, initial_model(SMALL)
        assert first.config == second.config == SMALL
        assert all(torch.equal(t, second.state_dict()[name]) for name, t in first.state_dict().items())


class TestSavedState:
    @pytest.mark.parametrize("config", [ModelConfig(), SMALL], ids=["published size", "another size"])
    def test_resumed_in_the_middle_equals_unbroken(self, tmp_path: Path, config: ModelConfig) -> None:
        run = Run(Recipe(steps=8, batch_size=16), config=config)
        for _ in range(3):
            run.train_step()
        run.save(tmp_path / "state.safetensors")
        resumed = Run.load(tmp_path / "state.safetensors")
        assert resumed.model.config == config
        for each in (run, resumed):
            while each.step < 8:
                each.train_step()
        unbroken = run.model.state_dict()
        assert all(torch.equal(t, unbroken[name]) for name, t in resumed.model.state_dict().items())

    def test_holds_step_stream_recipe_log_and_random_state(self, tmp_path: Path) -> None:
        run = Run(Recipe(steps=9, batch_size=16, mix=Mix(minus=7)))
        run.train_step()
        run.log.append({"step": 1, "loss": 4.5})
        torch.manual_seed(123)
        run.save(tmp_path / "state.safetensors")
        expected = torch.rand(3)
        torch.manual_seed(5)
        loaded = Run.load(tmp_path / "state.safetensors")
        assert torch.equal(torch.rand(3), expected)
        assert (loaded.step, loaded.log, loaded.recipe) == (1, run.log, run.recipe)
        assert loaded.stream.next_candidate == run.stream.next_candidate > 0
        assert loaded.model.lm_head.weight is loaded.model.token_embedding.weight

    @pytest.mark.parametrize("kept", [0.0, 0.001, 0.5, 0.999])
    def test_cut_short_is_refused(self, tmp_path: Path, kept: float) -> None:
        state = tmp_path / "state.safetensors"
        Run(Recipe(), config=SMALL).save(state)
        data = state.read_bytes()
        state.write_bytes(data[: int(len(data) * kept)])
        with pytest.raises(CheckpointError, match=re.escape(str(state))):
            Run.load(state)

    def test_missing_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="does not exist; start the run without --resume"):
            Run.load(tmp_path / "state.safetensors")

    def test_a_checkpoint_without_a_run_is_refused(
        self, tmp_path: Path, initial_model: TinyArithmeticGPT
    ) -> None:
        state = tmp_path / "state.safetensors"
        save_model(state, initial_model)
        with pytest.raises(CheckpointError, match="not a training state"):
            Run.load(state)
