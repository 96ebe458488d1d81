"""Files that measurements left behind: kept by their digest, sent as downloads and never as pages."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Request
from fastapi import Path as InPath
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from benchwright.records import Artifact
from benchwright.server.access import Reads, Visitor, Writes
from benchwright.server.answers import Kept
from benchwright.server.bodies import read_pieces
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import LONGEST_ID
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes_bytes
from benchwright.server.settings import ServerSettings
from benchwright.system import whole_files

router = APIRouter(tags=["artifacts"])
Id = Annotated[str, InPath(min_length=1, max_length=LONGEST_ID)]
Name = Annotated[str, InPath(min_length=1, max_length=1000)]
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cache-Control": "private, no-cache",
}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/octet-stream": {}}}
}


@router.get("/results/{result_id}/artifacts/{name:path}", responses=_FILE, summary="A file of a result")
def download(request: Request, visitor: Reads, result_id: Id, name: Name) -> Response:
    """As it was uploaded; or as a run on this machine left it, if it lies in the folder for artifacts."""
    artifact = _artifact(request, result_id, name)
    settings = context_of(request).settings
    path = _upload_path(settings, result_id, artifact)
    if not path.is_file():
        local = _path_inside(settings.artifacts, artifact.path)
        if local is None:
            raise refusal(404, f"the file {name!r} is not kept on this server", "look on the machine that measured")
        path = local
    return FileResponse(path, headers=HEADERS, media_type="application/octet-stream", filename=Path(name).name)


@router.put(
    "/results/{result_id}/artifacts/{name:path}",
    responses=answers_with(Kept) | answers_with(Kept, status=201),
    openapi_extra=takes_bytes("The file, byte for byte as the result tells of it."),
    summary="Send a file of a result",
)
async def upload(request: Request, visitor: Writes, result_id: Id, name: Name) -> Response:
    """A file that the result names, of the size and digest that it says. Sending it again does no harm."""
    return await keep_file(request, visitor, result_id, name)


async def keep_file(request: Request, visitor: Visitor, result_id: str, name: str) -> Response:
    """Keeps the body as a file of a result, if it is the one that the result names."""
    artifact = await run_in_threadpool(_artifact, request, result_id, name)
    here = context_of(request).settings
    path = _upload_path(here, result_id, artifact)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_files.replace_file(path, mode=0o600) as file:
            size, digest = await _receive_file(request, file, here.limits.artifact)
            if size != artifact.size or (artifact.sha256 and digest != artifact.sha256.lower()):
                raise refusal(400, f"this is not the file {name!r} that the result names", "was it changed since?")
            added = not path.exists()
    except OSError as error:
        raise refusal(507, f"the server cannot keep the file: {error.strerror}", "try again later") from None
    if added:
        await run_in_threadpool(record, request, visitor, "upload artifact", f"{result_id} {name}")
    return await run_in_threadpool(answer, request, Kept(id=name, added=added), status=201 if added else 200)


async def _receive_file(request: Request, file: BinaryIO, most: int) -> tuple[int, str]:
    """Writes the body as it comes; returns its size and its digest once it is on the disk."""
    size, digest = 0, hashlib.sha256()
    async for piece in read_pieces(request, most):
        size += len(piece)
        digest.update(piece)
        await run_in_threadpool(file.write, piece)

    def settle() -> None:
        file.flush()
        os.fsync(file.fileno())

    await run_in_threadpool(settle)
    return size, digest.hexdigest()


def _artifact(request: Request, result_id: str, name: str) -> Artifact:
    """Returns what the result says of that file. Names are looked up and never become paths."""
    _, result = archive(request).result(result_id)
    for artifact in result.artifacts:
        if artifact.name == name:
            return artifact
    raise refusal(404, f"result {result_id!r} names no file {name!r}", f"GET results/{result_id} lists its files")


def _upload_path(settings: ServerSettings, result_id: str, artifact: Artifact) -> Path:
    """Returns the path of an uploaded file: by its digest, or by a digest of its name where the result has none."""
    digest = artifact.sha256.lower()
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        digest = hashlib.sha256("\0".join((result_id, artifact.name)).encode("utf-8", "surrogatepass")).hexdigest()
        digest = f"named-{digest}"
    return settings.artifacts / "uploads" / digest[-64:][:2] / digest


def _path_inside(folder: Path, text: str) -> Path | None:
    """Returns the file's path if it really lies in the folder, wherever links lead; else None."""
    try:
        path = Path(text).resolve(strict=True)
        return path if path.is_file() and path.is_relative_to(folder.resolve(strict=True)) else None
    except (OSError, ValueError, RuntimeError):  # no such file, a NUL in its name, links that go round
        return None
