"""Lists of findings: what they are narrowed to, and what else they could be narrowed by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from benchwright.analysis.rows import show_scalar
from benchwright.pages.lines import facet_lines
from benchwright.pages.names import machine_names, suite_of
from benchwright.pages.shapes import Facet
from benchwright.records.causes import FindingHead
from benchwright.records.findings import State
from benchwright.schema.parsing import json_mapping
from benchwright.store.archive import Archive, FacetCounts, FacetValues, RunLabels
from benchwright.store.choices import EVERY_FINDING, NOBODY, FindingChoice, facet_of

# The name of each facet, and where what is chosen of it stands in a `FindingChoice`.
FACETS = {
    "state": "states",
    "verdict": "verdicts",
    "suite": "suites",
    "machine": "machines",
    "metric": "metrics",
    "branch": "branches",
    "tag": "tags",
    "assignee": "assignees",
}
_OF_RUNS = ("branch", "tag")


class ChosenHeads:
    """The findings that a list is narrowed to.

    `identity` says what a row of the list is: a finding, or a cause, which is counted once however many of its findings
    fit.
    """

    def __init__(
        self,
        archive: Archive,
        chosen: FindingChoice = EVERY_FINDING,
        *,
        words: str = "",
        identity: Callable[[FindingHead], str] = lambda head: head.id,
        until: int = 0,
        cause: str = "",
        facets: bool = False,
    ) -> None:
        self._archive, self._chosen, self._identity = archive, chosen, identity
        self._names = machine_names(archive)
        of = archive.find_cause(cause) if cause else ""
        heads = archive.finding_heads(states=[State(state) for state in chosen.states], until=until, cause=of)
        every = archive.finding_heads(until=until, cause=of) if facets and chosen.states else heads
        self._labels = self._run_labels([*heads, *every], facets=facets)
        self._heads, self._every = self._with_words(heads, words), self._with_words(every, words)
        self.fitting = narrow(self._heads, chosen, self._labels)

    def facets(self) -> list[Facet]:
        """How many rows each value would leave; what a facet has chosen itself does not narrow its own counts."""
        found = [self._facet(name, getattr(self._chosen, own)) for name, own in FACETS.items()]
        total = len({self._identity(head) for head in self.fitting})
        return facet_lines(FacetCounts(total=total, facets=tuple(one for one in found if one.values)), self._names)

    def _facet(self, name: str, given: Sequence[str]) -> FacetValues:
        pool = self.fitting
        if given:
            others = replace(self._chosen, **{FACETS[name]: ()})
            pool = narrow(self._every if name == "state" else self._heads, others, self._labels)
        rows: dict[str, set[str]] = {}
        for head in pool:
            for value in values_of(head, name, self._labels.get(head.run)):
                rows.setdefault(value, set()).add(self._identity(head))
        return facet_of(name, ((value, len(of)) for value, of in rows.items()), given)

    def _run_labels(self, heads: Sequence[FindingHead], *, facets: bool) -> Mapping[str, RunLabels]:
        if not facets and not self._chosen.branches and not self._chosen.tags:
            return {}
        return self._archive.run_labels(list(dict.fromkeys(head.run for head in heads if head.run)))

    def _with_words(self, heads: Sequence[FindingHead], words: str) -> list[FindingHead]:
        """The findings of the rows in whose names every word occurs."""
        if not words.split():
            return list(heads)
        commits = self._commits(heads)
        said: dict[str, list[str]] = {}
        for head in heads:
            params = [f"{name}={show_scalar(value)}" for name, value in json_mapping(head.params).items()]
            texts = (head.case, *params, head.metric, head.machine, self._names.get(head.machine, ""))
            more = (head.assignee, head.suspect, commits.get(head.suspect, ""), head.id, head.cause)
            said.setdefault(self._identity(head), []).extend((*texts, *more))
        asked = words.casefold().split()
        texts_of = {row: " ".join(dict.fromkeys(texts)).casefold() for row, texts in said.items()}
        fits = {row for row, text in texts_of.items() if all(word in text for word in asked)}
        return [head for head in heads if self._identity(head) in fits]

    def _commits(self, heads: Iterable[FindingHead]) -> dict[str, str]:
        """What is known of each suspected commit: its subject and its author."""
        speaking = {head.suspect: head.id for head in heads if head.suspect}
        found = self._archive.findings_of(list(speaking.values()))
        return {
            one.suspects[0].revision: f"{one.suspects[0].subject} {one.suspects[0].author}"
            for one in found
            if one.suspects
        }


def values_of(head: FindingHead, name: str, labels: RunLabels | None = None) -> Sequence[str]:
    """What a finding has of a facet; `labels` are those of its run."""
    if name == "suite":
        return (suite_of(head.case),)
    if name in _OF_RUNS:
        if labels is None:
            return ()
        return labels.tags if name == "tag" else (labels.branch,) if labels.branch else ()
    if name == "assignee":
        return (head.assignee or NOBODY,)
    return (getattr(head, name),)


def narrow(heads: Iterable[FindingHead], chosen: FindingChoice, labels: Mapping[str, RunLabels]) -> list[FindingHead]:
    """Those of the findings that were chosen; `labels` are those of their runs."""
    wanted = {name: frozenset(given) for name, own in FACETS.items() if (given := getattr(chosen, own))}
    return [
        head
        for head in heads
        if all(not given.isdisjoint(values_of(head, name, labels.get(head.run))) for name, given in wanted.items())
    ]
