"""Following a submission: what is told of it, Ctrl-C, and a server that is away for a while."""

from __future__ import annotations

from typing import Any, cast

import pytest

from benchwright.errors import StoreError
from benchwright.events import Event, Followed, Noted
from benchwright.pages.lab_shapes import LabJobLine, LabPage, LabSubmissionView
from benchwright.store.remote.client import DeniedError, ServerAwayError
from benchwright.workflows.lab import follow as following
from benchwright.workflows.lab.client import LabCaller, drop_unknown


def _job(state: str, **more: Any) -> LabJobLine:
    return LabJobLine(**{"id": "1", "run": "r", "case": "c", "submitted_at": 0, "state": state, **more})


def _view(state: str, *jobs: LabJobLine) -> LabSubmissionView:
    return LabSubmissionView(run="r", submitted_at=0, where="any", state=state, jobs=jobs)


QUEUED = _view("queued", _job("queued", position=3, wait=240.0))
DONE = _view("done", _job("done"))


class Answers:
    """A server that gives these answers in turn; Ctrl-C is one of them."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.cancelled = list(answers), 0

    def submission(self, run: str) -> LabSubmissionView:
        given = self.answers.pop(0)
        if isinstance(given, BaseException):
            raise given
        return cast(LabSubmissionView, given)

    def cancel(self, run: str) -> None:
        self.cancelled += 1


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAUSE", 0.0)


def _follow(server: Answers, **options: Any) -> tuple[LabSubmissionView, list[Event]]:
    heard: list[Event] = []
    return following.follow(cast(LabCaller, server), "r", heard.append, **options), heard


def test_where_it_stands_is_told_until_it_has_ended() -> None:
    view, heard = _follow(Answers(QUEUED, DONE))
    assert view.state == "done"
    assert [one.text for one in heard if isinstance(one, Followed)] == ["queued, 3rd, about 4 min", "1 of 1 done"]


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ([_job("queued", reason="rack7 is drained")], "queued, rack7 is drained"),
        (
            [_job("done"), _job("leased", machine="rack7", phase="round 2 of 5"), _job("queued", position=1, wait=1.0)],
            "1 of 3 done; rack7: c, round 2 of 5; queued, 1st, about 1 s",
        ),
        (
            [_job("leased", machine="a"), _job("leased", machine="b", leased_at=1)],
            "0 of 2 done; 2 running, b: c",
        ),
    ],
)
def test_one_line_says_how_far_it_is(jobs: list[LabJobLine], told: str) -> None:
    assert following.describe(_view("running", *jobs)) == told


def test_the_first_interrupt_cancels_and_waits_the_second_leaves_it_to_the_server() -> None:
    server = Answers(QUEUED, KeyboardInterrupt(), _view("cancelled", _job("cancelled")))
    view, heard = _follow(server, cancels=True)
    assert (view.state, server.cancelled) == ("cancelled", 1)
    assert any("asked to cancel" in one.text for one in heard if isinstance(one, Noted))
    again = Answers(KeyboardInterrupt(), KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        _follow(again, cancels=True)
    assert again.cancelled == 1


def test_who_only_looks_on_cancels_nothing() -> None:
    server = Answers(QUEUED, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        _follow(server)
    assert server.cancelled == 0


def test_a_server_that_comes_back_is_followed_on() -> None:
    view, heard = _follow(Answers(QUEUED, ServerAwayError("gone"), ServerAwayError("gone"), DONE))
    assert view.state == "done"
    assert any("cannot be reached" in one.text for one in heard if isinstance(one, Followed))


def test_a_server_that_stays_away_or_denies_is_an_error_that_says_how_to_go_on() -> None:
    with pytest.raises(StoreError) as away:
        _follow(Answers(*[ServerAwayError("gone")] * 5), patience=-1.0)
    assert "benchwright lab follow r" in away.value.remedy
    with pytest.raises(StoreError):
        _follow(Answers(DeniedError("no")))


def test_a_newer_server_may_tell_more() -> None:
    told = {"machines": [{"name": "a", "job": {"id": "1", "newer": 1}, "newer": 2}], "queue": [], "newer": 3}
    assert drop_unknown(LabPage, told) == {"machines": [{"name": "a", "job": {"id": "1"}}], "queue": []}
