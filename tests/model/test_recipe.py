"""The recipe and the learning rate that it gives at each step."""

import json

import pytest

from tiny_gpt.data import Mix
from tiny_gpt.recipe import Recipe, schedule


class TestSchedule:
    recipe = Recipe(steps=1000, warmup_steps=100, final_fraction=0.01)

    def test_starts_near_0_and_warms_up_in_a_line(self) -> None:
        assert schedule(0, self.recipe) == pytest.approx(0.01)
        assert schedule(49, self.recipe) == pytest.approx(0.5, rel=0.01)
        assert schedule(99, self.recipe) == pytest.approx(1, rel=0.03)

    def test_ends_at_the_final_fraction(self) -> None:
        assert schedule(1000, self.recipe) == pytest.approx(0.01)
        assert 0.01 < schedule(999, self.recipe) < 0.0101

    def test_is_half_way_down_in_the_middle(self) -> None:
        assert schedule(500, self.recipe) == pytest.approx((1 + 0.01) / 2)

    def test_rises_then_falls_within_0_and_1(self) -> None:
        shares = [schedule(step, self.recipe) for step in range(1001)]
        top = shares.index(max(shares))
        assert shares[: top + 1] == sorted(shares[: top + 1])
        assert shares[top:] == sorted(shares[top:], reverse=True)
        assert all(0 < share <= 1 for share in shares)

    def test_without_warm_up_it_starts_at_the_top(self) -> None:
        assert schedule(0, Recipe(warmup_steps=0)) == 1

    def test_restarts_once_and_ends_again_at_the_final_fraction(self) -> None:
        recipe = Recipe(steps=1500, restart_step=1000, restart_fraction=0.2)
        assert schedule(999, recipe) == pytest.approx(0.01, abs=1e-4)
        assert schedule(1000, recipe) == pytest.approx(0.2)
        assert schedule(1250, recipe) == pytest.approx((0.2 + 0.01) / 2)
        assert schedule(1500, recipe) == pytest.approx(0.01)

    def test_a_run_that_ends_before_the_restart_has_one_cosine(self) -> None:
        alone = Recipe(steps=500, restart_step=500)
        assert all(schedule(s, Recipe(steps=500)) == schedule(s, alone) for s in range(500))


def test_json_round_trip() -> None:
    recipe = Recipe(steps=7, learning_rate=0.5, mix=Mix(minus=10, ranges=(10, 100)))
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe
