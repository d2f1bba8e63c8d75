"""Text to token IDs and back: one token a character.

`printable-ascii-v1` has 98 tokens: PAD 0, BOS 1, EOS 2, then the 95 printable
ASCII characters from space (ID 3) to `~` (ID 97).
"""

from tiny_gpt.prompt import check_characters

# --8<-- [start:tokenizer]
VOCABULARY = "printable-ascii-v1"
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2
SPECIAL_NAMES = {PAD_ID: "PAD", BOS_ID: "BOS", EOS_ID: "EOS"}
FIRST_CHARACTER, LAST_CHARACTER = " ", "~"
FIRST_CHARACTER_ID = 3


class CharacterTokenizer:
    """Every printable ASCII character is its own token, unchanged."""

    vocab_size = FIRST_CHARACTER_ID + ord(LAST_CHARACTER) - ord(FIRST_CHARACTER) + 1

    def encode(self, text: str) -> list[int]:
        """BOS, then one ID a character. The empty text is valid: BOS alone.

        Raises `PromptError` for a character outside printable ASCII.
        """
        check_characters(text)
        return [BOS_ID] + [self.token_id(character) for character in text]

    @staticmethod
    def token_id(character: str) -> int:
        """The ID of one printable ASCII character: `token_id("=") == 32`."""
        return ord(character) - ord(FIRST_CHARACTER) + FIRST_CHARACTER_ID

    def decode(self, ids: list[int]) -> str:
        """The characters of `ids`; PAD, BOS and EOS write nothing.

        Raises `ValueError` for an ID outside the vocabulary.
        """
        return "".join("" if i in SPECIAL_NAMES else self.token_name(i) for i in ids)

    def token_name(self, token_id: int) -> str:
        """What a token is called: the character itself, or PAD, BOS, EOS."""
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(f"token ID must be 0 to {self.vocab_size - 1}, got {token_id}")
        if token_id in SPECIAL_NAMES:
            return SPECIAL_NAMES[token_id]
        return chr(token_id - FIRST_CHARACTER_ID + ord(FIRST_CHARACTER))


# --8<-- [end:tokenizer]
