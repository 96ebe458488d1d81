"""Python code that a lab measures is planned there: what it imports need not be installed where it is submitted."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from benchwright.errors import StoreError
from benchwright.events import Event, Listener, Planned
from benchwright.execution import plan_elsewhere
from benchwright.execution.new_runs import new_run_id
from benchwright.lab import shipments
from benchwright.records import Case
from benchwright.records.lab import PLAN
from benchwright.targets.sources import Request
from benchwright.units.selectors import Selector
from benchwright.workflows import elsewhere
from benchwright.workflows.lab.client import LabCaller
from benchwright.workflows.lab.follow import follow
from benchwright.workflows.lab.submission import PRIORITIES, LabRequest, send_missing

HOSTS = ("kind", "host")  # a condition of a selector: no phone reads Python


def plan_in_lab(request: Request, asked: LabRequest, *, store: str | None, listener: Listener) -> list[Case]:
    """Every case of the request; those of Python code as a machine of the lab sees them that may measure them."""
    return elsewhere.plan_parts(request, lambda part: _plan_code(part, asked, store, listener))


def _plan_code(request: Request, asked: LabRequest, store: str | None, listener: Listener) -> list[Case]:
    elsewhere.check_files(request)
    parts = Selector.parse(asked.selector).parts
    selector = Selector(parts=parts if any(name == HOSTS[0] for name, _ in parts) else (*parts, HOSTS)).text
    parcel = shipments.pack_code([str(target) for target in request.targets], environment=asked.order_environment())
    plan = f"{PLAN}{new_run_id()}"

    def hear(event: Event) -> None:
        if not isinstance(event, Planned):  # what is counted is cases, and there are none yet
            listener(event)

    with closing(LabCaller(store)) as lab:
        lab.check_scope("write", "to submit")
        send_missing(lab, parcel, hear)
        words = plan_elsewhere.encode(replace(request, elsewhere=False))
        # Before all else that waits: it takes a second, and somebody sits there.
        lab.submit_plan(plan, words, parcel, selector=selector, priority=PRIORITIES[-1])
        view = follow(lab, plan, hear, cancels=True)
        if view.state != "done":
            reason = view.jobs[0].reason if view.jobs else ""
            raise StoreError(f"{lab.place}: the code was not planned: {view.state}{': ' if reason else ''}{reason}")
        where = view.jobs[0].machine if view.jobs else lab.place
        return elsewhere.read_plan(lab.fetch_plan(plan), request, where)
