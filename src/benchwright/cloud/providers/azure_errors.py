"""What Azure's refusals mean: each becomes a `CloudError` whose kind says what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchwright.cloud.providers.refusals import LOST, REFUSED, kind_of_status, make_refusal
from benchwright.errors import BenchwrightError, CloudError, NotInstalledError

LIBRARY = ("Azure's library for Python", "'benchwright[azure]'")
_REMEDIES = {
    "capacity": "try another zone (?zone=2) or region, another shape, or later",
    "quota": "end machines that are not needed, or have the quota raised at the page Quotas of the subscription",
    "throttled": "wait some minutes: this subscription asks too often",
    "login": "az login, or AZURE_CLIENT_ID and its like; the login needs the role Contributor on the resource group",
    "shape": "`az vm list-skus --location REGION --size NAME` tells where it is offered, and to whom",
    "lost": LOST,
}
_KINDS = {
    "capacity": (
        "AllocationFailed",
        "ZonalAllocationFailed",
        "OverconstrainedAllocationRequest",
        "OverconstrainedZonalAllocationRequest",
        "SkuNotAvailable",
        "OperationPreempted",
    ),
    "quota": ("QuotaExceeded", "PublicIPCountLimitReached", "ResourceQuotaExceeded"),
    "throttled": (
        "TooManyRequests",
        "SubscriptionRequestsThrottled",
        "ResourceRequestsThrottled",
        "ResourceCollectionRequestsThrottled",
        "OperationNotAllowedThrottled",
        "RetryableError",
        "AnotherOperationInProgress",
    ),
    "login": (
        "AuthorizationFailed",
        "LinkedAuthorizationFailed",
        "AuthenticationFailed",
        "ExpiredAuthenticationToken",
        "InvalidAuthenticationToken",
        "InvalidAuthenticationTokenTenant",
        "SubscriptionNotFound",
        "RequestDisallowedByPolicy",
    ),
    "shape": ("VMSizeNotSupported", "InvalidVMSize", "NotAvailableForSubscription"),
    "lost": ("InternalServerError", "ServerTimeout", "ServiceUnavailable", "GatewayTimeout"),
}
_KIND_OF = {code: kind for kind, codes in _KINDS.items() for code in codes}


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turns what the library raises into a `CloudError`; `doing` says what was asked."""
    try:
        from azure.core import exceptions
    except ImportError:
        raise NotInstalledError(*LIBRARY) from None
    try:
        yield
    except BenchwrightError:
        raise
    except exceptions.ClientAuthenticationError as error:  # its text may repeat what was sent
        raise refusal(
            doing, "login", f"nobody is signed in, or the login has expired ({type(error).__name__})"
        ) from None
    except exceptions.HttpResponseError as error:
        code = code_of(error)
        said = REFUSED if error.status_code == 401 else error.message
        raise refusal(doing, _kind(code, error.status_code or 0, error.message), f"{said} ({code})") from None
    except exceptions.AzureError as error:  # the line broke, or there was none
        raise refusal(doing, "lost", f"no answer came ({type(error).__name__})") from None


def refusal(doing: str, kind: str, message: str) -> CloudError:
    """The error for a person: what was asked, what Azure says, what to do."""
    return make_refusal("azure", doing, kind, message, _REMEDIES)


def code_of(error: Exception) -> str:
    """The code of a refusal: `AllocationFailed`; "" where there is none."""
    told = getattr(error, "error", None)
    return str(getattr(told, "code", "") or "")


def is_missing(error: Exception) -> bool:
    """Whether the library says that there is no such thing."""
    return getattr(error, "status_code", None) == 404


def _kind(code: str, status: int, message: str) -> str:
    if code in _KIND_OF:
        return _KIND_OF[code]
    if code == "OperationNotAllowed" and "quota" in message.lower():
        return "quota"
    if kind := kind_of_status(status):
        return kind
    return "shape" if code == "InvalidParameter" and "vmSize" in message else "other"
