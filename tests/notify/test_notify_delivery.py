"""Once each, not too often, later what failed; whatever happens in between."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchwright import plugins
from benchwright.config import Notify
from benchwright.notify import DeliveryOutcome, Notifier, open_notifier
from benchwright.records import Verdict
from benchwright.records.findings import Finding, Remark, State
from benchwright.store import open_store

Make = Callable[..., Finding]


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Setup:
    """A notifier that is made anew for each call, as after a restart."""

    def __init__(self, peer: Any, folder: Path, **settings: Any) -> None:
        self.peer, self.clock, self.path = peer, Clock(), folder / "kept" / "notified.jsonl"
        self.settings = {"targets": (f"webhook+http://{peer.host}/one",)} | settings

    def tell(self, *findings: Finding, **how: Any) -> list[Any]:
        notifier = Notifier(Notify(**self.settings), journal=self.path, clock=self.clock)
        return notifier.tell(findings, **how)

    def heard(self) -> list[list[str]]:
        """The findings of each message that arrived."""
        return [[each["finding"]["data"]["id"] for each in r.json()["findings"]] for r in self.peer.requests]


@pytest.fixture
def setup(peer: Any, tmp_path: Path) -> Setup:
    return Setup(peer, tmp_path)


def test_each_target_is_told_once_of_each_finding(peer: Any, tmp_path: Path, found: Make) -> None:
    setup = Setup(peer, tmp_path, targets=(f"webhook+http://{peer.host}/one", f"webhook+http://{peer.host}/two"))
    assert [told.outcome for told in setup.tell(found("a"))] == [DeliveryOutcome.SENT, DeliveryOutcome.SENT]
    assert setup.tell(found("a")) == []
    assert [told.findings for told in setup.tell(found("a"), found("b"))] == [("b",), ("b",)]
    assert [(r.path, *ids) for r, ids in zip(peer.requests, setup.heard(), strict=True)] == [
        ("/one", "a"), ("/two", "a"), ("/one", "b"), ("/two", "b"),
    ]  # fmt: skip


def test_several_at_once_tell_once(setup: Setup, found: Make) -> None:
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda i: setup.tell(found("a"), found(f"b{i % 2}")), range(8)))
    assert sorted(setup.heard()) == [["a"], ["b0"], ["b1"]] and sum(map(len, told)) == 3


def test_an_adapter_that_breaks_is_a_failure_and_its_words_are_not_told(
    setup: Setup, found: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        name, pictures = "broken", False

        def __init__(self, address: Any) -> None:
            self.url = address.url

        def send(self, message: Any) -> str:
            raise ZeroDivisionError(self.url)

    monkeypatch.setitem(plugins.BUILTIN["notifiers"], "broken", f"{__name__}:Broken")
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(Broken=Broken))
    setup.settings["targets"] = ("broken://5ecre7",)
    (told,) = setup.tell(found("a"))
    assert told.outcome is DeliveryOutcome.FAILED and told.why == "broken://***: ZeroDivisionError"


def test_a_person_can_ask_for_it_again(setup: Setup, found: Make) -> None:
    setup.tell(found("a"))
    setup.clock.now += 1
    assert setup.tell(found("a"), asked=True) == []
    assert [told.outcome for told in setup.tell(found("a"), asked=True, again=True)] == [DeliveryOutcome.SENT]
    first, second = (request.headers["webhook-id"] for request in setup.peer.requests)
    assert first != second


def test_only_what_is_wanted_is_told(setup: Setup, found: Make) -> None:
    better, over = found("b", verdict=Verdict.BETTER), found("o", state=State.IGNORED)
    assert setup.tell(better, over) == []
    setup.tell(better, asked=True)
    setup.settings["verdicts"] = ("better",)
    setup.tell(found("b2", verdict=Verdict.BETTER), found("w"))
    assert setup.heard() == [["b"], ["b2"]]


def test_a_failure_is_told_and_tried_again_after_a_restart(setup: Setup, found: Make) -> None:
    setup.peer.answer = lambda _: (503, {}, {})
    (told,) = setup.tell(found("a"))
    assert (told.outcome, told.findings) == (DeliveryOutcome.FAILED, ("a",)) and "503" in told.why
    setup.clock.now += 30
    (told,) = setup.tell()
    assert told.outcome is DeliveryOutcome.LATER and len(setup.peer.requests) == 1
    assert [told.outcome for told in setup.tell(asked=True)] == [DeliveryOutcome.FAILED]  # a person need not wait
    setup.peer.answer = lambda _: (200, {}, {})
    setup.clock.now += 119
    assert [told.outcome for told in setup.tell()] == [DeliveryOutcome.LATER]  # the pause has doubled
    setup.clock.now += 1
    assert [told.outcome for told in setup.tell()] == [DeliveryOutcome.SENT]
    assert setup.tell() == [] and len({r.headers["webhook-id"] for r in setup.peer.requests}) == 1


def test_a_server_may_ask_for_a_longer_pause(setup: Setup, found: Make) -> None:
    setup.peer.answer = lambda _: (429, {"Retry-After": "1000"}, {})
    setup.tell(found("a"))
    setup.clock.now += 999
    assert setup.tell()[0].outcome is DeliveryOutcome.LATER
    setup.clock.now += 1
    assert setup.tell()[0].outcome is DeliveryOutcome.FAILED


def test_one_failing_target_does_not_keep_the_others_waiting(peer: Any, tmp_path: Path, found: Make) -> None:
    targets = ("github://owner/name", "webhook+http://127.0.0.1:1/", "${UNSET_HERE}", f"webhook+http://{peer.host}/")
    setup = Setup(peer, tmp_path, targets=targets)
    told = setup.tell(found("a"))
    assert [one.outcome for one in told] == [DeliveryOutcome.FAILED] * 3 + [DeliveryOutcome.SENT]
    assert "needs a token" in told[0].why and "UNSET_HERE" in told[2].why


def test_more_than_a_few_go_in_one_message(setup: Setup, found: Make) -> None:
    setup.tell(*(found(f"few{i}") for i in range(3)))
    setup.tell(*(found(f"many{i}") for i in range(4)))
    assert setup.heard() == [["few0"], ["few1"], ["few2"], ["many0", "many1", "many2", "many3"]]


def test_an_hour_has_so_many_messages_and_the_rest_comes_later_together(setup: Setup, found: Make) -> None:
    setup.settings["per_hour"] = 2
    for name in ("a", "b", "c", "d"):
        setup.tell(found(name))
    assert setup.heard() == [["a"], ["b"]]
    (told,) = setup.tell(asked=True)
    assert told.outcome is DeliveryOutcome.LATER and told.findings == ("c", "d")
    setup.clock.now += 3600
    setup.tell()
    assert setup.heard()[2:] == [["c"], ["d"]]


def test_a_crash_while_sending_repeats_nothing_at_once_and_loses_nothing(setup: Setup, found: Make) -> None:
    setup.tell(found("a"))
    lines = setup.path.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["what"] for line in lines] == ["due", "trying", "told"]
    for cut in range(len(lines[2])):  # `told` was not written, or not whole
        if cut in (0, 1, 40):
            setup.path.write_bytes(b"".join(lines[:2]) + lines[2][:cut])
            assert [told.outcome for told in setup.tell()] == [DeliveryOutcome.LATER]
    setup.clock.now += 60
    assert [told.outcome for told in setup.tell()] == [DeliveryOutcome.SENT]
    assert setup.tell(found("a")) == []
    first, second = (request.headers["webhook-id"] for request in setup.peer.requests)
    assert first == second  # so that the receiver can drop the second


def test_what_fails_for_a_week_is_dropped(setup: Setup, found: Make) -> None:
    setup.peer.answer = lambda _: (404, {}, {})
    setup.tell(found("a"))
    setup.clock.now += 8 * 24 * 3600
    assert [told.outcome for told in setup.tell()] == [DeliveryOutcome.DROPPED]
    assert setup.tell(found("a")) == []


def test_a_clock_that_was_put_back_holds_nothing_up(setup: Setup, found: Make) -> None:
    setup.peer.answer = lambda _: (500, {}, {})
    setup.tell(found("a"))
    setup.clock.now -= 1e6
    assert setup.tell()[0].outcome is DeliveryOutcome.FAILED


def test_a_finding_that_is_resolved_meanwhile_is_not_told(setup: Setup, found: Make, tmp_path: Path) -> None:
    from benchwright.store import open_store

    store = open_store(tmp_path / "results.db")
    finding = store.keep_finding(found("a", found_at="2026-11-01T00:00:00+00:00", runs=("run-2",)))
    setup.peer.answer = lambda _: (500, {}, {})
    setup.tell(finding, store=store)
    store.update_finding("a", state=State.RESOLVED)
    setup.clock.now += 3600
    assert [told.outcome for told in setup.tell(store=store)] == [DeliveryOutcome.DROPPED]
    store.close()


def test_nobody_is_told_of_a_suspicion(setup: Setup, found: Make) -> None:
    suspected = replace(found("a"), state=State.SUSPECTED)
    assert setup.tell(suspected) == [] and setup.heard() == []
    assert [told.outcome for told in setup.tell(replace(suspected, state=State.OPEN))] == [DeliveryOutcome.SENT]


def test_one_message_says_that_the_values_are_as_before(setup: Setup, found: Make, tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "results.db")) as store:
        store.keep_finding(replace(found("a"), found_at="2026-03-01T00:00:00+00:00"))
        setup.tell(found("a"), store=store)
        store.update_finding(
            "a", Remark(at="2026-03-02T00:00:00+00:00", who="benchwright", what="recovered"), state=State.RESOLVED
        )
        (told,) = setup.tell(store=store)
        assert (told.outcome, setup.tell(store=store)) == (DeliveryOutcome.WITHDRAWN, [])
    document = setup.peer.requests[-1].json()
    assert (document["type"], len(setup.peer.requests)) == ("benchwright.resolved", 2)
    assert document["title"].startswith("Resolved, as before again: Worse: ")


def test_how_told_findings_stand_is_one_question_of_the_store(
    setup: Setup, found: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"f{number:02}" for number in range(12)]
    over = Remark(at="2026-03-02T00:00:00+00:00", who="benchwright", what="recovered")
    with closing(open_store(tmp_path / "results.db")) as store:
        for each in ids:
            told = replace(found(each), series=each, cause=f"cause-{each}", found_at="2026-03-01T00:00:00+00:00")
            store.keep_finding(told)
            setup.tell(told, store=store)
        store.update_finding("f03", over, state=State.RESOLVED)
        setup.clock.now += 7200
        asked: list[str] = []
        monkeypatch.setattr(store, "finding", lambda reference: asked.append(reference))
        (told,) = setup.tell(store=store)
        assert (told.outcome, told.findings, asked) == (DeliveryOutcome.WITHDRAWN, ("f03",), [])


def test_what_cannot_be_noted_is_not_sent(setup: Setup, found: Make) -> None:
    setup.path.parent.mkdir()
    setup.path.mkdir()
    (told,) = setup.tell(found("a"))
    assert told.outcome is DeliveryOutcome.FAILED and "directory" in told.why and setup.peer.requests == []


def test_without_targets_nothing_is_written(tmp_path: Path, found: Make) -> None:
    assert open_notifier(str(tmp_path / "results.db"), Notify()).tell([found()]) == []
    assert list(tmp_path.iterdir()) == []


def test_the_journal_is_by_the_store_and_holds_no_secret(
    peer: Any, tmp_path: Path, found: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S", "deadbeef")
    peer.answer = lambda _: (401, {}, {"you sent": "deadbeef"})
    settings = Notify(targets=(f"webhook+http://${{S}}@{peer.host}/5ecre7",))
    (told,) = open_notifier(f"sqlite:///{tmp_path}/results.db", settings).tell([found()])
    text = (tmp_path / "notified.jsonl").read_text()
    assert told.outcome is DeliveryOutcome.FAILED
    assert not any(secret in text + repr(told) for secret in ("deadbeef", "5ecre7"))
    assert (tmp_path / "notified.jsonl").stat().st_mode & 0o777 == 0o600
