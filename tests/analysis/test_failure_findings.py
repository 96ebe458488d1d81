"""A server that begins to fail requests is found, and told in points: where all is well nothing fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import series_of_runs as made
from benchwright.analysis import causes, detection
from benchwright.errors import OptionError
from benchwright.notify import messages
from benchwright.records import Estimate, Run, Verdict
from benchwright.records.causes import causes_of
from benchwright.records.findings import Finding, State
from benchwright.report.causes import cause_title
from benchwright.report.findings import about, change_text, graph, title
from benchwright.stats.changepoint import Change
from benchwright.store import Store, open_store
from benchwright.workflows.bisect.run import bisect
from benchwright.workflows.watch.pairs import is_between_measured

ROOT = Path(__file__).parents[2]
REQUESTS = 200


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


def _drawn(*pieces: tuple[float, int], seed: int = 3) -> list[float]:
    """Percent of requests that failed: each probability for so many runs."""
    rng = np.random.default_rng(seed)
    return [100 * float(rng.binomial(REQUESTS, p)) / REQUESTS for p, count in pieces for _ in range(count)]


def _judge(store: Store, percents: Sequence[float], *, start: int = 0, first: int = 18) -> list[Finding]:
    """What is told, run by run, of a server whose times never change."""
    told = []
    for i, percent in enumerate(percents, start):
        run = _run(i, percent)
        store.add_run(run)
        told += detection.judge(store, run.id) if i >= first else []
    return told


def _run(i: int, percent: float) -> Run:
    """A run with that share of failures, and the interval that so many requests leave."""
    run = made.with_metric(made.run_of(i, 0.010), "errors", percent, unit="%")
    estimate = Estimate(point=percent, low=max(percent - 2.0, 0.0), high=min(percent + 2.0, 100.0))
    metrics = [
        tuple(replace(m, estimate=estimate) if m.name == "errors" else m for m in r.metrics) for r in run.results
    ]
    return replace(run, results=tuple(replace(r, metrics=m) for r, m in zip(run.results, metrics, strict=True)))


def test_a_server_that_begins_to_fail_is_found_and_told_in_points(store: Store) -> None:
    (found,) = _judge(store, _drawn((0.0, 20), (0.05, 10)))
    assert (found.metric, found.verdict, found.run) == ("errors", Verdict.WORSE, "run-0020")
    now = store.finding(found.id)
    assert now.before.point == now.before.low == 0.0
    assert now.before.high is not None and 0.0 < now.before.high < 1.0  # that none failed does not say that none will
    assert now.after.low is not None and 3.0 < now.after.low < now.after.point < 7.0
    effect = now.effect
    assert effect.low is not None and effect.high is not None
    assert effect.point - 1 == pytest.approx((now.after.point - now.before.point) / 100, abs=0.005)
    assert 1.0 < effect.low < 1.05 < effect.high < 1.1
    assert change_text(now).split(" [")[0].endswith(" points more")
    assert "%" not in change_text(now) and title(now) in messages.headline(now)


def test_it_is_shown_with_its_levels_and_its_graph(store: Store) -> None:
    values = [0.0] * 20 + [5.0] * 8
    (found,) = _judge(store, values)
    assert "errors 5 points more" in title(found)
    assert about(found).startswith("0.00 [0.00, 0.32] to 5.00 ± 0.63 % ·")
    top, *_, bottom, _ = graph(values, 20, found).splitlines()
    assert top.split()[0].startswith("5") and bottom.split()[0] == "0"


def test_a_server_that_fails_no_more_is_better_even_from_all_to_none(store: Store) -> None:
    (found,) = _judge(store, [99.5] * 15 + [0.0] * 12)
    assert (found.verdict, found.before.point) == (Verdict.BETTER, pytest.approx(99.5))
    assert change_text(found).startswith("99.5 points less")
    assert len(store.findings(limit=10)) == 1  # and is the same one at every look


def test_what_is_over_is_resolved(store: Store) -> None:
    (found,) = _judge(store, [0.0] * 20 + [5.0] * 8)
    assert store.finding(found.id).state is State.OPEN
    _judge(store, [0.0] * 8, start=28)
    assert store.finding(found.id).state is State.RESOLVED


@pytest.mark.parametrize(
    "percents",
    [[0.0] * 40, [0.0] * 19 + [40.0] + [0.0] * 20, _drawn((0.004, 40)), [2.0] * 40],
    ids=["none", "once", "seldom", "always"],
)
def test_nobody_is_told_of_what_did_not_change(store: Store, percents: list[float]) -> None:
    assert _judge(store, percents, first=34) == []


def test_a_series_without_failures_is_not_looked_at_further(store: Store) -> None:
    looked = []

    def detect(values: Sequence[float], *, smallest: float) -> list[Change]:
        looked.append(len(values))
        return []

    for i in range(14):
        store.add_run(_run(i, 0.0))
    detection.judge(store, "run-0013", detect=detect)
    assert len(looked) == 4  # the latency, its p99, the throughput, the memory


def test_less_than_the_threshold_in_points_is_not_told(store: Store) -> None:
    assert _judge(store, [0.0] * 20 + [0.5] * 20, first=34) == []  # half a point, where 1 % matters


def test_pairs_and_bisections_which_judge_ratios_leave_it_alone(store: Store, tmp_path: Path) -> None:
    (found,) = _judge(store, [0.0] * 20 + [5.0] * 8)
    revisions = made.commit(19), made.commit(20)
    assert not is_between_measured(found, revisions)
    store.close()
    with pytest.raises(OptionError, match="no ratio"):
        bisect(finding=found.id, repo=str(ROOT), store=str(tmp_path / "results.db"), save=False)


def test_several_of_one_cause_are_told_in_points(store: Store) -> None:
    (found,) = _judge(store, [0.0] * 20 + [5.0] * 8)
    assert "up to 5 points more, median 5" in cause_title(causes_of([found])[0])


def test_points_and_per_cent_of_one_cause_are_not_mixed(store: Store) -> None:
    (found,) = _judge(store, [0.0] * 20 + [5.0] * 8)
    slower = replace(found, id="f2", metric="ttft_p50", unit="s", effect=Estimate(point=1.5, low=1.4, high=1.6))
    less = replace(slower, id="f3", metric="latency_p50", effect=Estimate(point=1.3, low=1.2, high=1.4))
    (cause,) = causes_of([found, slower, less])
    assert cause_title(cause).endswith("3 metrics: up to 50 % slower, median 39.6 %")
    (failing,) = causes_of([replace(found, effect=Estimate(point=1.6, low=1.5, high=1.7)), slower, less])
    assert cause_title(failing).endswith("3 metrics: errors up to 60 points more, median 60 points")


@pytest.mark.parametrize(
    ("again", "cause"), [((0.0, 0.0, 1.0), causes.CODE), ((5.0, 4.0, 6.0), causes.ENVIRONMENT), ((2, 0, 5), "either")]
)
def test_the_old_revision_measured_again_says_what_failed(again: tuple[float, float, float], cause: str) -> None:
    point, low, high = again
    assert causes.cause_after_remeasuring(0.0, 5.0, Estimate(point=point, low=low, high=high)) == cause


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield
    for name in [each for each in sys.modules if each.split(".")[0] == "detection"]:
        del sys.modules[name]


def _told_of_nothing(rounds: int) -> tuple[int, int]:
    """How often people are told though nothing changed, of how many looks."""
    from detection.online_simulator import COMMITS, FAILURES, FIRST, follow_failures

    told = sum(
        len(follow_failures(make(np.random.default_rng((17, number, repeat)), COMMITS).tolist()).told)
        for number, make in enumerate(FAILURES.values())
        for repeat in range(rounds)
    )
    return told, rounds * len(FAILURES) * (COMMITS - FIRST + 1)


@pytest.mark.usefixtures("simulator")
def test_chance_alone_is_hardly_ever_told() -> None:
    told, looks = _told_of_nothing(1)
    assert told <= 0.002 * looks


@pytest.mark.soak
@pytest.mark.usefixtures("simulator")
def test_chance_alone_is_told_less_often_than_stated() -> None:
    told, looks = _told_of_nothing(40)
    assert told <= 0.001 * looks
