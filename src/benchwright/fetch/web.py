"""Files from `http` and `https` addresses: streamed, continued after a cut, tried again when that can help."""

from __future__ import annotations

import email.utils
import http.client
import random
import re
import time

from benchwright.errors import FetchError
from benchwright.fetch.partials import Partial, PartialNote, Progress
from benchwright.system.http import PassingError, StaleError, describe_trouble, open_url
from benchwright.system.masking import mask_url
from benchwright.units import whole_number

PIECE = 1 << 20
MOST_UNSTATED = 64 << 30  # bytes of a file whose length the server does not state
PAUSE = 0.5  # seconds before the second attempt; doubled for each one after
LONGEST_PAUSE = 60.0


def download(
    url: str, partial: Partial, *, retries: int = 3, timeout: float = 60.0, progress: Progress | None = None
) -> None:
    """Fills `partial` with what is behind `url`, from where it stands.

    `timeout` is the longest silence in seconds. What the server stated as length is what must arrive. A server that
    cannot continue, or whose file has changed, is read from the beginning.
    """
    for attempt in range(retries + 1):
        try:
            try:
                _read_answer(url, partial, timeout, progress)
            except StaleError:
                partial.discard()  # so that nothing is asked to be continued, which ends this
                _read_answer(url, partial, timeout, progress)
            return
        except PassingError as trouble:
            if attempt == retries:
                tries = f" ({attempt + 1} attempts)" if attempt else ""
                remedy = "run it again: it goes on where it stopped" if partial.note(url) else "run it again later"
                raise FetchError(f"{mask_url(url)}: {trouble}{tries}", remedy=remedy) from None
            time.sleep(min(LONGEST_PAUSE, max(trouble.pause, PAUSE * 2**attempt * random.uniform(0.5, 1.0))))


def why_unreachable(url: str, *, timeout: float) -> str:
    """Why what is behind `url` cannot be had, or "" when it can. At most one byte of it is asked for."""
    try:
        with open_url(url, headers={"Range": "bytes=0-0"}, timeout=timeout):
            return ""
    except StaleError:  # an empty file has no first byte
        return ""
    except PassingError as trouble:
        return f"{mask_url(url)}: {trouble}"


def _read_answer(url: str, partial: Partial, timeout: float, progress: Progress | None) -> None:
    note, offset = _find_resume_point(url, partial)
    headers = {"Range": f"bytes={offset}-", "If-Range": note.validator} if note else {}
    with open_url(url, headers=headers, timeout=timeout) as response:
        if note and response.status == 206:
            _check_continues(response, offset, note)
        elif response.status == 200:
            note, offset = PartialNote.of(url, validator=_validator(response), total=_length(response)), 0
            partial.restart(note)
        else:
            raise FetchError(f"{mask_url(url)} answered {response.status} {response.reason}, which is not a whole file")
        _write_body(response, partial, offset, note.total, progress)


def _find_resume_point(url: str, partial: Partial) -> tuple[PartialNote | None, int]:
    note = partial.note(url)
    if note is None:
        return None, 0
    # Never past the last byte: a range that begins at the end cannot be answered, even if all is here.
    offset = min(partial.size, note.total - 1) if note.total else partial.size
    return (note, offset) if offset > 0 else (None, 0)


def _write_body(
    response: http.client.HTTPResponse, partial: Partial, have: int, total: int | None, progress: Progress | None
) -> None:
    with partial.path.open("r+b") as file:
        file.truncate(have)
        file.seek(have)
        while total is None or have < total:
            try:
                # At most what is left: some versions of the library read on, into whatever follows.
                piece = response.read1(PIECE if total is None else min(PIECE, total - have))
            except (http.client.HTTPException, OSError) as error:
                raise PassingError(
                    f"the connection broke after {_amount(have, total)}: {describe_trouble(error)}"
                ) from None
            if not piece:
                break
            have += len(piece)
            if total is None and have > MOST_UNSTATED:
                raise FetchError(
                    f"it does not end after {MOST_UNSTATED >> 30} GiB, and its length was not stated",
                    remedy="fetch it by hand, and give the file",
                )
            file.write(piece)
            if progress is not None:
                progress(have, total)
    if total is not None and have < total:
        raise PassingError(f"the connection ended after {_amount(have, total)}")


def _check_continues(response: http.client.HTTPResponse, offset: int, note: PartialNote) -> None:
    """Raises `StaleError` unless the answer goes on exactly where the bytes here end, in the same version."""
    stated = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    if stated is None or int(stated[1]) != offset:
        raise StaleError
    if note.total is not None and stated[2] not in ("*", str(note.total)):
        raise StaleError
    versions = {response.headers[name] for name in ("ETag", "Last-Modified") if name in response.headers}
    if versions and note.validator not in versions:
        raise StaleError


def _validator(response: http.client.HTTPResponse) -> str:
    """What tells this version of the file from every other one, or "" when the server gives nothing so strong."""
    tag = response.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return str(tag)
    modified, now = response.headers.get("Last-Modified", ""), response.headers.get("Date", "")
    try:
        age = email.utils.parsedate_to_datetime(now) - email.utils.parsedate_to_datetime(modified)
    except (TypeError, ValueError):
        return ""
    return str(modified) if age.total_seconds() >= 1 else ""  # a file may change twice within its one second


def _length(response: http.client.HTTPResponse) -> int | None:
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
    return None if chunked else whole_number(response.headers.get("Content-Length", ""))


def _amount(have: int, total: int | None) -> str:
    return f"{have} bytes" if total is None else f"{have} of {total} bytes"
