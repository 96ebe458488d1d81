"""The lab as pages and programs look at it: machines, the queue, and how far a submission is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from benchwright.pages.lab import lab_page, submission_view
from benchwright.pages.shapes import LabPage, LabSubmissionView
from benchwright.server.access import Reads
from benchwright.server.context import answer, archive
from benchwright.server.documents import LONGEST_ID
from benchwright.server.lab_desk import microseconds
from benchwright.server.openapi import answers_with

router = APIRouter(tags=["lab"])
FIRST = 2000  # jobs that wait of which is told where they stand: a page is asked for again and again


@router.get("/lab", responses=answers_with(LabPage), summary="Machines of the lab, and what waits for them")
def lab(request: Request, visitor: Reads) -> Response:
    """Every machine with what it does, the first of the queue, and why nothing is running."""
    now = microseconds()
    return answer(request, lab_page(archive(request).lab.state(now=now, limit=FIRST), now=now))


@router.get("/lab/submissions/{run_id}", responses=answers_with(LabSubmissionView), summary="How far a submission is")
def submission(
    request: Request, visitor: Reads, run_id: Annotated[str, Path(min_length=1, max_length=LONGEST_ID)]
) -> Response:
    """Each of its jobs: with which machine it is, where it stands in the queue, and why."""
    now, queue = microseconds(), archive(request).lab
    found = queue.submission(run_id)
    return answer(request, submission_view(found, queue.jobs(run_id), queue.state(now=now, limit=FIRST), now=now))
