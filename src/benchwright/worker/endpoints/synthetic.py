"""Synthetic prompts and conversations: every text of every turn is known before time zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from benchwright.worker.endpoints.exchange_records import Exchange, ExchangeSpec, Messages, SpecLengths
from benchwright.worker.endpoints.images import image_message, make_png, parse_image_size
from benchwright.worker.endpoints.lengths import Length, draw_chances
from benchwright.worker.endpoints.passages import Passage, PassageWriter, WrittenText
from benchwright.worker.endpoints.token_ratio import TokenRatio

TOGETHER = 64  # conversations whose texts are written, and counted, at once


@dataclass(frozen=True, slots=True)
class _Draft:
    """A conversation that is to be written: a text for each question, and for each answer but the last."""

    session: int
    passages: list[Passage]
    output_tokens: list[int]  # of each turn


class ConversationMaker:
    """Makes conversations of one turn or several; each is the same, whichever others are made."""

    def __init__(self, spec: ExchangeSpec, lengths: SpecLengths, writer: PassageWriter, ratio: TokenRatio) -> None:
        assert lengths.input_tokens and lengths.output_tokens and lengths.turns, "random prompts have lengths"
        self._asked, self._answered, self._turns = lengths.input_tokens, lengths.output_tokens, lengths.turns
        self._fixed = all(length.is_fixed for length in (self._asked, self._answered, self._turns))
        self._spec, self._writer, self._ratio = spec, writer, ratio

    def exchanges(self, most: int, *, copy: int = 0, copies: int = 1) -> Iterator[Exchange]:
        """The first `most` exchanges, turn by turn and conversation by conversation; those of one copy."""
        drafts = self._drafts(most, copy, copies)
        while together := list(islice(drafts, TOGETHER)):
            written = iter(self._writer.write([passage for draft in together for passage in draft.passages]))
            for draft in together:
                yield from self._turns_of(draft, list(islice(written, len(draft.passages))))

    def _drafts(self, most: int, copy: int, copies: int) -> Iterator[_Draft]:
        for session in count():
            if most <= 0:
                return
            turns, asked, answered = self._draw(session)
            turns = min(turns, most)
            most -= turns
            if session % copies == copy:
                yield self._draft(session, asked[:turns], answered[:turns])

    def _draw(self, session: int) -> tuple[int, list[int], list[int]]:
        """How many turns a conversation has, and the lengths of its questions and answers."""
        if self._fixed:
            turns = int(self._turns.first)
            return turns, [int(self._asked.first)] * turns, [int(self._answered.first)] * turns
        turns = self._turns.at(draw_chances(f"{self._spec.seed} turns {session}", 1)[0])
        chances = draw_chances(f"{self._spec.seed} lengths {session}", 2 * turns)
        return turns, _lengths(self._asked, chances[::2]), _lengths(self._answered, chances[1::2])

    def _draft(self, session: int, asked: Sequence[int], answered: Sequence[int]) -> _Draft:
        ratio, shared = self._ratio, self._spec.shared
        passages = [
            Passage(tokens=_besides(asked[0], ratio.overhead), key=f"ask {session}", number=session, shared=shared)
        ]
        for turn in range(1, len(asked)):
            answer = _besides(answered[turn - 1], ratio.per_message)
            question = _besides(asked[turn], ratio.per_message)
            passages.append(Passage(tokens=answer, key=f"answer {session} {turn}"))
            passages.append(Passage(tokens=question, key=f"ask {session} {turn}"))
        return _Draft(session, passages, list(answered))

    def _turns_of(self, draft: _Draft, written: Sequence[WrittenText]) -> Iterator[Exchange]:
        roles = ("user", "assistant")
        messages = tuple((roles[place % 2], each.text) for place, each in enumerate(written))
        bodies = self._bodies(draft.session, messages) if self._spec.images else None
        tokens = self._ratio.overhead
        for turn, output_tokens in enumerate(draft.output_tokens):
            last = 2 * turn
            if turn:
                tokens += written[last - 1].tokens + 2 * self._ratio.per_message
            tokens += written[last].tokens
            yield Exchange(
                messages=messages[: last + 1],
                input_tokens=round(tokens),
                output_tokens=output_tokens,
                session=draft.session,
                turn=turn,
                body=None if bodies is None else {"messages": bodies[: last + 1]},
            )

    def _bodies(self, session: int, messages: Messages) -> list[dict[str, Any]]:
        """The messages as a body has them, with images before the first text; turns share them."""
        spec = self._spec
        width, height = parse_image_size(spec.image_size)
        numbers = range(session * spec.images, (session + 1) * spec.images)
        images = [make_png(width, height, seed=spec.seed, number=each, kind=spec.image_kind) for each in numbers]
        first, *others = messages
        return [image_message(first[1], images), *({"role": role, "content": text} for role, text in others)]


def _lengths(length: Length, chances: Sequence[tuple[float, float]]) -> list[int]:
    return [length.at(each) for each in chances]


def _besides(tokens: int, template: float) -> int:
    """How many tokens the words of a message may have, beside those of its template."""
    return max(1, round(tokens - template))
