"""What the refusals of Oracle's cloud mean: each becomes a `CloudError` whose kind says what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchwright.cloud.providers.refusals import LOST, kind_of_status, make_refusal
from benchwright.errors import BenchwrightError, CloudError, NotInstalledError

LIBRARY = ("Oracle's library for Python", "'benchwright[oci]'")
_REMEDIES = {
    "capacity": "try another availability domain (?zone=AD-2) or region, another shape, or later",
    "quota": "end machines that are not needed, or have the service limit raised",
    "throttled": "wait a minute: this tenancy asks too often",
    "login": "oci setup config, or `oci session authenticate`; a policy must allow `manage instance-family` and "
    "`use virtual-network-family` in the compartment",
    "shape": "`oci compute shape list` names the shapes",
    "lost": LOST,
}
_KINDS = {
    "OutOfHostCapacity": "capacity",
    "OutOfCapacity": "capacity",
    "LimitExceeded": "quota",
    "QuotaExceeded": "quota",
    "TooManyRequests": "throttled",
    "TooManyRequestsForTenant": "throttled",
    "NotAuthenticated": "login",
    "NotAuthorized": "login",
    "NotAuthorizedOrNotFound": "login",
    "NotAuthorizedOrResourceAlreadyExists": "login",
    "SignUpRequired": "login",
    "InvalidatedRetryToken": "lost",  # it was used: something may have come of it
}
_NO_LOGIN = (
    "ConfigFileNotFound",
    "ProfileNotFound",
    "InvalidConfig",
    "InvalidKeyFilePath",
    "InvalidPrivateKey",
    "MissingPrivateKeyPassphrase",
    "ClientError",
)


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turns what the library raises into a `CloudError`; `doing` says what was asked."""
    try:
        from oci import exceptions
    except ImportError:
        raise NotInstalledError(*LIBRARY) from None
    try:
        yield
    except BenchwrightError:
        raise
    except exceptions.ServiceError as error:
        kind, said = _kind(error), f"{error.message} ({error.code})"
        if kind == "login":  # the message may repeat what was signed
            said = f"this login was refused, or there is no such thing ({error.code})"
        raise refusal(doing, kind, said) from None
    except exceptions.RequestException as error:  # the line broke, or there was none
        raise refusal(doing, "lost", f"no answer came ({type(error).__name__})") from None
    except Exception as error:  # the library's errors have no common ancestor
        name = type(error).__name__
        if name not in _NO_LOGIN and not isinstance(error, ValueError | OSError):
            raise
        raise refusal(doing, "login", f"nobody is signed in, or the login cannot be used ({name})") from None


def refusal(doing: str, kind: str, message: str) -> CloudError:
    """The error for a person: what was asked, what Oracle says, what to do."""
    return make_refusal("oci", doing, kind, message, _REMEDIES)


def is_missing(error: Exception) -> bool:
    """Whether the library says that there is no such thing, or none that may be seen."""
    return getattr(error, "status", None) == 404


def _kind(error: object) -> str:
    status, code = int(getattr(error, "status", 0) or 0), str(getattr(error, "code", "") or "")
    message = str(getattr(error, "message", "") or "").lower()
    if "out of host capacity" in message or "out of capacity" in message:
        return "capacity"  # it comes as an error of the service itself
    if code in _KINDS:
        return _KINDS[code]
    if kind := kind_of_status(status):
        return kind
    return "shape" if status == 400 and "shape" in message else "other"
