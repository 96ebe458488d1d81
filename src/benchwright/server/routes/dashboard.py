"""The dashboard's files, sent with an ETag. The page itself is at `/` and nowhere else."""

from __future__ import annotations

from functools import lru_cache

from fastapi import APIRouter, Request
from starlette.responses import Response

from benchwright.errors import OptionError
from benchwright.pages import dashboard
from benchwright.server.context import pack_response
from benchwright.server.errors import refusal

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".json": "application/json",
}

router = APIRouter(include_in_schema=False)


@router.get("/")
def index(request: Request) -> Response:
    """Sends the page of the dashboard."""
    return _send_file(request, "index.html")


@router.get("/{name}")
def file(request: Request, name: str) -> Response:
    """Sends a file that the page asks for."""
    return _send_file(request, name)


def _send_file(request: Request, name: str) -> Response:
    try:
        found = _read_bundle(_stamps()).get(name)
    except OptionError as error:
        raise refusal(503, error.message, error.remedy) from None
    if found is None or (name == "index.html" and request.url.path != "/"):
        raise refusal(404, f"/{name}: no such page", "the dashboard is at /")
    ending = name[name.rfind(".") :]
    return pack_response(request, found, media_type=TYPES.get(ending, "application/octet-stream"))


@lru_cache(maxsize=1)
def _read_bundle(stamps: tuple[int, ...]) -> dict[str, bytes]:
    return dashboard.bundle()


def _stamps() -> tuple[int, ...]:
    """Returns when the files were written: they are built anew while somebody works on them."""
    paths = [dashboard.BUNDLE / name for name in dashboard.NAMES]
    return tuple(path.stat().st_mtime_ns if path.exists() else 0 for path in paths)
