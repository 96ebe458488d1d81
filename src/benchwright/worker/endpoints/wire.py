"""What goes over the wire: addresses, keys and the bytes of requests. Standard library only."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchwright.errors import RequestError
from benchwright.records import Scalar
from benchwright.system import streams
from benchwright.system.masking import hide_secrets, mask_url, remember_secret
from benchwright.system.texts import shorten

PORTS = {"http": 80, "https": 443, "grpc": 80, "grpcs": 443}  # the usual ones
HTTP = ("http", "https")
GRPC = ("grpc", "grpcs")
HEADER_OPTION = "header."  # begins the options that are headers of every request
LONGEST_SHOWN = 200  # characters of an address in a message
_MOST_KEY = 64 * 2**10  # bytes of a file that holds a key
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SECRET = re.compile(r"auth|token|secret|key|cookie|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where requests go."""

    host: str
    port: int
    path: str  # with its query
    scheme: str = "http"

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.scheme in ("https", "grpcs")

    @property
    def authority(self) -> str:
        """Host and port as the header `Host` has them; the port only where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The address without its path: `http://host:8000`."""
        return f"{self.scheme}://{self.authority}"


def parse_address(url: str, schemes: Sequence[str] = HTTP) -> Address:
    """Reads `http://host:port/path`; a `RequestError` says what is wrong with any other text."""
    shown = shorten(mask_url(url), LONGEST_SHOWN)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise RequestError(f"{shown!r} is not an address: {shorten(str(error), 120)}") from None
    if parts.scheme not in schemes or not parts.hostname:
        raise RequestError(f"{shown!r} is not an address", remedy=f"write {schemes[0]}://host:port/path")
    if parts.username is not None or parts.password is not None:
        raise RequestError(
            f"{shown} holds a login, which would be kept with the results",
            remedy="give the key with --key-env NAME or --key-file FILE",
        )
    path = parts.path or "/"
    return Address(
        host=parts.hostname,
        port=PORTS[parts.scheme] if port is None else port,
        path=f"{path}?{parts.query}" if parts.query else path,
        scheme=parts.scheme,
    )


def request_bytes(address: Address, body: bytes, headers: Mapping[str, str], *, method: str = "POST") -> bytes:
    """One whole request of HTTP/1.1."""
    lines = [f"{method} {address.path} HTTP/1.1", f"Host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def read_headers(options: Mapping[str, Scalar], accept: str) -> dict[str, str]:
    """The headers of every request: the usual ones, those that options name, and the key of whoever asks."""
    headers = {"User-Agent": "benchwright", "Accept": accept, "Content-Type": "application/json"}
    for option, value in options.items():
        if option.startswith(HEADER_OPTION):
            name = check_header(option.removeprefix(HEADER_OPTION), str(value))
            headers = {known: text for known, text in headers.items() if known.lower() != name.lower()}
            headers[name] = str(value)
    key = read_key(options)
    if key:
        name = str(options.get("key_header", "Authorization"))
        headers[check_header(name, "")] = f"Bearer {key}" if name.lower() == "authorization" else key
    return headers


def check_header(name: str, value: str) -> str:
    """The name of a header that may be kept with a result; a secret is refused, and what is no header."""
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"--header: {name[:60]!r} is not the name of a header", remedy="write --header 'Name: value'"
        )
    if not (value.isprintable() and value.isascii()):
        raise RequestError(f"--header {name}: its value holds characters that a header cannot hold")
    if value and _SECRET.search(name):
        raise RequestError(
            f"--header {name} looks like a secret, and it would be kept with the results",
            remedy=f"put the value into a variable or a file: --key-env NAME --option key_header={name}",
        )
    return name


def read_key(options: Mapping[str, Scalar]) -> str:
    """The key from the variable or the file that the options name; "" where they name none.

    It is kept nowhere, and from here on hidden in whatever a server says.
    """
    variable, path = str(options.get("key_env", "")), str(options.get("key_file", ""))
    if variable:
        key = os.environ.get(variable, "")
        if not key:
            raise RequestError(f"--key-env: there is no variable {variable!r} where requests are sent from")
    elif path:
        try:
            key = streams.read_text(Path(path).expanduser(), most=_MOST_KEY).strip()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise RequestError(f"--key-file {path}: {why}") from None
        if not key:
            raise RequestError(f"--key-file {path}: the file is empty")
    else:
        return ""
    if not (key.isprintable() and key.isascii()):
        raise RequestError("the key holds characters that a header cannot hold", remedy="is it the right file?")
    remember_secret(key)
    return key


def hide_key(text: str, options: Mapping[str, Scalar]) -> str:
    """A text without the key that the options name: a server that was started with it may print it."""
    if options.get("key_env") or options.get("key_file"):
        with contextlib.suppress(RequestError):  # it is not here: whoever asks the server says so
            read_key(options)
    return hide_secrets(text)
