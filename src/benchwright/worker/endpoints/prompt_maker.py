"""Prompts that fit the server that they are for: it is asked how it counts tokens before the first of them is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchwright.errors import OptionError
from benchwright.records import ResultWarning
from benchwright.worker.endpoints.exchange_records import RANDOM, read_lengths
from benchwright.worker.endpoints.exchanges import Exchange, ExchangeSpec, TokenRatio, make_exchanges
from benchwright.worker.endpoints.token_ratio import fit_ratio

if TYPE_CHECKING:
    from benchwright.worker.endpoints.driver import EndpointDriver

TRIED = (8, 24, 64)  # words of the prompts by which the server's count is learnt
USUAL = "128"  # tokens of prompts of a warm-up whose load has those of a file


class PromptMaker:
    """Makes the requests of one description, as many as are asked for; equal seeds give equal ones."""

    repeats = False

    def __init__(self, spec: ExchangeSpec) -> None:
        self.spec = spec
        self.ratio: TokenRatio | None = None
        self.warnings: list[ResultWarning] = []

    def __call__(self, count: int, seed: int, *, copy: int = 0, copies: int = 1) -> Sequence[Exchange]:
        """So many requests, and the later turns of those that begin a conversation."""
        self.warnings.clear()
        turns = read_lengths(self.spec).turns
        whole = count * copies * max(1, round(turns.middle)) if turns is not None else count * copies
        spec = replace(self.spec, seed=seed)
        return make_exchanges(spec, whole, ratio=self.ratio, copy=copy, copies=copies, warnings=self.warnings)

    def warm_up(self, count: int, seed: int) -> Sequence[Exchange]:
        """Requests of about the same lengths, none of which is part of the load."""
        spec = replace(self.spec, seed=seed, source=RANDOM, turns="1")
        if self.spec.source != RANDOM:
            first = make_exchanges(replace(self.spec, seed=seed), 1, ratio=self.ratio)
            if first and first[0].body is not None:  # only the file knows what the server takes
                return first
            spec = replace(spec, input_tokens=_or_usual(spec.input_tokens), output_tokens=_or_usual(spec.output_tokens))
        return make_exchanges(spec, count, ratio=self.ratio)

    def settle(self, driver: EndpointDriver) -> None:
        """Learns how many tokens the server counts for a word, unless a tokenizer tells, or the texts are given."""
        if self.spec.tokenizer or self.ratio is not None:
            return
        counted: list[tuple[int, int]] = []
        for words in TRIED:
            spec = ExchangeSpec(input_tokens=str(words), output_tokens="1", seed=words)
            answer = driver.ask(make_exchanges(spec, 1)[0], must_succeed=not counted)
            if answer.input_tokens > 0:
                counted.append((words, answer.input_tokens))
        if len(counted) < 2:  # it does not count, or takes no longer ones; a word is taken for a token
            return
        try:
            self.ratio = fit_ratio(counted)
        except OptionError as error:
            self.ratio = TokenRatio()
            driver.notes.append(ResultWarning(code="prompt-lengths-unsure", seen=error.message, remedy=error.remedy))


def _or_usual(length: str) -> str:
    return USUAL if not length[:1].isdigit() and "(" not in length else length
