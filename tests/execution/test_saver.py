from pathlib import Path

import pytest

from benchwright import schema
from benchwright.errors import StoreError
from benchwright.execution.saver import Saver
from benchwright.records import Case, Environment, Result, Run, Status, Target


class Shelf:
    """A store that holds `room` results and then breaks."""

    def __init__(self, room: int = 100) -> None:
        self.room, self.begun, self.closed = room, "", False
        self.kept: list[str] = []

    def begin(self, run: Run) -> None:
        self.begun = run.id

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        if len(self.kept) == self.room:
            raise StoreError("the shelf is full")
        self.kept.append(result.id)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def run() -> Run:
    return Run(id="r1", started_at="2026-01-01T00:00:00Z", harness="0")


@pytest.fixture
def a_result() -> Result:
    case = Case(name="case", target=Target(runtime="fake", uri="fake:"))
    nowhere = Environment(machine={}, system={})
    return Result(
        id="r1-0", case=case, round=0, status=Status.OK, environment=nowhere, started_at="2026-01-01", duration=1.0
    )


def test_a_store_that_looks_ready_is_opened_only_to_save(run: Run, a_result: Result) -> None:
    opened: list[Shelf] = []

    def open_store() -> Shelf:
        opened.append(Shelf())
        return opened[-1]

    saver = Saver(open_store, lambda: True)
    saver.check(run)
    assert opened == []
    saver.save(run, a_result)
    saver.save(run, a_result)
    saver.close()
    assert [(s.begun, len(s.kept), s.closed) for s in opened] == [("r1", 2, True)]


def test_a_store_that_does_not_is_opened_before_anything_is_measured(run: Run) -> None:
    def broken() -> Shelf:
        raise StoreError("no such disk")

    with pytest.raises(StoreError, match="no such disk"):
        Saver(broken, lambda: False).check(run)


def test_a_store_that_breaks_leaves_the_rest_in_a_file(
    run: Run, a_result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shelf = Shelf(room=1)
    saver = Saver(lambda: shelf, lambda: False)
    saver.check(run)
    for _ in range(3):
        saver.save(run, a_result)
    with pytest.raises(StoreError, match="2 results were kept in") as failure:
        saver.report(run)
    (file,) = tmp_path.iterdir()
    assert f"benchwright import {file}" in failure.value.remedy
    assert len(schema.loads(file.read_text(), Run).results) == 2


def test_without_a_store_nothing_is_kept_and_nothing_fails(run: Run, a_result: Result) -> None:
    saver = Saver(None, lambda: False)
    saver.check(run)
    saver.save(run, a_result)
    saver.report(run)
    saver.close()
