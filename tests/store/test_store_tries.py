"""What was refused before anything was measured is kept, found by its id, and is not a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchwright.errors import StoreError
from benchwright.pages.overview import overview
from benchwright.records import Result, Run, Status
from benchwright.store.sql import SqlStore

MakeResult = Callable[..., Result]
MakeRun = Callable[..., Run]


@pytest.fixture
def kept(store: SqlStore, make_run: MakeRun, make_result: MakeResult) -> SqlStore:
    """A run, a run in which one case of two was refused, then a try, each with a tag of its own and one in common."""
    plans = {
        "measured": (Status.OK,),
        "mixed": (Status.REFUSED, Status.OK),
        "try": (Status.REFUSED, Status.REFUSED),
    }
    for minute, (name, statuses) in enumerate(plans.items()):
        results = tuple(
            make_result(f"{name}-{i}", case=f"case-{name}", status=status, minute=minute, number=i)
            for i, status in enumerate(statuses)
        )
        store.add_run(make_run(name, results=results, minute=minute, tags=("all", f"of-{name}")))
    return store


def test_last_passes_a_try_by(kept: SqlStore) -> None:
    assert [kept.find(word) for word in ("last", "last~1")] == ["mixed", "measured"]
    with pytest.raises(StoreError, match="there is no run 2 before the last: the store holds 2"):
        kept.find("last~2")


def test_a_try_is_found_by_its_id_and_by_a_tag_that_no_run_has(kept: SqlStore) -> None:
    assert (kept.find("try"), kept.find("of-try"), kept.find("all")) == ("try", "try", "mixed")
    assert [result.status for result in kept.run("try").results] == [Status.REFUSED] * 2


def test_lists_show_it_only_when_asked(kept: SqlStore) -> None:
    assert [run.id for run in kept.runs()] == ["mixed", "measured"]
    assert [(run.id, run.failed) for run in kept.runs(tries=True)] == [("try", 2), ("mixed", 1), ("measured", 0)]
    assert [run.id for run in kept.runs(limit=1)] == ["mixed"]
    assert sorted(kept.run_ids()) == ["measured", "mixed", "try"]  # an export loses nothing


def test_it_does_not_fail(kept: SqlStore) -> None:
    view = overview(kept)
    assert [line.id for line in view.runs] == ["mixed", "measured"]
    assert [(one.case, one.status) for one in view.failing] == [("case-mixed", Status.REFUSED)]
    assert kept.misses("case-try") == [] and len(kept.misses("case-mixed")) == 1


def test_a_run_that_has_just_begun_is_the_last_one(kept: SqlStore, make_run: MakeRun) -> None:
    kept.begin(make_run("begun", minute=9))
    assert kept.find("last") == "begun"
