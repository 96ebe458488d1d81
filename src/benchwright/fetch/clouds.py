"""The libraries behind fsspec that speak to clouds, kept from acting on their own account.

Each retries, logs and looks for a login in its own way, which multiplies with ours: a wrong address would take minutes
and pages of tracebacks. Here each tries once and says nothing, and who asks decides what follows.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import MethodType
from typing import Any

from benchwright.system.addresses import scheme_of

CONNECT = 5.0  # seconds at most for a connection; reading may take as long as is asked for

_HIERARCHY = "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"  # asks Google about every bucket before it is read
_SCOPE = "https://www.googleapis.com/auth/devstorage.full_control"
_LOGGERS = ("gcsfs", "google", "s3fs", "aiobotocore", "botocore", "aiohttp", "asyncio")
_REPEATING = ("_request", "_get_file_request", "_get_file_concurrent")  # what gcsfs tries six times over
_NO_ACCESS = {"PermissionError", "NoCredentialsError", "DefaultCredentialsError", "RefreshError", "NonRetryableError"}


def connect(url: str, *, timeout: float) -> tuple[Any, str]:
    """The file system of fsspec behind the address, and the path in it.

    `timeout` is the longest silence in seconds. Raises whatever the libraries raise, `ImportError` when one is missing.
    """
    import fsspec

    scheme = {"s3a": "s3", "gcs": "gs"}.get(scheme_of(url), scheme_of(url))
    options = _google(timeout) if scheme == "gs" else _amazon(timeout) if scheme == "s3" else {}
    # Never from the library's cache: it does not see that an endpoint or a credential has changed.
    files, path = fsspec.core.url_to_fs(url, skip_instance_cache=True, use_listings_cache=False, **options)
    if scheme == "s3":
        files.retries = 1
    elif scheme == "gs":
        for name in _REPEATING:
            if once := getattr(getattr(type(files), name, None), "__wrapped__", None):
                setattr(files, name, MethodType(once, files))
    return files, str(path).rstrip("/")


@contextmanager
def hush_loggers() -> Iterator[None]:
    """Keeps the libraries' loggers quiet inside: what they say is in what they raise."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def wants_login(error: BaseException) -> bool:
    """Whether a library's error says that a login is missing or may not do this."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    forbidden = isinstance(error, OSError) and str(error).startswith("Forbidden")
    return bool(kinds & _NO_ACCESS) or getattr(error, "code", None) in (401, 403) or forbidden


def _amazon(timeout: float) -> dict[str, Any]:
    waits = {"connect_timeout": min(CONNECT, timeout), "read_timeout": timeout}
    return {"config_kwargs": {**waits, "retries": {"total_max_attempts": 1}}}


def _google(timeout: float) -> dict[str, Any]:
    _import_gcsfs()
    from aiohttp import ClientTimeout

    waits = ClientTimeout(total=None, sock_connect=min(CONNECT, timeout), sock_read=timeout)
    return {"requests_timeout": waits, **_google_login()}


def _import_gcsfs() -> None:
    """The variable counts at the first import; it is set for that alone, unless somebody has set it already."""
    if "gcsfs" in sys.modules or _HIERARCHY in os.environ:
        return
    os.environ[_HIERARCHY] = "false"
    try:
        with suppress(ImportError):  # told when it is asked for
            importlib.import_module("gcsfs")
    finally:
        del os.environ[_HIERARCHY]


def _google_login() -> dict[str, Any]:
    """What gcsfs itself would find, without its second look for a machine of Google's, which takes half a minute."""
    import fsspec.config

    if any("token" in fsspec.config.conf.get(name, {}) for name in ("gs", "gcs")):
        return {}
    import google.auth.exceptions

    try:
        return {"token": google.auth.default(scopes=[_SCOPE])[0]}
    except google.auth.exceptions.DefaultCredentialsError:
        return {"token": "anon"}
