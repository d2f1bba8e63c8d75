"""The prefix scorer on the home page: what it shows is what PyTorch computes."""

import math
from collections.abc import Callable

from playwright.sync_api import expect

from built_site import OpenPage, Site
from live_parts import Row, Scorer
from tiny_gpt.generate import next_token_logits
from tiny_gpt.model import TinyArithmeticGPT
from tiny_gpt.tokenizer import CharacterTokenizer


def shown_name(token_id: int) -> str:
    """How the page writes a token."""
    name = CharacterTokenizer().token_name(token_id)
    return "space" if name == " " else name


def expect_scores(scorer: Scorer, model: TinyArithmeticGPT, text: str) -> None:
    """The whole result belongs to `text` and agrees with PyTorch."""
    logits = next_token_logits(model, text)
    shares = logits.double().softmax(dim=0)
    rows = scorer.rows()
    assert sorted(row.id for row in rows) == list(range(98))
    for row in rows:
        assert row.token == shown_name(row.id)
        assert abs(float(row.logit) - float(logits[row.id])) <= 1e-4
        share = float(shares[row.id])
        assert math.isclose(float(row.probability), share, rel_tol=1e-2, abs_tol=1e-6), row
    top = int(logits.argmax())
    assert rows[0].id == top
    assert scorer.top() == shown_name(top)
    assert scorer.root.locator(".scorer-echo code").text_content() == f'"{text}"'
    expect(scorer.status).to_contain_text(f"The highest-scoring token is {shown_name(top)}.")
    expect(scorer.box).to_have_value(text)


def test_scores_equal_pytorch(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    scorer = Scorer(open_page())
    expect(scorer.box).to_have_value("12+34=")
    scorer.button.click()
    scorer.wait("ready")
    expect_scores(scorer, trained_model, "12+34=")
    prefixes = ["", "7", " ", "  1 +  2 = ", '"quoted"', "999-1000=", "12+34=4", "~" * 31, "0" * 31]
    for text in prefixes:
        scorer.score(text)
        expect_scores(scorer, trained_model, text)
    expect(scorer.status).to_contain_text(" ms.")


def test_enter_scores(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    scorer = Scorer(open_page())
    scorer.box.fill("7-12=")
    scorer.box.press("Enter")
    scorer.wait("ready")
    expect_scores(scorer, trained_model, "7-12=")


def test_sorting(open_page: OpenPage) -> None:
    scorer = Scorer(open_page())
    scorer.score("12+34=")
    values: dict[str, Callable[[Row], float]] = {
        "Token": lambda row: row.id,
        "Logit": lambda row: float(row.logit),
        "Probability": lambda row: float(row.probability),
    }
    opposite = {"ascending": "descending", "descending": "ascending"}

    def directions() -> dict[str, str | None]:
        headings = scorer.table.get_by_role("columnheader")
        return {title: headings.filter(has_text=title).get_attribute("aria-sort") for title in values}

    assert directions() == {"Token": "none", "Logit": "descending", "Probability": "none"}
    for key in (None, "Enter", "Space"):
        for title, first in {
            "Token": "ascending",
            "Probability": "descending",
            "Logit": "descending",
        }.items():
            heading = scorer.table.get_by_role("button", name=title)
            for direction in (first, opposite[first]):
                heading.press(key) if key else heading.click()
                assert directions() == {**dict.fromkeys(values, "none"), title: direction}
                column = [values[title](row) for row in scorer.rows()]
                assert len(column) == 98
                assert column == sorted(column, reverse=direction == "descending")
                expect(heading).to_be_focused()


def test_names_bars_and_probabilities(open_page: OpenPage) -> None:
    scorer = Scorer(open_page())
    scorer.score("12+34=")
    names = {row.id: row.token for row in scorer.rows()}
    assert [names[token_id] for token_id in (0, 1, 2, 3)] == ["PAD", "BOS", "EOS", "space"]
    assert (names[32], names[20], names[97]) == ("=", "1", "~")
    named = scorer.root.locator("tbody .token--named").all_inner_texts()
    assert sorted(named) == ["BOS", "EOS", "PAD", "space"]

    shares = [float(row.probability) for row in scorer.rows()]
    assert all(share > 0 for share in shares)
    assert abs(sum(shares) - 1) < 1e-4
    widths = scorer.root.locator(".score-bar").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().width)"
    )
    assert widths[0] > 20
    for width, share in zip(widths, shares, strict=True):
        assert abs(width - max(1, widths[0] * share / shares[0])) < 1


def test_card_of_the_trained_model(open_page: OpenPage, site: Site) -> None:
    entry = site.manifest["models"][site.manifest["trained"]]
    expect(Scorer(open_page()).root.locator(".scorer-card")).to_have_text(
        f"Trained weights. Step {entry['step']:,}, after {entry['problems_seen']:,} problems. "
        f"{entry['bytes'] / 1e6:.2f} MB."
    )


def test_details_give_the_facts(open_page: OpenPage, site: Site) -> None:
    scorer = Scorer(open_page())
    scorer.root.locator("summary").click()
    details = scorer.root.locator("details")
    for fact in (
        "BOS and the characters exactly as typed",
        "No token is ruled out",
        "one forward pass",
        "writes no answer",
        "32 tokens",
        "413,440 parameters",
        "1,653,760 bytes",
        f"onnxruntime-web {site.manifest['runtime']['version']}",
        "never sent anywhere",
    ):
        expect(details).to_contain_text(fact)


def test_score_again_replaces_the_result(open_page: OpenPage, trained_model: TinyArithmeticGPT) -> None:
    scorer = Scorer(open_page())
    scorer.score("12+34=")
    scorer.table.get_by_role("button", name="Token").click()
    scorer.score("1+1=")
    assert scorer.root.locator("table").count() == 1
    assert [row.id for row in scorer.rows()] == list(range(98))  # the reader's sorting stays
    scorer.table.get_by_role("button", name="Logit").click()
    expect_scores(scorer, trained_model, "1+1=")
