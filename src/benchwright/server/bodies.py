"""Bodies of requests: read in pieces, unpacked, and never more of them than is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from benchwright.server.context import context_of
from benchwright.server.errors import refusal
from benchwright.server.settings import MIB, RequestLimits
from benchwright.system import streams
from benchwright.units import whole_number


async def read_pieces(request: Request, most: int) -> AsyncIterator[bytes]:
    """Yields the unpacked body in pieces; refuses it when it is larger than `most`, too slow, or damaged."""
    limits = context_of(request).settings.limits
    if declared_size(request) > most:
        raise _refuse_too_large(most)
    unpack = _unpacker(request.headers.get("content-encoding", ""), limits.ratio)
    total = 0
    async for piece in _read_patiently(request, limits):
        for part in unpack(piece):
            total += len(part)
            if total > most:
                raise _refuse_too_large(most)
            yield part
    unpack.end()


async def read_lines(request: Request, most: int, longest: int) -> AsyncIterator[bytes]:
    """Yields the body line by line as it comes, without empty lines; refuses a line larger than `longest`."""
    begun = bytearray()
    async for piece in read_pieces(request, most):
        *ended, rest = piece.split(b"\n")
        for part in ended:
            begun += part
            if begun.strip():
                yield bytes(begun)
            begun.clear()
        begun += rest
        if len(begun) > longest:
            raise _refuse_too_large(longest)
    if begun.strip():
        yield bytes(begun)


async def read_whole(request: Request, most: int) -> bytes:
    """Returns the whole body of a request; refuses one that is larger than `most`."""
    body = bytearray()
    async for piece in read_pieces(request, most):
        body += piece
    return bytes(body)


def unpack_whole(body: bytes, encoding: str, limits: RequestLimits) -> bytes:
    """Returns a document that was sent, unpacked; refuses one that is larger than a document may be, or damaged."""
    unpack = _unpacker(encoding, limits.ratio)
    unpacked = bytearray()
    for part in unpack(body):
        unpacked += part
        if len(unpacked) > limits.document:
            raise _refuse_too_large(limits.document)
    unpack.end()
    return bytes(unpacked)


async def _read_small(request: Request) -> bytes:
    return await read_whole(request, context_of(request).settings.limits.small)


async def _read_document(request: Request) -> bytes:
    return await read_whole(request, context_of(request).settings.limits.document)


Small = Annotated[bytes, Depends(_read_small)]  # a change that a person makes
Document = Annotated[bytes, Depends(_read_document)]  # a result, or a run without its results


def declared_size(request: Request) -> int:
    """Returns how many bytes a body has, as its sender says; 0 where nothing is said."""
    size = whole_number(request.headers.get("content-length", "0"))
    if size is None:
        raise refusal(400, "Content-Length is not a number")
    return size


def _refuse_too_large(most: int) -> HTTPException:
    size = f"{most / MIB:g} MiB" if most >= MIB else f"{most} bytes"
    return refusal(
        413, f"the body is larger than {size}", "send less at once: results one by one, runs in several streams"
    )


async def _read_patiently(request: Request, limits: RequestLimits) -> AsyncIterator[bytes]:
    """Yields the pieces as they come; refuses the body when one is late, or all of them take too long."""
    stream = request.stream()
    end = asyncio.get_running_loop().time() + limits.longest
    while True:
        left = end - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(limits.patience, left)):
                piece = await anext(stream, None)
        except TimeoutError:
            raise refusal(408, "the body comes too slowly", "send it again", {"Connection": "close"}) from None
        if piece is None:
            return
        if piece:
            yield piece


def _unpacker(encoding: str, ratio: int) -> _Identity | _Gunzip:
    if encoding.strip().lower() in ("", "identity"):
        return _Identity()
    if encoding.strip().lower() in ("gzip", "x-gzip"):
        return _Gunzip(ratio)
    raise refusal(415, "this Content-Encoding is not known here", "send it plain, or with gzip")


class _Identity:
    def __call__(self, piece: bytes) -> Iterator[bytes]:
        yield piece

    def end(self) -> None:
        pass


class _Gunzip(streams.Gunzip):
    """Refuses what is damaged, or unpacks to an absurd size, as an answer to whoever sent it."""

    def __call__(self, piece: bytes) -> Iterator[bytes]:
        try:
            yield from super().__call__(piece)
        except streams.TooLargeError as error:
            raise refusal(413, str(error).replace("it unpacks", "this unpacks"), "send it plain") from None
        except streams.DamagedError:
            raise _refuse_damaged() from None

    def end(self) -> None:
        try:
            super().end()
        except streams.DamagedError:
            raise _refuse_damaged() from None


def _refuse_damaged() -> HTTPException:
    return refusal(400, "the body is not a whole gzip file", "was it cut off? send it again")
