"""What Google's refusals mean: each becomes a `CloudError` whose kind says what can be done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from benchwright.cloud.providers.refusals import LOST, REFUSED, kind_of_status, make_refusal
from benchwright.errors import BenchwrightError, CloudError, NotInstalledError

LIBRARY = ("Google's library for Compute Engine", "'benchwright[google]'")

_REMEDIES = {
    "capacity": "try another zone or region, another shape, or later",
    "quota": "have the quota raised at the IAM page of the project, or order a smaller shape",
    "throttled": "wait a minute: Google counts requests by the minute",
    "login": "gcloud auth application-default login; the login needs the role Compute Instance Admin (v1)",
    "shape": "`gcloud compute machine-types list --zones ZONE` names the shapes",
    "lost": LOST,
}
_KINDS = {
    "QUOTA_EXCEEDED": "quota",
    "quotaExceeded": "quota",
    "limitExceeded": "quota",
    "RATE_LIMIT_EXCEEDED": "throttled",
    "RESOURCE_OPERATION_RATE_EXCEEDED": "throttled",
    "rateLimitExceeded": "throttled",
    "userRateLimitExceeded": "throttled",
    "STOCKOUT": "capacity",
    "resourceNotReady": "throttled",
    "PERMISSIONS_ERROR": "login",
}
_POOL = "RESOURCE_POOL_EXHAUSTED"  # of a zone, with or without details


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turns what the library raises into a `CloudError`; `doing` says what was asked."""
    try:
        from google.api_core import exceptions as refusals
        from google.auth import exceptions as logins
    except ImportError:
        raise NotInstalledError(*LIBRARY) from None
    try:
        yield
    except BenchwrightError:
        raise
    except logins.TransportError as error:
        raise refusal(doing, "lost", str(error)) from None
    except logins.DefaultCredentialsError:
        raise refusal(doing, "login", "nobody is signed in") from None
    except logins.GoogleAuthError as error:  # its text may repeat what was sent
        raise refusal(doing, "login", f"the login has expired or was refused ({type(error).__name__})") from None
    except refusals.GoogleAPICallError as error:
        reasons = [str(one.get("reason", "")) for one in error.errors if isinstance(one, dict)]
        said = REFUSED if error.code == 401 else error.message
        raise refusal(doing, _kind(error.code, reasons, error.message), said) from None
    except (refusals.GoogleAPIError, OSError) as error:  # requests' errors are errors of the system
        raise refusal(doing, "lost", str(error)) from None


def check_operation(doing: str, operation: Any) -> None:
    """Raises for what went wrong in work that Google had accepted."""
    faults = list(operation.error.errors) if operation.error else []
    if not faults:
        return
    message = "; ".join(fault.message or fault.code for fault in faults)
    raise refusal(doing, _kind(operation.http_error_status_code, [f.code for f in faults], message), message)


def refusal(doing: str, kind: str, message: str) -> CloudError:
    """The error for a person: what was asked, what Google says, what to do."""
    return make_refusal("gcp", doing, kind, message, _REMEDIES)


def is_missing(error: Exception) -> bool:
    """Whether the library says that there is no such thing."""
    return getattr(error, "code", None) == 404


def is_there_already(error: Exception) -> bool:
    """Whether the library says that there is one of that name."""
    return getattr(error, "code", None) == 409


def _kind(status: Any, reasons: Iterable[str], message: str) -> str:
    for reason in reasons:
        if _POOL in reason:
            return "capacity"
        if reason in _KINDS:
            return _KINDS[reason]
    is_shape = int(status or 0) == 400 and ("machineType" in message or "machine type" in message)
    return kind_of_status(int(status or 0)) or ("shape" if is_shape else "other")
