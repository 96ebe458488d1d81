"""What lists are narrowed to, as the query of an address says it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, Query

from benchwright.records.findings import State
from benchwright.server.errors import refusal
from benchwright.store.choices import FindingChoice

LONGEST = 1000  # characters of a name
Several = Annotated[list[str] | None, Query(max_length=100, description="One of these; repeatable.")]
Sort = Annotated[str, Query(max_length=40, description="A column, `-` before it for the largest first.")]
Facets = Annotated[bool, Query(description="Whether the first page counts what it can be narrowed by.")]
Words = Annotated[
    str, Query(max_length=LONGEST, description="Each occurs in the case, metric, machine, commit or assignee.")
]
Place = Annotated[str, Query(max_length=300, description="`next` of the page before.")]


def some(values: list[str] | None) -> tuple[str, ...]:
    """What was given several times, or nothing; a value that is too long is refused."""
    if any(len(value) > LONGEST for value in values or ()):
        raise refusal(422, f"a value has more than {LONGEST:,} characters", "see api/v1/openapi.json")
    return tuple(values or ())


def _chosen_findings(
    state: Annotated[list[State] | None, Query(max_length=10, description="Repeatable; all without.")] = None,
    verdict: Annotated[list[Literal["worse", "better"]] | None, Query(max_length=2, description="Repeatable.")] = None,
    suite: Several = None,
    machines: Annotated[list[str] | None, Query(max_length=100, description="Keys; repeatable.")] = None,
    metrics: Several = None,
    branch: Annotated[
        list[str] | None, Query(max_length=100, description="Of the run that shows it first; repeatable.")
    ] = None,
    tags: Annotated[list[str] | None, Query(max_length=100, description="The same of its tags; repeatable.")] = None,
    assignee: Annotated[list[str] | None, Query(max_length=100, description="`-`: nobody; repeatable.")] = None,
) -> FindingChoice:
    return FindingChoice(
        states=tuple(one.value for one in state or ()),
        verdicts=tuple(verdict or ()),
        suites=some(suite),
        machines=some(machines),
        metrics=some(metrics),
        branches=some(branch),
        tags=some(tags),
        assignees=some(assignee),
    )


NarrowedFindings = Annotated[FindingChoice, Depends(_chosen_findings)]
