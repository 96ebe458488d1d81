"""A plan that is measured by the machines of a lab: packed, sent, put into the queue, followed, fetched."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchwright import vcs
from benchwright.errors import OptionError, StoreError
from benchwright.events import Followed, Listener, Noted, nobody
from benchwright.execution.builds.elsewhere import order_environment
from benchwright.execution.builds.surroundings import Surroundings
from benchwright.execution.hosts.adb import parse_wishes
from benchwright.execution.outposts.bundles import SentFile
from benchwright.execution.outposts.orders import EnvironmentOrder
from benchwright.execution.plans import Plan
from benchwright.execution.session import new_run
from benchwright.lab import shipments
from benchwright.lab.parcels import LabParcel
from benchwright.lab.shipments import Shipment
from benchwright.records import Run
from benchwright.units import format_value
from benchwright.units.selectors import Selector
from benchwright.workflows.lab.client import FileChangedError, LabCaller
from benchwright.workflows.lab.follow import follow

LINES = 4  # files that are sent at the same time
TELL = 0.5  # seconds between two words of how far that is
TRIES = 3  # to send files that change meanwhile
PRIORITIES = range(-100, 101)
WHERE = ("any", "each")
PHONES = ("kind", "phone")  # a condition of a selector


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRequest:
    """Which machines of a lab are meant, and how urgent it is."""

    selector: str = ""  # `cpu=*EPYC*,team=vision`; "" for any
    where: str = "any"  # whichever is free; each: every machine that matches
    priority: int = 0
    detach: bool = False  # do not wait for results
    environment: str | Surroundings = (
        ""  # packages to measure with: a requirements file, `here`, `own`; "": the machine's
    )
    phone: str = ""  # how a phone is to be when a case begins, `cool=35C&screen=off`; then only phones are meant

    def check(self) -> LabRequest:
        """Refuses what cannot be meant."""
        if self.where not in WHERE:
            raise OptionError(f"where: {self.where!r} is neither any nor each")
        check_priority(self.priority)
        self.order_environment()
        if not self.phone:
            return self
        parse_wishes(self.phone, f"*?{self.phone}")
        parts = Selector.parse(self.selector).parts
        return self if PHONES in parts else replace(self, selector=Selector(parts=(*parts, PHONES)).text)

    def order_environment(self) -> EnvironmentOrder | None:
        """The environment that machines are to make; what cannot be one is refused."""
        given = self.environment
        if not given:
            return None
        return order_environment(Surroundings(environment=given) if isinstance(given, str) else given, Path.cwd())


def check_priority(priority: int) -> None:
    """Refuses one that no lab knows."""
    if isinstance(priority, bool) or priority not in PRIORITIES:
        raise OptionError(
            f"the priority {priority} is out of range",
            remedy=f"give {PRIORITIES[0]} to {PRIORITIES[-1]}; higher goes first",
        )


def run_in_lab(plan: Plan, asked: LabRequest, *, store: str | None, listener: Listener = nobody) -> Run:
    """Has the plan measured in the lab of a server; the run with its results, or without any where nobody waits."""
    refuse_what_is_local(plan)
    with closing(LabCaller(store)) as lab:
        lab.check_scope("write", "to submit")
        run = submit(lab, plan, asked, listener)
        if asked.detach:
            return run
        follow(lab, run.id, listener, cancels=True)
    return fetch(run.id, store=store)


def submit(lab: LabCaller, plan: Plan, asked: LabRequest, listener: Listener = nobody) -> Run:
    """Sends what the cases need and puts them into the queue; returns the run, which has no results yet."""
    asked = asked.check()
    run = replace(new_run(plan), revision=vcs.revision(plan.directory))
    shipment = _ship(lab, plan, asked, listener)
    listener(Followed(text=f"submitting {len(shipment.works):,} cases"))
    told = lab.submit(run, shipment, selector=asked.selector, where=asked.where, priority=asked.priority)
    listener(Noted(text=describe_receipt(run.id, told, lab.place)))
    return run


def describe_receipt(run: str, told: Mapping[str, Any], place: str) -> str:
    """One line: what was put into the queue, and where to look at it."""
    jobs, machines = told.get("jobs", 0), told.get("machines", ())
    names = [str(one) for one in machines if isinstance(one, str)] if isinstance(machines, list) else []
    fitting = f" for {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}" if names else ""
    return f"run {run}: {jobs} {'job' if jobs == 1 else 'jobs'} in the queue{fitting}; {told.get('url') or place}"


def fetch(run: str, *, store: str | None) -> Run:
    """A run with the results that are at the server so far."""
    from benchwright.store import open_configured_store

    with closing(open_configured_store(store)) as kept:
        return kept.run(kept.find(run))


def refuse_what_is_local(plan: Plan) -> None:
    """Refuses what only a measurement that begins here can do."""
    if plan.resumed is not None:
        raise OptionError("a run in a lab cannot be resumed", remedy="leave out --resume: the lab tries again itself")


def _ship(lab: LabCaller, plan: Plan, asked: LabRequest, listener: Listener) -> Shipment:
    """Packs the cases and sends the files that the server lacks.

    What changed meanwhile is looked at again. A file that keeps changing is left out, unless a case names it: it may be
    a log that lies beside the code.
    """
    left_out: frozenset[str] = frozenset()
    order = asked.order_environment()
    for number in range(TRIES + 1):
        shipment = shipments.pack(plan, listener, left_out=left_out, phone=asked.phone, environment=order)
        wanted = lab.missing(shipment.files)
        files = [one for digest, one in shipment.files.items() if digest in wanted]
        changed = _FileSender(lab, files, listener).send() if files else []
        if not changed:
            break
        if number >= TRIES - 1:
            if named := sorted({*changed} & shipment.named) or (sorted(changed) if number == TRIES else []):
                raise StoreError(f"{named[0]} changed while it was sent", remedy="measure when nobody writes to it")
            left_out |= {*changed}
            listener(Noted(text=f"not sent, since somebody writes to it: {', '.join(sorted(changed)[:3])}"))
    return shipment


def send_missing(lab: LabCaller, parcel: LabParcel, listener: Listener) -> None:
    """Sends the files of a parcel that the server lacks; one that changes meanwhile is an error."""
    files = {one.sha256: one for one in parcel.files}
    wanted = [files[digest] for digest in lab.missing(files)]
    if changed := _FileSender(lab, wanted, listener).send() if wanted else []:
        raise StoreError(f"{changed[0]} changed while it was sent", remedy="measure when nobody writes to it")


class _FileSender:
    """Sends files over several lines, and tells how far it is."""

    def __init__(self, lab: LabCaller, files: Sequence[SentFile], listener: Listener) -> None:
        self._lab, self._files, self._listener = lab, files, listener
        self._whole = sum(one.size for one in files)
        self._sent: dict[str, int] = {}  # bytes, by file
        self._lock = threading.Lock()
        self._changed: list[str] = []
        self._stop = False

    def send(self) -> list[str]:
        """Sends all of them; the paths of those that changed meanwhile. Told here: listeners know of no threads."""
        with ThreadPoolExecutor(LINES, thread_name_prefix="benchwright-send") as lines:
            left = {lines.submit(self._send_one, one) for one in self._files}
            try:
                while left:
                    self._tell()
                    ended, left = wait(left, timeout=TELL)
                    for one in ended:
                        one.result()
            except BaseException:
                self._stop = True
                lines.shutdown(cancel_futures=True)
                raise
        return self._changed

    def _send_one(self, one: SentFile) -> None:
        def note(sent: int) -> None:
            if self._stop:
                raise StoreError("no more is sent")
            with self._lock:
                self._sent[one.sha256] = sent

        if self._stop:
            return
        try:
            self._lab.send_file(one, note)
        except FileChangedError:
            self._changed.append(one.path)
        note(one.size)

    def _tell(self) -> None:
        with self._lock:
            done = sum(self._sent.values())
        self._listener(Followed(text=f"sending files: {format_value(done, 'B')} of {format_value(self._whole, 'B')}"))
