"""The pairs of a bisection as they are measured and kept: how long their processes last, and those of earlier runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchwright import schema
from benchwright.errors import TargetError
from benchwright.execution.builds import RevisionBuilder
from benchwright.records import Case, Estimate, Metric, Mode, Result, Run, Status
from benchwright.records.bisections import ComparedPair
from benchwright.records.findings import Suspect
from benchwright.vcs.history import Commit
from benchwright.worker.engine.engine import DEFAULT_DURATION

LENGTHS = (1.0, 3.0, 9.0)  # of processes, in usual ones
CANDIDATE = "candidate"  # the side of a pair that is no control
_LONGEST = 20.0  # seconds: a process is made no longer


def can_last(case: Case, length: float) -> bool:
    """Whether a process can be made `length` times as long: it measures for a time, and stays below `_LONGEST`."""
    return 0.0 < length * seconds_of(case) <= _LONGEST


def with_length(case: Case, length: float) -> Case:
    """The case with processes that are `length` times as long."""
    if length == 1.0:
        return case
    return replace(case, load=replace(case.load, duration=length * seconds_of(case)))


def seconds_of(case: Case) -> float:
    """How many seconds a process measures; 0 where a count or the data ends it."""
    load = case.load
    if load.samples or load.once or load.precision or load.trace or load.mode is Mode.SINGLE:
        return 0.0
    return load.duration or DEFAULT_DURATION


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjacentResults:
    """Two results of an earlier run that were measured next to each other."""

    control: Result
    treatment: Result
    control_first: bool
    length: float


def find_adjacent(run: Run, case: Case) -> Iterator[AdjacentResults]:
    """The pairs of a run: two results next to each other, a control and a candidate, of this case under the same load.

    Only the seed may differ, as each run has its own, and the duration where processes were made longer.
    """
    possible = [length for length in LENGTHS if length == 1.0 or can_last(case, length)]
    lengths = {_key_without_seed(with_length(case, length)): length for length in possible}
    waiting: Result | None = None
    for result in run.results:
        length = lengths.get(_key_without_seed(result.case))
        if length is None:
            waiting = None
        elif waiting is not None and waiting.round == result.round and _is_candidate(waiting) != _is_candidate(result):
            control, treatment = (result, waiting) if _is_candidate(waiting) else (waiting, result)
            yield AdjacentResults(control=control, treatment=treatment, control_first=control is waiting, length=length)
            waiting = None
        else:
            waiting = result


def _key_without_seed(case: Case) -> str:
    return json.dumps([case.name, dict(case.params), schema.encode(replace(case.load, seed=0))], sort_keys=True)


def _is_candidate(result: Result) -> bool:
    return result.details.get("side") == CANDIDATE


def compare_adjacent(adjacent: AdjacentResults, metric: Metric | None, run: str) -> ComparedPair | None:
    """A pair of an earlier run; None where there is no ratio."""
    control, treatment = adjacent.control, adjacent.treatment
    if metric is None or control.status is not Status.OK or treatment.status is not Status.OK:
        return None
    a, b = (result.metric(metric.name) for result in (control, treatment))
    if a is None or b is None or min(a.estimate.point, b.estimate.point) <= 0:
        return None
    return ComparedPair(
        revision=treatment.revision.id if treatment.revision else "",
        ratio=b.estimate.point / a.estimate.point,
        run=run,
        against=control.revision.id if control.revision else "",
        control=a.estimate.point,
        figure=b.estimate.point,
        control_first=adjacent.control_first,
        length=adjacent.length,
    )


def is_at_revision(result: Result, revision: str) -> bool:
    """Whether a result was measured at this revision."""
    return result.revision is not None and result.revision.id == revision


def make_suspect(commit: Commit, probability: float, effect: Estimate | None = None) -> Suspect:
    """A commit that may be the one, with what is known of it."""
    known = commit.revision
    return Suspect(
        revision=known.id,
        probability=probability,
        subject=known.subject,
        author=known.author,
        effect=effect,
        pull_request=known.pull_request,
    )


def commits_between(builder: RevisionBuilder, good: Commit, good_name: str, bad_name: str) -> list[Commit]:
    """The commits after the good one up to the bad one, or an error that says why there are none."""
    bad = builder.repository.resolve(bad_name)
    commits = builder.repository.after(good.revision.id, bad.revision.id)
    if not commits:
        same = good.revision.id == bad.revision.id
        problem = "are the same commit" if same else "are not a range: the first is not an ancestor of the second"
        raise TargetError(f"{good_name} and {bad_name} {problem}", remedy="give --good the older one, --bad the newer")
    return commits
