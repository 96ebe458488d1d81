"""Exchanges of a trace: recorded instants and lengths, with texts made for them that share what the trace shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from benchwright.records import ResultWarning
from benchwright.worker.endpoints.conversations import HOLDERS
from benchwright.worker.endpoints.data_files import DataRow, whole_of
from benchwright.worker.endpoints.exchange_records import Exchange
from benchwright.worker.endpoints.instants import DATE, MILLISECOND, SECOND, Instants
from benchwright.worker.endpoints.lengths import LONGEST
from benchwright.worker.endpoints.passages import Passage, PassageWriter
from benchwright.worker.endpoints.token_ratio import TokenRatio

MOST_BLOCKS = 100_000
_TOGETHER = 64
_BLOCKS = "hash_ids"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceForm:
    """The names that a kind of trace has for what is needed of it."""

    name: str
    instant: str
    unit: int
    input_tokens: str
    output_tokens: str


FORMS = (
    TraceForm(name="plain", instant="seconds", unit=SECOND, input_tokens="input_tokens", output_tokens="output_tokens"),
    TraceForm(
        name="Mooncake",
        instant="timestamp",
        unit=MILLISECOND,
        input_tokens="input_length",
        output_tokens="output_length",
    ),
    TraceForm(
        name="Azure", instant="TIMESTAMP", unit=DATE, input_tokens="ContextTokens", output_tokens="GeneratedTokens"
    ),
    TraceForm(
        name="BurstGPT",
        instant="Timestamp",
        unit=SECOND,
        input_tokens="Request tokens",
        output_tokens="Response tokens",
    ),
)


def form_of(value: Any) -> TraceForm | None:
    """The kind of trace that a row belongs to; None where it is none, or has a text of its own."""
    if not isinstance(value, Mapping) or any(key in value for key in HOLDERS):
        return None
    return next((form for form in FORMS if form.instant in value and form.input_tokens in value), None)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """One request of a trace."""

    session: int
    at: int
    passage: Passage
    output_tokens: int


class RequestTrace:
    """Makes exchanges of rows that hold instants and lengths."""

    def __init__(self, form: TraceForm, writer: PassageWriter, ratio: TokenRatio) -> None:
        self._form, self._writer, self._ratio = form, writer, ratio
        self._instants = Instants(form.instant, form.unit)
        self.skipped = 0  # rows without tokens
        self.rows = 0

    def exchanges(self, rows: Iterator[DataRow], most: int, *, copy: int = 0, copies: int = 1) -> Iterator[Exchange]:
        """At most so many exchanges; those of one copy."""
        recorded = (each for each in islice(self._read(rows), most) if each.session % copies == copy)
        while together := list(islice(recorded, _TOGETHER)):
            written = self._writer.write([each.passage for each in together])
            for each, text in zip(together, written, strict=True):
                yield Exchange(
                    messages=(("user", text.text),),
                    input_tokens=round(text.tokens + self._ratio.overhead),
                    output_tokens=each.output_tokens,
                    at=each.at,
                    session=each.session,
                )

    def warnings(self, name: str) -> list[ResultWarning]:
        """What there is to say of the rows that were read."""
        if not self.skipped:
            return []
        return [
            ResultWarning(
                code="rows-skipped",
                seen=f"{self.skipped:,} of the {self.rows:,} requests of {name} that were read have no tokens",
                remedy="they failed when they were recorded: remove them to be rid of this warning",
            )
        ]

    def _read(self, rows: Iterator[DataRow]) -> Iterator[_Recorded]:
        session = 0
        for row in rows:
            if not isinstance(row.value, Mapping):
                raise row.refuse("it is no mapping")
            self.rows += 1
            at = self._instants.read(row, row.value)
            tokens, output_tokens = (
                self._length(row, self._form.input_tokens),
                self._length(row, self._form.output_tokens),
            )
            if not tokens or not output_tokens:
                self.skipped += 1
                continue
            own = max(1, round(tokens - self._ratio.overhead))
            passage = Passage(tokens=own, key=f"trace {session}", number=session, blocks=_blocks_of(row))
            yield _Recorded(session, at, passage, output_tokens)
            session += 1

    def _length(self, row: DataRow, key: str) -> int:
        number = whole_of(row.value.get(key))
        if number is None or not 0 <= number <= LONGEST:
            given = str(row.value.get(key))[:40]
            raise row.refuse(
                f"{key!r} is {given!r}, not a number of tokens from 0 to {LONGEST:,}", "see docs/prompts.md"
            )
        return number


def _blocks_of(row: DataRow) -> tuple[int, ...]:
    blocks = row.value.get(_BLOCKS)
    if blocks is None:
        return ()
    if not isinstance(blocks, list) or len(blocks) > MOST_BLOCKS or not all(type(each) is int for each in blocks):
        raise row.refuse(f"{_BLOCKS!r} is no list of at most {MOST_BLOCKS:,} whole numbers", "see docs/prompts.md")
    return tuple(blocks)
