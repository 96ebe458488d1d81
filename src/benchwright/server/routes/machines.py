"""Who puts a machine into quarantine, and lets it out again."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from benchwright.errors import DecodeError
from benchwright.pages.machines import find_machine, machine_view
from benchwright.pages.names import machine_names
from benchwright.pages.shapes import MachineView
from benchwright.records.machines import Quarantine, Quarantines
from benchwright.server.access import Triages
from benchwright.server.answers import NewQuarantine
from benchwright.server.bodies import Small
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import check_text, record_of
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes
from benchwright.server.remarks import describe_quarantine, now, sign

router = APIRouter(tags=["machines"])
Name = Annotated[str, Path(max_length=1000)]
_INSTANTS = range(-62_135_596_800_000, 253_402_300_800_000)  # milliseconds: the years 1 to 9999
_LONGEST_REASON = 500


@router.put(
    "/machines/{machine}/quarantine",
    responses=answers_with(MachineView),
    openapi_extra=takes(NewQuarantine),
    summary="Put a machine into quarantine",
)
def hold(request: Request, visitor: Triages, machine: Name, body: Small) -> Response:
    """From then on its results are kept and marked, but not judged."""
    wish = record_of(NewQuarantine, body, context_of(request).settings.limits)
    check_text(wish.reason, "body.reason", _LONGEST_REASON)
    if not wish.reason.strip():
        raise DecodeError("body.reason: a quarantine needs a reason", remedy="say what is wrong with the machine")
    here = time.time_ns() // 1000
    since = here if wish.since is None else _microseconds(wish.since, "since")
    until = None if wish.until is None else _microseconds(wish.until, "until")
    store = archive(request)
    key = find_machine(machine_names(store), machine)
    if lasting := Quarantines(store.quarantines(key)).covering(key, max(since, here)):
        raise refusal(409, f"the machine is in quarantine: {lasting.reason}", "release it first")
    held = Quarantine(
        machine=key, since=since, until=until, reason=wish.reason.strip(), who=sign(visitor), made_at=now()
    )
    store.quarantine(held)
    record(request, visitor, "quarantine machine", describe_quarantine(held))
    return answer(request, machine_view(store, key))


@router.delete(
    "/machines/{machine}/quarantine", responses=answers_with(MachineView), summary="Release a machine from quarantine"
)
def release(request: Request, visitor: Triages, machine: Name) -> Response:
    """From now on its results are judged again; those of the quarantine stay as they are."""
    store = archive(request)
    key = find_machine(machine_names(store), machine)
    if not store.release(key, time.time_ns() // 1000, sign(visitor)):
        raise refusal(404, "the machine is not in quarantine", "somebody may have released it already")
    record(request, visitor, "release machine", key[:12])
    return answer(request, machine_view(store, key))


def _microseconds(instant: int, name: str) -> int:
    if instant not in _INSTANTS:
        raise DecodeError(f"body.{name}: {instant} is not an instant", remedy="give milliseconds since 1970")
    return instant * 1000
