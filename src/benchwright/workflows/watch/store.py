"""One connection to the store for a whole watch: opening it anew for each commit would cost a third of a second."""

from __future__ import annotations

from dataclasses import dataclass

from benchwright.records import Result, Run
from benchwright.store import Store
from benchwright.store.live import Progress


@dataclass(frozen=True, slots=True)
class Shared:
    """A store that stays open when one who uses it is done."""

    store: Store

    def begin(self, run: Run) -> None:
        """Records the run without results."""
        self.store.begin(run)

    def add(self, run_id: str, result: Result, *, instead_of: str = "") -> None:
        """Keeps one result."""
        self.store.add(run_id, result, instead_of=instead_of)

    def tell_progress(self, progress: Progress) -> None:
        """Tells the store what a run does, where it can be told."""
        if tell := getattr(self.store, "tell_progress", None):
            tell(progress)

    def close(self) -> None:
        """Leaves it open; a `StoreLostError` when what was kept is no longer in place."""
        if confirm := getattr(self.store, "confirm", None):
            confirm()
