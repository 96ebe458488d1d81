"""Findings that are chosen by what they have in common, and what people make of such a part of a cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from benchwright.errors import OptionError, did_you_mean
from benchwright.pages.finding_lists import FACETS, narrow
from benchwright.pages.machines import find_machine
from benchwright.pages.names import names_of
from benchwright.records.causes import PREFIX, head_of
from benchwright.records.findings import Finding, Triage
from benchwright.store import Store
from benchwright.store.archive import RunLabels
from benchwright.store.choices import FindingChoice

MOST = 1_000_000  # findings of a cause
NAMES = tuple(name for name in FACETS if name != "state")  # by which findings are chosen, beside their state


@runtime_checkable
class _LabelsRuns(Protocol):
    """A store that says of many runs at once what their branches and tags are."""

    def run_labels(self, runs: Sequence[str]) -> Mapping[str, RunLabels]: ...


def read_choice(store: Store, given: Sequence[str]) -> FindingChoice:
    """What `NAME=VALUE`, several times, choose; a machine is named by its key, the beginning of it, or its name."""
    chosen: dict[str, tuple[str, ...]] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or name not in NAMES or not value:
            known = did_you_mean(name, NAMES) if equals and name not in NAMES else "for example metric=latency_p50"
            raise OptionError(f"findings are not chosen by {pair!r}", remedy=known)
        if name == "machine":
            value = find_machine(names_of({one.key: one.environment for one in store.machines()}), value)
        chosen[FACETS[name]] = (*chosen.get(FACETS[name], ()), value)
    return FindingChoice(**chosen)


def chosen_findings(store: Store, findings: Sequence[Finding], only: FindingChoice) -> list[Finding]:
    """Those of the findings that fit, in their order."""
    heads = [head_of(one) for one in findings]
    fitting = {head.id for head in narrow(heads, only, _labels(store, only, [head.run for head in heads]))}
    return [one for one in findings if one.id in fitting]


def chosen_of(store: Store, references: Sequence[str], wish: Triage, only: FindingChoice) -> list[str]:
    """The ids of the findings that are named, and of those of the causes that fit and that the wish is for."""
    found: dict[str, None] = {}
    for reference in references:
        if not reference.startswith(PREFIX):
            found[reference] = None
            continue
        fitting = chosen_findings(store, store.findings(cause=reference, limit=MOST), only)
        found |= dict.fromkeys(one.id for one in wish.meant(fitting))
    return list(found)


def _labels(store: Store, only: FindingChoice, runs: Sequence[str]) -> Mapping[str, RunLabels]:
    if not only.branches and not only.tags:
        return {}
    if not isinstance(store, _LabelsRuns):
        raise OptionError("this store does not tell branches and tags of runs", remedy="choose by something else")
    return store.run_labels(list(dict.fromkeys(runs)))
