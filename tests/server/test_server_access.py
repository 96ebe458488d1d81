"""Who may do what, and from where."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchwright.server.access import COOKIE
from benchwright.server.settings import ServerSettings
from benchwright.server.traffic import Buckets, neighbourhood
from benchwright.system.addresses import is_loopback

CHANGE = ("POST", "store/unmute", '{"what": "nothing"}')


def status(server: Any, method: str = "POST", path: str = CHANGE[1], body: str = CHANGE[2], **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return int(server.request(method, path, content=body if method != "GET" else None, headers=named).status_code)


def test_on_ones_own_machine_everyone_may_do_everything(server: Any) -> None:
    about = server.get("about").json()
    assert about["scopes"] == ["read", "triage", "write", "admin"] and about["who"] == "" and not about["static"]
    assert status(server) == 200


def test_what_came_through_a_proxy_is_not_from_this_machine(server: Any) -> None:
    assert server.get("about", headers={"X-Forwarded-For": "192.0.2.1"}).json()["scopes"] == ["read"]
    assert status(server, x_forwarded_for="192.0.2.1") == 401


def test_elsewhere_everyone_may_read_and_changes_need_a_token(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(tmp_path, host="0.0.0.0") as server:
        assert server.get("about").json()["scopes"] == ["read"] and server.get("about").json()["store"] == ""
        assert server.get("about", headers=server.token("Eve", "read")).json()["store"]
        assert server.post("store/mutes", content="{}").status_code == 200
        told = server.request(*CHANGE[:2], content=CHANGE[2])
        assert told.status_code == 401 and "triage" in told.json()["error"] and told.json()["remedy"]
        assert told.headers["www-authenticate"] == "Bearer"
        assert status(server, **server.token("Ada", "triage")) == 200
        assert status(server, host="bench.example", **server.token("Bob", "triage")) == 200


@pytest.mark.parametrize(("scope", "allowed"), [("read", 1), ("triage", 2), ("write", 3), ("admin", 4)])
def test_each_scope_holds_those_before_it(guarded: Any, scope: str, allowed: int) -> None:
    token = guarded.token(f"{scope} only", scope)
    asked = [
        status(guarded, path="store/mutes", body="{}", **token),
        status(guarded, **token),
        status(guarded, "PUT", "runs/a", "{}", **token),
        status(guarded, "GET", "audit", **token),
    ]
    assert [code != 403 for code in asked] == [True] * allowed + [False] * (4 - allowed)
    assert guarded.get("about", headers=token).json()["who"] == f"{scope} only"


def test_without_a_token_a_guarded_server_says_only_that_it_wants_one(guarded: Any) -> None:
    assert guarded.get("about").json()["store"] == "" and guarded.get("about").json()["scopes"] == []
    assert status(guarded, path="store/mutes", body="{}") == 401
    assert guarded.get("http://127.0.0.1:8765/").status_code == 200  # the page can ask for it


def test_wrong_revoked_and_expired_tokens_are_refused(guarded: Any) -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="seconds")
    expired = guarded.token("late", "admin", past)
    revoked = guarded.token("gone", "admin")
    assert status(guarded, **revoked) == 200
    guarded.store.token_drop("gone")
    for token in (expired, revoked, {"Authorization": "Bearer bw_wrong"}, {"Authorization": "Bearer " + "x" * 5000}):
        assert status(guarded, **token) == 401
    assert status(guarded, Authorization="Basic YTpi") == 401
    refused = [line["what"] for line in guarded.get("audit", headers=guarded.token("root", "admin")).json()["lines"]]
    assert "401 POST /api/v1/store/unmute" in refused and not any("bw_" in what for what in refused)


def test_guessing_is_stopped_and_does_not_shut_out_others(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(tmp_path, require_token=True, limits={"failures": 3}) as server:
        right = server.token("Ada", "triage")
        codes = [status(server, Authorization=f"Bearer bw_{i}") for i in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        told = server.post("session", json={"token": "bw_6"})
        assert told.status_code == 429 and int(told.headers["retry-after"]) > 0
        assert status(server, **right) == 200


def test_who_asks_too_often_has_to_wait(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(tmp_path, limits={"rate": 0.01, "burst": 3}) as server:
        codes = [server.get("about").status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        assert server.get("about", headers=server.token("Ada", "read")).status_code == 200


def test_a_browser_keeps_its_token_where_scripts_do_not_see_it(guarded: Any) -> None:
    token = guarded.token("browser", "triage")["Authorization"].removeprefix("Bearer ")
    assert guarded.post("session", json={"token": "bw_wrong"}).status_code == 401
    told = guarded.post("session", json={"token": token})
    cookie = told.headers["set-cookie"].lower()
    assert told.json()["who"] == "browser"
    assert "httponly" in cookie and "samesite=strict" in cookie and told.headers["cache-control"] == "no-store"
    try:
        assert status(guarded) == 200
        assert status(guarded, sec_fetch_site="cross-site") == 403
    finally:
        guarded.delete("session")
    assert COOKIE not in guarded.cookies and status(guarded) == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "a b", "x:y"])
def test_another_name_for_this_machine_is_refused(server: Any, host: str) -> None:
    assert server.get("about", headers={"Host": host}).status_code == 403
    assert server.get("http://127.0.0.1:8765/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.8.8.8:80", "[::1]:8765"])
def test_the_names_of_this_machine_are_known(server: Any, host: str) -> None:
    assert server.get("about", headers={"Host": host}).status_code == 200


def test_a_name_can_be_given(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(tmp_path, names=("bench.example",)) as server:
        assert server.get("about", headers={"Host": "bench.example"}).status_code == 200
        here = {"host": "bench.example", "origin": "https://bench.example"}
        assert status(server, **here, **server.token("Ada", "triage")) == 200
        assert server.get("about", headers={"Host": "other.example"}).status_code == 403
        # Whoever comes through the proxy seems to come from this machine, whatever the proxy tells of it.
        assert status(server, **here) == 401 and server.get("about").json()["scopes"] == ["read"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"origin": "http://127.0.0.1:8765", "sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:8765", "sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
    ],
)
def test_a_page_of_another_site_changes_nothing(server: Any, headers: dict[str, str], expected: int) -> None:
    assert status(server, **headers) == expected


def test_no_other_site_may_read(server: Any) -> None:
    told = server.get("about", headers={"Origin": "http://evil.example"})
    assert not any(name.startswith("access-control") for name in told.headers)
    assert server.options("about", headers={"Origin": "http://evil.example"}).status_code == 405


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    buckets = Buckets(rate=2.0, burst=2, most=2, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now[0] = 0.5
    assert (buckets.take("a"), buckets.take("a")) == (0.0, 0.5)
    assert (buckets.take("b"), buckets.take("c"), buckets.take("a")) == (0.0, 0.0, 0.0)  # the oldest was forgotten


def test_addresses_that_belong_together_count_as_one() -> None:
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::2") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("192.0.2.1") != neighbourhood("192.0.2.2")
    assert neighbourhood("::ffff:192.0.2.1") == neighbourhood("192.0.2.1") != neighbourhood("::ffff:192.0.2.2")
    assert is_loopback("localhost") and is_loopback("::1") and not is_loopback("0.0.0.0")
    assert not ServerSettings(store_url="", artifacts=Path(), host="0.0.0.0").trusts_everyone
