"""An OpenID Connect provider as a client sees it: where a browser is sent, and whether what comes back is genuine.

The flow is the authorization code flow with PKCE, state and nonce. Signatures, keys and claims are checked by joserfc.
Requests go through `system.http`, which bounds them in bytes and in time and is never led elsewhere.
"""

from __future__ import annotations

import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from benchwright.errors import UploadError
from benchwright.server.people import SignInAttempt, SignInError
from benchwright.server.settings import SignInSettings
from benchwright.system import http
from benchwright.system.addresses import http_host, is_loopback

# Signatures that only the provider can make. None with a shared secret, and never "none".
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
SKEW = 60  # seconds by which the clocks of both sides may differ
DISCOVERY = "/.well-known/openid-configuration"
_FRESH = 3600.0  # seconds for which what the provider tells of itself is believed
_RETRY = 5.0  # seconds after a failure, or after new keys, in which the provider is not asked again
_TIMEOUT = 10.0
_MOST = 1 << 20  # bytes of an answer
_LONGEST_TOKEN = 64 << 10
_AT_ONCE = 4  # sign-ins that may wait for the provider: others need the server's threads too
_KEY_KINDS = frozenset({"RSA", "EC", "OKP"})


class OpenIdProvider:
    """The provider that the settings name. Used by several threads; what it tells of itself is remembered."""

    def __init__(self, settings: SignInSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._described: dict[str, Any] = {}
        self._described_at = float("-inf")
        self._failed_at = float("-inf")
        self._keys: KeySet | None = None
        self._keys_at = float("-inf")

    def authorization_url(self, attempt: SignInAttempt, redirect_uri: str) -> str:
        """Returns where to send the browser."""
        with self._one_of_few():
            endpoint = self._endpoint("authorization_endpoint")
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"

    def redeem(self, code: str, attempt: SignInAttempt, redirect_uri: str, *, issuer: str = "") -> dict[str, Any]:
        """Returns the claims about the person whose code it is, once everything about them is checked.

        `issuer` is who answered, as the answer itself says (RFC 9207): the code of one provider is not sent to another.
        """
        with self._one_of_few():
            announces = self._describe().get("authorization_response_iss_parameter_supported") is True
            if (issuer or announces) and issuer != self._settings.issuer:
                raise _refuse("the answer comes from another provider than the one that was asked")
            tokens = self._fetch_tokens(code, attempt, redirect_uri)
            claims = self._check_id_token(tokens.get("id_token"), attempt.nonce)
            return self._complete(claims, tokens.get("access_token"))

    # ---- what the provider tells of itself ----

    def _describe(self) -> dict[str, Any]:
        with self._lock:
            now = time.monotonic()
            if self._described and now - self._described_at < _FRESH:
                return self._described
            if now - self._failed_at < _RETRY:
                raise _unavailable("it did not answer a moment ago")
            try:
                found = self._get_object(self._settings.issuer.rstrip("/") + DISCOVERY)
                if found.get("issuer") != self._settings.issuer:
                    said = str(found.get("issuer"))[:200]
                    raise _unavailable(f"it calls itself {said!r}, not {self._settings.issuer!r}")
            except SignInError:
                self._failed_at = now
                raise
            self._described, self._described_at = found, now
            return found

    def _endpoint(self, name: str) -> str:
        url = self._describe().get(name)
        if not isinstance(url, str) or not http_host(url):
            raise _unavailable(f"it tells no {name}")
        if urlsplit(url).scheme != "https" and not is_loopback(http_host(url)):
            raise _unavailable(f"its {name} is not encrypted")
        return url

    def _fetch_keys(self, *, again: bool = False) -> KeySet:
        """Returns the provider's keys; `again` asks for them anew, as it may have exchanged them."""
        url = self._endpoint("jwks_uri")
        with self._lock:
            now = time.monotonic()
            age = now - self._keys_at
            if self._keys is not None and (age < _RETRY if again else age < _FRESH):
                return self._keys
            self._keys, self._keys_at = _key_set(self._get_object(url)), now
            return self._keys

    # ---- tokens ----

    def _fetch_tokens(self, code: str, attempt: SignInAttempt, redirect_uri: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        client, secret = self._settings.client_id, self._settings.client_secret
        ways = self._describe().get("token_endpoint_auth_methods_supported")
        if secret and (not isinstance(ways, list) or "client_secret_basic" in ways):
            login = f"{quote_plus(client)}:{quote_plus(secret)}"
            headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        else:
            form |= {"client_id": client, **({"client_secret": secret} if secret else {})}
        answer = self._call("POST", self._endpoint("token_endpoint"), headers, urlencode(form).encode())
        told = answer.json()
        if answer.ok and isinstance(told, dict):
            return told
        said = told.get("error") if isinstance(told, dict) else None
        if said == "invalid_grant":  # used before, too old, or of another attempt
            raise _refuse("the provider does not accept the code that came back")
        # What else it says is about this server, not about the person: wrong secret, wrong client.
        raise _unavailable(f"it refused this server ({said if isinstance(said, str) else answer.said})"[:200])

    def _check_id_token(self, token: object, nonce: str) -> dict[str, Any]:
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
            raise _refuse("the provider sent no ID token")
        try:
            claims = self._decode(token)
            _registry(self._settings, nonce).validate(claims)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise _refuse(f"the provider's ID token is not genuine, or not for this sign-in ({_name(error)})") from None
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != self._settings.client_id:
            raise _refuse("the provider's ID token was made for another client")
        if "azp" in claims and claims["azp"] != self._settings.client_id:
            raise _refuse("the provider's ID token was made for another client")
        return claims

    def _decode(self, token: str) -> dict[str, Any]:
        told = self._describe().get("id_token_signing_alg_values_supported")
        allowed = [name for name in ALGORITHMS if name in told] if isinstance(told, list) else ["RS256"]
        try:
            return jwt.decode(token, self._fetch_keys(), algorithms=allowed).claims
        except (InvalidKeyIdError, BadSignatureError):  # the provider may have exchanged its keys
            return jwt.decode(token, self._fetch_keys(again=True), algorithms=allowed).claims

    def _complete(self, claims: dict[str, Any], access_token: object) -> dict[str, Any]:
        """Adds what the provider tells only when it is asked: groups and names are often left out of an ID token."""
        asked = {self._settings.groups_claim.partition(".")[0], "name", "email"}
        if asked <= claims.keys() or "userinfo_endpoint" not in self._describe() or not isinstance(access_token, str):
            return claims
        headers = {"Authorization": f"Bearer {access_token}"}
        more = self._get_object(self._endpoint("userinfo_endpoint"), headers)
        if more.get("sub") != claims["sub"]:
            raise _refuse("the provider tells of somebody else than its ID token")
        return {**more, **claims}

    # ---- requests ----

    def _get_object(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        answer = self._call("GET", url, headers or {}, None)
        told = answer.json()
        if not answer.ok or not isinstance(told, dict):
            raise _unavailable(f"it answered {answer.said}" if not answer.ok else "its answer is not JSON")
        return told

    def _call(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> http.HttpAnswer:
        try:
            return http.call(method, url, headers=headers, body=body, timeout=_TIMEOUT, most=_MOST)
        except (http.PassingError, UploadError) as error:
            raise _unavailable(str(error)) from None

    @contextmanager
    def _one_of_few(self) -> Iterator[None]:
        if not self._room.acquire(blocking=False):
            raise _unavailable("too many people are signing in at this moment")
        try:
            yield
        finally:
            self._room.release()


def _registry(settings: SignInSettings, nonce: str) -> jwt.JWTClaimsRegistry:
    return jwt.JWTClaimsRegistry(
        leeway=SKEW,
        iss={"essential": True, "value": settings.issuer},
        aud={"essential": True, "value": settings.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
    )


def _key_set(told: dict[str, Any]) -> KeySet:
    """Returns the keys for signatures; one that cannot be read does not make the others useless."""
    listed = told.get("keys")
    keys = []
    for one in listed[:100] if isinstance(listed, list) else []:
        if isinstance(one, dict) and one.get("kty") in _KEY_KINDS and one.get("use", "sig") == "sig":
            try:
                keys += KeySet.import_key_set({"keys": [one]}).keys
            except (JoseError, ValueError, TypeError, KeyError):
                continue
    if not keys:
        raise _unavailable("it tells no key for signatures")
    return KeySet(keys)


def _name(error: Exception) -> str:
    return getattr(error, "error", "") or type(error).__name__


def _refuse(what: str) -> SignInError:
    return SignInError(what, "sign in again")


def _unavailable(why: str) -> SignInError:
    return SignInError(
        f"the sign-in provider cannot be used now: {why}",
        "try again later; tokens go on working. For the administrator: see [server.sign_in]",
        status=503,
    )
