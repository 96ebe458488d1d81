"""A submission while the lab works on it: looked at every second or so, and cancelled with Ctrl-C."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from benchwright.errors import StoreError
from benchwright.events import Followed, Listener, Noted, Planned, nobody
from benchwright.lab.delays import ordinal, span
from benchwright.pages.lab_shapes import LabJobLine, LabSubmissionView
from benchwright.system.interrupts import Interrupt
from benchwright.workflows.lab.client import LabCaller, is_away

PAUSE = 1.0  # seconds between two looks, at first
LONGEST_PAUSE = 5.0  # for one that waits long
PATIENCE = 600.0  # seconds that a server may be away
ENDED = ("done", "failed", "cancelled")


def follow(
    lab: LabCaller,
    run: str,
    listener: Listener = nobody,
    *,
    cancels: bool = False,
    patience: float = PATIENCE,
) -> LabSubmissionView:
    """Waits until all of a submission has ended; returns how it stands then.

    With `cancels`, the first Ctrl-C asks the server to cancel it, and what is under way is still waited for; the second
    one leaves it to the server. Without, Ctrl-C only ends the waiting. A server that is away is asked again.
    """
    interrupt = Interrupt()
    looks = _Looks(lab, run, listener, patience)
    with interrupt.watch():
        while True:
            try:
                with interrupt.allow():
                    view = looks.look()
                    if view is not None and view.state in ENDED:
                        return view
                    time.sleep(looks.pause)
            except KeyboardInterrupt:
                if not cancels or looks.cancelled:
                    listener(Noted(text=f"left to the server: benchwright lab follow {run} goes on with it"))
                    raise
                looks.cancel()


class _Looks:
    """Asks for one submission again and again."""

    def __init__(self, lab: LabCaller, run: str, listener: Listener, patience: float) -> None:
        self._lab, self._run, self._listener, self._patience = lab, run, listener, patience
        self._away: float | None = None  # since when the server does not answer
        self._seen = ""
        self._planned = False
        self.pause = PAUSE
        self.cancelled = False

    def look(self) -> LabSubmissionView | None:
        """How it stands; None while the server is away."""
        try:
            view = self._lab.submission(self._run)
        except StoreError as error:
            self._endure(error)
            return None
        self._away = None
        if not self._planned:
            self._planned = True
            self._listener(Planned(total=len(view.jobs)))
        text = describe(view)
        self.pause = PAUSE if text != self._seen else min(LONGEST_PAUSE, self.pause * 1.2)
        self._seen = text
        self._listener(Followed(text=f"{'cancelling; ' if self.cancelled else ''}{text}"))
        return view

    def cancel(self) -> None:
        """Asks the server to cancel it; the pause is short again."""
        self.cancelled, self.pause = True, PAUSE
        try:
            self._lab.cancel(self._run)
            text = "the server was asked to cancel it; Ctrl-C again does not wait for what is under way"
        except StoreError as error:
            text = f"it could not be cancelled: {error.message}; benchwright lab cancel {self._run} tries again"
        self._listener(Noted(text=text))

    def _endure(self, error: StoreError) -> None:
        """Waits for a server that is away; anything else, and one that stays away, is an error."""
        now = time.monotonic()
        self._away = now if self._away is None else self._away
        if not is_away(error) or now - self._away > self._patience:
            raise StoreError(
                error.message, remedy=f"the lab goes on without you: benchwright lab follow {self._run}"
            ) from None
        since = span(now - self._away)
        self._listener(Followed(text=f"the server cannot be reached for {since}; asking again"))


def describe(view: LabSubmissionView) -> str:
    """One line: how many jobs have ended, what is being measured, and when the next one begins."""
    states = Counter(job.state for job in view.jobs)
    ended = sum(states[state] for state in ENDED)
    parts = [f"{ended} of {len(view.jobs)} done"] if len(view.jobs) > 1 or ended else []
    parts += [_running([job for job in view.jobs if job.state == "leased"])]
    parts += [_waiting([job for job in view.jobs if job.state == "queued"])]
    return "; ".join(filter(None, parts))


def _running(jobs: Sequence[LabJobLine]) -> str:
    if not jobs:
        return ""
    first = max(jobs, key=lambda job: job.leased_at)
    told = f"{first.machine}: {first.case}{f', {first.phase}' if first.phase else ''}"
    return told if len(jobs) == 1 else f"{len(jobs)} running, {told}"


def _waiting(jobs: Sequence[LabJobLine]) -> str:
    """`queued, 3rd, about 4 min`, of the job that is next."""
    if not jobs:
        return ""
    first = min(jobs, key=lambda job: job.position or len(jobs))
    parts = ["queued" if len(jobs) == 1 else f"{len(jobs)} queued"]
    if first.position:
        parts.append(ordinal(first.position))
    if first.wait is not None:
        parts.append(f"about {span(first.wait)}")
    elif first.reason:
        parts.append(first.reason)
    return ", ".join(parts)
