"""A store like that of a small team after a month: always the same, made in seconds.

Sixty commits, each measured on two machines: 120 runs of two rounds. `resnet50` on onnxruntime is slower since commit
41 and on openvino faster since commit 25; `tokenizer.py::encode` was slower for a while; `bert` takes more memory;
`whisper` cannot be loaded on the second machine any more. The last runs of the first machine have everything that a
result can have: raw calls, timelines, operators, warnings, files, a log.

`python tests/support/sample_store.py FILE` makes one to look at: `benchwright serve --store FILE`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import sample_project as made
from benchwright import schema
from benchwright.records import Estimate, Value, Verdict
from benchwright.records.findings import Finding, Remark, State, Suspect
from benchwright.store.sql import SqlStore


def build(path: Path) -> None:
    """Makes the store at `path`; a file that is there already is an error.

    Tests of one session share one that was made once: all but the first copy it.
    """
    if path.exists():
        raise FileExistsError(path)
    cache = os.environ.get("BENCHWRIGHT_CACHE", "")
    made_once = Path(cache, "sample-store.db") if cache and "PYTEST_CURRENT_TEST" in os.environ else None
    if made_once is None:
        _build(path)
        return
    if not made_once.exists():
        fresh = made_once.with_suffix(f".{os.getpid()}")  # another process may be at it, too: the last one stays
        _build(fresh)
        fresh.replace(made_once)
    shutil.copyfile(made_once, path)


def build_small(path: Path) -> None:
    """Makes a store of the last runs of one model alone: enough for every page, and published in little time."""
    with closing(SqlStore(f"sqlite:///{path}")) as store:
        for number in range(2 * made.COMMITS - 8, 2 * made.COMMITS):
            run = made.run(number)
            kept = [r for r in run.results if "resnet50" in r.case.name and r.case.target.runtime != "torch"]
            store.add_run(replace(run, results=tuple(kept)))
        for finding in findings():
            if "resnet50" in finding.case:
                store.keep_finding(finding)


def _build(path: Path) -> None:
    store = SqlStore(f"sqlite:///{path}")
    try:
        fill(store)
    finally:
        store.close()


def fill(store: SqlStore) -> None:
    """Adds it all to an empty store."""
    for number in range(2 * made.COMMITS):
        store.add_run(made.run(number))
    for finding in findings():
        store.keep_finding(finding)
    for run in store.run_ids():
        store.mark_judged(run)


# ---- findings ----


def findings() -> Iterator[Finding]:
    """What was found, the oldest first."""
    one = {(m.case.name, m.case.target.runtime, m.case.inputs.batch_size): m for m in made.cases()}
    encode = one["tokenizer.py::encode", "python", 1]
    yield _finding(encode, 0, "latency_p50", made.SLOW_FROM, 1.3, state=State.RESOLVED, remarks=_recovered())
    for machine in (0, 1):
        yield _finding(one["vision/resnet50.onnx", "openvino", 1], machine, "latency_p50", made.IMPROVEMENT, 0.85)
    memory = one["text/bert.onnx", "torch", 1]
    yield _finding(
        memory, 0, "rss_peak", made.MEMORY, 1.09, state=State.ACKNOWLEDGED, remarks=_acknowledged(), assignee="grace"
    )
    for machine in (0, 1):
        for batch in (1, 8):
            yield _finding(
                one["vision/resnet50.onnx", "onnxruntime", batch], machine, "latency_p50", made.REGRESSION, 1.12
            )


def _finding(
    one: Any,
    machine: int,
    metric: str,
    commit: int,
    effect: float,
    *,
    state: State = State.OPEN,
    remarks: tuple[Remark, ...] = (),
    assignee: str = "",
) -> Finding:
    where = made.environment(machine, commit)
    first = 2 * commit + machine
    before = _level(one, machine, metric, commit - 1)
    verdict = Verdict.WORSE if effect > 1 else Verdict.BETTER
    found_at = made.instant(made.START + timedelta(hours=12 * commit + machine, minutes=5))
    series = schema.series_key(one.case, where, metric)
    opened = Remark(at=found_at, who="benchwright", what="opened")
    return Finding(
        id=schema.fingerprint([series, commit])[:10],
        series=series,
        before=before,
        after=_scaled(before, effect),
        effect=Estimate(point=effect, low=effect * 0.995, high=effect * 1.005, method="t on logarithms"),
        method="change points of the series",
        verdict=verdict,
        revisions=tuple(made.revision(i).id for i in range(commit - 1, commit + 2)),
        state=state,
        case=one.case.name,
        params=json.dumps(dict(one.case.params), separators=(",", ":")),
        metric=metric,
        unit="B" if metric == "rss_peak" else "s",
        machine=schema.environment_key(where),
        confidence=0.998,
        run=made.run_id(first),
        runs=tuple(made.run_id(i) for i in range(first - 4, first + 6, 2)),
        found_at=found_at,
        suspects=tuple(_suspect(i, p) for i, p in ((commit, 0.91), (commit + 1, 0.07))),
        why=_why(one, commit),
        assignee=assignee,
        remarks=(opened, *remarks),
    )


def _level(one: Any, machine: int, metric: str, commit: int) -> Estimate:
    found = made.result(2 * commit + machine, one, 0).metric(metric)
    assert found is not None
    point = found.estimate.point
    return Estimate(point=point, low=point * 0.997, high=point * 1.003, method="t on logarithms")


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    point = estimate.point * factor
    return Estimate(point=point, low=point * 0.997, high=point * 1.003, method=estimate.method)


def _suspect(commit: int, probability: float) -> Suspect:
    known = made.revision(commit)
    own = Estimate(point=1.09, low=1.08, high=1.1) if probability > 0.9 else None  # it was bisected
    return Suspect(revision=known.id, probability=probability, subject=known.subject, author=known.author, effect=own)


def _why(one: Any, commit: int) -> dict[str, Value]:
    told: dict[str, Value] = {"cause": "code", "revision": [made.revision(commit - 1).id, made.revision(commit).id]}
    if commit == made.REGRESSION:
        told["also"] = {"throughput": 0.893, "latency_p99": 1.118}
        told["operators"] = [{"name": "input_copy", "kind": "Identity", "seconds": [None, one.seconds * 0.05]}]
    return told


def _recovered() -> tuple[Remark, ...]:
    at = made.instant(made.START + timedelta(hours=12 * made.SLOW_TO, minutes=5))
    since = made.run_id(2 * made.SLOW_TO)
    return (Remark(at=at, who="benchwright", what="recovered", text=f"since run {since} the value is as before"),)


def _acknowledged() -> tuple[Remark, ...]:
    at = [made.instant(made.START + timedelta(hours=12 * made.MEMORY + hours)) for hours in (6, 7, 30)]
    return (
        Remark(at=at[0], who="grace", what="acknowledged"),
        Remark(at=at[1], who="grace", what="assigned", text="grace"),
        Remark(
            at=at[2], who="ada", what="comment", text="The new allocator keeps an arena per thread; see the <notes>."
        ),
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]))
