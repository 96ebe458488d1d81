"""Work of several threads that is done in one go, so that what takes long, a disk for example, is waited for once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 32  # at once, so that nobody waits for long


@dataclass(slots=True, kw_only=True)
class CommitJob(Generic[T]):
    """One thread's part of a group commit. The thread that commits sets `done` or `error`. Two jobs of the same `name`
    are never done at once.
    """

    name: Hashable
    work: T
    done: bool | None = None
    error: BaseException | None = None
    leads: bool = False  # it is this thread's turn to work for all who wait
    awake: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Whether the job is done or has failed."""
        return self.done is not None or self.error is not None


class GroupCommit(Generic[T]):
    """Does the jobs that came while others were being done, all at once. Nobody waits for company.

    One of the threads that wait does the work of all; then it goes its way, and the next one's turn has come.
    """

    def __init__(self, do: Callable[[Sequence[CommitJob[T]]], None]) -> None:
        self._do = do
        self._lock = threading.Lock()
        self._waiting: list[CommitJob[T]] = []
        self._is_busy = False

    def __call__(self, name: Hashable, work: T) -> bool:
        """Has a job done, alone or with others; returns what came of it, or raises its error."""
        job = CommitJob(name=name, work=work)
        with self._lock:
            self._waiting.append(job)
            job.leads = not self._is_busy
            self._is_busy = True
        if not job.leads:
            job.awake.wait()
        if job.leads:
            self._lead()
        if job.error is not None:
            raise job.error
        assert job.done is not None
        return job.done

    def _lead(self) -> None:
        with self._lock:
            jobs = self._next()
        try:
            self._do(jobs)
        except BaseException as error:
            for job in jobs:
                if not job.is_over:
                    job.error = error
        finally:
            with self._lock:
                self._is_busy = bool(self._waiting)
                heir = self._waiting[0] if self._waiting else None
            if heir is not None:
                heir.leads = True
                heir.awake.set()
            for job in jobs:
                job.awake.set()

    def _next(self) -> list[CommitJob[T]]:
        """The first that wait, the leader among them, for it is the first; of one name only one."""
        chosen: dict[Hashable, CommitJob[T]] = {}
        left = []
        for job in self._waiting:
            if len(chosen) < MOST and job.name not in chosen:
                chosen[job.name] = job
            else:
                left.append(job)
        self._waiting = left
        return [*chosen.values()]
