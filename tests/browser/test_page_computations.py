"""Every function that a question can compute gives Python's value on the device, and writes it as Python does."""

from typing import Any

import pytest

from built_site import CHAPTER_4, OpenPage, Site
from export.questions.computations import COMPUTATIONS, Value, shown
from question_parts import compute_in_page

CASES: list[tuple[str, dict[str, Any]]] = [
    ("top_token", {"model": "trained", "prefix": "12+34="}),
    ("top_token", {"model": "trained", "prefix": "12+34=46"}),
    ("top_token", {"model": "initial", "prefix": "1+1= "}),
    ("top_token", {"model": "step-001000", "prefix": ""}),
    ("answer", {"model": "trained", "prompt": "7-12="}),
    ("answer", {"model": "trained", "prompt": "999+999="}),
    ("answer", {"model": "initial", "prompt": "1+1="}),
    ("answer_probability", {"model": "step-001000", "prompt": "68+91="}),
    ("answer_probability", {"model": "trained", "prompt": "7-12="}),
    ("is_right", {"model": "trained", "prompt": "123-456="}),
    ("is_right", {"model": "step-000100", "prompt": "123+456="}),
    ("logit", {"model": "trained", "prefix": "1+1=", "token": "2"}),
    ("logit", {"model": "initial", "prefix": "1+1=", "token": "space"}),
    ("probability", {"model": "trained", "prefix": "1+1=", "token": "2"}),
    ("probability", {"model": "trained", "prefix": "1+1=2", "token": "EOS"}),
    ("probability", {"model": "trained", "prefix": "1+1=", "token": "x"}),
    ("rank", {"model": "initial", "prefix": "1+1=", "token": "2"}),
    ("token_loss", {"model": "trained", "prefix": "", "token": "1"}),
    ("loss", {"model": "trained", "line": "12+34=46"}),
    ("loss", {"model": "initial", "line": ""}),
    ("cheapest_line", {"model": "initial", "lines": ["1+1=2", "77777", "12+34=46"]}),
    ("right_without", {"switch": "block_2_head_3"}),
    ("costliest_switch", {"names": ["scale", "block_1_head_2", "block_2_head_4"]}),
    ("lens_token", {"model": "trained", "prefix": "12+34=", "block": 0}),
    ("lens_token", {"model": "step-001000", "prefix": "12+34=46", "block": 1}),
    (
        "sampled_errors",
        {"model": "trained", "prompt": "12+34=", "temperature": 2.5, "top_k": 40, "count": 120},
    ),
    (
        "sampled_errors",
        {"model": "step-001000", "prompt": "7-12=", "temperature": 1, "top_k": 98, "count": 30},
    ),
    ("split", {"a": 7, "b": 12}),
    ("split", {"a": 999, "b": 998}),
    ("carries", {"a": 999, "operation": "+", "b": 1}),
    ("carries", {"a": 7, "operation": "-", "b": 12}),
    (
        "attention_weight",
        {"model": "trained", "line": "12+34=46", "block": 2, "head": 3, "position": 6, "source": 2},
    ),
]


def test_both_sides_know_the_same_functions(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_4)
    known = page.evaluate(
        """async (code) => {
          const { COMPUTATIONS } = await import(code + "runtime/computations.mjs");
          return Object.fromEntries(Object.entries(COMPUTATIONS).map(([name, { kind }]) => [name, kind]));
        }""",
        site.code,
    )
    assert known == {name: computation.kind for name, computation in COMPUTATIONS.items()}
    assert {name for name, _ in CASES} == set(COMPUTATIONS)


def test_values_are_pythons(open_page: OpenPage, site: Site) -> None:
    page = open_page(CHAPTER_4)
    for name, parameters in CASES:
        expected = COMPUTATIONS[name].compute(**parameters)
        found = compute_in_page(page, site.code, name, parameters)
        if isinstance(expected, float):
            assert found["value"] == pytest.approx(expected, rel=1e-4, abs=1e-5), (name, parameters)
        else:
            assert found["value"] == expected, (name, parameters)
        assert found["shown"] == shown(found["kind"], found["value"]), (name, parameters)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("percent", value) for value in (0.0, 0.00005, 0.0001, 0.5, 0.12345, 0.99999, 1.0)),
        *(("decimal", value) for value in (-1.2345, 0.0, 12.5)),
        *(("whole", value) for value in (0, 98, 413_440)),
        *(("verdict", value) for value in (True, False)),
        ("token", "EOS"),
    ],
)
def test_values_are_written_as_python_writes_them(
    open_page: OpenPage, site: Site, kind: str, value: Value
) -> None:
    said = open_page("about/").evaluate(
        "async ([code, kind, value]) => (await import(code + 'runtime/computations.mjs')).shown(kind, value)",
        [site.code, kind, value],
    )
    assert said == shown(kind, value)
