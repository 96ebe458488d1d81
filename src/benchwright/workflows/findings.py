"""Changes that were found in series: `benchwright.findings(...)`, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from benchwright.errors import OptionError, did_you_mean
from benchwright.records import findings as records
from benchwright.records.causes import Cause, causes_of
from benchwright.records.findings import Finding, State
from benchwright.store import Store, open_configured_store
from benchwright.workflows.arguments import one_or_many, whole_number

if TYPE_CHECKING:
    import pandas

USUAL = (State.OPEN, State.ACKNOWLEDGED)
ALL = "all"
NEWEST = 50  # unless more are asked for
MOST = 20_000  # that are chosen from, the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingList:
    """Findings, the newest first: prints as a list."""

    found: tuple[Finding, ...]
    suspected: int = 0  # that nobody was told of, and nobody asked for
    causes: tuple[Cause, ...] = ()  # of all findings in these states, those that were joined last first
    each: bool = False  # whether each finding is printed, and not each cause

    def print(self, file: TextIO | None = None) -> None:
        """Writes two lines for each cause, or for each finding, coloured on a terminal."""
        from benchwright.report.findings import print_findings

        print_findings(self.found, causes=() if self.each else self.causes, suspected=self.suspected, file=file)

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each finding. Needs pandas."""
        from benchwright.report.data_frames import findings_frame

        return findings_frame(self.found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        from benchwright.report.table import plain_text

        return plain_text(self.print)

    def __repr__(self) -> str:
        return f"<FindingList: {len(self)} findings>"

    def _repr_html_(self) -> str:
        from benchwright.report.notebook import findings_html

        return findings_html(self.found, suspected=self.suspected)


def findings(
    *,
    state: str | Sequence[str] = (),
    limit: int = NEWEST,
    each: bool = False,
    cause: str = "",
    only: str | Sequence[str] = (),
    store: str | os.PathLike[str] | None = None,
) -> FindingList:
    """Lists the newest `limit` findings of a store and their causes, without looking for more.

    Printed, findings of one commit are one entry, unless `each` is true or a `cause` is named: then only its findings
    are listed.

    `state` is one or several of `suspected`, `open`, `acknowledged`, `resolved`, `ignored`, or `all`; open and
    acknowledged ones unless something is said.

    `only` is one or several of `NAME=VALUE`, where NAME is `verdict`, `suite`, `machine`, `metric`, `assignee`, and for
    a store that is a database `branch` or `tag`: of each NAME one VALUE must fit. A cause is then what those findings
    of it are.
    """
    asked: Sequence[str] = one_or_many(state or None, ())
    wanted = [] if ALL in asked else [_state(word) for word in asked] or list(USUAL)
    pairs: Sequence[str] = one_or_many(only or None, ())
    most = whole_number(limit, "limit")
    with closing(open_configured_store(store)) as results:
        if pairs:
            found = _chosen(results, wanted, cause, pairs)
            causes = [] if cause or each else sorted(causes_of(found), key=lambda one: one.newest_at, reverse=True)
            found, causes = found[:most], causes[:most]
        else:
            found = results.findings(states=wanted, limit=most, cause=cause)
            causes = [] if cause or each else results.causes(states=wanted, limit=most)
        suspected = [] if asked or cause else results.findings(states=[State.SUSPECTED], limit=most)
    return FindingList(found=tuple(found), suspected=len(suspected), causes=tuple(causes), each=each or bool(cause))


def _chosen(results: Store, states: Sequence[State], cause: str, pairs: Sequence[str]) -> list[Finding]:
    from benchwright.workflows.triage import chosen_findings, read_choice

    choice = read_choice(results, pairs)
    return chosen_findings(results, results.findings(states=states, limit=MOST, cause=cause), choice)


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        raise OptionError(
            f"state: {word!r} is not a state of a finding", remedy=did_you_mean(str(word), [*State, ALL])
        ) from None


# `from benchwright import findings` gave the module of the records before it gave this function: their names stay.
vars(findings).update({name: value for name, value in vars(records).items() if isinstance(value, type)})
