"""The control benchmark of a machine: judged as a series, it holds a machine that became slow and lets it go again."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.analysis.judged_results import JudgedResults
from benchwright.config import Notify
from benchwright.execution.control import control_cases
from benchwright.notify import Notifier
from benchwright.pages.machines import machine_view
from benchwright.records import CONTROL_TAG, Run
from benchwright.records.findings import State
from benchwright.records.machines import Quarantine
from benchwright.store.sql import SqlStore
from benchwright.worker.runtimes import control as kernels
from benchwright.workflows.control import QUARANTINED, is_unusual
from benchwright.workflows.judgement import judge_arrivals, tell_findings
from benchwright.workflows.machines import hold_unhealthy
from http_peer import Peer, serving_peer

INTEGER, MEMORY, MATRIX = control_cases("3.12.1")
MACHINE = schema.environment_key(made.ENVIRONMENT)
BEGAN = datetime.now(UTC) - timedelta(days=10)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    monkeypatch.chdir(tmp_path)
    with closing(SqlStore(f"sqlite:///{tmp_path / 'results.db'}")) as opened:
        yield opened


def _at(i: int, minutes: int = 0) -> str:
    return (BEGAN + timedelta(hours=i, minutes=minutes)).isoformat(timespec="milliseconds")


def _control(i: int, seconds: float) -> Run:
    parts = [made.run_of(i, seconds, case=case) for case in (INTEGER, MEMORY, MATRIX)]
    results = tuple(
        replace(result, id=f"{result.id}-{n}", started_at=_at(i))
        for n, part in enumerate(parts)
        for result in part.results
    )
    return replace(parts[0], started_at=_at(i), results=results, tags=(CONTROL_TAG,), revision=None)


def _work(i: int, seconds: float) -> Run:
    """What somebody measured half an hour after control `i`."""
    run = made.run_of(1000 + i, seconds)
    results = tuple(replace(result, started_at=_at(i, 30)) for result in run.results)
    return replace(run, started_at=_at(i, 30), results=results)


def _measure(store: SqlStore, values: Sequence[float], *, start: int = 0, announce: bool = False) -> None:
    """Controls, each as fast as is said, and other work after each; all are judged at once."""
    for i, value in enumerate(values, start):
        store.add_run(_control(i, value))
        store.add_run(_work(i, 10 * value))
    list(judge_arrivals(store, announce=announce))


def _held(store: SqlStore) -> list[Quarantine]:
    return store.quarantines(MACHINE)


def test_a_machine_that_became_slow_is_held_for_the_finding_and_released_when_it_is_well(store: SqlStore) -> None:
    _measure(store, made.levels((0.010, 20)))
    _measure(store, made.levels((0.013, 2), seed=2), start=20)
    assert _held(store) == [], "that may be chance"
    _measure(store, made.levels((0.013, 4), seed=2), start=22)
    (held,) = _held(store)
    finding = store.finding(held.finding)
    assert finding.case.startswith("machine control: ") and finding.run == "run-0020" and finding.state is State.OPEN
    assert f"finding {finding.id}" in held.reason and "% slower" in held.reason and held.until is None
    assert held.since == round(datetime.fromisoformat(_at(20)).timestamp() * 1e6), "from the first slow control on"
    assert QUARANTINED in [remark.what for remark in finding.remarks]
    # What it measured since is marked and not judged; the control itself still is.
    known = JudgedResults(store)
    assert known.held_of(store.run("run-1019"), store.run("run-1020")) == {r.id for r in store.run("run-1020").results}
    assert all(one.case.startswith("machine control: ") for one in store.findings(states=[State.OPEN]))
    # One control that is as before may be chance; two in a row are not.
    _measure(store, made.levels((0.010, 1), seed=3), start=26)
    assert _held(store)[0].until is None
    _measure(store, made.levels((0.010, 1), seed=4), start=27)
    (ended,) = _held(store)
    assert ended.released_by == "benchwright"
    assert ended.until == round(datetime.fromisoformat(_at(26)).timestamp() * 1e6), (
        "from the first control that is well"
    )
    assert store.finding(held.finding).state is State.RESOLVED
    assert JudgedResults(store).held_of(store.run("run-1026")) == set(), "from then on its results are judged"
    # It is slow again: that is another finding, and another quarantine.
    _measure(store, made.levels((0.010, 10), (0.014, 13), seed=5), start=28)
    assert len(_held(store)) == 2 and _held(store)[0].finding != held.finding and _held(store)[0].until is None


def test_what_somebody_released_is_not_held_again_for_the_same_finding(store: SqlStore) -> None:
    _measure(store, made.levels((0.010, 20), (0.013, 6)))
    store.release(MACHINE, round(datetime.now(UTC).timestamp() * 1e6), "ada")
    _measure(store, made.levels((0.013, 3), seed=6), start=26)
    (ended,) = _held(store)
    assert ended.released_by == "ada"


def test_a_machine_that_is_held_by_hand_stays_so(store: SqlStore) -> None:
    since = round(datetime.fromisoformat(_at(19)).timestamp() * 1e6)
    _measure(store, made.levels((0.010, 20)))
    store.quarantine(Quarantine(machine=MACHINE, since=since, reason="fan", who="ada"))
    _measure(store, made.levels((0.013, 6), (0.010, 4), seed=2), start=20)
    (held,) = _held(store)
    assert (held.who, held.until, held.finding) == ("ada", None, "")


def test_where_it_is_not_wanted_nobody_is_held(store: SqlStore) -> None:
    Path("benchwright.toml").write_text('[machines]\nquarantine = "never"\n')
    _measure(store, made.levels((0.010, 20), (0.013, 6)))
    assert _held(store) == []
    assert [one.case for one in store.findings(states=[State.OPEN]) if "control" in one.case]


def test_a_longer_tail_alone_holds_nobody(store: SqlStore) -> None:
    for i, factor in enumerate(made.levels((2.0, 20), (4.0, 8), noise=0.01)):
        run = _control(i, 0.010)
        slow = [
            replace(
                result,
                metrics=tuple(
                    replace(m, estimate=replace(m.estimate, point=0.01 * factor)) if m.name == "latency_p99" else m
                    for m in result.metrics
                ),
            )
            for result in run.results
        ]
        store.add_run(replace(run, results=tuple(slow)))
    list(judge_arrivals(store))
    assert {one.metric for one in store.findings(states=[State.OPEN])} == {"latency_p99"}
    assert _held(store) == [], "that is noise, which the machine's health shows"


def test_a_control_that_stands_out_is_seen_at_once(store: SqlStore) -> None:
    assert not is_unusual(store, MACHINE), "nobody knows what is usual yet"
    for i, value in enumerate(made.levels((0.010, 20))):
        store.add_run(_control(i, value))
    assert not is_unusual(store, MACHINE)
    store.add_run(_control(20, 0.012))
    store.add_run(_control(21, 0.012))
    assert is_unusual(store, MACHINE) and not is_unusual(store, "another")


def test_the_page_of_the_machine_shows_it(store: SqlStore) -> None:
    _measure(store, made.levels((0.010, 20), (0.013, 6)))
    view = machine_view(store, MACHINE)
    assert [one.name for one in view.control] == ["integer", "matrix", "memory"]
    line = view.control[0]
    assert len(line.at) == len(line.values) == len(line.runs) == 26 and line.runs[20] == "run-0020"
    assert line.usual == pytest.approx(0.010, rel=0.01), "what was measured in quarantine is not usual"
    assert line.values[0] == pytest.approx(100, abs=2) and line.values[-1] == pytest.approx(130, abs=2)
    assert (line.python, line.version) == ("3.12", kernels.VERSION)
    assert view.quarantines[0].finding == _held(store)[0].finding
    assert view.line.quarantine and view.line.quarantine.finding in view.line.quarantine.reason


def test_good_health_does_not_end_what_the_control_showed(store: SqlStore) -> None:
    Path("benchwright.toml").write_text('[machines]\nquarantine = "automatic"\n')
    _measure(store, made.levels((0.010, 20), (0.013, 6)))
    assert hold_unhealthy(store) == [] and _held(store)[0].until is None


def test_people_are_told_once(store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with Peer() as server, serving_peer(server):
        settings = Notify(targets=(f"webhook+http://{server.host}/hook",))
        notifier = Notifier(settings, journal=tmp_path / "notified.jsonl")
        for start, values in ((0, made.levels((0.010, 20), (0.013, 6))), (26, made.levels((0.013, 2), seed=2))):
            _measure(store, values, start=start, announce=True)
            tell_findings(store, notifier)
        said = [request.body.decode() for request in server.requests]
    assert len(said) == 1 and "the machine is in quarantine" in said[0].lower()
    assert "bench.py::encode" not in said[0], "what the slow machine measured is not told"


def test_the_kernels_are_those_of_their_version() -> None:
    """Whoever changes a kernel or a constant of it counts `VERSION` up: then its series begin anew."""
    source = "".join(inspect.getsource(kernel) for kernel in kernels.KERNELS.values())
    told = f"{kernels.VERSION} {kernels._STEPS} {kernels._COPIED} {kernels._SIDE} {source}"
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == "ec55d2cb15c12c4d"
    assert [kernel()() for name, kernel in kernels.KERNELS.items() if name == "integer"] == [9718549292624936803]
