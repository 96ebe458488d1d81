"""A run whose order somebody else chooses: settings for each measurement, runs in turns, one interrupt for all."""

from __future__ import annotations

import _thread
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright.errors import StoreError
from benchwright.events import Ended, Event, Reached
from benchwright.execution.hosts.local import LocalHost
from benchwright.execution.rounds import execute
from benchwright.execution.session import Measuring, Plan, Setting
from benchwright.records import Case, Load, Result, Revision, Run, Status, Target
from benchwright.system.interrupts import Interrupt

CASE = Case(name="a", target=Target(runtime="fake", uri="fake:constant?ms=1"), load=Load(samples=3, warmup=0.0))
BARE = Plan(monitors=())


class Kept:
    """A store in memory."""

    def __init__(self, *, full: bool = False) -> None:
        self._full = full
        self.began: list[Run] = []
        self.results: list[Result] = []
        self.closed = False

    def begin(self, run: Run) -> None:
        self.began.append(run)

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        assert run_id == self.began[0].id
        if self._full:
            raise StoreError("the disk is full")
        self.results.append(result)

    def close(self) -> None:
        self.closed = True


def test_each_measurement_may_have_a_place_of_its_own(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "told.py").write_text(f"NAME = {name!r}\n", encoding="utf-8")
    file = tmp_path / "bench.py"
    file.write_text("import os, told\n\ndef f():\n    open(f'{told.NAME}-{os.environ[\"SIDE\"]}', 'w').close()\n")
    case = replace(CASE, target=Target(runtime="python", uri=f"{file}::f"), tags=("mine",))
    with Measuring(replace(BARE, tags=("both",), baseline="earlier")) as measuring:
        for number, name in enumerate(("old", "new")):
            folder = tmp_path / name
            setting = Setting(
                host=LocalHost(directory=folder, environment={"SIDE": name}),
                paths=(str(folder),),
                revision=Revision(vcs="git", id=name),
                tags=("ours",),
                notes={"pair": number},
            )
            result = measuring.measure(case, number, setting)
            assert result.status is Status.OK, result.error
            assert (folder / f"{name}-{name}").exists()
    run = measuring.run
    assert [r.revision.id for r in run.results if r.revision] == ["old", "new"]
    assert [r.id for r in run.results] == [f"{run.id}-0", f"{run.id}-1"]
    assert [r.details["pair"] for r in run.results] == [0, 1]
    assert {r.case.tags for r in run.results} == {("mine", "ours")}
    assert (run.tags, run.baseline, run.planned) == (("both",), "earlier", 0)


def test_runs_in_turns_share_an_interrupt_and_keep_what_they_have() -> None:
    interrupt, stores = Interrupt(), (Kept(), Kept())

    def press(event: Event) -> None:
        if isinstance(event, Reached) and event.phase == "measuring":
            _thread.interrupt_main()

    first = Measuring(BARE, lambda: stores[0], interrupt=interrupt)
    second = Measuring(BARE, lambda: stores[1], press, interrupt=interrupt)
    with first, second:
        assert first.measure(CASE, 0).status is Status.OK
        assert stores[0].results and not stores[1].results
        ended = second.measure(replace(CASE, load=Load(duration=60.0, warmup=0.0)), 0)
        assert first.interrupted
        skipped = first.measure(CASE, 1)
    assert (ended.status, skipped.status) == (Status.KILLED, Status.SKIPPED)
    assert [[r.status for r in store.results] for store in stores] == [[Status.OK, Status.SKIPPED], [Status.KILLED]]
    assert all(store.closed for store in stores)


def test_whatever_is_raised_inside_leaves_nothing_open() -> None:
    kept, before = Kept(), signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), Measuring(BARE, lambda: kept) as measuring:
        measuring.measure(CASE, 0)
        assert signal.getsignal(signal.SIGINT) is not before
        raise ZeroDivisionError
    assert kept.closed and len(kept.results) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_of_two_runs_that_could_not_be_kept_both_say_where_their_results_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = (Measuring(BARE, lambda: Kept(full=True)) for _ in range(2))
    with pytest.raises(StoreError) as caught, first, second:
        first.measure(CASE, 0)
        second.measure(CASE, 0)
    for failure, run in ((caught.value, first), (caught.value.__context__, second)):
        assert f"benchwright-{run.id}.jsonl" in str(failure)
        assert (tmp_path / f"benchwright-{run.id}.jsonl").is_file()


def test_what_an_interrupt_leaves_is_kept_in_one_transaction() -> None:
    """Each of thousands in one of its own takes a minute, in which nothing seems to happen."""

    class Transactions(Kept):
        def __init__(self) -> None:
            super().__init__()
            self.transactions: list[int] = []

        def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
            super().add(run_id, result, instead_of=instead_of)
            self.transactions.append(1)

        def add_all(self, run_id: str, results: Sequence[Result]) -> None:
            self.results += results
            self.transactions.append(len(results))

    kept, ended = Transactions(), 0

    def listen(event: Event) -> None:
        nonlocal ended
        ended += isinstance(event, Ended)
        if isinstance(event, Ended) and event.index == 0:
            signal.raise_signal(signal.SIGHUP)

    run = execute(replace(BARE, cases=[CASE, replace(CASE, name="b")], rounds=500), lambda: kept, listen)
    assert kept.transactions == [1, 999]
    assert [r.id for r in kept.results] == [r.id for r in run.results]
    assert {r.status for r in run.results[1:]} == {Status.SKIPPED}
    assert len({r.id for r in run.results}) == ended == 1000
