"""A server with a lab, and a stand-in for its agents: takes jobs from the queue and delivers made-up results."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import page_server
import series_of_runs as made
from benchwright.execution import plan_elsewhere
from benchwright.records import Environment, Failure, Result, Status
from benchwright.records.lab import LabLease, LabMachine
from benchwright.server.settings import ServerSettings
from benchwright.store.sql import SqlStore


def now() -> int:
    """This instant, as the lab's tables have it."""
    return time.time_ns() // 1000


@dataclass
class Lab:
    """A server with a lab, and its database."""

    url: str
    store: SqlStore

    def machine(self, name: str, **facts: str) -> None:
        """Offers a machine."""
        self.store.lab.register([LabMachine(name=name, agent=name, key=f"k-{name}", facts=facts)], who="", now=now())

    def claim(self, name: str) -> LabLease | None:
        """Takes a job, if there is one."""
        return self.store.lab.claim(name, who="", now=now())

    def deliver(self, lease: LabLease, results: list[Result]) -> None:
        """Ends a job with its results."""
        self.store.lab.deliver(lease.fence, results, who="", now=now())


def results_of(lease: LabLease, *, status: Status = Status.OK) -> list[Result]:
    """A result for each round."""
    sample = made.run_of(1, 0.01).results[0]
    found = Environment(machine={"cpu": "EPYC"}, system={"os": "Linux", "host": {"name": f"lab:{lease.job.leased_to}"}})
    failure = None if status is Status.OK else Failure(kind="exit", message="it went wrong")
    return [
        replace(
            sample,
            id=f"{lease.job.run}-{lease.job.id}.{lease.job.attempt}-{number}",
            case=lease.work.case,
            round=number,
            status=status,
            error=failure,
            environment=found,
            details=dict(lease.work.notes),
            metrics=sample.metrics if status is Status.OK else (),
        )
        for number in range(lease.work.rounds)
    ]


@contextmanager
def serving_lab(folder: Path) -> Iterator[Lab]:
    """A server whose lab has two machines, rack7 and rack8."""
    url = f"sqlite:///{folder / 'lab.db'}"
    with contextmanager(page_server.serving)(ServerSettings(store_url=url, artifacts=folder)) as server:
        store = SqlStore(url)
        found = Lab(url=server, store=store)
        found.machine("rack7", cpu="AMD EPYC 9654", cores="96")
        found.machine("rack8", cpu="Intel Xeon 8480", cores="56")
        try:
            yield found
        finally:
            store.close()


@contextmanager
def machines_at_work(lab: Lab) -> Iterator[Callable[..., None]]:
    """`begin("rack7")` has that machine measure whatever the queue gives it, until the block ends."""
    ended, threads = threading.Event(), []

    def work(name: str, status: Status) -> None:
        while not ended.wait(0.02):
            lease = lab.claim(name)
            if lease is not None and lease.work.planning:
                found = json.dumps(plan_elsewhere.make_plan(lease.work.planning))
                lab.store.lab.answer(lease.fence, found, who="", now=now())
            elif lease is not None:
                lab.deliver(lease, results_of(lease, status=status))

    def begin(name: str, status: Status = Status.OK) -> None:
        threads.append(threading.Thread(target=work, args=(name, status)))
        threads[-1].start()

    try:
        yield begin
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def empty_queue(lab: Lab) -> None:
    """Cancels what waits, and lets machines go that are held."""
    for job in lab.store.lab.state(now=now()).jobs:
        lab.store.lab.cancel(job.run, who="", now=now())
    for name in ("rack7", "rack8"):
        for kind in ("drain", "reservation"):
            lab.store.lab.unhold(name, kind)
        lab.store.release(f"k-{name}", now(), "")
