"""The OpenAPI document: routes as FastAPI knows them, records as `json_schema` describes them.

Answers go out as bytes and are not validated on the way, so that a series of 100,000 points costs nothing more.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from types import ModuleType
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from benchwright import schema
from benchwright._version import VERSION
from benchwright.pages import shapes
from benchwright.schema import json_schema
from benchwright.server import answers, lab_answers
from benchwright.store.archive import Progress

ABOUT = """\
Everything that the dashboard shows, and everything that a program needs to keep results here.

Answers are JSON, with an `ETag`; lists go on at `next`. An error is `{"error": what, "remedy": what to do}`.
Changes need a token, sent as `Authorization: Bearer TOKEN`, unless the server runs on one's own machine.
Bodies may be sent with `Content-Encoding: gzip`. What is uploaded is known by its id: sending it again does no harm.
"""
_PLACE = "#/components/schemas/"
_PROBLEM = {
    "description": "What is wrong, and what to do.",
    "content": {"application/json": {"schema": {"$ref": f"{_PLACE}Problem"}}},
}
PROBLEMS: dict[int | str, dict[str, Any]] = {"4XX": _PROBLEM, "5XX": _PROBLEM}


def answers_with(kind: type, *, status: int = 200, note: str = "") -> dict[int | str, dict[str, Any]]:
    """Describes a route's answer, a record of `pages` or `server.answers`: `responses=answers_with(Overview)`."""
    content = {"application/json": {"schema": {"$ref": f"{_PLACE}{kind.__name__}"}}}
    return {status: {"description": note or (inspect.getdoc(kind) or "").split("\n\n")[0], "content": content}}


def answers_with_document(kind: str) -> dict[int | str, dict[str, Any]]:
    """Describes a route's answer, a versioned document: `responses=answers_with_document("run")`."""
    content = {"application/json": {"schema": {"$ref": f"{_PLACE}{kind.capitalize()}Document"}}}
    return {200: {"description": f"A {kind}, as `benchwright export` writes it.", "content": content}}


def takes(kind: type, *, note: str = "") -> dict[str, Any]:
    """Describes a route's body, a JSON object with the keys of a record: `openapi_extra=takes(Triage)`."""
    return _body({"application/json": {"schema": {"$ref": f"{_PLACE}{kind.__name__}"}}}, note)


def takes_object() -> dict[str, Any]:
    """Describes a route's body, any JSON object."""
    return _body({"application/json": {"schema": {"type": "object"}}}, "")


def takes_document(kind: str, *media: str, note: str = "") -> dict[str, Any]:
    """Describes a route's body, a versioned document as `benchwright export` writes it."""
    content = {
        one: {"schema": {"$ref": f"{_PLACE}{kind.capitalize()}Document"}} for one in ("application/json", *media)
    }
    return _body(content, note)


def takes_bytes(note: str) -> dict[str, Any]:
    """Describes a route's body, a file."""
    return _body({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}, note)


def describe(app: FastAPI) -> None:
    """Makes the app publish its OpenAPI document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title="Benchwright", version=VERSION, description=ABOUT, routes=app.routes)
            made["components"] = made.get("components", {})
            made["components"]["schemas"] = {**made["components"].get("schemas", {}), **_schemas()}
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the way FastAPI's own manual says


def _body(content: dict[str, Any], note: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content, **({"description": note} if note else {})}}


def _schemas() -> dict[str, Any]:
    found = json_schema.definitions(
        *_records(shapes), *_records(answers), *_records(lab_answers), Progress, *schema.kinds().values()
    )
    for kind, record in schema.kinds().items():
        found[f"{kind.capitalize()}Document"] = {
            "type": "object",
            "properties": {
                "format": {"const": schema.FORMAT},
                "kind": {"const": kind},
                "data": {"$ref": f"#/$defs/{record.__name__}"},
            },
            "required": ["format", "kind", "data"],
            "additionalProperties": False,
        }
    moved: dict[str, Any] = json.loads(json.dumps(found).replace('"#/$defs/', f'"{_PLACE}'))
    return moved


def _records(module: ModuleType) -> list[type]:
    return [kind for kind in vars(module).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
