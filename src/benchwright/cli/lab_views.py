"""What `benchwright lab` shows: the queue, the machines, and one submission."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import print_json
from benchwright.lab.delays import ordinal, span
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from benchwright.pages.lab_shapes import LabJobLine, LabMachineLine, LabPage, LabSubmissionView

_MOST = 20  # lines of a queue


def say(line: str) -> None:
    """Prints a line, whatever signs somebody put into a name."""
    click.echo(printable(line))


def show_submission(run: str, *, store: str | None, as_json: bool) -> int:
    """Prints how a submission stands; returns the exit code of a command that does not wait for it."""
    from contextlib import closing

    from benchwright.workflows.lab.client import LabCaller

    with closing(LabCaller(store)) as lab:
        view = lab.submission(lab.find(run))
    if as_json:
        print_json("lab-submission", view)
    else:
        for line in submission_lines(view):
            say(line)
    return 0


def lab_lines(page: LabPage) -> Iterator[str]:
    """The machines, then the queue, then why nothing is running."""
    if not page.machines:
        yield "no machines: benchwright agent --server URL offers one"
    width = max((len(one.name) for one in page.machines), default=0)
    for one in page.machines:
        yield f"{one.name:<{width}}  {machine_text(one)}"
    yield f"queue: {_count(page.queued, 'job')}"
    for job in page.queue[:_MOST]:
        yield f"  {job_text(job)}"
    if page.queued > min(len(page.queue), _MOST):
        yield f"  and {page.queued - min(len(page.queue), _MOST):,} more"
    if page.why:
        yield f"nothing is running: {page.why}"


def machine_text(one: LabMachineLine) -> str:
    """What a machine does, and why it takes no work where it does not."""
    parts = [one.state]
    if one.job is not None:
        since = f" for {_ago(one.job.leased_at)}" if one.job.leased_at else ""
        parts.append(f"{one.job.case}{since}{_after(one.job.phase)} (run {one.job.run}{_after(one.job.who)})")
    if one.state == "away" and one.seen_at:
        parts.append(f"last heard of {_ago(one.seen_at)} ago")
    if one.reason:
        parts.append(f"{one.reason}{_after(one.who)}{_until(one.until)}")
    if one.reserved_for or one.reserved_until is not None:
        parts.append(f"reserved for {one.reserved_for or 'whoever has no token'}{_until(one.reserved_until)}")
    if one.health:
        parts.append(f"out of order: {one.health}")
    return "  ".join(parts)


def submission_lines(view: LabSubmissionView) -> Iterator[str]:
    """The run, then a line for each of its jobs."""
    from benchwright.workflows.lab.follow import describe

    wanted = f"{view.where} of {view.selector or '*'}, priority {view.priority}"
    yield f"run {view.run}{_after(view.who)}, {wanted}: {view.state}"
    if told := describe(view):
        yield f"  {told}"
    for job in view.jobs:
        yield f"  {job_text(job)}"


def job_text(job: LabJobLine) -> str:
    """One job: where it stands in the queue or with which machine, and why."""
    parts = ["running" if job.state == "leased" else job.state, job.case]
    if job.machine:
        parts.append(f"on {job.machine}")
    if job.state == "leased" and job.phase:
        parts.append(job.phase)
    if job.position:
        parts.append(ordinal(job.position))
    if job.wait is not None:
        parts.append(f"about {span(job.wait)}")
    if job.attempt > 1:
        parts.append(f"attempt {job.attempt}")
    if job.reason:
        parts.append(job.reason)
    return "  ".join(parts)


def _after(text: str) -> str:
    return f", {text}" if text else ""


def _until(at: int | None) -> str:
    from benchwright.workflows.machines import show_instant

    return f" until {show_instant(at * 1000)}" if at is not None else ""


def _ago(at: int) -> str:
    return span(max(0.0, time.time() - at / 1000))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
