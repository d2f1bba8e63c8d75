"""Numbers that stand in the prose: `{{ key }}` in Markdown becomes the fact of that name.

One module a topic; each gives a dictionary of finished texts. `all_facts` is the one list of them.
"""

import re
from dataclasses import dataclass
from typing import Any

from export.facts.answers import answer_facts
from export.facts.curve import curve_facts
from export.facts.data import data_facts
from export.facts.files import size_facts
from export.facts.honest import honest_facts
from export.facts.inside import inside_facts
from export.facts.learned import learned_facts
from export.facts.losses import loss_facts
from export.facts.model import example_facts, model_facts, walk_facts
from export.facts.rows import row_facts
from export.facts.sampling import sampling_facts
from export.facts.training import training_facts
from tiny_gpt.checkpoint import SMALL
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.recipe import Recipe

PLACEHOLDER = re.compile(r"\{\{\s*([a-z_.0-9]+)\s*\}\}")


class FactError(ValueError):
    """A page names a fact that no command has computed."""


@dataclass(frozen=True)
class Sources:
    """What facts are computed from."""

    models: dict[str, TinyArithmeticGPT]  # by name, every published checkpoint
    records: dict[str, dict[str, Any]]  # the JSON beside each of them and beside the smaller model
    initial: str  # name of the epoch-0 weights
    trained: str  # name of the trained weights
    early: str  # name of a checkpoint that knows something and is often wrong
    small: TinyArithmeticGPT  # the smaller model
    counted: dict[str, Any]  # the record of `tiny_gpt.maps`
    walk: dict[str, Any]  # the recorded walk of the untrained network
    runtime_bytes: int  # that the first use of a live part downloads
    weights_bytes: int  # of one model, its graph included


def all_facts(sources: Sources) -> dict[str, str]:
    """Every fact by its key."""
    models, records = sources.models, sources.records
    initial, trained = sources.initial, sources.trained
    recipe = Recipe.from_dict(records[trained]["recipe"])
    return {
        **model_facts(models[trained]),
        **training_facts(records[initial], records[trained]),
        **walk_facts(sources.walk),
        **data_facts(recipe),
        **answer_facts(models[trained]),
        **sampling_facts(models[trained], models[sources.early], sources.early),
        **row_facts(models[trained]),
        **inside_facts(models[trained]),
        **loss_facts(models[initial], models[trained]),
        **learned_facts(),
        **curve_facts({name: records[name] for name in models}, models, recipe),
        **example_facts("initial", models[initial]),
        **example_facts("trained", models[trained]),
        **honest_facts(
            models[trained],
            records[trained],
            records[SMALL],
            sources.counted,
            sources.early,
            {
                "trained": models[trained].parameter_breakdown()["total"],
                "smaller": sources.small.parameter_breakdown()["total"],
            },
        ),
        **size_facts(sources.runtime_bytes, sources.weights_bytes),
    }


def fill_placeholders(markdown: str, facts: dict[str, str], page: str) -> str:
    """Put facts in place of `{{ key }}`. Raises `FactError` for a key that is not known."""

    def fact(match: re.Match[str]) -> str:
        if match[1] not in facts:
            raise FactError(f"{page} names the fact {match[1]}, which export/facts does not compute")
        return facts[match[1]]

    return PLACEHOLDER.sub(fact, markdown)
