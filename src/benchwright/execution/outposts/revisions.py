"""A revision on another machine: its working copy is sent there, built there, planned there, measured there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.events import Listener, Staged, nobody
from benchwright.execution.attempt import AttemptOutcome
from benchwright.execution.outposts.environment_desk import WorkTerms
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.outposts.orders import MadeEnvironment
from benchwright.records import Case, Environment, ResultWarning, Value
from benchwright.records.prices import Price
from benchwright.worker.channel import Job

TOLD_AGAIN = 60.0  # seconds after which it is worth another line how far something is


class StageTeller:
    """Tells a listener what a machine does that takes long: each thing once, and now and then how far it is."""

    def __init__(self, name: str, listener: Listener) -> None:
        self._name, self._listener = name, listener
        self._what, self._told_at = "", 0.0

    def __call__(self, text: str) -> None:
        """Takes what is being done; behind the first comma stands how far it is."""
        what = text.partition(",")[0]
        if what != self._what or time.monotonic() - self._told_at > TOLD_AGAIN:
            self._what, self._told_at = what, time.monotonic()
            self._listener(Staged(text=f"{self._name}: {text}"))


class RevisionThere:
    """What measures one revision on a machine that others use as well. To close it leaves the machine as it is."""

    watched = False  # from here; the outpost watches

    def __init__(self, host: OutpostHost, terms: WorkTerms, listener: Listener = nobody) -> None:
        self._host, self._terms = host, terms
        self._tell = StageTeller(host.name, listener)
        self.packages: Mapping[str, str] = {}
        self.guests: Mapping[str, str] = {}  # by the key of a case: the machine that has its series, and is away

    @property
    def name(self) -> str:
        """The machine's name."""
        return self._host.name

    def prepare(self, paths: Sequence[str]) -> MadeEnvironment:
        """Sends the working copy and makes its environment; what failed is part of the answer."""
        made = self._host.prepare(self._terms, paths=paths, tell=self._tell)
        self.packages = made.packages
        if self._terms.order is not None:  # to build it again was asked for once
            self._terms = replace(self._terms, order=replace(self._terms.order, again=False))
        return made

    def plan(self, request: Mapping[str, Any], *, paths: Sequence[str], timeout: float) -> dict[str, Any]:
        """The answer of a child over there to an encoded request (`plan_elsewhere`)."""
        folder = Path(self._terms.folder)
        return self._host.plan(
            request, paths=paths, tell=self._tell, directory=folder, terms=self._terms, seconds=timeout
        )

    def environment(self) -> Environment:
        """The environment of that machine."""
        return self._host.environment()

    @property
    def last_environment(self) -> Environment | None:
        """The environment of the last attempt."""
        return self._host.last_environment

    def attempt(
        self,
        job: Job,
        *,
        directory: Path,
        monitors: Sequence[str],
        while_loading: Callable[[], None],
        on_phase: Callable[[str], None],
    ) -> AttemptOutcome:
        """Makes an attempt in the working copy, wherever the parent is; an outcome whatever happens."""
        return self._host.attempt(
            job,
            directory=Path(self._terms.folder or directory),
            monitors=monitors,
            while_loading=while_loading,
            on_phase=on_phase,
            terms=self._terms,
        )

    def remark(self, case: Case) -> ResultWarning | None:
        """What is to be said of the last attempt."""
        usual = self.guests.get(schema.case_key(case))
        if usual is None:
            return self._host.remark(case)
        return ResultWarning(
            code="other-machine",
            seen=f"{usual}, which has this series, cannot be reached: measured on {self.name}, where it is another one",
            remedy=f"it goes back to {usual} as soon as that answers",
        )

    def warnings(self) -> list[ResultWarning]:
        """What spoke against measuring on that machine before its first case."""
        return self._host.warnings()

    @property
    def price(self) -> Price | None:
        """What the machine costs, where that is known of the machine itself."""
        return getattr(self._host, "price", None)

    def notes(self) -> dict[str, Value]:
        """What is kept with each result of that machine."""
        found: dict[str, Value] = getattr(self._host, "notes", dict)()
        return found

    def cancel(self) -> None:
        """Has the outpost end what is under way, from another thread."""
        self._host.cancel()

    def close(self) -> None:
        """Leaves the machine to its owner."""
