"""What is sent to a served model: requests with their texts, lengths and instants, made before time zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.errors import OptionError
from benchwright.records import ResultWarning
from benchwright.worker.endpoints.exchange_records import RANDOM, SpecLengths, read_lengths
from benchwright.worker.endpoints.exchange_records import Exchange as Exchange
from benchwright.worker.endpoints.exchange_records import ExchangeSpec as ExchangeSpec
from benchwright.worker.endpoints.images import data_url, make_png, parse_image_size
from benchwright.worker.endpoints.passages import PassageWriter, WordWriter
from benchwright.worker.endpoints.synthetic import ConversationMaker
from benchwright.worker.endpoints.token_ratio import TokenRatio as TokenRatio
from benchwright.worker.endpoints.vocabulary import CHARACTERS

if TYPE_CHECKING:
    from benchwright.worker.endpoints.tokens import TokenCounter

MOST_EXCHANGES = 10_000_000
MOST_TEXT = 4 << 30  # characters of all texts together: they lie in memory when timing begins
MOST_IMAGES = 1000  # of one request
_COLUMN = "::"  # file.csv::column


def make_exchanges(
    spec: ExchangeSpec,
    count: int,
    *,
    ratio: TokenRatio | None = None,
    copy: int = 0,
    copies: int = 1,
    warnings: list[ResultWarning] | None = None,
) -> list[Exchange]:
    """So many exchanges, the same for the same spec; fewer where a file holds no more.

    Conversations are dealt to the copies in turn: all copies together send what one would. Nothing of a file is sent
    twice: a cache would answer.
    """
    made = generate_exchanges(spec, count, ratio=ratio, copy=copy, copies=copies, warnings=warnings)
    return list(made)


def generate_exchanges(
    spec: ExchangeSpec,
    count: int,
    *,
    ratio: TokenRatio | None = None,
    copy: int = 0,
    copies: int = 1,
    warnings: list[ResultWarning] | None = None,
) -> Iterator[Exchange]:
    """The same, one at a time, for who turns each into bytes and keeps only those."""
    lengths, ratio = read_lengths(spec), ratio or TokenRatio()
    if not 1 <= count <= MOST_EXCHANGES:
        raise OptionError(f"{count:,} requests are outside 1 to {MOST_EXCHANGES:,}", remedy="measure in several runs")
    if spec.source == RANDOM:
        _check_size(lengths, count, ratio)
        _check_images(spec, count)
        maker = ConversationMaker(spec, lengths, _writer(spec, ratio, _counter(spec)), ratio)
        return maker.exchanges(count, copy=copy, copies=copies)
    return _bounded(_read_exchanges(spec, lengths, count, ratio, (copy, copies), warnings), spec.source)


def _counter(spec: ExchangeSpec) -> TokenCounter | None:
    if not spec.tokenizer:
        return None
    from benchwright.worker.endpoints.tokens import TokenCounter

    return TokenCounter(spec.tokenizer)


def _writer(spec: ExchangeSpec, ratio: TokenRatio, counter: TokenCounter | None) -> PassageWriter:
    if counter is None:
        return WordWriter(spec.seed, ratio)
    from benchwright.worker.endpoints.exact_passages import ExactWriter

    return ExactWriter(spec.seed, counter)


def _read_exchanges(
    spec: ExchangeSpec,
    lengths: SpecLengths,
    count: int,
    ratio: TokenRatio,
    share: tuple[int, int],
    warnings: list[ResultWarning] | None,
) -> Iterator[Exchange]:
    """The exchanges of a file, which is a trace or a data set by its first row."""
    from benchwright.worker.endpoints.data_files import read_rows
    from benchwright.worker.endpoints.data_sets import DataSet
    from benchwright.worker.endpoints.traces import RequestTrace, form_of

    name, _, column = spec.source.partition(_COLUMN)
    rows = read_rows(Path(name))
    first = next(rows, None)
    if first is None:
        raise OptionError(f"{name}: it holds no request", remedy="write one on each line; docs/prompts.md shows how")
    counter = _counter(spec)
    form = None if column else form_of(first.value)
    found: DataSet | RequestTrace
    if form is None:
        found = DataSet(spec, lengths, counter, column)
    else:
        found = RequestTrace(form, _writer(spec, ratio, counter), ratio)
    yield from found.exchanges(chain([first], rows), count, copy=share[0], copies=share[1])
    if warnings is not None:
        warnings += found.warnings(name)


def _bounded(made: Iterator[Exchange], name: str) -> Iterator[Exchange]:
    """The same exchanges, as long as their texts fit into memory. Earlier turns of a conversation are held once."""
    size = 0
    for exchange in made:
        new = exchange.messages[-2:] if exchange.turn else exchange.messages
        size += sum(len(text) for _, text in new)
        if size > MOST_TEXT:
            raise OptionError(
                f"{name}: more than {MOST_TEXT >> 30} GiB of text",
                remedy="send fewer of its requests, or measure in several runs",
            )
        yield exchange


def _check_size(lengths: SpecLengths, count: int, ratio: TokenRatio) -> None:
    """Refuses texts that would not fit into memory."""
    asked, answered, turns = lengths.input_tokens, lengths.output_tokens, lengths.turns
    assert asked and answered and turns, "random prompts have lengths"
    tokens = asked.middle + (answered.middle if turns.middle > 1 else 0)
    characters = count * tokens / ratio.tokens_per_word * CHARACTERS
    if characters > MOST_TEXT:
        raise OptionError(
            f"{count:,} requests of {tokens:,.0f} tokens are {characters / 2**30:,.0f} GiB of text; "
            f"at most {MOST_TEXT >> 30} GiB are held",
            remedy="ask for fewer or shorter prompts, or measure in several runs",
        )


def _check_images(spec: ExchangeSpec, count: int) -> None:
    """Refuses images that are none, or that would not fit into memory."""
    if not 0 <= spec.images <= MOST_IMAGES:
        raise OptionError(f"--images: {spec.images} is not within 0 and {MOST_IMAGES}", remedy="write --images 1")
    if not spec.images:
        return
    width, height = parse_image_size(spec.image_size)
    size = count * spec.images * len(data_url(make_png(width, height, kind=spec.image_kind)))
    if size > MOST_TEXT:
        raise OptionError(
            f"{count:,} requests with {spec.images} of {spec.image_size} are {size / 2**30:,.0f} GiB of images; "
            f"at most {MOST_TEXT >> 30} GiB are held",
            remedy="ask for fewer or smaller images, or for --image-kind smooth",
        )
