"""Stores that files are sent to: opened through fsspec, their addresses shown without secrets."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from benchwright.errors import NotInstalledError, OptionError, UploadError, did_you_mean
from benchwright.system import addresses
from benchwright.system.masking import CONTAINERS, mask_message, mask_url

TIMEOUT = 300.0  # seconds for one request
_DATA = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}  # what the extra `data` brings


def check(url: str) -> None:
    """Raises for an address that nothing can be sent to: an unknown scheme, a missing package. Asks no store."""
    if "::" in url:
        raise OptionError(f"{mask_url(url)}: several addresses in one", remedy="name the one store it should go to")
    scheme = scheme_of(url)
    if scheme in ("http", "https"):
        raise OptionError(
            f"{mask_url(url)}: a web server takes no folders", remedy="use s3://, gs://, file:// or a path"
        )
    if scheme in _DATA and "@" in url.partition("://")[2].partition("/")[0]:
        name = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" if "s3" in scheme else "GOOGLE_APPLICATION_CREDENTIALS"
        raise OptionError(f"{mask_url(url)}: takes no login in its address", remedy=f"leave it out, and set {name}")
    try:
        from fsspec.registry import get_filesystem_class, known_implementations, registry
    except ImportError:
        raise NotInstalledError("fsspec, which uploads need,", "'benchwright[data]'") from None
    if scheme not in known_implementations and scheme not in registry:
        raise OptionError(
            f"{mask_url(url)}: no store of the kind {scheme!r} is known",
            remedy=did_you_mean(scheme, ["file", "memory", "sftp", "smb", "abfs", *_DATA]),
        )
    try:
        get_filesystem_class(scheme)
    except ImportError:
        package = known_implementations[scheme]["class"].partition(".")[0]
        install = "'benchwright[data]'" if scheme in _DATA else package
        raise NotInstalledError(f"{_DATA.get(scheme, package)}, which {scheme}:// needs,", install) from None


def open_address(url: str) -> tuple[Any, str]:
    """The store behind the address, and the path in it."""
    check(url)
    import fsspec

    options = {"requests_timeout": TIMEOUT} if scheme_of(url) in ("gs", "gcs") else {}  # would wait for ever
    try:
        # Not one that fsspec keeps: it would not see that an endpoint, a login or a file there has changed.
        store, path = fsspec.core.url_to_fs(url, skip_instance_cache=True, use_listings_cache=False, **options)
    except Exception as error:  # the border to a store's library, which raises what it likes
        raise UploadError(f"{mask_url(url)}: cannot be opened: {reason(error, url)}") from None
    return store, str(path).rstrip("/")


def scheme_of(url: str) -> str:
    """`s3` of `s3://bucket/folder`; `file` for what has none: a path."""
    return addresses.scheme_of(url) or "file"


def is_near(url: str) -> bool:
    """Whether reading a file back from there costs next to nothing."""
    return scheme_of(url) in ("file", "local", "memory")


def join_address(url: str, name: str) -> str:
    """The address of `name` in the folder at `url`."""
    scheme, separator, path = url.rpartition("://")
    return f"{scheme}{separator}{path.rstrip('/')}/{name}"


def reason(error: BaseException, url: str) -> str:
    """What an error of a store says, on one line and without the secrets of the address."""
    text = mask_message(" ".join(str(error).split()), url)
    login = "" if scheme_of(url) in CONTAINERS else urlsplit(url).netloc.rpartition("@")[0]
    password = login.partition(":")[2]
    for secret in filter(None, (login, password, unquote(password))):
        text = text.replace(secret, "***")
    return text if isinstance(error, OSError) and text else f"{type(error).__name__}: {text}"
