"""Addresses: which scheme they have, and what to call what is behind them."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from benchwright.errors import FetchError
from benchwright.system.masking import HIDDEN, mask_url

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def scheme_of(url: str) -> str:
    """The scheme in small letters, or "" for something that is no address."""
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def http_host(url: str) -> str:
    """The host of an `http` or `https` address, or "" for anything else."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # a port that is none is found when it is asked for
    except ValueError:
        return ""
    return host if parts.scheme in ("http", "https") else ""


def is_loopback(host: str) -> bool:
    """Whether a name or an address means this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def without_login(url: str) -> str:
    """What names the thing behind an address: no login, and no query or fragment, which a path does not have."""
    plain = mask_url(url).replace(f"://{HIDDEN}@", "://", 1)
    return plain if scheme_of(plain) == "file" else re.split(r"[?#]", plain, maxsplit=1)[0]


def name_of(url: str) -> str:
    """What to call the file or folder behind an address: its last part, of `gs://bucket/folder/*` that is `folder`."""
    path = url.partition("://")[2] if scheme_of(url) not in ("http", "https") else urlsplit(url).path
    parts = [part for part in path.removesuffix("*").split("/") if part]
    name = unquote(parts[-1]) if parts else ""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise FetchError(f"{mask_url(url)} has no name of its own", remedy="say what to call it here")
    return name


def local_path(url: str) -> Path:
    """The path that a `file://` address means."""
    rest = url.partition("://")[2].removeprefix("localhost")
    if not rest.startswith("/"):
        raise FetchError(
            f"{mask_url(url)} names another machine or a relative path", remedy="write file:///the/whole/path"
        )
    return Path(unquote(rest))
