"""`benchwright findings judge --all`: everything that arrived, with how far it is on a terminal."""

from __future__ import annotations

import sys

from benchwright.cli.progress import ProgressLine
from benchwright.errors import OptionError, StoreError
from benchwright.events import Counted, Noted
from benchwright.notify import open_notifier
from benchwright.records.findings import Finding
from benchwright.store import Store
from benchwright.store.sql import SqlStore
from benchwright.vcs.history import History
from benchwright.workflows.judgement import judge_arrivals, tell_findings


def judge_all(
    store: Store, repository: History | None, smallest: float, *, again: bool, notified: str
) -> list[Finding]:
    """What is found in everything that was not judged yet; how far it is shows on a terminal.

    People are told where `notified` names the store.
    """
    if not isinstance(store, SqlStore):
        raise OptionError(f"a server judges what arrives there by itself{_told(store)}", remedy="leave out --all")
    notifier = open_notifier(notified) if notified else None
    found: list[Finding] = []
    with store.hold_judging() as is_held, ProgressLine(sys.stderr) as progress:
        if is_held is None:
            raise StoreError(
                f"another process judges what arrives in {store.place}",
                remedy="benchwright findings shows what it finds; a server does this by itself",
            )
        waiting, judged = store.list_again() if again else store.judging().waiting, 0
        for batch in judge_arrivals(
            store, repository=repository, smallest=smallest, announce=notifier is not None, listener=progress
        ):
            judged += batch.results
            progress(Counted(what="results judged", done=judged, whole=max(waiting, judged)))
            found += batch.findings
            for trouble in batch.troubles:
                progress(Noted(text=f"series {trouble.series} could not be judged: {trouble.why}"))
        state = store.judging()
        if state.waiting:
            progress(Noted(text=f"{state.waiting:,} results wait: their runs are still being measured"))
        if state.older:
            older = f"results from before the store noted what is judged are left out ({state.older:,})"
            progress(Noted(text=f"{older}; --anew judges them too"))
        for note in tell_findings(store, notifier).notes() if notifier is not None else ():
            progress(Noted(text=note))
    return found


def _told(store: Store) -> str:
    """How far a server is with that, as the end of a sentence."""
    judged_until = getattr(store, "judged_until", None)
    if judged_until is None:
        return ""
    until, waiting = judged_until()
    return f": until run {until or '(none)'}, {waiting:,} results wait"
