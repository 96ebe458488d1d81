"""People sign in at an OpenID Connect provider: what is checked, what is kept, and what does not get anybody in."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from benchwright.server import openid
from benchwright.server.access import SESSION
from openid_provider import (
    ROOT,
    SAME,
    SECRET,
    WillingProvider,
    about,
    back,
    begun,
    settings_of,
    sign_in,
    willing_provider,
)

ATTEMPT = "benchwright_sign_in"


@pytest.fixture
def provider() -> Iterator[WillingProvider]:
    with willing_provider() as made:
        yield made


@pytest.fixture
def server(serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider) -> Iterator[Any]:
    """A server whose people sign in at `provider`."""
    with serving(tmp_path, sign_in=settings_of(provider)) as made:
        yield made


# ---- how it goes well ----


def test_a_person_signs_in_and_out(server: Any, provider: WillingProvider) -> None:
    assert about(server)["sign_in"] == "Sign in" and about(server)["scopes"] == ["read"]  # nobody is trusted here now
    url = begun(server, "#/findings/abc?x=1")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == f"{ROOT}/sign-in/callback" and "openid" in asked["scope"].split()
    assert SECRET not in url
    told = back(server, provider.authorize(url))
    assert told.status_code == 303 and told.headers["location"] == f"{ROOT}/#/findings/abc?x=1"
    cookie = next(one for one in told.headers.get_list("set-cookie") if one.startswith(SESSION)).lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "path=/" in cookie and "domain" not in cookie
    who = about(server)
    assert who["who"] == "Ada Lovelace <ada@example.com>" and who["person"] and who["scopes"] == ["read", "triage"]
    held = server.cookies[SESSION]
    assert server.delete("session", headers=SAME).status_code == 204
    assert about(server)["who"] == "" and SESSION not in server.cookies
    assert server.get("about", headers={"Cookie": f"{SESSION}={held}"}).json()["who"] == ""  # ended at the server
    lines = server.get("audit", headers=server.token("root", "admin")).json()["lines"]
    assert [(line["who"], line["action"]) for line in lines[:2]] == [
        ("Ada Lovelace <ada@example.com>", "sign out"),
        ("Ada Lovelace <ada@example.com>", "sign in"),
    ]


def test_a_story_and_the_audit_log_name_the_person(
    server: Any, provider: WillingProvider, filled: Callable[..., Any]
) -> None:
    filled(server.store)
    sign_in(server, provider)
    told = server.patch("findings/f1", json={"state": "acknowledged", "comment": "mine"}, headers=SAME)
    assert told.status_code == 200
    assert server.store.finding("f1").remarks[-1].who == "Ada Lovelace <ada@example.com>"
    lines = server.get("audit", headers=server.token("root", "admin")).json()["lines"]
    assert lines[0]["who"] == "Ada Lovelace <ada@example.com>" and "open -> acknowledged" in lines[0]["what"]


def test_somebody_of_another_group_may_only_look(
    server: Any, provider: WillingProvider, filled: Callable[..., Any]
) -> None:
    filled(server.store)
    sign_in(server, provider, "eve")
    assert about(server)["scopes"] == ["read"]
    told = server.patch("findings/f1", json={"state": "resolved"}, headers=SAME)
    assert told.status_code == 403 and "role 'read'" in told.json()["error"] and "Eve" in told.json()["error"]


def test_without_a_default_role_others_stay_out(
    serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider
) -> None:
    with serving(tmp_path, sign_in=settings_of(provider, default_role="")) as server:
        told = sign_in(server, provider, "eve")
        assert told.status_code == 403 and "none of the groups" in told.text and SESSION not in server.cookies
        assert sign_in(server, provider, "ada").status_code == 303


def test_what_changes_in_the_configuration_holds_for_those_who_are_signed_in(
    serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider
) -> None:
    with serving(tmp_path, sign_in=settings_of(provider)) as server:
        sign_in(server, provider)
        held = {"Cookie": f"{SESSION}={server.cookies[SESSION]}"}
    with serving(tmp_path, sign_in=settings_of(provider, groups={})) as server:
        assert server.get("about", headers=held).json()["scopes"] == ["read"]
    with serving(tmp_path, sign_in=settings_of(provider, issuer="https://other.example")) as server:
        assert server.get("about", headers=held).json()["who"] == ""
    with serving(tmp_path) as server:
        assert server.get("about", headers=held).json()["who"] == ""


def test_groups_may_come_from_userinfo_and_from_within_other_claims(
    serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider
) -> None:
    provider.userinfo = {"sub": "ada", "name": "Ada", "realm_access": {"roles": ["perf-admins"]}}
    with serving(tmp_path, sign_in=settings_of(provider, groups_claim="realm_access.roles")) as server:
        sign_in(server, provider)
        assert about(server)["scopes"][-1] == "admin" and about(server)["who"] == "Ada <ada>"
        provider.userinfo["sub"] = "mallory"
        assert sign_in(server, provider).status_code == 400


def test_behind_a_proxy_the_public_address_counts(
    serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider
) -> None:
    settings = settings_of(provider)
    with serving(tmp_path, sign_in=settings, public_url="https://bench.example/b/", names=("bench.example",)) as server:
        url = begun(server)
        assert parse_qs(urlsplit(url).query)["redirect_uri"] == ["https://bench.example/b/sign-in/callback"]
        attempt = server.cookies.jar
        assert [one.name for one in attempt] == [f"__Host-{ATTEMPT}"] and all(one.secure for one in attempt)
        held = {"Cookie": "; ".join(f"{one.name}={one.value}" for one in attempt)}  # over http the client sends none
        query = provider.authorize(url)
        told = server.get(f"{ROOT}/sign-in/callback", params=query, headers=held, follow_redirects=False)
        assert told.headers["location"] == "https://bench.example/b/"
        cookie = next(
            one for one in told.headers.get_list("set-cookie") if one.startswith("__Host-benchwright_session")
        )
        assert "; secure" in cookie.lower() and "path=/;" in cookie.lower() + ";"


# ---- what does not get anybody in ----


@pytest.mark.parametrize(
    "place",
    ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "#//evil", "#/a\r\nb", "x"],
)
def test_nobody_is_led_elsewhere_afterwards(server: Any, provider: WillingProvider, place: str) -> None:
    where = sign_in(server, provider, place=place).headers["location"]
    assert where == f"{ROOT}/" or where == f"{ROOT}/#//evil"  # a fragment stays within the page


def test_an_answer_needs_the_browser_that_asked(server: Any, provider: WillingProvider) -> None:
    query = provider.authorize(begun(server))
    assert back(server, {**query, "state": "forged"}).status_code == 400
    assert ATTEMPT not in server.cookies  # one try each
    assert back(server, query).status_code == 400  # an attacker's answer in a victim's browser
    server.cookies.set(ATTEMPT, "bm9uc2Vuc2U")
    assert back(server, query).status_code == 400
    assert SESSION not in server.cookies


def test_an_attempt_does_not_wait_for_ever(server: Any, provider: WillingProvider) -> None:
    query = provider.authorize(begun(server))
    packed = server.cookies[ATTEMPT]
    kept = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    kept["until"] = time.time() - 1
    server.cookies.delete(ATTEMPT)
    server.cookies.set(ATTEMPT, base64.urlsafe_b64encode(json.dumps(kept).encode()).decode())
    assert back(server, query).status_code == 400


def test_a_code_is_good_for_one_sign_in(server: Any, provider: WillingProvider) -> None:
    query = provider.authorize(begun(server))
    attempt = server.cookies[ATTEMPT]
    assert back(server, query).status_code == 303
    server.delete("session", headers=SAME)
    told = server.get(
        f"{ROOT}/sign-in/callback", params=query, headers={"Cookie": f"{ATTEMPT}={attempt}"}, follow_redirects=False
    )
    assert told.status_code == 400 and "does not accept the code" in told.text and SESSION not in server.cookies


def test_a_session_is_new_at_each_sign_in(server: Any, provider: WillingProvider) -> None:
    server.cookies.set(SESSION, "bws_planted")
    sign_in(server, provider)
    first = server.cookies.jar and [one.value for one in server.cookies.jar if one.name == SESSION][-1]
    assert first != "bws_planted" and len(first) > 40
    server.cookies.clear()
    server.cookies.set(SESSION, first)
    query = provider.authorize(begun(server))
    assert back(server, query).status_code == 303
    assert server.get("about", headers={"Cookie": f"{SESSION}={first}"}).json()["who"] == ""


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another-client"},
        {"aud": ["benchwright", "another"]},
        {"aud": ["benchwright", "another"], "azp": "another"},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": 1},
        {"exp": None},
        {"exp": float("inf")},
        {"iat": 32503680000},
        {"nbf": 32503680000},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
    ],
    ids=str,
)
def test_claims_that_are_not_for_this_sign_in(server: Any, provider: WillingProvider, claims: dict[str, Any]) -> None:
    provider.claims = claims
    told = sign_in(server, provider)
    assert told.status_code == 400 and SESSION not in server.cookies, told.text
    assert "You are not signed in" in told.text and SECRET not in told.text


def test_clocks_may_differ_a_little(server: Any, provider: WillingProvider) -> None:
    provider.claims = {"iat": int(time.time()) + 30, "exp": int(time.time()) - 30}
    assert sign_in(server, provider).status_code == 303


@pytest.mark.parametrize("kind", ["none", "with the public key as a secret", "of another key", "cut off", "no token"])
def test_signatures_that_are_not_the_providers(server: Any, provider: WillingProvider, kind: str) -> None:
    url = begun(server)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()} | {"person": "ada"}
    genuine = provider.id_token(asked)
    _, payload, _ = genuine.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    if kind == "none":
        head = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
        provider.token = f"{head}.{payload}."
    elif kind == "with the public key as a secret":
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"first"}').decode().rstrip("=")
        mac = hmac.digest(provider.key.as_pem(private=False), f"{head}.{payload}".encode(), "sha256")
        provider.token = f"{head}.{payload}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
    elif kind == "of another key":
        provider.token = jwt.encode({"alg": "RS256", "kid": "first"}, claims, RSAKey.generate_key(2048))
    else:
        provider.token = genuine[:-20] if kind == "cut off" else ""
    told = back(server, provider.authorize(url))
    assert told.status_code == 400 and SESSION not in server.cookies


def test_keys_that_the_provider_exchanged_are_fetched_once(
    server: Any, provider: WillingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sign_in(server, provider).status_code == 303
    monkeypatch.setattr(openid, "_RETRY", 0.0)
    provider.key = RSAKey.generate_key(2048, {"kid": "second", "use": "sig"})
    provider.asked.clear()
    assert sign_in(server, provider).status_code == 303
    assert [path for path, _ in provider.asked] == ["/token", "/keys"]
    monkeypatch.setattr(openid, "_RETRY", 60.0)
    provider.published, provider.key = (
        [provider.key.as_dict(private=False)],
        RSAKey.generate_key(2048, {"kid": "third"}),
    )
    provider.asked.clear()
    assert sign_in(server, provider).status_code == 400  # whoever sends unknown keys does not make us ask each time
    assert [path for path, _ in provider.asked] == ["/token"]


def test_a_key_that_cannot_be_read_does_not_hide_the_others(server: Any, provider: WillingProvider) -> None:
    odd = [{"kty": "RSA"}, {"kty": "new", "kid": "x"}, "text", {"kty": "oct", "k": "c2VjcmV0", "kid": "first"}]
    provider.published = [*odd, provider.key.as_dict(private=False)]  # type: ignore[list-item]
    assert sign_in(server, provider).status_code == 303


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/.well-known/openid-configuration", (500, b"")),
        ("/.well-known/openid-configuration", (200, b"<html>")),
        ("/.well-known/openid-configuration", (200, b"[" * 100_000)),
        ("/.well-known/openid-configuration", (200, b'{"issuer": "https://evil.example"}')),
        ("/.well-known/openid-configuration", (302, b"")),
    ],
)
def test_a_provider_that_is_down_has_a_page_and_tokens_go_on(
    server: Any, provider: WillingProvider, path: str, answer: tuple[int, bytes]
) -> None:
    provider.broken[path] = answer
    told = server.get(f"{ROOT}/sign-in", follow_redirects=False)
    assert told.status_code == 503 and "tokens go on working" in told.text and "<h1>" in told.text
    assert told.headers["content-security-policy"] and told.headers["content-type"].startswith("text/html")
    asked = len(provider.asked)
    assert server.get(f"{ROOT}/sign-in", follow_redirects=False).status_code == 503
    assert len(provider.asked) == asked  # not asked again at once
    assert server.get("about", headers=server.token("ci", "write")).json()["who"] == "ci"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/token", (500, b"")),
        ("/token", (200, b"[]")),
        ("/token", (200, b'{"id_token": "' + b"x" * (2 << 20) + b'"}')),
        ("/token", (401, b'{"error": "invalid_client"}')),
        ("/keys", (200, b'{"keys": []}')),
        ("/keys", (404, b"")),
    ],
)
def test_a_provider_that_fails_in_the_middle(
    server: Any, provider: WillingProvider, path: str, answer: tuple[int, bytes]
) -> None:
    query = provider.authorize(begun(server))
    provider.broken[path] = answer
    told = back(server, query)
    assert told.status_code == 503 and SESSION not in server.cookies


def test_endpoints_are_encrypted(serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider) -> None:
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        for url in ("http://login.example/x", "ftp://login.example", 7, None):
            provider.metadata = {name: url}
            with serving(tmp_path, sign_in=settings_of(provider)) as server:
                told = server.get(f"{ROOT}/sign-in", follow_redirects=False)
                if name != "authorization_endpoint":
                    told = back(server, provider.authorize(told.headers["location"]))
                assert told.status_code == 503, (name, url)


def test_who_refuses_says_so_without_acting(server: Any) -> None:
    url = begun(server)
    state = parse_qs(urlsplit(url).query)["state"][0]
    told = back(server, {"state": state, "error": "access_denied", "error_description": "<script>alert(1)</script>"})
    assert told.status_code == 403 and "access_denied" in told.text and "<script>" not in told.text


def test_the_answer_of_another_provider_is_refused(server: Any, provider: WillingProvider) -> None:
    query = provider.authorize(begun(server))
    assert back(server, {**query, "iss": "https://evil.example"}).status_code == 400
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    query = provider.authorize(begun(server))
    assert back(server, {**query, "iss": provider.issuer}).status_code == 303


def test_who_tries_too_often_has_to_wait(server: Any, provider: WillingProvider) -> None:
    told = [server.get(f"{ROOT}/sign-in", follow_redirects=False).status_code for _ in range(32)]
    assert told[:30] == [302] * 30 and told[-1] == 429
    asked = len(provider.asked)
    assert back(server, {"code": "x", "state": "y"}).status_code == 429 and len(provider.asked) == asked


# ---- a session in a browser ----


def test_changes_come_from_our_own_pages(server: Any, provider: WillingProvider) -> None:
    sign_in(server, provider)
    change = {"url": "store/unmute", "content": '{"what": "nothing"}'}
    assert server.post(**change, headers=SAME).status_code == 200
    assert server.post(**change, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    for headers in (
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": ROOT, "Sec-Fetch-Site": "cross-site"},
    ):
        assert server.post(**change, headers=headers).status_code == 403, headers
    token = server.token("ci", "triage")
    assert server.post(**change, headers=token).status_code == 200  # a program's token is no cookie


def test_sessions_end_by_themselves(serving: Callable[..., Any], tmp_path: Path, provider: WillingProvider) -> None:
    with serving(tmp_path, sign_in=settings_of(provider, idle=0.0)) as server:
        assert sign_in(server, provider).status_code == 303
        assert about(server)["who"] == ""
    with serving(tmp_path, sign_in=settings_of(provider, longest=0.0)) as server:
        assert sign_in(server, provider).status_code == 303
        assert about(server)["who"] == ""


def test_what_is_kept_is_not_what_the_browser_holds(server: Any, provider: WillingProvider, tmp_path: Path) -> None:
    sign_in(server, provider)
    held = server.cookies[SESSION].encode()
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("results.db*"))
    assert held not in kept and SECRET.encode() not in kept and b"ada@example.com" in kept
