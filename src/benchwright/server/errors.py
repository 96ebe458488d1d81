"""Errors as answers: `{"error": what, "remedy": what to do}` with a status that says whose turn it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from benchwright.errors import (
    BenchwrightError,
    DecodeError,
    LeaseError,
    NotInstalledError,
    StoreError,
    StoreFullError,
    UploadError,
    UserError,
)
from benchwright.server.context import context_of

MOST_SHOWN = 1000  # characters of a message: what was sent is not sent back at length


def refusal(status: int, what: str, remedy: str = "", headers: Mapping[str, str] | None = None) -> HTTPException:
    """Returns the exception for a request that is not carried out."""
    return HTTPException(status, detail={"error": what, "remedy": remedy}, headers=dict(headers or {}) or None)


def status_of(error: BenchwrightError) -> int:
    """Whose turn it is: 404 for what is not there, 400 for what cannot be read, 409 for ids that are taken, 507
    for a full disk, 503 for a database that fails, 502 for a forge that refuses."""
    if isinstance(error, StoreFullError):
        return 507
    if isinstance(error, StoreError):
        cause = error.__cause__  # a database's own complaint is always the cause of ours
        return 404 if cause is None else 409 if type(cause).__name__ == "IntegrityError" else 503
    if isinstance(error, LeaseError):
        return 409
    if isinstance(error, NotInstalledError):
        return 503
    if isinstance(error, UploadError):  # a forge that the server asked did not do it
        return 502
    return 400 if isinstance(error, DecodeError | UserError) else 500


def explain_error(request: Request, error: BenchwrightError) -> tuple[int, str, str]:
    """Returns status, error and remedy for visitors, who need not know where the store lies; the log says that."""
    status = status_of(error)
    if status == 507:
        sys.stderr.write(f"{error.message}\n")
        return status, "the server's disk is full; what it had before is safe", "try again when there is space"
    if status == 503 and isinstance(error, StoreError):
        sys.stderr.write(f"{error.message}\n")
        return status, "the server's database cannot do this now", "try again later; the server's log says why"
    return status, error.message.removeprefix(f"{context_of(request).store.place}: "), error.remedy


def problem(status: int, error: str, remedy: str = "", **more: Any) -> Response:
    """Answers with what is wrong and what to do; `more` is put beside it."""
    told = {"error": error[:MOST_SHOWN], "remedy": remedy[:MOST_SHOWN], **more}
    headers = {"Cache-Control": "no-store"}
    return Response(json.dumps(told), status_code=status, headers=headers, media_type="application/json")


def handle_errors(app: FastAPI) -> None:
    """Registers handlers, so that every error of the app is answered in the same shape."""
    app.add_exception_handler(AnyHTTPException, _answer_refusal)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(BenchwrightError, _answer_error)
    app.add_exception_handler(ClientDisconnect, _answer_disconnect)


def answer_error(request: Request, error: Exception) -> Response:
    """Answers with a refusal or an error of ours, as the app does; raises any other."""
    if isinstance(error, AnyHTTPException):
        return _say_refusal(request, error)
    if isinstance(error, BenchwrightError):
        return problem(*explain_error(request, error))
    raise error


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    return _say_refusal(request, error)


def _say_refusal(request: Request, error: AnyHTTPException) -> Response:
    detail: Any = error.detail
    if isinstance(detail, str):  # a path or a method that the framework does not know
        detail = {"error": f"{request.url.path}: {detail.lower()}", "remedy": "see api/v1/openapi.json"}
    answer = problem(error.status_code, **detail)
    answer.headers.update(error.headers or {})
    return answer


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"][1:])) or str(first["loc"][0])
    return problem(422, f"{where}: {_sentence(first)}", "see api/v1/openapi.json")


def _sentence(error: Mapping[str, Any]) -> str:
    """Says what is wrong with an argument, in the words that the rest of the API uses, and what was sent."""
    bounds = error.get("ctx", {})
    said = _INVALID.get(error["type"], "this value does not fit").format_map(_Unknown(bounds))
    sent = error.get("input")
    return f"{said}, not {sent[:60]!r}" if isinstance(sent, str) and error["type"] != "missing" else said


_INVALID = {  # pydantic's name of what is wrong -> the sentence
    "missing": "is missing",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number of at most 4,000 digits",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must have the form {pattern}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "json_invalid": "must be JSON",
}


class _Unknown(dict[str, Any]):
    """Bounds by name; one that an error does not tell is left as three dots."""

    def __missing__(self, key: str) -> str:
        return "..."


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BenchwrightError)
    return problem(*explain_error(request, error))


async def _answer_disconnect(request: Request, error: Exception) -> Response:
    return problem(400, "the body ended early", "send it again")
