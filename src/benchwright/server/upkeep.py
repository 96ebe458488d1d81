"""What a server does by itself, once a day: let go what the rules of retention say is too old."""

from __future__ import annotations

import sys
import threading

from benchwright.errors import BenchwrightError
from benchwright.server.context import RequestContext
from benchwright.store.sql import retention

DAY = 86400.0


class Upkeep:
    """A thread that looks once a day, and at the beginning. It is nothing that an end has to wait for."""

    def __init__(self, here: RequestContext, *, period: float = DAY) -> None:
        self._here = here
        self._period = period
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="retention", daemon=True)

    def start(self) -> None:
        """Begins, if there is a rule to follow."""
        rules = self._here.settings.retention
        if rules.samples is not None or rules.runs is not None:
            self._thread.start()

    def end(self) -> None:
        """Looks no more."""
        self._ended.set()

    def _go_on(self) -> None:
        while not self._ended.is_set():
            try:
                tidy(self._here)
            except BenchwrightError as error:  # a database that is away comes back
                sys.stderr.write(f"retention: {error}\n")
            self._ended.wait(self._period)


def tidy(here: RequestContext) -> None:
    """Lets go what is too old, and says so in the audit log."""
    gone = retention.apply(here.store, here.settings.retention)
    if gone is not None and (gone.runs or gone.aged):
        what = f"{len(gone.runs)} runs, samples of {gone.aged} results"
        here.store.audit_add(who="", address="", action="retention", what=what)
