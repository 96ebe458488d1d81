"""The records of what is sent: one request, and the description that requests are made or read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchwright.errors import OptionError
from benchwright.worker.endpoints.lengths import LONGEST, Length, parse_length

Messages = tuple[tuple[str, str], ...]  # (role, text)

RANDOM = "random"
OF_FILE = "trace"  # the length that a file states of each of its requests
ALL_TURNS = "all"
MOST_TURNS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request as it is to be sent, and what is known of its lengths."""

    messages: Messages  # (role, text), the earlier turns of a conversation first
    input_tokens: int | None = None  # that all of the texts were made to have, or that a local tokenizer counted
    output_tokens: int | None = None  # that are asked for
    at: int | None = None  # ns since the start, where a trace gives the instant
    session: int = 0  # the conversation it belongs to; turns of one are sent one after the other
    turn: int = 0
    body: Mapping[str, Any] | None = None  # a request body, or the part of one that `messages` cannot say


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeSpec:
    """What exchanges are to be: made at random, or read from a file."""

    source: str = RANDOM  # or the path of a data set or a trace; `file.csv::column` names a column
    input_tokens: str = "128"  # of each turn's own text: see `lengths`
    output_tokens: str = "64"
    shared: float = 0.0  # share of each prompt, from its front, that all have in common
    turns: str = "1"
    seed: int = 0
    tokenizer: str = ""  # path of a tokenizer.json, or of a folder that holds one
    images: int = 0  # in the first message of a synthetic conversation
    image_size: str = "512x512"
    image_kind: str = "smooth"  # see `images`


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecLengths:
    """The lengths of a spec, read. None is a length that the file states."""

    input_tokens: Length | None
    output_tokens: Length | None
    turns: Length | None


def read_lengths(spec: ExchangeSpec) -> SpecLengths:
    """The lengths that a spec states; an `OptionError` where it states something else."""
    if not 0.0 <= spec.shared <= 1.0:
        raise OptionError(
            f"--shared-prefix: {spec.shared} is no share of a prompt", remedy="write a percentage, such as 50%"
        )
    return SpecLengths(
        input_tokens=_read_length(spec, spec.input_tokens, "--input-tokens", OF_FILE),
        output_tokens=_read_length(spec, spec.output_tokens, "--output-tokens", OF_FILE),
        turns=_read_length(spec, spec.turns, "--turns", ALL_TURNS, MOST_TURNS),
    )


def _read_length(spec: ExchangeSpec, text: str, flag: str, of_file: str, most: int = LONGEST) -> Length | None:
    """A length, or None for the word that leaves it to the file; random prompts have none."""
    if spec.source != RANDOM and text.strip() == of_file:
        return None
    return parse_length(text, flag, most=most)
