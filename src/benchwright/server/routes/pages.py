"""What pages show, as JSON: one route for each page of the package `pages`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from benchwright import schema
from benchwright.pages import compare as comparing
from benchwright.pages import findings as triage
from benchwright.pages import machines as measuring
from benchwright.pages import matrix as crossing
from benchwright.pages import overview as first
from benchwright.pages import results, runs, series, shapes
from benchwright.records import Environment
from benchwright.records.findings import State
from benchwright.server.access import Reads
from benchwright.server.context import answer, archive
from benchwright.server.openapi import answers_with
from benchwright.store.archive import SeriesFilter

router = APIRouter(tags=["pages"])

LONGEST = 1000  # characters of a name
Text = Annotated[str, Query(max_length=LONGEST)]
Name = Annotated[str, Path(max_length=LONGEST)]
Limit = Annotated[int, Query(ge=1, le=500)]
_OWN = frozenset(["metric", "rows", "columns", "baseline"])  # every other parameter of the matrix is a dimension


@router.get("/overview", responses=answers_with(shapes.Overview), summary="What is new, what changed, what fails")
def overview(request: Request, visitor: Reads) -> Response:
    """The newest runs, the largest open changes, the cases that fail, and every suite with a few of its series."""
    return answer(request, first.overview(archive(request)))


@router.get("/runs", responses=answers_with(shapes.RunsPage), summary="Runs, the newest first")
def list_runs(
    request: Request,
    visitor: Reads,
    before: Annotated[str, Query(max_length=LONGEST, description="`next` of the page before.")] = "",
    limit: Limit = 50,
    tag: Text = "",
    case: Annotated[str, Query(max_length=LONGEST, description="A case they measured; `*` is a wildcard.")] = "",
    revision: Text = "",
    machine: Annotated[str, Query(max_length=LONGEST, description="A machine's key.")] = "",
) -> Response:
    """Those that have the tag, the case, the revision and the machine, where any is given."""
    view = runs.runs_page(
        archive(request), before=before, limit=limit, tag=tag, case=case, revision=revision, machine=machine
    )
    return answer(request, view)


@router.get("/runs/{reference:path}", responses=answers_with(shapes.RunView), summary="One run with its cases")
def one_run(request: Request, visitor: Reads, reference: Name) -> Response:
    """`reference` is an id, a tag, a commit, `last`, `last~N`, or the beginning of an id or a commit."""
    return answer(request, runs.run_view(archive(request), reference))


@router.get(
    "/results/{result:path}", responses=answers_with(shapes.ResultView), summary="One result, everything recorded"
)
def one_result(request: Request, visitor: Reads, result: Name) -> Response:
    """`result` is an id, or the number that a series names it by."""
    return answer(request, results.result_view(archive(request), result))


@router.get("/environments/{result:path}", responses=answers_with(Environment), summary="Where a result was measured")
def environment(request: Request, visitor: Reads, result: Name) -> Response:
    """The machine and its state when the result of that id was measured."""
    return answer(request, schema.encode(archive(request).environment_of(result)))


@router.get("/series", responses=answers_with(shapes.SeriesPage), summary="Series, and what they can be chosen by")
def list_series(
    request: Request,
    visitor: Reads,
    case: Annotated[str, Query(max_length=LONGEST, description="`*` is a wildcard.")] = "",
    metric: Annotated[str, Query(max_length=LONGEST, description="`*` is a wildcard.")] = "",
    machine: Annotated[str, Query(max_length=LONGEST, description="A machine's key.")] = "",
    words: Annotated[
        str, Query(max_length=LONGEST, description="Each occurs in the case, a param or the metric.")
    ] = "",
    after: Annotated[int, Query(ge=0, lt=2**63, description="`next` of the page before.")] = 0,
    limit: Limit = 100,
) -> Response:
    """Series without their points but the newest few."""
    chosen = SeriesFilter(case=case, metric=metric, machine=machine, words=words, after=after, limit=limit)
    return answer(request, series.series_page(archive(request), chosen))


@router.get("/series/{key}", responses=answers_with(shapes.SeriesView), summary="One series with its points")
def one_series(
    request: Request,
    visitor: Reads,
    key: Name,
    unit: Annotated[str, Query(max_length=LONGEST, description="Needed where one key has values in two units.")] = "",
) -> Response:
    """At most 100,000 of the newest points, in columns; the change points and notes beside them."""
    return answer(request, series.series_view(archive(request), key, unit))


@router.get("/compare", responses=answers_with(shapes.Comparison), summary="Two sides against each other")
def compare(
    request: Request,
    visitor: Reads,
    a: Annotated[
        str, Query(min_length=1, max_length=LONGEST, description="run:REF, revision:ID, machine:KEY, runtime:NAME")
    ],
    b: Annotated[str, Query(min_length=1, max_length=LONGEST, description="The side that is judged against `a`.")],
    metric: Annotated[
        list[str] | None, Query(max_length=100, description="Repeatable; the usual ones without.")
    ] = None,
) -> Response:
    """What `benchwright compare` says: ratios with their intervals, and verdicts that may be unclear."""
    return answer(request, comparing.compare(archive(request), a, b, metrics=metric or ()))


@router.get("/matrix", responses=answers_with(shapes.Matrix), summary="Newest values by two dimensions")
def matrix(
    request: Request,
    visitor: Reads,
    metric: Text = "",
    rows: Annotated[str, Query(max_length=LONGEST, description="A dimension: case, machine or a param.")] = "",
    columns: Annotated[str, Query(max_length=LONGEST, description="Another one.")] = "",
    baseline: Annotated[str, Query(max_length=LONGEST, description="The column others are relative to.")] = "",
) -> Response:
    """Every other parameter fixes the dimension of its name: `batch_size=8`."""
    chosen = {name: value for name, value in request.query_params.items() if name not in _OWN and value}
    view = crossing.matrix(
        archive(request), metric=metric, rows=rows, columns=columns, baseline=baseline, chosen=chosen
    )
    return answer(request, view)


@router.get("/findings", responses=answers_with(shapes.FindingsPage), summary="Findings, the newest first")
def list_findings(
    request: Request,
    visitor: Reads,
    state: Annotated[list[State] | None, Query(max_length=10, description="Repeatable; all without.")] = None,
    limit: Limit = 100,
    after: Annotated[int, Query(ge=0, le=100_000, description="`next` of the page before.")] = 0,
) -> Response:
    """Those in one of the states."""
    return answer(request, triage.findings_page(archive(request), state or (), limit=limit, after=str(after)))


@router.get("/findings/{finding}", responses=answers_with(shapes.FindingView), summary="One finding with its picture")
def one_finding(request: Request, visitor: Reads, finding: Name) -> Response:
    """`finding` is an id, or the beginning of one."""
    return answer(request, triage.finding_view(archive(request), finding))


@router.get("/machines", responses=answers_with(shapes.MachinesPage), summary="Who measured what")
def machines(request: Request, visitor: Reads) -> Response:
    """Every machine, the one that measured last first, with its noise over time."""
    return answer(request, measuring.machines(archive(request)))
