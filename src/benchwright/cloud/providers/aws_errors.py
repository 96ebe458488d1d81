"""What Amazon's answers mean: no capacity, too many questions, a quota, a login that ended, an answer that got lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchwright.cloud.providers.refusals import LOST
from benchwright.errors import BenchwrightError, CloudError, NotInstalledError

_LONGEST = 300  # characters of a message that is passed on
_KINDS = {
    "capacity": (
        "InsufficientInstanceCapacity",
        "InsufficientHostCapacity",
        "InsufficientReservedInstanceCapacity",
        "InsufficientCapacity",
        "SpotMaxPriceTooLow",
    ),
    "throttled": (
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestThrottledException",
        "TooManyRequestsException",
        "EC2ThrottledException",
        "SlowDown",
    ),
    "quota": (
        "VcpuLimitExceeded",
        "InstanceLimitExceeded",
        "MaxSpotInstanceCountExceeded",
        "MaxSpotFleetRequestCountExceeded",
        "VolumeLimitExceeded",
        "AddressLimitExceeded",
    ),
    "login": (
        "AuthFailure",
        "UnauthorizedOperation",
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "RequestExpired",
        "InvalidClientTokenId",
        "InvalidAccessKeyId",
        "UnrecognizedClientException",
        "SignatureDoesNotMatch",
        "IncompleteSignature",
        "MissingAuthenticationToken",
        "OptInRequired",
        "PendingVerification",
        "Blocked",
    ),
    "shape": ("InvalidInstanceType", "Unsupported"),
    # The cloud may have done it all the same.
    "lost": ("InternalError", "InternalFailure", "Unavailable", "ServiceUnavailable", "RequestTimeout"),
}
_KIND_OF = {code: kind for kind, codes in _KINDS.items() for code in codes}
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
_REMEDIES = {
    "capacity": "order it in another zone (?zone=) or region (@REGION), another shape, or later",
    "throttled": "wait some minutes: this account asks too often",
    "quota": "end machines that are not needed, or have the limit raised in Service Quotas",
    "login": "sign in as for the `aws` command: `aws sso login`, `aws configure`, or AWS_PROFILE; and see that the "
    "account may do this",
    "shape": "see `aws ec2 describe-instance-types`",
    "lost": LOST,
}


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turns the errors of Amazon's library into ours; `what` was asked for."""
    try:
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        raise NotInstalledError("Amazon's library for Python", "'benchwright[aws]'") from None
    try:
        yield
    except BenchwrightError:
        raise
    except ClientError as error:
        raise _refusal(what, code_of(error), message_of(error), _status(error)) from None
    except BotoCoreError as error:
        raise _failure(what, error) from None


def code_of(error: Exception) -> str:
    """The code of a refusal: `InsufficientInstanceCapacity`."""
    answer = getattr(error, "response", None) or {}
    return str(answer.get("Error", {}).get("Code", ""))


def message_of(error: Exception) -> str:
    """What was said with the code, in one line."""
    answer = getattr(error, "response", None) or {}
    text = " ".join(str(answer.get("Error", {}).get("Message", "")).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _status(error: Exception) -> int:
    answer = getattr(error, "response", None) or {}
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _refusal(what: str, code: str, message: str, status: int) -> CloudError:
    kind = _KIND_OF.get(code) or ("lost" if status >= 500 else "other")
    if kind == "login":
        # The message is left out: that of a wrong signature repeats what was signed, a session's token among it.
        said = "the login has expired" if code in _EXPIRED else f"this login was refused ({code})"
        return CloudError(f"aws: {what}: {said}", kind=kind, remedy=_REMEDIES[kind])
    remedy = _REMEDIES.get(kind, "")
    if code == "SpotMaxPriceTooLow":
        remedy = "raise ?most=, or leave it out: the price on demand is then the most"
    return CloudError(f"aws: {what}: {message or code} ({code})", kind=kind, remedy=remedy)


def _failure(what: str, error: Exception) -> CloudError:
    """What the library itself says: no login at all, a line that broke, an answer that makes no sense."""
    from botocore import exceptions

    name = type(error).__name__
    login = (
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "ProfileNotFound",
        "TokenRetrievalError",
        "SSOError",
        "SSOTokenLoadError",
        "UnauthorizedSSOTokenError",
        "ConfigNotFound",
        "InvalidConfigError",
    )
    if name in login:
        said = "nobody is signed in" if name == "NoCredentialsError" else f"the login cannot be used ({name})"
        return CloudError(f"aws: {what}: {said}", kind="login", remedy=_REMEDIES["login"])
    if isinstance(error, exceptions.HTTPClientError | exceptions.ResponseStreamingError) or name in (
        "ConnectionError",
        "EndpointConnectionError",
        "ConnectionClosedError",
        "ReadTimeoutError",
        "ConnectTimeoutError",
        "ResponseParserError",
    ):
        return CloudError(f"aws: {what}: no answer came ({name})", kind="lost", remedy=_REMEDIES["lost"])
    return CloudError(f"aws: {what}: {' '.join(str(error).split())[:_LONGEST]}", kind="other")
