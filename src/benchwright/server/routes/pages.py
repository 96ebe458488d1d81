"""What pages show, as JSON: one route for each page of the package `pages`."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from benchwright import schema
from benchwright.pages import compare as comparing
from benchwright.pages import findings as triage
from benchwright.pages import machines as measuring
from benchwright.pages import matrix as crossing
from benchwright.pages import overview as first
from benchwright.pages import pareto as choosing
from benchwright.pages import results, run_tables, runs, series, shapes
from benchwright.pages.compared_lines import LineFilter
from benchwright.pages.sides import MOST as MOST_SIDES
from benchwright.records import Environment, Verdict
from benchwright.records.findings import State
from benchwright.server.access import Reads
from benchwright.server.choices import LONGEST, Facets, NarrowedFindings, Place, Several, Sort, Words, some
from benchwright.server.context import answer, archive
from benchwright.server.openapi import answers_with
from benchwright.store.archive import RunChoice, SeriesFilter

router = APIRouter(tags=["pages"])

Text = Annotated[str, Query(max_length=LONGEST)]
Name = Annotated[str, Path(max_length=LONGEST)]
Limit = Annotated[int, Query(ge=1, le=500)]
_OWN = frozenset(["metric", "rows", "columns", "baseline", "after", "limit"])  # the others are dimensions of the matrix
_WIDEST = 200  # columns of a matrix
_AXES = frozenset(["x", "y"])
After = Annotated[int, Query(ge=0, le=10_000_000, description="`next` of the page before.")]


@router.get("/overview", responses=answers_with(shapes.Overview), summary="What is new, what changed, what fails")
def overview(request: Request, visitor: Reads) -> Response:
    """The newest runs, the largest open changes, the cases that fail, and every suite with a few of its series."""
    return answer(request, first.overview(archive(request)))


@router.get("/judging", responses=answers_with(shapes.Judging), summary="How far everything is judged")
def judging(request: Request, visitor: Reads) -> Response:
    """Up to which run everything is judged, how many results wait, and why where nothing can be judged."""
    return answer(request, first.judging_state(archive(request)))


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
    branch: Several = None,
    tags: Several = None,
    machines: Several = None,
    sort: Sort = "",
    facets: Facets = False,
) -> Response:
    """Those that have the tag, the case, the revision and the machine, where any is given."""
    view = runs.runs_page(
        archive(request),
        before=before,
        limit=limit,
        tag=tag,
        case=case,
        revision=revision,
        machine=machine,
        also=RunChoice(branches=some(branch), tags=some(tags), machines=some(machines), sort=sort),
        facets=facets,
    )
    return answer(request, view)


@router.get("/runs/{reference:path}", responses=answers_with(shapes.RunView), summary="One run with its cases")
def one_run(
    request: Request,
    visitor: Reads,
    reference: Name,
    words: Annotated[str, Query(max_length=LONGEST, description="Each occurs in the case's name or a param.")] = "",
    sort: Annotated[
        str, Query(max_length=LONGEST, description="`case` or a metric; `-` before it for the largest first.")
    ] = "",
    after: Annotated[int, Query(ge=0, le=1_000_000, description="`next` of the page before.")] = 0,
    limit: Limit = run_tables.CASES,
) -> Response:
    """`reference` is an id, a tag, a commit, `last`, `last~N`, or the beginning of an id or a commit.

    The cases come in pages; all else is told of the whole run.
    """
    view = runs.run_view(archive(request), reference, after=after, limit=limit, words=words, sort=sort)
    return answer(request, view)


@router.get(
    "/results/{result:path}", responses=answers_with(shapes.ResultView), summary="One result, everything recorded"
)
def one_result(
    request: Request,
    visitor: Reads,
    result: Name,
    rounds: Annotated[
        Literal["one", "together"], Query(description="`together`: distributions of all rounds of its case.")
    ] = "one",
) -> Response:
    """`result` is an id, or the number that a series names it by."""
    return answer(request, results.result_view(archive(request), result, together=rounds == "together"))


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
    metrics: Several = None,
    machines: Several = None,
    param: Annotated[list[str] | None, Query(max_length=100, description="`name=value`; repeatable.")] = None,
    branch: Several = None,
    tags: Several = None,
    sort: Sort = "",
    facets: Facets = False,
    after: Annotated[int, Query(ge=0, lt=2**63, description="`next` of the page before.")] = 0,
    limit: Limit = 100,
) -> Response:
    """Series without their points but the newest few."""
    chosen = SeriesFilter(
        case=case,
        metric=metric,
        machine=machine,
        words=words,
        metrics=some(metrics),
        machines=some(machines),
        params=some(param),
        branches=some(branch),
        tags=some(tags),
        sort=sort,
        after=after,
        limit=limit,
    )
    return answer(request, series.series_page(archive(request), chosen, facets=facets))


@router.get("/series/{key}", responses=answers_with(shapes.SeriesView), summary="One series with its points")
def one_series(
    request: Request,
    visitor: Reads,
    key: Name,
    unit: Annotated[str, Query(max_length=LONGEST, description="Needed where one key has values in two units.")] = "",
    rounds: Annotated[
        Literal["each", "together"], Query(description="`together`: the rounds of a run are one point.")
    ] = "each",
) -> Response:
    """At most 100,000 of the newest points, in columns; change points, notes, branches and releases beside them."""
    return answer(request, series.series_view(archive(request), key, unit, fold=rounds == "together"))


@router.get("/compare", responses=answers_with(shapes.Comparison), summary="Two or more sides against the first")
def compare(
    request: Request,
    visitor: Reads,
    a: Annotated[
        str,
        Query(
            min_length=1,
            max_length=LONGEST,
            description="run:REF, revision:ID, branch:NAME, machine:KEY, runtime:NAME",
        ),
    ],
    b: Annotated[
        list[Annotated[str, Query(min_length=1, max_length=LONGEST)]],
        Query(min_length=1, max_length=MOST_SIDES - 1, description="Judged against `a`; repeatable for several sides."),
    ],
    metric: Annotated[
        list[str] | None, Query(max_length=100, description="To judge; repeatable. The usual ones without.")
    ] = None,
    across: Annotated[
        str,
        Query(max_length=LONGEST, description="Params, with commas, in which paired cases may differ: lr,batch_size."),
    ] = "",
    words: Annotated[
        str, Query(max_length=LONGEST, description="Lines with each of them in case, param, metric or machine.")
    ] = "",
    only: Annotated[str, Query(max_length=LONGEST, description="Lines of this metric.")] = "",
    verdict: Annotated[Verdict | None, Query(description="Lines with this verdict on any side.")] = None,
    changed: Annotated[
        bool | None, Query(description="Lines called better or worse on any side; false: the others.")
    ] = None,
    order: Annotated[str, Query(max_length=20, description="effect, case, metric, ratio or -ratio.")] = "effect",
    group: Annotated[Literal["", "case"], Query(description="case: the lines of one case stand together.")] = "",
    after: After = 0,
    limit: Limit = 500,
) -> Response:
    """What `benchwright compare` says: ratios with their intervals, and verdicts that may be unclear.

    Counts and geometric means are of all lines, whatever part of them was asked for.
    """
    shown = LineFilter(
        words=words,
        metric=only,
        verdict=verdict.value if verdict else "",
        changed=changed,
        order=order,
        by_case=bool(group),
        after=after,
        limit=limit,
    )
    names = list(dict.fromkeys(name.strip() for name in across.split(",") if name.strip()))
    view = comparing.compare(archive(request), a, b[0], *b[1:], metrics=metric or (), across=names, shown=shown)
    return answer(request, view)


@router.get("/matrix", responses=answers_with(shapes.Matrix), summary="Newest values by two dimensions")
def matrix(
    request: Request,
    visitor: Reads,
    metric: Text = "",
    rows: Annotated[str, Query(max_length=LONGEST, description="A dimension: case, machine or a param.")] = "",
    columns: Annotated[str, Query(max_length=LONGEST, description="Another one.")] = "",
    baseline: Annotated[str, Query(max_length=LONGEST, description="The column others are relative to.")] = "",
    after: After = 0,
    limit: Limit = 200,
) -> Response:
    """Every other parameter fixes the dimension of its name: `batch_size=8`. `after` and `limit` are of rows."""
    view = crossing.matrix(
        archive(request),
        metric=metric,
        rows=rows,
        columns=columns,
        baseline=baseline,
        chosen=_other_parameters(request, _OWN),
        after=after,
        limit=limit,
        widest=_WIDEST,
    )
    return answer(request, view)


@router.get("/pareto", responses=answers_with(shapes.Pareto), summary="Configurations by two metrics")
def pareto(request: Request, visitor: Reads, x: Text = "", y: Text = "") -> Response:
    """Every other parameter narrows the dimension of its name, unless it is `*`. The case is that with most points."""
    return answer(request, choosing.pareto(archive(request), x=x, y=y, chosen=_other_parameters(request, _AXES)))


def _other_parameters(request: Request, own: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in request.query_params.items() if name not in own and value}


@router.get("/findings", responses=answers_with(shapes.FindingsPage), summary="Findings, the newest first")
def list_findings(
    request: Request,
    visitor: Reads,
    chosen: NarrowedFindings,
    words: Words = "",
    limit: Limit = 100,
    after: Place = "",
    cause: Annotated[str, Query(max_length=LONGEST, description="A cause's id, or the beginning of one.")] = "",
    facets: Facets = False,
) -> Response:
    """Those in one of the states, whatever else is chosen, and of the cause where one is given."""
    view = triage.findings_page(
        archive(request),
        [State(state) for state in chosen.states],
        limit=limit,
        after=after,
        cause=cause,
        chosen=chosen,
        words=words,
        facets=facets,
    )
    return answer(request, view)


@router.get("/findings/{finding}", responses=answers_with(shapes.FindingView), summary="One finding with its picture")
def one_finding(request: Request, visitor: Reads, finding: Name) -> Response:
    """`finding` is an id, or the beginning of one."""
    return answer(request, triage.finding_view(archive(request), finding))


@router.get("/machines", responses=answers_with(shapes.MachinesPage), summary="Who measured what")
def machines(request: Request, visitor: Reads) -> Response:
    """Every machine, the one that measured last first, with its noise over time."""
    return answer(request, measuring.machines(archive(request)))


@router.get(
    "/machines/notices",
    responses=answers_with(shapes.MachineNotices),
    summary="Machines that need somebody's attention",
)
def notices(request: Request, visitor: Reads) -> Response:
    """Those in quarantine, and those whose newest runs are out of their usual."""
    return answer(request, measuring.machine_notices(archive(request)))


@router.get("/machines/{machine}", responses=answers_with(shapes.MachineView), summary="One machine and its health")
def one_machine(request: Request, visitor: Reads, machine: Name) -> Response:
    """`machine` is a key, the beginning of one, or a name."""
    return answer(request, measuring.machine_view(archive(request), machine))
