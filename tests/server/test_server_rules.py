"""Rules and administration over HTTP: who may, what is shown, and what the audit log says of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchwright.config import Notify
from http_peer import Peer, serving_peer

SECRET = "sesame-open"


@pytest.fixture
def admin(guarded: Any) -> dict[str, str]:
    return dict(guarded.token(f"root {datetime.now(UTC).timestamp()}", "admin"))


def newest(server: Any, admin: dict[str, str], **query: str) -> Any:
    return server.get("audit", params=query, headers=admin).json()["lines"][0]


# ---- thresholds and mutes ----


def test_rules_are_listed_and_their_changes_are_on_record(guarded: Any, admin: dict[str, str]) -> None:
    ada = guarded.token("Ada of rules", "triage")
    post = lambda verb, **body: guarded.post(f"store/{verb}", json=body, headers=ada)  # noqa: E731
    assert post("set_threshold", threshold={"case": "vision/*", "smallest": 0.05}).status_code == 200
    assert newest(guarded, admin)["what"] == "vision/* every metric: no threshold -> 5 %"
    post("set_threshold", threshold={"case": "vision/*", "smallest": 0.1})
    assert newest(guarded, admin)["what"] == "vision/* every metric: 5 % -> 10 %"
    post("mute", mute={"what": "text/*", "reason": "moves"})
    assert newest(guarded, admin)["what"] == "text/*: not muted -> muted (moves)"
    rules = guarded.get("rules", headers=ada).json()
    assert rules["thresholds"] == [{"case": "vision/*", "metric": "", "smallest": 0.1}] and rules["usual"] == 0.01
    assert [(m["what"], m["who"], m["reason"]) for m in rules["mutes"]] == [("text/*", "Ada of rules", "moves")]
    assert abs(rules["mutes"][0]["at"] / 1000 - datetime.now(UTC).timestamp()) < 60
    post("unmute", what="text/*")
    assert newest(guarded, admin)["what"] == "text/*: muted (moves) -> not muted"
    post("drop_threshold", case="vision/*")
    assert newest(guarded, admin)["what"] == "vision/*: 10 % -> no threshold"
    reader = guarded.token("reader of rules", "read")
    assert guarded.post("store/unmute", json={"what": "x"}, headers=reader).status_code == 403


def test_a_preview_changes_nothing(serving: Callable[..., Any], tmp_path: Path, filled: Callable[..., Any]) -> None:
    with serving(tmp_path) as server:
        found = filled(server.store)
        told = server.get("rules/preview", params={"kind": "mute", "what": "*"}).json()
        assert told["days"] == 90 and told["of"] == 0  # the finding of this store is from long ago
        for kind in ("mute", "threshold", "target"):
            assert server.get("rules/preview", params={"kind": kind, "case": found.case}).status_code == 200
        for wrong in (
            {"kind": "x"},
            {},
            {"kind": "threshold", "smallest": "-1"},
            {"kind": "threshold", "smallest": "nan"},
        ):
            assert server.get("rules/preview", params=wrong).status_code == 422
        assert server.store.mutes() == [] and server.store.thresholds() == []


# ---- targets ----


def test_targets_are_kept_tried_changed_and_removed(
    serving: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("BENCHWRIGHT_NOTIFY_HOOK", SECRET)
    with Peer() as peer, serving_peer(peer):
        notify = Notify(targets=(f"webhook+http://{peer.host}/of-the-file",))
        with serving(tmp_path, notify=notify) as server:
            address = f"webhook+http://${{BENCHWRIGHT_NOTIFY_HOOK}}@{peer.host}/hidden/place"
            made = server.post("notify-targets", json={"address": address, "cases": "vision/*", "smallest": 0.05})
            assert made.status_code == 201 and "hidden" not in made.text
            assert made.json()["preview"]["sentence"] == "This would have told you never in the last 90 days."
            number = made.json()["id"]
            listed = server.get("notify-targets").json()
            assert [one["id"] for one in listed["targets"]] == [0, number]
            assert listed["prefix"] == "BENCHWRIGHT_NOTIFY_"
            assert SECRET not in str(listed) and "of-the-file" not in str(listed) and "hidden" not in str(listed)
            tried = server.post(f"notify-targets/{number}/test").json()
            assert tried["sent"] and "signed" in tried["why"] and SECRET not in str(tried)
            assert peer.requests[-1].path == "/hidden/place" and peer.requests[-1].json()["type"] == "benchwright.test"
            changed = server.patch(f"notify-targets/{number}", json={"smallest": 0.1, "verdicts": ["worse", "better"]})
            assert changed.json()["smallest"] == 0.1 and changed.json()["cases"] == "vision/*"
            what = server.get("audit").json()["lines"][0]["what"]
            assert "worse from 5 % in vision/* -> " in what and "worse and better from 10 % in vision/*" in what
            assert "hidden" not in what and SECRET not in what
            assert server.store.notify_targets()[0].address == address
            assert server.delete(f"notify-targets/{number}").status_code == 204
            for method, path in (("DELETE", ""), ("PATCH", ""), ("POST", "/test")):
                body = {"json": {}} if method == "PATCH" else {}
                assert server.request(method, f"notify-targets/{number}{path}", **body).status_code == 404


def test_a_target_that_cannot_be_reached_says_why(
    serving: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENCHWRIGHT_NOTIFY_NONE", raising=False)
    with serving(tmp_path) as server:
        for address, why in (
            ("webhook+http://127.0.0.1:9/x", "refused"),
            ("${BENCHWRIGHT_NOTIFY_NONE}", "BENCHWRIGHT_NOTIFY_NONE is not set"),
        ):
            number = server.post("notify-targets", json={"address": address}).json()["id"]
            tried = server.post(f"notify-targets/{number}/test")
            assert tried.status_code == 200 and not tried.json()["sent"] and why in tried.json()["why"]


@pytest.mark.parametrize(
    "body",
    [
        {"address": "webhook+https://secret@host/x"},
        {"address": "slack://a/b/c"},
        {"address": "${HOME}"},
        {"address": "${file:/etc/passwd}"},
        {"address": "github://owner/name?api=https://evil.example"},
        {"address": "github://owner/name", "verdicts": []},
        {"address": "github://owner/name", "verdicts": ["same"]},
        {"address": "github://owner/name", "smallest": -1},
        {"address": "github://owner/name", "cases": ""},
        {"address": "github://owner/name", "cases": "x" * 600},
        {"address": "github://of/file"},
        {"address": 7},
        {"adress": "github://owner/name"},
        {},
    ],
    ids=str,
)
def test_targets_that_are_refused(serving: Callable[..., Any], tmp_path: Path, body: dict[str, Any]) -> None:
    with serving(tmp_path, notify=Notify(targets=("github://of/file",))) as server:
        told = server.post("notify-targets", json=body)
        assert told.status_code == 400 and told.json()["error"], told.text
        assert server.store.notify_targets() == []


# ---- tokens ----


def test_tokens_are_made_listed_and_revoked(guarded: Any, admin: dict[str, str]) -> None:
    made = guarded.post("tokens", json={"name": "ci/linux", "scope": "write", "expires": "90d"}, headers=admin)
    token = {"Authorization": f"Bearer {made.json()['token']}"}
    assert made.status_code == 201 and guarded.get("about", headers=token).json()["scopes"][-1] == "write"
    listed = guarded.get("tokens", headers=admin)
    line = next(one for one in listed.json()["tokens"] if one["name"] == "ci/linux")
    assert line["used_at"] and line["expires_at"] > line["made_at"] and "bw_" not in listed.text
    assert guarded.post("tokens", json={"name": "ci/linux"}, headers=admin).status_code == 409
    for wrong in ({"name": ""}, {"name": "x", "scope": "root"}, {"name": "x", "expires": "soon"}, {"name": "a\nb"}):
        assert guarded.post("tokens", json=wrong, headers=admin).status_code == 400, wrong
    assert newest(guarded, admin, action="token")["what"].startswith("ci/linux: write, until 20")
    assert guarded.delete("tokens/ci/linux", headers=admin).status_code == 204
    assert guarded.delete("tokens/ci/linux", headers=admin).status_code == 404
    assert guarded.get("about", headers=token).status_code == 401
    assert newest(guarded, admin, action="token revoked")["what"] == "ci/linux: write"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "tokens"),
        ("POST", "tokens"),
        ("DELETE", "tokens/x"),
        ("GET", "people"),
        ("DELETE", "people/x"),
        ("GET", "audit"),
        ("GET", "notify-targets"),
        ("POST", "notify-targets"),
        ("PATCH", "notify-targets/1"),
        ("DELETE", "notify-targets/1"),
        ("POST", "notify-targets/1/test"),
    ],
)
def test_what_only_admins_may(guarded: Any, method: str, path: str) -> None:
    writer = guarded.token(f"{method} {path}", "write")
    assert guarded.request(method, path, headers=writer).status_code == 403
    assert guarded.request(method, path).status_code == 401


# ---- the audit log ----


def test_the_audit_log_is_narrowed_and_paged(guarded: Any, admin: dict[str, str]) -> None:
    for i in range(5):
        guarded.store.audit_add(who=f"Zoë_{i}", address="192.0.2.7", action="odd action", what=f"100% of thing-{i}")
    ask = lambda **query: guarded.get("audit", params=query, headers=admin).json()  # noqa: E731
    assert len(ask(action="odd action")["lines"]) == 5
    assert [line["who"] for line in ask(who="Zoë_3")["lines"]] == ["Zoë_3"]
    assert [line["what"] for line in ask(words="thing-2 192.0.2.7")["lines"]] == ["100% of thing-2"]
    assert ask(words="100_ of")["lines"] == [] and ask(who="zoë_3", words="THING")["lines"]  # no wildcards
    first = ask(action="odd", limit="2")
    second = ask(action="odd", limit="2", before=first["next"])
    assert [line["who"][-1] for line in [*first["lines"], *second["lines"]]] == ["4", "3", "2", "1"]
