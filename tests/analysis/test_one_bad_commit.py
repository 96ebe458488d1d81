"""A commit that made twelve series slower, found as it is found in real life: one cause, and no other in it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import series_of_runs as made
from benchwright.analysis import detection
from benchwright.records import Run
from benchwright.records.findings import State
from benchwright.store import open_store

RUNS, BAD, OTHER = 45, 20, 30  # runs, and those since which something is slower
SLOWER, ELSEWHERE = 12, 2  # cases that the one commit made slower, and the other


def test_twelve_series_that_one_commit_made_slower_have_one_cause(tmp_path: Path) -> None:
    store = open_store(tmp_path / "results.db")
    for number in range(RUNS):
        store.add_run(_run(number))
    found = detection.judge(store, f"run-{RUNS - 1:04d}")
    known = store.findings()
    slower, other = ({one.cause for one in known if one.case.startswith(name)} for name in ("slower", "other"))
    assert (len(slower), len(other)) == (1, 1) and slower != other
    bad, _ = sorted(store.causes(states=[State.OPEN]), key=lambda cause: -cause.series)
    assert (bad.series, bad.cases, bad.worse) == (SLOWER, SLOWER, SLOWER) == (len(found) - ELSEWHERE,) * 3
    assert bad.culprit is not None and bad.culprit.revision == made.commit(BAD)
    store.close()


def _run(number: int) -> Run:
    """A run of all cases: the noise and the size of the change differ from case to case."""
    results = []
    for i in range(SLOWER + ELSEWHERE):
        draw = random.Random(f"{i} {number}")
        slower = i < SLOWER
        factor = 1.08 + 0.02 * i if slower else 1.2
        since = BAD if slower else OTHER
        seconds = 0.010 * (factor if number >= since else 1.0) * (1 + draw.gauss(0, 0.003 + 0.001 * (i % 7)))
        case = replace(made.CASE, name=f"{'slower' if slower else 'other'}{i}.py::case")
        results += made.run_of(number, seconds, case=case).results
    return replace(made.run_of(number, 1.0), results=tuple(results))
