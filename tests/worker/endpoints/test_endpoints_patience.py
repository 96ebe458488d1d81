"""A server that asks for patience before time zero gets it, once; while requests are timed it is a failure."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from benchwright.errors import MeasureError
from benchwright.records import Load
from benchwright.worker.endpoints.dialect import ReadAnswer
from benchwright.worker.endpoints.patience import LONGEST, Patience, read_seconds
from benchwright.worker.endpoints.traffic import Outcome
from endpoint_runs import make_case, run_endpoint
from scripted import events, faults
from scripted.client import ScriptedServer
from scripted.events import Usage
from scripted.script import Script

GOOD = events.stream(["a", "b"], usage=Usage(5, 2))


def _busy(retry_after: str) -> ReadAnswer:
    return ReadAnswer(outcome=Outcome.THROTTLED, reason="HTTP 429", retry_after=retry_after)


@pytest.mark.parametrize(
    "text, seconds", [("7", 7.0), (" 0.5 ", 0.5), ("0", 0.0), ("soon", None), ("", None), ("-1", None)]
)
def test_the_header_is_read_as_seconds(text: str, seconds: float | None) -> None:
    assert read_seconds(text) == seconds


def test_the_header_may_be_a_date() -> None:
    assert 0 < (read_seconds(formatdate(time.time() + 30, usegmt=True)) or 0) <= 30
    assert read_seconds(formatdate(time.time() - 30, usegmt=True)) == 0
    assert read_seconds("Mon, 99 Foo 2026 10:00:00 GMT") is None


def test_a_server_is_waited_for_once_and_not_too_long() -> None:
    slept: list[float] = []
    told: list[str] = []
    patience = Patience(told.append, sleep=slept.append)
    assert not patience.wait_for(_busy(str(LONGEST + 1))) and not patience.wait_for(_busy("")) and not slept
    assert "come back then" in patience.advise(_busy("3600"))
    assert patience.wait_for(_busy("7")) and slept == [7.0] and told == ["the server asks to wait 7 s"]
    assert not patience.wait_for(_busy("7")) and slept == [7.0]
    assert "--warmup 0" in patience.advise(_busy("7"))


@pytest.mark.parametrize("busy", [faults.too_many("0"), faults.refusal(503, "Loading", headers={"Retry-After": "0"})])
def test_a_refused_first_request_does_not_cost_the_round(scripted_server: ScriptedServer, busy: Script) -> None:
    stage = scripted_server.play(busy, GOOD)
    run = run_endpoint(make_case("openai", f"{stage.url}/v1/chat/completions", model="m"))
    [waited] = [warning for warning in run.report.warnings if warning.code == "waited-for-server"]
    assert run.errors == {} and "asked to wait 0 s" in waited.seen


def test_the_first_call_of_the_warm_up_is_made_anew(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(faults.too_many("0"), Script(pieces=GOOD.pieces))
    run = run_endpoint(make_case("http", f"{stage.url}/predict"))
    assert run.errors == {} and run.warnings == ["waited-for-server"]


def test_a_second_refusal_before_time_zero_ends_the_attempt(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(faults.too_many("0"))
    with pytest.raises(MeasureError, match="throttled") as caught:
        run_endpoint(make_case("openai", f"{stage.url}/v1/chat/completions", model="m"))
    assert "waited for once" in caught.value.remedy


def test_while_requests_are_timed_nobody_waits(scripted_server: ScriptedServer) -> None:
    stage = scripted_server.play(*[GOOD] * 4, faults.too_many("30"), GOOD)
    load = Load(samples=4, warmup=0.0)
    run = run_endpoint(make_case("openai", f"{stage.url}/v1/chat/completions", load=load, model="m"))
    assert run.errors == {"throttled": 1} and "waited-for-server" not in run.warnings
