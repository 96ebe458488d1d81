"""Which server a URL means, and the token that opens it."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from benchwright.errors import DecodeError, StoreError
from benchwright.schema.parsing import toml_file

TOKEN = "BENCHWRIGHT_TOKEN"  # noqa: S105 - the variable's name
FILE = "tokens.toml"
_TOKEN = re.compile(r"[\x21-\x7e]+")  # what a header can carry


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """The address of a server, and the token that is sent to it."""

    url: str  # without login, ends with /
    token: str = field(default="", repr=False)
    ca: str = ""  # a file of certificates to trust instead of the system's

    @property
    def is_near(self) -> bool:
        """Whether the server is on this machine, where no proxy leads."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def parse(url: str) -> ServerAddress:
    """The server of an `http://` or `https://` URL; what is before @ is a token.

    Without one there, BENCHWRIGHT_TOKEN counts, then the file of tokens.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise StoreError("the address of the store cannot be read", remedy=f"{error}") from None
    host = (parts.hostname or "").lower()
    if not host or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise StoreError("the address of the store names no server", remedy="write https://bench.example/")
    host = f"[{host}]" if ":" in host else host
    place = f"{parts.scheme.lower()}://{host}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}/"
    if parts.query or parts.fragment:
        raise StoreError(f"{place}: a store's address has no ? and no #", remedy=f"write {place}")
    token = _login(parts) or os.environ.get(TOKEN, "").strip() or _from_file(place)
    if token and not _TOKEN.fullmatch(token):
        raise StoreError(f"{place}: the token holds a character that no token has", remedy="copy it once more")
    return ServerAddress(url=place, token=token)


def token_file() -> Path:
    """Where tokens are kept, by server: `tokens.toml` among the user's settings."""
    stated = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(stated) if Path(stated).is_absolute() else Path("~/.config").expanduser()
    return folder / "benchwright" / FILE


def _login(parts: SplitResult) -> str:
    """Returns the token before @ in an address, alone or as the password of any user name."""
    return unquote(parts.password or parts.username or "")


def _from_file(place: str) -> str:
    """The token of the longest address in the file that this one begins with."""
    try:
        path = token_file()
        if not path.is_file():
            return ""
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise StoreError(f"{path}: others can read the tokens in it", remedy=f"chmod 600 {path}")
        known = toml_file(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        raise StoreError(f"the file of tokens cannot be read: {error}", remedy=f"or set {TOKEN}") from None
    except DecodeError:  # its message may quote a token
        raise StoreError(f"{path}: not TOML", remedy='a line is "https://bench.example/" = "TOKEN"') from None
    fitting = {server.rstrip("/") + "/": token for server, token in known.items()}
    best = max((server for server in fitting if place.startswith(server)), key=len, default="")
    token = fitting.get(best, "")
    if not isinstance(token, str):
        raise StoreError(f"{path}: {best} has no token", remedy='a line is "https://bench.example/" = "TOKEN"')
    return token
