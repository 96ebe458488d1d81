"""Passages of exactly so many tokens: texts are counted by a tokenizer, and mended until they have what was asked for.

Counting takes a hundred times as long as writing. So it becomes a sample once a million tokens in a row were what the
words promised, which is about one for each pair of words that can meet at a border.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from benchwright.worker.endpoints.passages import Passage, WordWriter, WrittenText
from benchwright.worker.endpoints.token_ratio import TokenRatio
from benchwright.worker.endpoints.vocabulary import WORDS

_ENOUGH = 256  # words of one token each, of which texts can be made that differ
_LEAD = "go"  # a word that others stand behind
_TRIES = 12
_TRUSTED = 1_000_000  # tokens that were counted and right, after which one text in `_SAMPLED` is counted
_SAMPLED = 64
# What a text may end with where no whole word fits: tokenizers of few words count letters and spaces.
_ENDS = (*(f" {end}" for end in "aI1.x"), *"as.,!1-x", " the", " of", "ing", ".\n", "\n", " !", "..", "é")


class Counter(Protocol):
    """What counts tokens."""

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each text has."""
        ...


class ExactWriter:
    """Writes passages of exactly so many tokens, as a tokenizer counts them."""

    def __init__(self, seed: int, counter: Counter) -> None:
        self._counter = counter
        words, ratio = _measure_words(counter)
        self._per_word = ratio.tokens_per_word
        self._writer = WordWriter(seed, ratio, words)
        self._right = 0  # tokens that were counted right in a row

    def write(self, passages: Sequence[Passage]) -> list[WrittenText]:
        """Returns the texts, in order. One that cannot have its length has the nearest, and says which."""
        drafts = self._writer.write(passages)
        if self._right >= _TRUSTED and self._count(drafts[::_SAMPLED], passages[::_SAMPLED]):
            return drafts
        counts = self._counter.count_all([draft.text for draft in drafts])
        self._note(counts, passages)
        return [
            WrittenText(draft.text, count) if count == passage.tokens else self._mend(draft.text, count, passage)
            for draft, count, passage in zip(drafts, counts, passages, strict=True)
        ]

    def _count(self, drafts: Sequence[WrittenText], passages: Sequence[Passage]) -> bool:
        """Whether a sample has the tokens that were asked for."""
        counts = self._counter.count_all([draft.text for draft in drafts])
        return counts == [passage.tokens for passage in passages]

    def _note(self, counts: Sequence[int], passages: Sequence[Passage]) -> None:
        if counts == [passage.tokens for passage in passages]:
            self._right += sum(counts)
        else:
            self._right = 0

    def _mend(self, text: str, count: int, passage: Passage) -> WrittenText:
        """Takes whole words away or adds some, and then ends that are less than a word."""
        best = WrittenText(text, count)
        for number in range(_TRIES):
            missing = passage.tokens - count
            if 0 <= missing < 2 * self._per_word:
                break
            text = self._resize(text, missing, f"{passage.key} more {number}")
            (count,) = self._counter.count_all([text])
            if abs(passage.tokens - count) <= abs(passage.tokens - best.tokens):
                best = WrittenText(text, count)
        return self._end(best, passage.tokens)

    def _resize(self, text: str, missing: int, key: str) -> str:
        if missing > 0:
            tokens = max(1, int(missing - self._per_word / 2))
            (more,) = self._writer.write([Passage(tokens=tokens, key=key)])
            return f"{text} {more.text}"
        words = text.split(" ")
        surplus = max(1, round(-missing / self._per_word))
        return " ".join(words[: max(1, len(words) - surplus)])

    def _end(self, written: WrittenText, wanted: int) -> WrittenText:
        """Adds ends while the text has too few tokens; tries shorter beginnings of its last word when too many."""
        for _ in range(_TRIES):
            if written.tokens == wanted:
                break
            if written.tokens > wanted:
                tries = [written.text[:-cut] for cut in range(1, min(len(written.text), 32))]
            else:
                tries = [written.text + end for end in _ENDS]
            counts = self._counter.count_all(tries)
            near = [WrittenText(*pair) for pair in zip(tries, counts, strict=True)]
            better = min(near, key=lambda each: abs(each.tokens - wanted), default=written)
            if abs(better.tokens - wanted) >= abs(written.tokens - wanted):
                break
            written = better
        return written


def _measure_words(counter: Counter) -> tuple[tuple[str, ...], TokenRatio]:
    """The words that are one token each behind a word, and at the front as well if so; or all, with their average."""
    lead, *counts = counter.count_all([_LEAD, *(f"{_LEAD} {word}" for word in WORDS), *WORDS])
    measured = list(zip(WORDS, counts, counts[len(WORDS) :], strict=False))
    behind = [word for word, count, _ in measured if count == lead + 1]
    anywhere = [word for word, count, alone in measured if (count, alone) == (lead + 1, 1)]
    for words in (anywhere, behind):
        if len(words) >= _ENOUGH:
            return tuple(words), TokenRatio()
    mean = sum(count - lead for _, count, _ in measured) / len(WORDS)
    return WORDS, TokenRatio(tokens_per_word=max(mean, 0.01))
