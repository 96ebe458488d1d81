"""Changes in series become findings: each once, with what is behind it, and none that is muted, small or chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import series_of_runs as made
from benchwright.analysis import detection
from benchwright.analysis.step_findings import moments_of
from benchwright.errors import StoreError
from benchwright.records import Better, Revision, Verdict
from benchwright.records.findings import Finding, Mute, Remark, State, Threshold
from benchwright.stats import confirmation
from benchwright.stats.changepoint import Change
from benchwright.stats.confirmation import LevelShift
from benchwright.store import Store, open_store
from benchwright.vcs.history import Commit

STEP = made.levels((0.010, 20), (0.0112, 15))  # slower by 12 % since run 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.db")
    yield opened
    opened.close()


def _change(index: int, effect: float = 1.12, confidence: float = 0.9999, spread: Sequence[int] = ()) -> Change:
    places = spread or (index,)
    return Change(
        index=index,
        before=0.010,
        after=0.010 * effect,
        effect=effect,
        low=effect * 0.99,
        high=effect * 1.01,
        confidence=confidence,
        position=tuple((i, 1 / len(places)) for i in places),
    )


def _seeing(*changes: Change) -> Callable[..., list[Change]]:
    """A detector that sees these in the median latency, and nothing in what has other values."""

    def detect(values: Sequence[float], *, smallest: float) -> list[Change]:
        return list(changes) if 0.005 < values[0] < 0.015 else []

    return detect


class _AtOnce:
    """Tells people of whatever the detector sees."""

    def newest(self, *_: object, **__: object) -> None:
        return None

    def judge(self, values: Sequence[float], index: int, **_: object) -> LevelShift:
        return LevelShift(index=index, confirmed=True, size=0.1, error=0.01, chance=0.0)

    def as_change(self, *_: object, **__: object) -> Change:
        raise AssertionError("there is no newest shift")

    def is_back(self, *_: object, **__: object) -> bool:
        return False


def _judge(store: Store, run: str, *changes: Change) -> list[Finding]:
    """Judges with a detector that sees these changes, each of which is told at once."""
    return detection.judge(store, run, detect=_seeing(*changes), policy=_AtOnce())


# ---- with the detector that is used ----


def test_a_step_is_one_finding_and_is_reported_once(store: Store) -> None:
    runs = made.fill(store, STEP)
    (finding,) = detection.judge(store, runs[-1].id)
    assert (finding.case, finding.metric, finding.verdict) == ("bench.py::encode", "latency_p50", Verdict.WORSE)
    assert finding.effect.point == pytest.approx(1.12, abs=0.01)
    assert finding.effect.low < 1.12 < finding.effect.high
    assert finding.before.low <= finding.before.point <= finding.before.high
    assert (finding.run, finding.state) == ("run-0020", State.OPEN)
    assert (finding.revisions[0], finding.suspects[0].revision) == (made.commit(19), made.commit(20))
    assert (finding.suspects[0].subject, finding.suspects[0].author) == ("Change 20", "Ada")
    assert set(finding.why["also"]) == {"latency_p99", "throughput"}  # type: ignore[arg-type]
    assert store.findings() == [finding]
    for i, value in enumerate(made.levels((0.0112, 5), seed=7)):
        store.add_run(made.run_of(35 + i, value))
        assert detection.judge(store, f"run-{35 + i:04d}") == []
    assert len(store.findings()) == 1


def test_a_series_without_a_change_has_no_finding(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 40)))
    assert detection.judge(store, runs[-1].id) == []
    assert store.findings() == []


def test_both_directions_are_found_and_what_was_undone_is_resolved(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 20), (0.0115, 20), (0.010, 20)))
    worse, better = sorted(detection.judge(store, runs[-1].id), key=lambda finding: finding.run)
    assert (worse.verdict, worse.run) == (Verdict.WORSE, "run-0020")
    assert (better.verdict, better.run) == (Verdict.BETTER, "run-0040")
    assert detection.judge(store, runs[-1].id) == []  # the second look knows both, and sees that one undid the other
    after = store.finding(worse.id)
    assert (after.state, after.remarks[-1].what, after.remarks[-1].who) == (State.RESOLVED, "recovered", "benchwright")
    store.update_finding(worse.id, Remark(at="", who="ada", what="reopened"), state=State.OPEN)
    detection.judge(store, runs[-1].id)
    assert store.finding(worse.id).state is State.OPEN  # a person's word stands
    assert store.finding(better.id).state is State.OPEN


# ---- identity ----


def test_a_change_that_moves_by_a_few_runs_stays_one(store: Store) -> None:
    runs = made.fill(store, STEP)
    (finding,) = _judge(store, runs[-1].id, _change(20))
    for place in (22, 18, 24):  # where it went before counts too
        assert _judge(store, runs[-1].id, _change(place)) == []
    assert store.finding(finding.id).run == "run-0024"
    assert finding.revisions != store.finding(finding.id).revisions == (made.commit(23), made.commit(24))
    (other,) = _judge(store, runs[-1].id, _change(24), _change(33))
    assert other.run == "run-0033"


def test_the_other_direction_at_the_same_place_is_another(store: Store) -> None:
    runs = made.fill(store, STEP)
    _judge(store, runs[-1].id, _change(20))
    (better,) = _judge(store, runs[-1].id, _change(20), _change(22, effect=0.9))
    assert better.verdict is Verdict.BETTER


def test_what_was_told_stays_until_its_values_are_back(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 20), (0.0115, 15)))
    (finding,) = detection.judge(store, runs[-1].id)
    for run in runs[-4:]:  # a detector that does not see it any more is no reason to take it back
        assert detection.judge(store, run.id, detect=_seeing()) == []
    assert store.finding(finding.id).state is State.OPEN
    for i, value in enumerate(made.levels((0.010, 6), seed=3)):
        store.add_run(made.run_of(35 + i, value))
        detection.judge(store, f"run-{35 + i:04d}")
        resolved = store.finding(finding.id).state is State.RESOLVED
        assert resolved is (i + 1 >= confirmation.LASTING)
    assert [remark.what for remark in store.finding(finding.id).remarks] == ["opened", "recovered"]


def test_a_change_is_suspected_before_it_is_told(store: Store) -> None:
    told = []
    for i, value in enumerate(made.levels((0.010, 20), (0.0112, 6))):
        store.add_run(made.run_of(i, value))
        told.append(detection.judge(store, f"run-{i:04d}"))
    assert [len(found) for found in told] == [0] * 24 + [1, 0]  # the fifth run after it tells
    (finding,) = told[24]
    assert (finding.run, finding.state) == ("run-0020", State.OPEN)
    assert [remark.what for remark in finding.remarks] == ["suspected", "confirmed"]
    assert store.findings() == [store.finding(finding.id)]


def test_a_change_that_a_machine_may_have_made_is_only_suspected(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 30), (0.0104, 20)))
    assert detection.judge(store, runs[-1].id) == []
    (finding,) = store.findings(states=[State.SUSPECTED])
    assert (finding.run, finding.verdict) == ("run-0030", Verdict.WORSE)


def test_a_suspicion_that_runs_do_not_show_vanishes_and_may_return(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 35)))

    def look(place: int, *changes: Change) -> list[str]:
        assert detection.judge(store, runs[place].id, detect=_seeing(*changes)) == []
        (finding,) = store.findings()
        return [str(finding.state), *(remark.what for remark in finding.remarks)]

    assert look(-5, _change(20)) == ["suspected", "suspected"]
    assert [look(i) for i in (-4, -4, -4, -3)][-1] == ["suspected", "suspected"]  # two runs, however often one looks
    assert look(-3, _change(20)) == ["suspected", "suspected"]
    assert look(-4) == look(-3) == ["suspected", "suspected"]  # not in a row
    assert look(-2) == ["resolved", "suspected", "vanished"]
    assert look(-1, _change(20)) == ["suspected", "suspected", "vanished", "returned"]


def test_a_refuted_suspicion_does_not_hide_a_change_that_comes_soon_after(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 35)))
    detection.judge(store, runs[-5].id, detect=_seeing(_change(20)))
    (suspected,) = store.findings()
    refuted = Remark(at="", who="", what="refuted")
    store.update_finding(suspected.id, refuted, state=State.RESOLVED)
    detection.judge(store, runs[-4].id, detect=_seeing(_change(20)))
    assert [finding.id for finding in store.findings()] == [suspected.id]  # these commits were measured again
    detection.judge(store, runs[-3].id, detect=_seeing(_change(22)))
    assert {str(finding.state) for finding in store.findings()} == {"resolved", "suspected"}


@pytest.mark.soak
def test_a_store_tells_what_the_simulation_of_a_watch_tells(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    from detection.online_simulator import follow

    values = made.levels((0.010, 25), (0.0115, 20), (0.010, 15), noise=0.02)
    told = []
    for i, value in enumerate(values):
        store.add_run(made.run_of(i, value))
        told += [
            (i + 1, found.run) for found in detection.judge(store, f"run-{i:04d}") if found.metric == "latency_p50"
        ]
    combined = [moment.estimate.point for moment in moments_of(store, store.findings()[-1])[0]]
    assert told == [(each.told_at, f"run-{each.index:04d}") for each in follow(combined).told] and len(told) == 2


@pytest.mark.parametrize("turns", [4, pytest.param(10, marks=pytest.mark.soak)])
def test_two_speeds_that_take_turns_are_not_told_again_and_again(store: Store, turns: int) -> None:
    told = []
    values = made.levels(*[(0.010 * (1.0 + 0.12 * (i % 2)), 8) for i in range(turns)], noise=0.01)
    for i, value in enumerate(values):
        store.add_run(made.run_of(i, value))
        told += detection.judge(store, f"run-{i:04d}")
    assert [finding.verdict for finding in told] in ([Verdict.WORSE], [Verdict.WORSE, Verdict.BETTER])


def test_what_people_decided_is_left_alone(store: Store) -> None:
    runs = made.fill(store, STEP)
    (finding,) = _judge(store, runs[-1].id, _change(20))
    ignored = store.update_finding(finding.id, state=State.IGNORED)
    _judge(store, runs[-1].id)
    _judge(store, runs[-1].id, _change(21))
    assert store.finding(finding.id) == ignored
    acknowledged = store.update_finding(finding.id, state=State.ACKNOWLEDGED)
    _judge(store, runs[-1].id)
    assert store.finding(finding.id).state is acknowledged.state


def test_what_a_bisection_found_stays(store: Store) -> None:
    runs = made.fill(store, STEP)
    (finding,) = _judge(store, runs[-1].id, _change(20, spread=(19, 20, 21)))
    named = store.update_finding(finding.id, Remark(at="", who="", what="bisected"), suspects=finding.suspects[:1])
    _judge(store, runs[-1].id, _change(21))
    assert store.finding(finding.id).suspects == named.suspects
    assert store.finding(finding.id).revisions == named.revisions


# ---- what is not reported ----


def test_muted_series_and_small_changes_are_left_out(store: Store) -> None:
    runs = made.fill(store, STEP)
    store.mute(Mute(what="bench.py::*"))
    assert detection.judge(store, runs[-1].id) == []
    store.unmute("bench.py::*")
    store.set_threshold(Threshold(case="bench.py::encode", smallest=0.3))
    assert detection.judge(store, runs[-1].id) == []
    store.drop_threshold("bench.py::encode")
    assert len(detection.judge(store, runs[-1].id)) == 1


@pytest.mark.parametrize(("others", "confidence", "found"), [(0, 0.999, 1), (5, 0.999, 0), (5, 0.99999, 1)])
def test_many_series_need_more_certainty(store: Store, others: int, confidence: float, found: int) -> None:
    cases = [replace(made.CASE, name=f"other-{n}") for n in range(others)]
    for i, value in enumerate(STEP[:6]):
        run = made.run_of(i, value)
        more = tuple(result for case in cases for result in made.run_of(i, 1.0, case=case).results)
        store.add_run(replace(run, results=run.results + more))
    assert len(_judge(store, "run-0005", _change(3, confidence=confidence))) == found


def test_memory_and_what_benchmarks_report_are_judged_too(store: Store) -> None:
    for i in range(30):
        late = i >= 15
        run = made.run_of(i, 0.010 + i % 3 * 1e-6, memory=1e8 * (1.3 if late else 1) + i % 3 * 1e4)
        accuracy = (0.90 if late else 0.95) + i % 3 * 1e-5
        store.add_run(made.with_metric(run, "accuracy", accuracy, better=Better.HIGHER))
    found = detection.judge(store, "run-0029")
    assert {(finding.metric, finding.verdict, finding.run) for finding in found} == {
        ("rss_peak", Verdict.WORSE, "run-0015"),
        ("accuracy", Verdict.WORSE, "run-0015"),
    }


def test_runs_that_compare_revisions_have_no_place_without_a_repository(store: Store) -> None:
    runs = made.fill(store, made.levels((0.010, 20)))
    for i in range(20, 30):  # each holds an old revision, which is fast, and a new one
        old, new = made.run_of(i, 0.005, revision="old"), made.run_of(i, 0.010, revision="new")
        both = [
            replace(result, id=f"{result.id}-{n}", revision=run.revision)
            for n, run in enumerate((old, new))
            for result in run.results
        ]
        store.add_run(replace(old, results=tuple(both)))
    assert detection.judge(store, runs[-1].id) == []


# ---- why ----


class _Repository:
    """Ten commits for each that was measured; only what is asked for here."""

    def __init__(self, measured: Sequence[str]) -> None:
        self.line = [c if n == 9 else f"{c}-{n}" for c in measured for n in range(10)]

    def latest(self, until: str, count: int, *, first_parent: bool = True) -> list[Commit]:
        return [self._commit(name) for name in self.line[: self.line.index(until) + 1][-count:]]

    def after(self, since: str, until: str, *, first_parent: bool = True) -> list[Commit]:
        return [self._commit(name) for name in self.line[self.line.index(since) + 1 : self.line.index(until) + 1]]

    def _commit(self, name: str) -> Commit:
        return Commit(revision=Revision(vcs="git", id=name, subject=f"About {name}"), authored_at="")


def test_with_the_repository_commits_give_the_order_and_the_suspects(store: Store) -> None:
    repository = _Repository([made.commit(i) for i in range(35)])
    late = {7, 25}  # measured after all others
    for i in sorted(range(35), key=lambda i: (i in late, i)):
        run = made.run_of(i, STEP[i])
        started_at = "2026-04-01T00:00:00+00:00" if i in late else run.started_at
        results = tuple(replace(result, started_at=started_at) for result in run.results)
        store.add_run(replace(run, started_at=started_at, results=results))
    (finding,) = detection.judge(store, "run-0034", repository=repository)  # type: ignore[arg-type]
    assert finding.run == "run-0020"
    assert finding.revisions[0] == made.commit(19) and len(finding.revisions) >= 11
    assert sum(suspect.probability for suspect in finding.suspects) == pytest.approx(1)
    assert finding.suspects[0].subject.startswith(f"About {made.commit(20)}")


def test_an_environment_change_is_told_from_a_code_change(store: Store) -> None:
    newer = replace(made.ENVIRONMENT, packages={"numpy": "2.4.0"}, knobs={"governor": "powersave"})
    for i, value in enumerate(STEP):
        environment = newer if i >= 20 else made.ENVIRONMENT
        store.add_run(made.run_of(i, value, revision="same", environment=environment))
    (finding,) = detection.judge(store, "run-0034")
    assert finding.why["cause"] == "environment"
    assert finding.why["packages"] == {"numpy": ["2.3.1", "2.4.0"]}
    assert finding.why["knobs"] == {"governor": ["performance", "powersave"]}
    assert (finding.revisions, finding.suspects) == (("same",), ())
    assert "remeasure" not in finding.why


def test_measuring_the_old_revision_again_settles_it(store: Store) -> None:
    newer = replace(made.ENVIRONMENT, packages={"numpy": "2.4.0"})
    for i, value in enumerate(STEP):
        store.add_run(made.run_of(i, value, environment=newer if i >= 20 else made.ENVIRONMENT))
    (finding,) = detection.judge(store, "run-0034")
    assert finding.why["cause"] == "either"
    old, new = finding.revisions[0], finding.revisions[-1]
    assert finding.why["remeasure"] == f"benchwright ab --control {old} --treatment {new} bench.py::encode"
    store.add_run(made.run_of(40, 0.0112, revision=old, environment=newer))
    settled = detection.record_remeasurement(store, finding.id, "run-0040")
    assert (settled.why["cause"], settled.remarks[-1].what) == ("environment", "remeasured")
    with pytest.raises(StoreError, match=r"run run-0034 has no latency_p50 of bench\.py::encode at revision 0019"):
        detection.record_remeasurement(store, finding.id, "run-0034")
