"""Who a person is and what they may do, and the configuration that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.config import ServerConfig, SignIn
from benchwright.errors import OptionError
from benchwright.server.people import person_of, role_of
from benchwright.server.settings import SignInSettings, public_url_of, sign_in_of
from openid_provider import ROOT, SECRET

GROUPS = {"perf-team": "triage", "perf-admins": "admin"}


@pytest.mark.parametrize(
    ("claims", "who"),
    [
        ({"name": "Ada", "email": "ada@example.com"}, "Ada <ada@example.com>"),
        ({"name": "Ada", "email": "boss@example.com", "email_verified": False}, "Ada <7>"),
        ({"preferred_username": "ada"}, "ada <7>"),
        ({"email": "ada@example.com"}, "ada@example.com"),
        ({"name": "benchwright"}, "benchwright <7>"),
        ({"name": "Boss <boss@example.com>", "email": "eve@example.com"}, "Boss boss@example.com <eve@example.com>"),
        ({"name": "a\u202eb\n\x1b[31m", "email": "e@x"}, "a b [31m <e@x>"),
        ({"name": ["x"], "email": 3}, "7"),
        ({"name": "x" * 5000}, f"{'x' * 100} <7>"),
    ],
)
def test_a_name_cannot_be_taken_for_anothers(claims: dict[str, Any], who: str) -> None:
    settings = SignInSettings(issuer="https://login.example", client_id="x")
    assert person_of({"sub": "7", **claims}, settings).who == who


def test_the_largest_role_counts() -> None:
    settings = SignInSettings(issuer="https://login.example", client_id="x", groups=GROUPS, default_role="")
    assert role_of(["perf-team", "perf-admins"], settings) == "admin"
    assert role_of(["perf-team"], settings) == "triage" and role_of(["sales"], settings) == ""
    many = person_of({"sub": "7", "groups": [*map(str, range(5000)), "perf-team", 7, None]}, settings)
    assert role_of(many.groups, settings) == "triage" and len(many.groups) == 200


# ---- the configuration ----


def test_the_configuration_names_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_SECRET", SECRET)
    given = SignIn(issuer="https://login.example", client_id="x", client_secret="${THE_SECRET}", groups={"a": "write"})
    made = sign_in_of(ServerConfig(sign_in=given), host="127.0.0.1")
    assert made is not None and made.client_secret == SECRET and SECRET not in repr(made)
    assert (made.idle, made.longest) == (12 * 3600, 7 * 86400)
    assert sign_in_of(ServerConfig(), host="0.0.0.0") is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"issuer": "http://login.example"}, "issuer"),
        ({"issuer": "login"}, "issuer"),
        ({"client_id": ""}, "client_id"),
        ({"client_secret": "written out"}, "client_secret"),
        ({"client_secret": "${NOT_SET}"}, "NOT_SET"),
        ({"groups": {"a": "root"}}, "groups.a"),
        ({"default_role": "root"}, "default_role"),
        ({"default_role": ""}, "nobody could sign in"),
        ({"idle": "1d", "longest": "1h"}, "idle"),
        ({"idle": "x"}, "idle"),
        ({"longest": "10y"}, "longest"),
    ],
)
def test_a_configuration_that_cannot_be_right_is_refused(changes: dict[str, Any], named: str) -> None:
    given = replace(SignIn(issuer="https://login.example", client_id="x"), **changes)
    with pytest.raises(OptionError, match=named) as caught:
        sign_in_of(ServerConfig(sign_in=given), host="127.0.0.1")
    assert caught.value.remedy


def test_beyond_this_machine_the_public_address_must_be_said() -> None:
    given = ServerConfig(sign_in=SignIn(issuer="https://login.example", client_id="x"))
    with pytest.raises(OptionError, match="sends people back"):
        sign_in_of(given, host="0.0.0.0")
    assert sign_in_of(replace(given, public_url="https://b.example/"), host="0.0.0.0") is not None
    assert public_url_of("https://B.example/x") == "https://b.example/x/" and public_url_of("") == ""
    for wrong in ("b.example", "ftp://b.example", "https://b.example/?x", "https://u@b.example/"):
        with pytest.raises(OptionError, match="public_url"):
            public_url_of(wrong)


def test_a_server_without_a_provider_says_so(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.get(f"{ROOT}/sign-in").status_code == 404
        assert server.get("about").json()["sign_in"] == ""


def test_where_reading_needs_a_token_only_named_groups_come_in() -> None:
    given = SignIn(issuer="https://login.example", client_id="x", groups={"a": "write"})

    def role(given: SignIn, *, require_token: bool) -> str:
        made = sign_in_of(ServerConfig(sign_in=given), host="127.0.0.1", require_token=require_token)
        assert made is not None
        return role_of(["strangers"], made)

    assert role(given, require_token=False) == "read" and role(given, require_token=True) == ""
    assert role(replace(given, default_role="read"), require_token=True) == "read"
    assert role(replace(given, default_role=""), require_token=False) == ""
    with pytest.raises(OptionError, match="nobody could sign in") as caught:
        role(replace(given, groups={}), require_token=True)
    assert "default_role" in caught.value.remedy
