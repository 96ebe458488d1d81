"""What a store knows of a machine's own rate, and how it is quoted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sample_runs
from benchwright._version import VERSION
from benchwright.analysis import false_alarms
from benchwright.execution.noise.calibration import Calibration, GateRate, as_run, calibration_of_run
from benchwright.machine import environment
from benchwright.pages.compare import compare
from benchwright.pages.machines import machine_note, machines
from benchwright.records import Environment
from benchwright.stats.replay import Rate
from benchwright.store import open_store
from benchwright.store.sql import SqlStore

NOW = datetime.now(UTC)


def _calibration(**more: object) -> Calibration:
    import platform

    known = Calibration(
        at=NOW.isoformat(),
        seconds=60.0,
        processes=400,
        repeated=0.1,
        load=0.1,
        harness=VERSION,
        python=platform.python_version(),
        pairs=GateRate(alarms=Rate(count=2, of=400), smallest=0.02),
        rounds=GateRate(alarms=Rate(count=0, of=40), smallest=None),
    )
    return replace(known, **more)  # type: ignore[arg-type]


def _other() -> Environment:
    return Environment(machine={"cpu": "another"}, system={"os": "Linux"})


def test_the_newest_of_each_machine_counts(tmp_path: Path) -> None:
    here = environment.collect()
    store = open_store(tmp_path / "store.db")
    older, newer, other = (_calibration(processes=number) for number in (1, 2, 3))
    for run_id, found, where in (("a", older, here), ("b", newer, here), ("c", other, _other())):
        assert store.add_run(as_run(found, where, run_id))
    assert false_alarms.calibration_of(store, here) == newer
    assert false_alarms.calibration_of(store, _other()) == other
    assert false_alarms.calibration_of(store, Environment(machine={"cpu": "third"}, system={})) is None
    assert store.runs() == [] and len(store.runs(tries=True)) == 3
    assert store.case_names() == []
    store.close()


def test_a_page_quotes_it_where_one_known_machine_measured(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    assert isinstance(store, SqlStore)
    store.add_run(as_run(_calibration(), _other(), "a"))
    (key,) = false_alarms.calibrations_by_machine(store)
    assert "in 0 of 40 comparisons of runs" in machine_note(store, [key])
    assert machine_note(store, [key, "x"]) == machine_note(store, ["x"]) == machine_note(store, []) == ""
    assert store.machines() == []  # it is no result of a machine
    store.close()


def test_pages_of_the_dashboard_quote_it(tmp_path: Path) -> None:
    make_run = sample_runs.make_run
    store = open_store(tmp_path / "store.db")
    assert isinstance(store, SqlStore)
    runs = [make_run(name, calls=50, slower=1.0, seed=seed) for seed, name in enumerate(("a", "b"))]
    for run in runs:
        store.add_run(run)
    assert not any("calibrated" in note for note in compare(store, "run:a", "run:b").notes)
    assert machines(store).machines[0].calibration == {}
    store.add_run(as_run(_calibration(harness="0.0.1"), runs[0].results[0].environment, "c"))
    told = machines(store).machines[0].calibration
    assert "in 2 of 400 replayed trials" in told["ab"] and "0.0.1" in told["stale"]
    assert any("in 0 of 40 comparisons of runs" in note for note in compare(store, "run:a", "run:b").notes)
    store.close()


def test_what_cannot_be_read_is_passed_over() -> None:
    run = as_run(_calibration(), _other(), "a")
    spoilt = replace(run.results[0], details={"calibration": {"at": "of another time"}})
    assert calibration_of_run(replace(run, results=(spoilt,))) is None


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"at": (NOW - timedelta(days=40)).isoformat()}, "it is 40 days old"),
        ({"harness": "0.0.1"}, "measured with benchwright 0.0.1"),
        ({"python": "3.9.1"}, "measured with Python 3.9.1"),
    ],
)
def test_it_says_when_it_is_stale(more: dict[str, object], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.1, 0.1))
    assert why in false_alarms.describe_for_ab(_calibration(**more))
    assert "env --calibrate measures it anew" in false_alarms.describe_for_ab(_calibration(**more))
    assert "anew" not in false_alarms.describe_for_ab(_calibration())


def test_a_machine_that_is_far_busier_now_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (500.0, 0.0, 0.0))
    assert "the load is 5e+02 now and was 0.1" in false_alarms.describe_for_ab(_calibration())
    assert "load is" not in false_alarms.describe_for_comparison(
        _calibration()
    )  # of a run from another time or machine


def test_no_rate_stands_without_its_interval_and_count() -> None:
    said = false_alarms.describe_for_comparison(_calibration())
    assert "in 0 of 40 comparisons of runs (0 % [0 %, 8.8 %]); no change up to 100 % was found in nine of ten" in said
    assert "is not known: benchwright env --calibrate measures it" in false_alarms.describe_for_ab(None)
