"""Whether something is behind an address, without fetching it."""

from __future__ import annotations

from benchwright.errors import FetchError, UserError
from benchwright.fetch.downloads import BUCKETS
from benchwright.system.addresses import local_path, scheme_of
from benchwright.system.http import PassingError, StaleError, open_url
from benchwright.system.masking import mask_url

TIMEOUT = 10.0  # seconds of silence


def why_unreachable(url: str) -> str:
    """Why what is behind `url` cannot be had, or "" when it can. At most one byte of it is asked for."""
    scheme = scheme_of(url)
    try:
        if scheme in ("http", "https"):
            return _ask_web(url)
        if scheme in BUCKETS:
            from benchwright.fetch import buckets

            buckets.check_exists(url, timeout=TIMEOUT)
            return ""
        if scheme == "file":
            return "" if local_path(url).exists() else f"{local_path(url)} is not there"
    except UserError as error:
        return error.message
    raise FetchError(f"unknown scheme {scheme!r} in {mask_url(url)}")


def _ask_web(url: str) -> str:
    try:
        with open_url(url, headers={"Range": "bytes=0-0"}, timeout=TIMEOUT):
            return ""
    except StaleError:  # an empty file has no first byte
        return ""
    except PassingError as trouble:
        return f"{mask_url(url)}: {trouble}"
