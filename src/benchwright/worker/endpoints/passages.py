"""Passages: texts of stated lengths in tokens, from words alone or exactly by a tokenizer's count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_128
from typing import Protocol

from benchwright.worker.endpoints.token_ratio import TokenRatio
from benchwright.worker.endpoints.vocabulary import HEAD, WORDS, WordSource, first_words

BLOCK = 512  # tokens that one hash id of a trace stands for
_BLOCKS_KEPT = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that is to be written."""

    tokens: int
    key: str  # equal keys give equal texts
    number: int | None = None  # of its own, so that no other text of this seed begins with the same words
    shared: float = 0.0  # share of it, from the front, that all texts of this seed have in common
    blocks: tuple[int, ...] = ()  # in front of its own words, instead: equal numbers are equal texts of `BLOCK` tokens


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text with the number of its tokens: by a tokenizer, or as far as words tell."""

    text: str
    tokens: int


class PassageWriter(Protocol):
    """What writes passages."""

    def write(self, passages: Sequence[Passage]) -> list[WrittenText]:
        """Returns the texts, in order."""
        ...


class WordWriter:
    """Writes passages of so many words that a server counts about the stated tokens."""

    def __init__(self, seed: int, ratio: TokenRatio, words: Iterable[str] = WORDS) -> None:
        known = tuple(words)
        self.ratio = ratio
        self._seed = seed
        self._source = WordSource(known)
        self._many = len(known) ** HEAD
        self._offset = int.from_bytes(shake_128(f"{seed} head".encode()).digest(8), "little")
        self._common = ""
        self._common_words = 0
        self._block = lru_cache(maxsize=_BLOCKS_KEPT)(self._write_block)
        self._front = lru_cache(maxsize=1024)(self._write_front)

    def write(self, passages: Sequence[Passage]) -> list[WrittenText]:
        """Returns the texts, in order."""
        return [self._write(passage) for passage in passages]

    def _write(self, passage: Passage) -> WrittenText:
        words = self.ratio.words(passage.tokens)
        parts = self._blocks_of(passage, words) if passage.blocks else []
        if passage.shared and (common := round(passage.shared * words)):
            parts.append(self._front(common))
        if left := words - sum(part.count(" ") + 1 for part in parts):
            number = None if passage.number is None else (passage.number + self._offset) % self._many
            parts.append(self._source.text(f"{self._seed} {passage.key}", left, number))
        return WrittenText(" ".join(parts) if len(parts) > 1 else parts[0], self.ratio.tokens(words))

    def _blocks_of(self, passage: Passage, words: int) -> list[str]:
        """The blocks in front of a text of so many words, of which the last may be cut."""
        each = self.ratio.words(BLOCK)
        whole, rest = divmod(words, each)
        parts = [self._block(block, each) for block in passage.blocks[:whole]]
        if rest and whole < len(passage.blocks):
            parts.append(first_words(self._block(passage.blocks[whole], each), rest))
        return parts

    def _write_block(self, block: int, words: int) -> str:
        return self._source.text(f"{self._seed} block {block}", words)

    def _write_front(self, words: int) -> str:
        self._grow_common(words)
        return first_words(self._common, words)

    def _grow_common(self, words: int) -> None:
        """Makes the common text longer, page by page, so that it begins as it did before."""
        pages = [self._common] if self._common else []
        while self._common_words < words:
            pages.append(self._source.text(f"{self._seed} common {self._common_words}", BLOCK))
            self._common_words += BLOCK
        self._common = " ".join(pages)
