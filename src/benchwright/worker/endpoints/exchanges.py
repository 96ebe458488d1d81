"""What is sent to a served model: requests with their texts, lengths and instants, made before time zero."""

from __future__ import annotations

from collections.abc import Iterator

from benchwright.errors import OptionError
from benchwright.worker.endpoints.exchange_records import RANDOM, SpecLengths, read_lengths
from benchwright.worker.endpoints.exchange_records import Exchange as Exchange
from benchwright.worker.endpoints.exchange_records import ExchangeSpec as ExchangeSpec
from benchwright.worker.endpoints.passages import PassageWriter, WordWriter
from benchwright.worker.endpoints.synthetic import ConversationMaker
from benchwright.worker.endpoints.token_ratio import TokenRatio as TokenRatio
from benchwright.worker.endpoints.vocabulary import CHARACTERS

MOST_EXCHANGES = 10_000_000
MOST_TEXT = 4 << 30  # characters of all texts together: they lie in memory when timing begins


def make_exchanges(
    spec: ExchangeSpec, count: int, *, ratio: TokenRatio | None = None, copy: int = 0, copies: int = 1
) -> list[Exchange]:
    """So many exchanges, the same for the same spec; fewer where a file holds no more.

    Conversations are dealt to the copies in turn: all copies together send what one would.
    """
    return list(generate_exchanges(spec, count, ratio=ratio, copy=copy, copies=copies))


def generate_exchanges(
    spec: ExchangeSpec, count: int, *, ratio: TokenRatio | None = None, copy: int = 0, copies: int = 1
) -> Iterator[Exchange]:
    """The same, one at a time, for who turns each into bytes and keeps only those."""
    lengths, ratio = read_lengths(spec), ratio or TokenRatio()
    if not 1 <= count <= MOST_EXCHANGES:
        raise OptionError(f"{count:,} requests are outside 1 to {MOST_EXCHANGES:,}", remedy="measure in several runs")
    writer: PassageWriter = WordWriter(spec.seed, ratio)
    if spec.source == RANDOM:
        _check_size(lengths, count, ratio)
        return ConversationMaker(spec, lengths, writer, ratio).exchanges(count, copy=copy, copies=copies)
    raise OptionError(f"{spec.source}: files are not read yet")


def _check_size(lengths: SpecLengths, count: int, ratio: TokenRatio) -> None:
    """Refuses texts that would not fit into memory."""
    asked, answered, turns = lengths.input_tokens, lengths.output_tokens, lengths.turns
    if asked is None or answered is None or turns is None:
        return
    tokens = asked.middle + (answered.middle if turns.middle > 1 else 0)
    characters = count * tokens / ratio.tokens_per_word * CHARACTERS
    if characters > MOST_TEXT:
        raise OptionError(
            f"{count:,} requests of {tokens:,.0f} tokens are {characters / 2**30:,.0f} GiB of text; "
            f"at most {MOST_TEXT >> 30} GiB are held",
            remedy="ask for fewer or shorter prompts, or measure in several runs",
        )
