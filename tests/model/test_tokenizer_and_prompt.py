"""One token a character, and one rule for typed text and settings, with its sentences."""

import math
import re
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_gpt.config import ModelConfig
from tiny_gpt.data import LARGEST_OPERAND
from tiny_gpt.prompt import (
    LIMITS,
    LONGEST_PREFIX,
    MESSAGES,
    TYPED_FOR,
    PromptError,
    check_characters,
    check_prefix,
    check_setting,
    unseen_operands,
)
from tiny_gpt.tokenizer import BOS_ID, EOS_ID, PAD_ID, VOCABULARY, CharacterTokenizer

TOKENIZER = CharacterTokenizer()
PRINTABLE = "".join(map(chr, range(32, 127)))
printable_text = st.text(alphabet=PRINTABLE, max_size=60)
# What no font draws, what a phone types for a key, and other scripts and pictures.
REFUSED = [
    "\n",
    "\t",
    "\x00",
    "\x7f",
    "\x80",
    "é",
    "–",
    "−",
    "’",
    "“",
    "×",
    "\u00a0",
    "٣",
    "１",
    "😀",
    "\udcff",
]


class TestTokenizer:
    def test_facts(self) -> None:
        assert VOCABULARY == "printable-ascii-v1"
        assert TOKENIZER.vocab_size == ModelConfig().vocab_size == 98
        assert (PAD_ID, BOS_ID, EOS_ID) == (0, 1, 2)

    @pytest.mark.parametrize(
        ("character", "token_id"),
        [(" ", 3), ("+", 14), ("-", 16), ("0", 19), ("1", 20), ("=", 32), ("~", 97)],
    )
    def test_ids(self, character: str, token_id: int) -> None:
        assert TOKENIZER.token_id(character) == token_id
        assert TOKENIZER.encode(character) == [BOS_ID, token_id]
        assert TOKENIZER.token_name(token_id) == character

    def test_each_printable_character_has_its_own_id(self) -> None:
        assert TOKENIZER.encode(PRINTABLE) == [BOS_ID, *range(3, 98)]

    def test_empty_text_is_bos_alone(self) -> None:
        assert TOKENIZER.encode("") == [BOS_ID]

    def test_line_of_the_walk(self) -> None:
        assert TOKENIZER.encode("1+1=2") == [1, 20, 14, 20, 32, 21]

    @given(printable_text)
    def test_round_trip(self, text: str) -> None:
        ids = TOKENIZER.encode(text)
        assert len(ids) == 1 + len(text)
        assert TOKENIZER.decode(ids) == text

    def test_special_tokens_have_names_and_write_nothing(self) -> None:
        assert [TOKENIZER.token_name(i) for i in (0, 1, 2)] == ["PAD", "BOS", "EOS"]
        assert TOKENIZER.decode([BOS_ID, 20, PAD_ID, 21, EOS_ID]) == "12"

    @pytest.mark.parametrize("token_id", [-1, 98, 1000])
    def test_id_outside_the_vocabulary_is_refused(self, token_id: int) -> None:
        with pytest.raises(ValueError, match=f"0 to 97, got {token_id}"):
            TOKENIZER.token_name(token_id)
        with pytest.raises(ValueError, match=f"0 to 97, got {token_id}"):
            TOKENIZER.decode([20, token_id])

    @pytest.mark.parametrize("character", REFUSED)
    def test_other_characters_are_refused(self, character: str) -> None:
        with pytest.raises(PromptError, match=r"^Character 3 of the input "):
            TOKENIZER.encode(f"1+{character}1=")


class TestCharacters:
    @given(printable_text)
    def test_printable_ascii_passes(self, text: str) -> None:
        check_characters(text)

    @given(printable_text, st.characters(exclude_characters=PRINTABLE), st.text(max_size=5))
    def test_the_first_other_character_is_named(self, before: str, character: str, after: str) -> None:
        with pytest.raises(PromptError) as error:
            check_characters(before + character + after)
        said = str(error.value)
        assert said.startswith(f"Character {len(before) + 1} of the input is ")
        assert f"U+{ord(character):04X}" in said
        assert "\n" not in said

    @pytest.mark.parametrize("typed", TYPED_FOR)
    def test_a_smart_character_is_named_with_what_to_type(self, typed: str) -> None:
        with pytest.raises(PromptError) as error:
            check_prefix(f"7{typed}12=")
        assert str(error.value).endswith(f"Type {TYPED_FOR[typed]} instead.")
        assert f"U+{ord(typed):04X}" in str(error.value)

    def test_smart_dashes_and_quotes_of_phones_are_known(self) -> None:
        assert {TYPED_FOR[dash] for dash in "–—−‐‑"} == {"-"}
        assert [TYPED_FOR[quote] for quote in "‘’“”"] == ["'", "'", '"', '"']
        assert all(not " " <= typed <= "~" for typed in TYPED_FOR)

    def test_any_other_character_is_to_be_removed(self) -> None:
        with pytest.raises(PromptError, match=r"“é” \(U\+00E9\).* Remove it, or type a character"):
            check_prefix("é")


class TestPrefix:
    @pytest.mark.parametrize("length", [0, 1, 30, 31])
    def test_up_to_31_characters_pass(self, length: int) -> None:
        check_prefix("1" * length)

    @pytest.mark.parametrize("length", [32, 33, 1000])
    def test_longer_is_refused_and_says_by_how_much(self, length: int) -> None:
        with pytest.raises(PromptError) as error:
            check_prefix("1" * length)
        assert f"has {length} characters" in str(error.value)
        assert "at most 31" in str(error.value)
        assert str(error.value).endswith(f"Shorten it by {length - 31}.")

    def test_limit_leaves_room_for_bos(self) -> None:
        assert ModelConfig().context_length == LONGEST_PREFIX + 1
        assert f" {ModelConfig().context_length} positions" in MESSAGES["too-long"]


class TestSettings:
    @pytest.mark.parametrize(
        ("name", "typed", "read"),
        [
            ("temperature", "0.05", 0.05),
            ("temperature", "5", 5.0),
            ("temperature", " 1e0 ", 1.0),
            ("temperature", ".5", 0.5),
            ("temperature", 0.7, 0.7),
            ("top-k", "1", 1),
            ("top-k", "98", 98),
            ("top-k", "7.0", 7),
            ("seed", "0", 0),
            ("seed", "4294967295", 4294967295),
        ],
    )
    def test_in_range(self, name: str, typed: str | float, read: float) -> None:
        value = check_setting(name, typed)
        assert value == read
        assert type(value) is type(read)

    @pytest.mark.parametrize(
        ("name", "typed"),
        [
            ("temperature", "0"),
            ("temperature", "0.049"),
            ("temperature", "5.01"),
            ("temperature", "-1"),
            ("temperature", "1e999"),
            ("top-k", "0"),
            ("top-k", "99"),
            ("top-k", "-1e999"),
            ("seed", "-1"),
            ("seed", "4294967296"),
            ("seed", "9" * 400),
        ],
    )
    def test_out_of_range(self, name: str, typed: str) -> None:
        low, high, _ = LIMITS[name]
        with pytest.raises(PromptError) as error:
            check_setting(name, typed)
        assert str(error.value).startswith(f"The {name} must be from {low:.12g} to {high:.12g}, ")
        assert f"“{typed}” is outside" in str(error.value)

    @pytest.mark.parametrize("name", LIMITS)
    @pytest.mark.parametrize(
        "typed",
        ["", " ", "one", "1,5", "1_0", "0x10", "1 2", "--1", "e5", ".", "٣", "１", math.nan, math.inf, None],
    )
    def test_not_a_number(self, name: str, typed: str | float) -> None:
        with pytest.raises(PromptError, match=f"The {name} must be a number .*is not a number"):
            check_setting(name, typed)

    @pytest.mark.parametrize("name", ["top-k", "seed"])
    @pytest.mark.parametrize("typed", ["1.5", "0.1", 2.5, "1e-3"])
    def test_not_whole(self, name: str, typed: str | float) -> None:
        with pytest.raises(PromptError, match=f"The {name} must be a whole number .*“{typed}” is not one"):
            check_setting(name, typed)

    @given(st.sampled_from(sorted(LIMITS)), st.floats(allow_nan=False, allow_infinity=False))
    def test_any_number_is_read_or_refused_in_one_sentence(self, name: str, value: float) -> None:
        low, high, whole = LIMITS[name]
        if low <= value <= high and (not whole or value == int(value)):
            assert check_setting(name, value) == value
        else:
            with pytest.raises(PromptError, match=f"^The {name} must be "):
                check_setting(name, value)


class TestUnseenOperands:
    @pytest.mark.parametrize("text", ["", "1+1=", "999+999=", "1+1=1998", "0999+7=", "no numbers"])
    def test_nothing_to_warn_of(self, text: str) -> None:
        assert unseen_operands(text) == []

    def test_each_operand_above_999_is_named(self) -> None:
        warnings = unseen_operands("1000+12345=9999")
        assert [warning.split()[0] for warning in warnings] == ["1000", "12345"]

    def test_the_sentence_names_the_largest_operand(self) -> None:
        assert f"above {LARGEST_OPERAND}." in MESSAGES["unseen-operand"]
        assert f"0 to {LARGEST_OPERAND}," in MESSAGES["unseen-operand"]


def said(check: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(PromptError) as error:
        check(*arguments)
    return str(error.value)


# One way to hear each sentence.
SENTENCES: dict[str, Callable[[], str]] = {
    "character": lambda: said(check_prefix, "1é"),
    "advice-replace": lambda: said(check_prefix, "7–1"),
    "advice-remove": lambda: said(check_prefix, "é"),
    "too-long": lambda: said(check_prefix, "1" * 40),
    "not-a-number": lambda: said(check_setting, "temperature", "warm"),
    "not-whole": lambda: said(check_setting, "top-k", "1.5"),
    "out-of-range": lambda: said(check_setting, "seed", "-1"),
    "unseen-operand": lambda: unseen_operands("1000+1=")[0],
}


def test_each_sentence_can_be_heard() -> None:
    assert SENTENCES.keys() == MESSAGES.keys()


@pytest.mark.parametrize("name", MESSAGES)
def test_sentence_has_all_its_values(name: str) -> None:
    template = MESSAGES[name]
    literal_parts = [re.escape(literal) for literal, *_ in string.Formatter().parse(template)]
    pattern = "(.+)".join(literal_parts)
    sentence = SENTENCES[name]()
    assert re.search(pattern, sentence)
    assert not re.search(r"[{}]", sentence)
    assert sentence.endswith(".")
