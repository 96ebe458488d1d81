"""Hosts start workers: on this machine, in a container, on a phone, forked from one process, on another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

# Kinds of failure that say something of a machine and nothing of what was measured: worth another try.
LOST = ("link", "node-lost", "preempted", "requeued")

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchwright.execution.attempt import AttemptOutcome
    from benchwright.records import Environment
    from benchwright.worker.channel import Frame, Job


class Worker(Protocol):
    """A started worker."""

    @property
    def pid(self) -> int:
        """Returns the worker's process id on its host."""
        ...

    def fileno(self) -> int:
        """Returns a descriptor that is readable when there is something to `hear`."""
        ...

    def tell(self, message: Frame) -> None:
        """Sends the worker a message; a worker that has gone is no error."""
        ...

    def hear(self) -> list[Frame] | None:
        """What arrived since; None at the end of the line. A `ChannelError` when it is not a message."""
        ...

    def gone(self) -> bool:
        """Whether the worker's process has ended; what it started may still hold the line open."""
        ...

    def end(self, grace: float) -> int:
        """Waits `grace` seconds for its end, then kills it and all it started. Exit status; below zero, a signal."""
        ...

    def bound_log(self) -> None:
        """Cuts a log that has grown beyond reason."""
        ...

    def log_tail(self) -> str:
        """Returns the end of what the worker printed."""
        ...


class Host(Protocol):
    """A host starts workers: on this machine, in a container, for a phone."""

    def launch(self, job: Job) -> Worker:
        """Starts a fresh process with this job and returns at once."""
        ...


@runtime_checkable
class RemoteHost(Protocol):
    """A host whose machine is another one: the whole attempt is made there, with that machine's clock and monitors."""

    def environment(self) -> Environment:
        """Returns the environment of that machine."""
        ...

    def attempt(
        self,
        job: Job,
        *,
        directory: Path,
        monitors: Sequence[str],
        while_loading: Callable[[], None],
        on_phase: Callable[[str], None],
    ) -> AttemptOutcome:
        """Measures the job's case there; an outcome whatever happens. `directory` is where relative paths begin."""
        ...

    def close(self) -> None:
        """Ends what was started there."""
        ...


AnyHost = Host | RemoteHost
