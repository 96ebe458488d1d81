"""What a server does by itself, once however many processes it has: judging, leases of the lab, what is too old."""

from __future__ import annotations

import sys
import threading

from benchwright.errors import BenchwrightError
from benchwright.server.context import RequestContext
from benchwright.server.judge import Judge, JudgeJob
from benchwright.store.sql import retention

DAY = 86400.0


class StandingJobs:
    """The jobs of one server, from its start to its end."""

    def __init__(self, here: RequestContext) -> None:
        settings = here.settings
        self._upkeep, self._lab, self._judges = Upkeep(here), here.lab, settings.judges
        job = JudgeJob(store_url=settings.store_url, notify=settings.notify, quiet=settings.quiet)
        self._judge = Judge(here.store, job)

    def start(self) -> None:
        """Begins with all of them."""
        self._upkeep.start()
        self._lab.start()
        if self._judges:
            self._judge.start()

    def end(self) -> None:
        """Ends them."""
        self._upkeep.end()
        self._lab.end()
        self._judge.end()


class Upkeep:
    """A thread that removes what is too old, at the start and once a day. The server does not wait for it to end."""

    def __init__(self, here: RequestContext, *, period: float = DAY) -> None:
        self._here = here
        self._period = period
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="retention", daemon=True)

    def start(self) -> None:
        """Starts the thread, if a rule of retention is set."""
        rules = self._here.settings.retention
        if rules.samples is not None or rules.runs is not None:
            self._thread.start()

    def end(self) -> None:
        """Stops the thread after its present round."""
        self._ended.set()

    def _go_on(self) -> None:
        while not self._ended.is_set():
            try:
                tidy(self._here)
            except BenchwrightError as error:  # a database that is away comes back
                sys.stderr.write(f"retention: {error}\n")
            self._ended.wait(self._period)


def tidy(here: RequestContext) -> None:
    """Removes what is too old, and says so in the audit log."""
    gone = retention.apply(here.store, here.settings.retention)
    if gone is not None and (gone.runs or gone.aged):
        what = f"{len(gone.runs)} runs, samples of {gone.aged} results"
        here.store.audit_add(who="", address="", action="retention", what=what)
