"""Old samples and runs go as the rules say; points, and what somebody still looks at, stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchwright import config
from benchwright.errors import OptionError
from benchwright.records import Estimate, Result, Run, Verdict
from benchwright.records.findings import Finding, State
from benchwright.stats import histogram
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore, engine, retention
from benchwright.store.sql.retention import RetentionRules

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]

DAY = 86400.0
ONE = Estimate(point=1.0, low=None, high=None)


@pytest.fixture
def keep(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> Callable[..., None]:
    """`keep("name", days=100)`: a run that began so many days ago, with one result of 50 calls."""

    def add(name: str, *, days: float, tags: tuple[str, ...] = ()) -> None:
        began = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        result = replace(make_result(f"{name}-0", samples=50), started_at=began)
        store.add_run(replace(make_run(name, tags=tags, results=(result,)), started_at=began))

    return add


def _finding(store: SqlStore, run: str, state: State) -> None:
    told: dict[str, Any] = {"before": ONE, "after": ONE, "effect": ONE, "method": "m", "verdict": Verdict.WORSE}
    store.keep_finding(
        Finding(id=f"f-{run}", series=f"s-{run}", found_at="2026-01-01T00:00:00Z", runs=(run,), state=state, **told)
    )


def _raw(store: SqlStore) -> list[str]:
    """The runs that have raw samples."""
    return [name for name in store.run_ids() if not retention.aged_out(store.samples(f"{name}-0")[0])]


def test_samples_age_out_and_their_distribution_stays(store: SqlStore, keep: Callable[..., None]) -> None:
    keep("old", days=100)
    keep("new", days=1)
    (before,) = store.samples("old-0")
    whole = store.run("old", samples=False)
    columns = store.columns(store.series(SeriesFilter())[0].series.key, "s").point.tolist()
    pruned = store.prune(RetentionRules(samples=90 * DAY))
    assert (pruned.runs, pruned.results, pruned.aged) == ((), 0, 1) and pruned.sample_bytes > 0
    assert _raw(store) == ["new"]
    (after,) = store.samples("old-0")
    assert (after.calls, after.loops, after.elapsed, after.columns) == (before.calls, before.loops, before.elapsed, {})
    assert after.histograms == {"latency": histogram.fold(before.columns["latency"])}
    assert store.run("old", samples=False) == whole
    assert store.columns(store.series(SeriesFilter())[0].series.key, "s").point.tolist() == columns
    again = store.prune(RetentionRules(samples=90 * DAY))
    assert (again.aged, again.sample_bytes) == (0, 0)
    # What comes once more from a client that did not hear the answer is still the same result.
    assert not store.put("old", replace(whole.results[0], samples=(before,)))


def test_runs_go_whole(store: SqlStore, keep: Callable[..., None]) -> None:
    for name, days in (("ancient", 800), ("old", 100), ("new", 1)):
        keep(name, days=days, tags=("t",))
    rules = RetentionRules(runs=730 * DAY, samples=90 * DAY)
    would = store.prune(rules, dry_run=True)
    assert _raw(store) == ["ancient", "old", "new"]
    assert store.prune(rules) == would
    assert (would.runs, would.results, would.aged) == (("ancient",), 1, 1)
    assert list(store.run_ids()) == ["old", "new"] and _raw(store) == ["new"]
    assert {one.count for one in store.series(SeriesFilter())} == {2}
    assert store.find("t") == "new"
    with store._reading() as connection:
        for table in ("documents", "results"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 2


def test_what_somebody_looks_at_stays(store: SqlStore, keep: Callable[..., None]) -> None:
    for name in ("open", "acknowledged", "resolved", "plain"):
        keep(name, days=100)
    keep("baseline", days=100, tags=("release",))
    for state in (State.OPEN, State.ACKNOWLEDGED, State.RESOLVED):
        _finding(store, state.value, state)
    rules = RetentionRules(samples=90 * DAY, runs=95 * DAY, keep_tagged=True)
    assert store.prune(rules).runs == ("resolved", "plain")
    assert _raw(store) == ["open", "acknowledged", "baseline"]
    store.prune(replace(rules, runs=None, keep_tagged=False))
    assert _raw(store) == ["open", "acknowledged"]


def test_a_server_applies_what_the_file_states(store: SqlStore, keep: Callable[..., None], tmp_path: Path) -> None:
    keep("old", days=100)
    (tmp_path / config.FILE).write_text('[retention]\nsamples = "12w"\nkeep_tagged = true\n')
    rules = retention.rules_of(config.load(tmp_path).retention)
    assert rules == RetentionRules(samples=84 * DAY, keep_tagged=True)
    assert retention.apply(store, retention.rules_of(config.Retention())) is None
    pruned = retention.apply(store, rules)
    assert pruned is not None and pruned.aged == 1


@pytest.mark.parametrize("text", ["soon", "-3d", "90 parsecs", "1e99y"])
def test_a_time_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="retention of samples"):
        retention.rules_of(config.Retention(samples=text))


def test_the_file_becomes_smaller(
    tmp_path: Path, make_run: MakeRun, make_result: MakeResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_WORTH", 1)
    store = SqlStore(f"sqlite:///{tmp_path / 'r.db'}")
    store.add_run(make_run("run-1", results=(make_result("a", samples=100_000),)))
    before = store.info()
    pruned = store.prune(RetentionRules(samples=DAY))
    after = store.info()
    store.close()
    assert before.sample_bytes == pruned.sample_bytes > 100_000 and after.sample_bytes == 0
    assert pruned.given_back > 0 and after.bytes == before.bytes - pruned.given_back
    assert after.counts == before.counts
