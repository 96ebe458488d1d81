"""Cases × rounds: interleaved, announced, saved one by one, with everything that repeats them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import StoreError
from benchwright.events import Began, Ended, Event, Planned, Reached
from benchwright.execution.rounds import Plan, execute, new_run_id
from benchwright.records import Case, Load, Objective, Result, Run, Status, Target
from benchwright.records.prices import Price


class Kept:
    """A store in memory that can be told to fail."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.began: list[Run] = []
        self.results: list[Result] = []
        self.instead_of: list[str] = []
        self.closed = False
        self._fail_at = fail_at

    def begin(self, run: Run) -> None:
        self.began.append(run)

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        assert run_id == self.began[0].id
        if self._fail_at is not None and len(self.results) >= self._fail_at:
            raise StoreError("the disk is full", remedy="free space")
        self.results.append(result)
        self.instead_of.append(instead_of)

    def close(self) -> None:
        self.closed = True


def _case(name: str, uri: str = "fake:constant?ms=1&clock=virtual", **load: Any) -> Case:
    whole = Load(**{"samples": 20, "warmup": 0.0, **load})
    return Case(name=name, target=Target(runtime="fake" if uri.startswith("fake:") else "python", uri=uri), load=whole)


def _plan(*cases: Case, **fields: Any) -> Plan:
    return Plan(**{"cases": cases, "rounds": 1, "monitors": (), **fields})


def test_rounds_are_interleaved_and_announced_in_order() -> None:
    events: list[Event] = []
    run = execute(_plan(_case("a"), _case("b"), rounds=2), listener=events.append)
    assert [(r.case.name, r.round) for r in run.results] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert events[0] == Planned(total=4)
    for index in range(4):
        mine = [e for e in events[1:] if e.index == index]  # type: ignore[union-attr]
        assert isinstance(mine[0], Began) and isinstance(mine[-1], Ended)
        assert [e.phase for e in mine[1:-1] if isinstance(e, Reached)] == ["loading", "warming", "ready", "measuring"]
    assert [e.index for e in events[1:]] == sorted(e.index for e in events[1:])  # type: ignore[union-attr]


def test_every_round_is_a_fresh_process(tmp_path: Path) -> None:
    file = tmp_path / "who.py"
    file.write_text("import os\ndef f():\n    open('pids', 'a').write(f'{os.getpid()} ')\n", encoding="utf-8")
    case = _case("f", f"{file}::f", loops=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        execute(_plan(case, rounds=3))
    assert len(set((tmp_path / "pids").read_text(encoding="ascii").split())) == 3


def test_each_result_is_saved_before_the_next_begins() -> None:
    kept = Kept()
    saved: list[int] = []

    def listen(event: Event) -> None:
        if isinstance(event, Began):
            saved.append(len(kept.results))
        if isinstance(event, Ended):
            assert kept.results[-1] == event.result

    run = execute(_plan(_case("a"), rounds=3), lambda: kept, listen)
    assert saved == [0, 1, 2]
    assert tuple(kept.results) == run.results
    assert kept.closed
    assert kept.began[0] == replace(run, results=())


def test_an_unusable_store_shows_before_anything_is_measured() -> None:
    events: list[Event] = []

    def unusable() -> Kept:
        raise StoreError("no such place", remedy="choose another")

    with pytest.raises(StoreError, match="no such place"):
        execute(_plan(_case("a", "fake:constant?ms=1")), unusable, events.append)
    assert not [e for e in events if isinstance(e, Reached) and e.phase == "measuring"]


def test_a_store_that_looks_ready_is_opened_after_the_first_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    order: list[str] = []

    def opened() -> Kept:
        order.append("opened")
        return Kept()

    def listen(event: Event) -> None:
        if isinstance(event, Reached):
            order.append(event.phase)

    execute(_plan(_case("a")), opened, listen, looks_ready=lambda: True)
    assert order == ["loading", "warming", "ready", "measuring", "opened"]

    def unusable() -> Kept:
        raise StoreError("it only looked so")

    with pytest.raises(StoreError, match="it only looked so; 2 results were kept in"):
        execute(_plan(_case("a"), rounds=2), unusable, looks_ready=lambda: True)
    (rescued,) = tmp_path.glob("benchwright-*.jsonl")
    assert len(schema.loads(rescued.read_text(encoding="utf-8"), Run).results) == 2


def test_what_a_failing_store_did_not_take_is_rescued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchwright.store import open_store
    from benchwright.store.files.transfer import import_runs

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = Kept(fail_at=1)
    with pytest.raises(StoreError, match="the disk is full; 2 results were kept in") as caught:
        execute(_plan(_case("a"), rounds=3), lambda: kept)
    (rescued,) = tmp_path.glob("benchwright-*.jsonl")
    assert f"benchwright import {rescued}" in caught.value.remedy
    assert kept.closed
    saved = schema.loads(rescued.read_text(encoding="utf-8"), Run)
    assert [r.round for r in saved.results] == [1, 2]
    store = open_store(tmp_path / "results.db")  # the remedy works where the run's beginning is there already
    store.begin(kept.began[0])
    store.add(kept.began[0].id, kept.results[0])
    assert len(import_runs(store, str(rescued)).added) == 1
    assert sum(summary.results for summary in store.runs()) == 3
    store.close()


def test_when_nothing_can_be_written_anywhere_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Nowhere(Kept):
        def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
            monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
            raise StoreError("the disk is full")

    with pytest.raises(StoreError, match=r"the disk is full; .* cannot be written either: No such file") as caught:
        execute(_plan(_case("a")), Nowhere)
    assert "TMPDIR" in caught.value.remedy


def test_a_failure_is_not_tried_again_unless_asked(tmp_path: Path) -> None:
    file = tmp_path / "flaky.py"
    file.write_text(
        "from pathlib import Path\n"
        f"count = Path({str(tmp_path / 'count')!r})\n"
        "tries = int(count.read_text() or 0) + 1 if count.exists() else 1\n"
        "count.write_text(str(tries))\n"
        "def f():\n"
        "    if tries < 3: raise LookupError(f'try {tries}')\n",
        encoding="utf-8",
    )
    case = _case("flaky", f"{file}::f", loops=1)
    (first,) = execute(_plan(case)).results
    assert first.status is Status.FAILED
    assert (tmp_path / "count").read_text(encoding="ascii") == "1"
    (second,) = execute(_plan(case, retries=5)).results
    assert second.status is Status.OK
    assert (tmp_path / "count").read_text(encoding="ascii") == "3"  # and no further than it takes
    (warning,) = [w for w in second.warnings if w.code == "retried"]
    assert "1 attempts failed before this one: try 2" in warning.seen


def test_retries_end() -> None:
    events: list[Event] = []
    (result,) = execute(_plan(_case("a", "fake:constant?fail_after=0"), retries=2), listener=events.append).results
    assert result.status is Status.FAILED
    assert sum(isinstance(e, Reached) and e.phase == "loading" for e in events) == 3
    assert sum(isinstance(e, Ended) for e in events) == 1


def test_a_run_says_what_it_takes_to_repeat_it(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    plan = _plan(
        _case("a"), directory=tmp_path, command=("benchwright", "run", "x"), tags=("nightly",), reason="to see"
    )
    run = execute(plan)
    (result,) = run.results
    assert run.revision is not None
    assert (run.revision.id, run.revision.branch, run.revision.dirty) == (head, "main", False)
    assert result.revision == run.revision
    assert (run.command, run.tags, run.reason) == (("benchwright", "run", "x"), ("nightly",), "to see")
    assert run.harness == VERSION
    assert result.environment.machine
    assert result.environment.packages["numpy"]
    assert result.case == plan.cases[0]
    assert result.id.startswith(run.id)


def test_ids_sort_by_time() -> None:
    ids = []
    for _ in range(5):
        ids.append(new_run_id())
        time.sleep(0.002)
    assert ids == sorted(ids)
    assert len(set(ids)) == 5
    assert all(re.fullmatch(r"\d{8}T\d{9}-[0-9a-f]{6}", i) for i in ids)


def test_an_interrupt_keeps_what_was_measured_and_skips_the_rest() -> None:
    kept = Kept()

    def press(event: Event) -> None:
        if isinstance(event, Reached) and event.index == 1 and event.phase == "measuring":
            signal.raise_signal(signal.SIGINT)

    slow = _case("b", "fake:constant?latency=100ms&wait=sleep")
    run = execute(_plan(_case("a"), slow, _case("c"), rounds=2), lambda: kept, press)
    assert [r.status for r in run.results] == [Status.OK, Status.KILLED, *[Status.SKIPPED] * 4]
    assert {r.error.kind for r in run.results[1:] if r.error} == {"interrupted"}
    assert tuple(kept.results) == run.results
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_while_saving_waits_until_it_is_saved() -> None:
    class Slow(Kept):
        def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
            if not self.results:
                signal.raise_signal(signal.SIGINT)
            super().add(run_id, result, instead_of=instead_of)

    kept = Slow()
    run = execute(_plan(_case("a"), rounds=3), lambda: kept)
    assert [r.status for r in run.results] == [Status.OK, Status.SKIPPED, Status.SKIPPED]
    assert tuple(kept.results) == run.results


def test_pressing_twice_does_not_wait() -> None:
    class Slow(Kept):
        def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("not reached")

    kept = Slow()
    with pytest.raises(KeyboardInterrupt):
        execute(_plan(_case("a"), rounds=3), lambda: kept)
    assert kept.closed
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_somebody_elses_handler_is_left_alone() -> None:
    def theirs(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    def press(event: Event) -> None:
        assert signal.getsignal(signal.SIGINT) is theirs
        if isinstance(event, Reached) and event.phase == "measuring":
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, theirs)
    try:
        run = execute(_plan(_case("a", "fake:constant?latency=100ms&wait=sleep"), rounds=2), listener=press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [r.status for r in run.results] == [Status.KILLED, Status.SKIPPED]


def test_the_parent_imports_no_framework(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom benchwright.execution import rounds as runner\nfrom benchwright.records import *\n"
        "target = Target(runtime='fake', uri='fake:?clock=virtual')\n"
        "case = Case(name='a', target=target, load=Load(samples=5, warmup=0.0))\n"
        "runner.execute(runner.Plan(cases=[case], rounds=1))\n"
        "print([m for m in ('torch', 'onnxruntime', 'openvino', 'pandas', 'scipy', 'sqlalchemy') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout.strip() == "[]"


# ---- going on with a run ----


def _resumed(run: Run, *cases: Case, kept: Kept | None = None, listen: Any = None, **fields: Any) -> Run:
    plan = _plan(*cases, resumed=run, **fields)
    return execute(plan, None if kept is None else lambda: kept, *([listen] if listen else []))


def test_only_what_is_missing_or_not_ok_is_measured_again() -> None:
    cases = [_case("a"), _case("b"), _case("c", "fake:constant?fail_after=0")]
    whole = execute(_plan(*cases, rounds=2))
    cut = replace(whole, results=whole.results[:4])  # c has failed, and round 2 ended after a
    events: list[Event] = []
    kept = Kept()
    kept.began.append(cut)
    run = _resumed(cut, *cases, rounds=2, kept=kept, listen=events.append)
    assert events[0] == Planned(total=3)
    assert [(r.case.name, r.round, r.id) for r in kept.results] == [
        ("c", 0, f"{cut.id}-4"),
        ("b", 1, f"{cut.id}-5"),
        ("c", 1, f"{cut.id}-6"),
    ]
    assert kept.instead_of == [f"{cut.id}-2", "", ""]
    assert len(kept.began) == 1  # the run is there already
    assert replace(run, results=()) == replace(cut, results=())
    assert run.results == (cut.results[0], cut.results[1], cut.results[3], *kept.results)
    (warning,) = [w for w in kept.results[0].warnings if w.code == "retried"]
    assert "1 attempts failed before this one: scripted failure of call 1" in warning.seen
    assert all(w.code != "retried" for w in kept.results[1].warnings)


def test_a_run_that_is_whole_is_not_measured_again() -> None:
    whole, events = execute(_plan(_case("a"), rounds=2)), list[Event]()
    assert _resumed(whole, _case("a"), rounds=2, listen=events.append) == whole
    assert events == [Planned(total=0)]


@pytest.mark.soak
def test_rounds_for_a_precision_count_those_from_before() -> None:
    wanting = _case("a", "fake:lognormal?latency=1ms&sigma=0.5&clock=virtual", precision=0.001, samples=None)
    whole = execute(_plan(wanting, rounds=2))
    assert [r.round for r in whole.results] == [0, 1, 2, 3]
    failed = replace(whole.results[3], status=Status.FAILED, metrics=())
    for results in (whole.results[:1], whole.results[:3], (*whole.results[:3], failed)):
        run = _resumed(replace(whole, results=results), wanting, rounds=2)
        assert [(r.round, r.status) for r in run.results] == [(number, Status.OK) for number in range(4)]


def test_an_interrupt_while_going_on_loses_no_reason() -> None:
    """What was not tried again keeps the record it had; what had none is skipped."""
    slow = _case("b", "fake:constant?latency=100ms&wait=sleep")
    cases = [_case("a", "fake:constant?fail_after=0"), slow, _case("c", "fake:constant?fail_after=0"), _case("d")]
    whole = execute(_plan(*cases[::2]))
    kept = Kept()
    kept.began.append(whole)

    def press(event: Event) -> None:
        if isinstance(event, Reached) and event.index == 3 and event.phase == "measuring":
            signal.raise_signal(signal.SIGINT)

    run = _resumed(whole, *cases, kept=kept, listen=press)
    found = {r.case.name: (r.status, r.error.kind if r.error else "") for r in run.results}
    assert found == {
        "a": (Status.FAILED, "RuntimeError"),
        "b": (Status.KILLED, "interrupted"),
        "c": (Status.FAILED, "RuntimeError"),
        "d": (Status.SKIPPED, "interrupted"),
    }
    assert whole.results[1] in run.results
    assert [r.case.name for r in kept.results] == ["a", "b", "d"]


def test_a_price_of_the_machine_gives_a_cost() -> None:
    case = _case("a", "fake:constant?ms=2&clock=virtual", copies=2)
    (result,) = execute(_plan(case, price=Price.bare(3.6))).results
    throughput, cost = result.metric("throughput"), result.metric("cost_per_million")
    assert throughput is not None and cost is not None
    assert cost.estimate.point == pytest.approx(1000 / throughput.estimate.point)
    assert result.details["cost_per_hour"] == 3.6
    copies = result.details["copies"]
    assert isinstance(copies, list)
    assert [copy["copy"] for copy in copies] == [0, 1]  # type: ignore[index, call-overload]
    assert result.metric("imbalance").estimate.point == pytest.approx(0, abs=1e-6)  # type: ignore[union-attr]
    (plain,) = execute(_plan(_case("a"))).results
    assert plain.metric("cost_per_million") is None and not plain.details.keys() & {"copies", "cost_per_hour"}


def test_a_cost_can_be_an_objective() -> None:
    bound = Objective(metric="cost_per_million", relation="<", bound=1.0)
    case = _case("a", "fake:constant?ms=2&clock=virtual", objectives=(bound,))
    (result,) = execute(_plan(case, price=Price.bare(3.6))).results
    (warning,) = [w for w in result.warnings if w.code == "objective-missed"]
    assert warning.seen == "cost_per_million is 2.00, not < 1.00"
