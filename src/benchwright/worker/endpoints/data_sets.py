"""Exchanges of a data set: prompts and conversations that a file holds, sent in its order, each once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchwright.records import ResultWarning
from benchwright.worker.endpoints.conversations import Conversation, read_conversation
from benchwright.worker.endpoints.data_files import DataRow
from benchwright.worker.endpoints.exact_passages import Counter
from benchwright.worker.endpoints.exchange_records import Exchange, ExchangeSpec, Messages, SpecLengths
from benchwright.worker.endpoints.instants import SECOND, Instants
from benchwright.worker.endpoints.lengths import Length, draw_chances

SECONDS = "seconds"  # the key that gives a row its instant


class DataSet:
    """Makes exchanges of rows that hold prompts."""

    def __init__(self, spec: ExchangeSpec, lengths: SpecLengths, counter: Counter | None, column: str = "") -> None:
        self._spec, self._lengths, self._counter, self._column = spec, lengths, counter, column
        self._instants = Instants(SECONDS, SECOND)
        self.skipped = 0  # rows that ask nothing
        self.rows = 0

    def exchanges(self, rows: Iterator[DataRow], most: int, *, copy: int = 0, copies: int = 1) -> Iterator[Exchange]:
        """At most so many exchanges; those of one copy."""
        session = 0
        while most > 0 and (row := next(rows, None)) is not None:
            self.rows += 1
            at = self._at(row)
            conversation = read_conversation(row, self._column)
            if conversation is None:
                self.skipped += 1
                continue
            turns = self._turns_of(conversation, session)[:most]
            most -= len(turns)
            if session % copies == copy:
                yield from self._make(row, conversation, turns, session, at)
            session += 1

    def warnings(self, name: str) -> list[ResultWarning]:
        """What there is to say of the rows that were read."""
        if not self.skipped:
            return []
        return [
            ResultWarning(
                code="rows-skipped",
                seen=f"{self.skipped:,} of the {self.rows:,} rows of {name} that were read hold no question",
                remedy="remove them, or see that their questions stand where they should",
            )
        ]

    def _at(self, row: DataRow) -> int | None:
        value = row.value
        has_instant = isinstance(value, Mapping) and SECONDS in value
        return self._instants.read(row, value) if has_instant else None

    def _turns_of(self, conversation: Conversation, session: int) -> list[int | None]:
        """The places of the questions that are asked, each with all that was said before it; None for a whole body."""
        if conversation.body is not None:
            return [None]
        questions, turns = conversation.questions, self._lengths.turns
        most = len(questions) if turns is None else self._draw(turns, "turns", session)
        if turns is not None and turns.is_fixed and most == 1 and not conversation.is_dialogue:
            return [questions[-1]]  # what was said before is there for the last question
        return [*questions[:most]]

    def _make(
        self, row: DataRow, conversation: Conversation, turns: list[int | None], session: int, at: int | None
    ) -> Iterator[Exchange]:
        for turn, question in enumerate(turns):
            messages = conversation.messages if question is None else conversation.messages[: question + 1]
            answer = None if question is None else conversation.answer_to(question)
            stated = conversation.input_tokens if len(turns) == 1 else None
            yield Exchange(
                messages=messages,
                input_tokens=self._count(messages) if stated is None else stated,
                output_tokens=self._output_tokens(row, conversation, answer, f"{session} {turn}"),
                at=at,
                session=session,
                turn=turn,
                body=conversation.body,
            )

    def _output_tokens(self, row: DataRow, conversation: Conversation, answer: str | None, place: str) -> int:
        if conversation.output_tokens is not None:
            return conversation.output_tokens
        if self._lengths.output_tokens is not None:
            return self._draw(self._lengths.output_tokens, "output", place)
        if answer is None or self._counter is None:
            raise row.refuse(
                "it does not say how many tokens to ask for",
                "give --output-tokens a number; or --tokenizer FILE, which counts the answers that the file holds",
            )
        return max(1, self._counter.count_all([answer])[0])

    def _count(self, messages: Messages) -> int | None:
        return sum(self._counter.count_all([text for _, text in messages])) if self._counter else None

    def _draw(self, length: Length, what: str, place: object) -> int:
        return length.at(draw_chances(f"{self._spec.seed} {what} {place}", 1)[0])
