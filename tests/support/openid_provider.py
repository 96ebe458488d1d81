"""An OpenID Connect provider that does whatever a test wants of it, on loopback: real ones forge nothing.

`tests/browser/test_browser_people.py` signs in at a real one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from benchwright.server.settings import SignInSettings

CLIENT, SECRET = "benchwright", "s3cret/with+signs"
ROOT = "http://127.0.0.1:8765"
SAME = {"Origin": ROOT}
GROUPS = {"perf-team": "triage", "perf-admins": "admin"}
PEOPLE = {
    "ada": {"name": "Ada Lovelace", "email": "ada@example.com", "groups": ["perf-team", "everyone"]},
    "eve": {"name": "Eve", "email": "eve@example.com", "groups": ["sales"]},
}


@cache
def _first_key() -> RSAKey:
    """One key for all tests of a process: to make it takes longer than most of them."""
    return RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})


@dataclass
class WillingProvider:
    """Answers a client as the protocol says, but for what a test changes."""

    issuer: str = ""
    key: RSAKey = field(default_factory=_first_key)
    published: list[dict[str, Any]] | None = None  # keys; its own when None
    metadata: dict[str, Any] = field(default_factory=dict)  # in place of what it tells of itself
    claims: dict[str, Any] = field(default_factory=dict)  # in place of those of the ID token; None leaves one out
    userinfo: dict[str, Any] | None = None
    token: str | None = None  # in place of the ID token
    broken: dict[str, tuple[int, bytes]] = field(default_factory=dict)  # path -> status and body
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # path and form of each request
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def authorize(self, url: str, person: str = "ada") -> dict[str, str]:
        """Does what a browser and a person would do at `url`; returns the query with which the browser is sent back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        code = base64.urlsafe_b64encode(f"{person} {len(self._codes)}".encode()).decode()
        self._codes[code] = {**asked, "person": person}
        return {"code": code, "state": asked["state"]}

    def id_token(self, asked: dict[str, str], **changes: Any) -> str:
        """Returns a signed ID token for what was asked."""
        now = int(time.time())
        person = PEOPLE[asked["person"]]
        claims = {"iss": self.issuer, "aud": asked["client_id"], "sub": asked["person"], "iat": now, "exp": now + 300}
        claims |= {"nonce": asked["nonce"], **({} if self.userinfo is not None else person), **self.claims, **changes}
        wanted = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, wanted, self.key)

    def answer(self, path: str, form: dict[str, str], headers: Any) -> tuple[int, Any]:
        """Returns status and JSON for a request."""
        if path == "/.well-known/openid-configuration":
            return 200, self._describe()
        if path == "/keys":
            return 200, {"keys": [self.key.as_dict(private=False)] if self.published is None else self.published}
        if path == "/userinfo":
            return 200, self.userinfo
        if path == "/token":
            return self._exchange(form, headers.get("Authorization", ""))
        return 404, {}

    def _describe(self) -> dict[str, Any]:
        told = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        if self.userinfo is not None:
            told["userinfo_endpoint"] = f"{self.issuer}/userinfo"
        return {name: value for name, value in {**told, **self.metadata}.items() if value is not None}

    def _exchange(self, form: dict[str, str], login: str) -> tuple[int, Any]:
        expected = base64.b64encode(f"{CLIENT}:{quote_plus(SECRET)}".encode()).decode()
        if login != f"Basic {expected}" and form.get("client_secret") != SECRET:
            return 401, {"error": "invalid_client"}
        asked = self._codes.pop(form["code"], None)  # once each
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        token = self.id_token(asked) if self.token is None else self.token
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": token}


@contextmanager
def willing_provider() -> Iterator[WillingProvider]:
    """A provider that listens on a port of its own."""
    provider = WillingProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._reply({name: values[0] for name, values in parse_qs(body).items()})

        def _reply(self, form: dict[str, str]) -> None:
            path = urlsplit(self.path).path
            provider.asked.append((path, form))
            if path in provider.broken:
                status, body = provider.broken[path]
            else:
                status, told = provider.answer(path, form, self.headers)
                body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# ---- a browser at a server whose people sign in there ----


def settings_of(provider: WillingProvider, **changes: Any) -> SignInSettings:
    given = SignInSettings(issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET, groups=GROUPS)
    return replace(given, **changes)


def begun(server: Any, place: str = "", root: str = ROOT) -> str:
    """Where the browser is sent."""
    told = server.get(f"{root}/sign-in", params={"next": place}, follow_redirects=False)
    assert told.status_code == 302, told.text
    return str(told.headers["location"])


def back(server: Any, query: dict[str, str], root: str = ROOT) -> Any:
    return server.get(f"{root}/sign-in/callback", params=query, follow_redirects=False)


def sign_in(server: Any, provider: WillingProvider, person: str = "ada", place: str = "") -> Any:
    return back(server, provider.authorize(begun(server, place), person))


def about(server: Any) -> Any:
    return server.get("about").json()
