"""What a finding says beside its numbers: what differs between its two sides, and which other metrics moved alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchwright.analysis import causes
from benchwright.analysis.timeline import Moment
from benchwright.records import Result, Run, Value
from benchwright.records.findings import Finding
from benchwright.store import Store

_ALSO = "also"  # in `why`: the effect in other metrics of the case


def explain(store: Store, finding: Finding, old: Moment, new: Moment, also: Mapping[str, Value]) -> dict[str, Value]:
    """What differs between two runs, and what is to be measured where that does not tell the cause.

    `also` is the effect in other metrics of the case, which have no finding of their own.
    """
    before, after = results_of(store, old), results_of(store, new)
    told = causes.differences(before, after)
    if also:
        told[_ALSO] = dict(also)
    if told["cause"] == causes.EITHER and len(finding.revisions) > 1:
        target = after[0].case.target.uri or after[0].case.name
        told["remeasure"] = causes.remeasure_command(finding.revisions[0], finding.revisions[-1], target)
    return told


def others_of(finding: Finding) -> dict[str, Value]:
    """The other metrics of the case that moved alike, with their effects: they are one finding."""
    told = finding.why.get(_ALSO)
    return dict(told) if isinstance(told, dict) else {}


def name_others(also: Mapping[str, Value]) -> str:
    """The other metrics in words, for a finding's story: `also in cpu_time, throughput`."""
    return f"also in {', '.join(also)}" if also else ""


def results_of(store: Store, moment: Moment) -> list[Result]:
    """The results of a moment, each with the revision that it measured."""
    run = store.run(moment.run, samples=False)
    return [result for result in with_revisions(run) if result.id in moment.results]


def with_revisions(run: Run) -> Iterator[Result]:
    """The results of a run, with the run's revision where they have none of their own."""
    for result in run.results:
        yield result if result.revision else replace(result, revision=run.revision)
