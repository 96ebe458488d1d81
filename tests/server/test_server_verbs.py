"""The verbs of a store, over HTTP, answer what the store answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as runs
from benchwright import schema
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, Mute, Remark, State, Threshold
from benchwright.server import answer_parts
from benchwright.server.routes.verbs import VERBS
from benchwright.store import Store

# Those of `Store` that are reached by addresses of their own, or are nothing to ask for.
ELSEWHERE = {"begin", "add", "add_run", "run", "samples", "close"}


def asked(server: Any, verb: str, **arguments: Any) -> Any:
    told = server.post(f"store/{verb}", content=json.dumps(schema.encode(arguments)))
    assert told.status_code == 200, told.json()
    return told.json()["answer"]


def finding(name: str) -> Finding:
    one = Estimate(point=1.0, low=0.9, high=1.1)
    return Finding(
        id=name,
        series="s",
        before=one,
        after=one,
        effect=one,
        method="m",
        verdict=Verdict.WORSE,
        runs=(name,),
        found_at="2026-03-01T10:00:00+00:00",
        cause=f"cause-{name}",
    )


def test_every_verb_of_a_store_can_be_asked_for() -> None:
    verbs = {name for name, member in vars(Store).items() if callable(member) and not name.startswith("_")}
    assert {*VERBS} == (verbs - ELSEWHERE) | {"held_results"}  # which only a database knows


def test_reading_verbs_answer_what_the_store_answers(server: Any) -> None:
    runs.fill(server.store, [0.5, 0.6])
    store, case = server.store, runs.CASE.name
    assert asked(server, "find", reference="last~1") == store.find("last~1")
    [last] = schema.encode(store.runs(limit=1))
    assert last.pop("damaged") == ""  # told of damaged runs alone: older clients do not know it
    assert asked(server, "runs", limit=1) == [last]
    assert asked(server, "run_ids") == [*store.run_ids()]
    told = schema.encode(store.history("*", metrics=("latency_p50",), limit=1))
    assert asked(server, "history?branches=true", case="*", metrics=["latency_p50"], limit=1) == told
    assert told[0]["points"][0].pop("branch") == ""  # told to who asks for it: older clients do not know it
    assert asked(server, "history", case="*", metrics=["latency_p50"], limit=1) == told
    assert asked(server, "misses", case=case) == schema.encode(store.misses(case))
    assert asked(server, "case_names") == [case]


def test_a_list_that_is_too_long_is_refused_or_comes_in_parts(
    serving: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FINDINGS", "CAUSES", "RUNS", "RUN_IDS"):
        monkeypatch.setattr(answer_parts, name, 2)
    monkeypatch.setattr(answer_parts, "POINTS", 10)
    with serving(tmp_path) as server:
        runs.fill(server.store, [0.5, 0.6, 0.7, 0.8, 0.9])
        for number in range(5):
            server.store.keep_finding(replace(finding(f"f{number}"), series=f"s{number}"))
        for verb, arguments in {
            "findings": {"limit": 2**31 - 1},
            "causes": {"limit": 5},
            "runs": {"limit": 2**31 - 1},
            "run_ids": {},
            "history": {"case": "*", "limit": 4},
        }.items():
            refused = server.post(f"store/{verb}", content=json.dumps(arguments))
            assert refused.status_code == 413 and "parts=true" in refused.json()["remedy"], verb
            whole, parts = [], 0
            while True:
                told = server.post(f"store/{verb}?parts=true", content=json.dumps(arguments)).json()
                whole, parts = whole + told["answer"], parts + 1
                if not told.get("next"):
                    break
                arguments = arguments | told["next"]
            expected = schema.encode([*getattr(server.store, verb)(**_whole(verb))])
            assert [_name(one) for one in whole] == [_name(one) for one in expected] and parts > 1, verb
        assert asked(server, "findings", limit=2) and asked(server, "runs", limit=2)
        monkeypatch.setattr(answer_parts, "POINTS", 3)
        assert server.post("store/history?parts=true", content='{"case": "*"}').status_code == 413


def _whole(verb: str) -> dict[str, Any]:
    return {"history": {"case": "*", "limit": 4}, "run_ids": {}}.get(verb, {"limit": 100})


def _name(one: Any) -> Any:
    return one if isinstance(one, str) else (one.get("id"), one.get("key"), one.get("unit"))


def test_findings_are_kept_and_changed(server: Any) -> None:
    assert asked(server, "keep_finding", finding=finding("f1")) == schema.encode(finding("f1"))
    remark = Remark(at="2026-03-02T10:00:00+00:00", who="Ada", what="resolved")
    changed = asked(server, "update_finding", reference="f1", remark=remark, changes={"state": State.RESOLVED})
    kept = server.store.finding("f1")
    assert changed == schema.encode(kept) and kept.state is State.RESOLVED
    [said] = kept.remarks
    assert (said.who, said.what) == ("Ada", "resolved")  # on one's own machine one is believed
    assert said.at > "2026-06-01"  # but the server has a clock of its own
    assert asked(server, "finding", reference="f") == changed
    assert asked(server, "findings", states=[State.RESOLVED], series=["s"]) == [changed]


def test_rules_are_kept_and_taken_away(server: Any) -> None:
    mute, threshold = Mute(what="a*", who="Ada"), Threshold(case="b", smallest=0.05)
    assert asked(server, "mute", mute=mute) is None
    [kept] = asked(server, "mutes")
    assert (kept["what"], kept["who"]) == ("a*", "Ada") and kept["at"]
    assert [asked(server, "unmute", what="a*") for _ in range(2)] == [True, False]
    assert asked(server, "set_threshold", threshold=threshold) is None
    assert asked(server, "thresholds") == [schema.encode(threshold)]
    assert asked(server, "drop_threshold", case="b")
    said = [line["action"] for line in server.get("audit").json()["lines"]]
    assert said[:4] == ["drop threshold", "set threshold", "unmute", "unmute"]


@pytest.mark.parametrize(
    ("verb", "body", "status", "place"),
    [
        ("nonsense", "{}", 404, "no verb"),
        ("history", "{}", 400, "'case' is missing"),
        ("history", '{"case": 1}', 400, "history.case"),
        ("history", '{"case": "a", "limt": 1}', 400, "'limt'"),
        ("history", '{"case": "a", "limit": -1}', 400, "limit"),
        ("runs", "[]", 400, "not a mapping"),
        ("find", '{"reference": "nobody"}', 404, "nobody"),
        ("keep_finding", json.dumps({"finding": schema.encode(finding("../x"))}), 400, "cannot be an id"),
        ("mute", json.dumps({"mute": {"what": "x" * 501}}), 400, "500 characters"),
        ("set_threshold", json.dumps({"threshold": {"case": "x" * 501, "smallest": 0.1}}), 400, "500 characters"),
        ("quarantine", json.dumps({"quarantine": {"machine": "m", "since": 10**18}}), 400, "not an instant"),
        ("quarantine", json.dumps({"quarantine": {"machine": "m", "since": 0, "until": 10**18}}), 400, "until"),
        ("release", json.dumps({"machine": "m", "at": 10**18}), 400, "not an instant"),
        ("update_finding", '{"reference": "f1", "changes": {"id": "f2"}}', 400, "'id'"),
        ("update_finding", '{"reference": "f1", "changes": {"state": "lost"}}', 400, "state"),
    ],
)
def test_what_is_asked_wrongly_is_explained(server: Any, verb: str, body: str, status: int, place: str) -> None:
    told = server.post(f"store/{verb}", content=body)
    assert told.status_code == status and place in told.json()["error"]


def test_a_triage_token_changes_what_people_decide_and_nothing_that_was_judged(guarded: Any) -> None:
    guarded.store.keep_finding(finding("f9"))
    triage, write = guarded.token("tina", "triage"), guarded.token("wanda", "write")
    forged = {"at": "2001-01-01T00:00:00+00:00", "who": "the director", "what": "bisected", "text": "it was nobody"}

    def update(headers: dict[str, str], **changes: Any) -> Any:
        body = {"reference": "f9", "remark": forged, "changes": schema.encode(changes)}
        return guarded.post("store/update_finding", content=json.dumps(body), headers=headers)

    for name, value in {
        "verdict": "better",
        "effect": finding("x").effect,
        "suspects": [],
        "why": {"cause": "nobody"},
        "found_at": "2001-01-01T00:00:00+00:00",
        "method": "mine",
    }.items():
        told = update(triage, **{name: value})
        assert told.status_code == 403 and name in told.json()["error"] and "'write'" in told.json()["error"]
    assert guarded.store.finding("f9") == finding("f9")  # not even the remark was kept

    assert update(triage, state="resolved", assignee="Ada").status_code == 200
    assert update(write, suspects=[]).status_code == 200
    by_tina, by_wanda = guarded.store.finding("f9").remarks
    assert (by_tina.who, by_tina.what, by_tina.text) == ("tina", "resolved", "it was nobody")
    assert (by_wanda.who, by_wanda.what) == ("wanda", "bisected")
    assert by_tina.at > "2026-06-01" and by_wanda.at > "2026-06-01"
    lines = guarded.get("audit", headers=guarded.token("root", "admin")).json()["lines"]
    said = [(line["who"], line["what"]) for line in lines if line["action"] == "update finding"]
    assert said[1] == ("tina", "f9: state open -> resolved, assignee  -> Ada, resolved")


def test_a_mute_is_signed_by_who_sends_it(guarded: Any) -> None:
    body = {"mute": {"what": "a*", "who": "the director", "at": "2001-01-01T00:00:00+00:00"}}
    assert (
        guarded.post("store/mute", content=json.dumps(body), headers=guarded.token("mia", "triage")).status_code == 200
    )
    [kept] = guarded.store.mutes()
    assert kept.who == "mia" and kept.at > "2026-06-01"


def test_a_story_that_comes_with_a_finding_says_who_sent_it(guarded: Any) -> None:
    told = [("the director", "ignored"), ("benchwright", "opened"), ("", "comment")]
    story = tuple(Remark(at="2001-01-01T00:00:00+00:00", who=who, what=what) for who, what in told)
    body = json.dumps({"finding": schema.encode(replace(finding("f10"), remarks=story))})
    assert guarded.post("store/keep_finding", content=body, headers=guarded.token("will", "write")).status_code == 200
    kept = guarded.store.finding("f10").remarks
    assert [line.who for line in kept] == ["the director (sent by will)", "benchwright (will)", "will"]


def test_who_triages_writes_no_more_through_a_verb_than_on_a_page(guarded: Any) -> None:
    guarded.store.keep_finding(finding("f11"))
    triage = guarded.token("toni", "triage")
    remark = {"at": "", "who": "", "what": "comment", "text": "x" * 10_001}
    for verb, sent, place in (
        ("update_finding", {"reference": "f11", "remark": remark, "changes": {}}, "remark.text"),
        ("update_finding", {"reference": "f11", "changes": {"assignee": "y" * 201}}, "assignee"),
        ("mute", {"mute": {"what": "b*", "reason": "z" * 10_001}}, "mute.reason"),
    ):
        told = guarded.post(f"store/{verb}", content=json.dumps(sent), headers=triage)
        assert told.status_code == 400 and place in told.json()["error"] and told.json()["remedy"] == "write less"
    large = guarded.post("store/mute", content=b" " * ((1 << 20) + 1), headers=triage)
    assert large.status_code == 413  # as little as a person has to say; results are sent by others
    assert guarded.store.finding("f11") == finding("f11")
    assert "b*" not in {mute.what for mute in guarded.store.mutes()}
