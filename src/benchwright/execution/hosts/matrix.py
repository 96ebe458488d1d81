"""Workers of a revision in several environments: a case says in which of them it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchwright.errors import MeasureError
from benchwright.execution.hosts.revision import RevisionHost

if TYPE_CHECKING:
    from benchwright.execution.builds import BuiltRevision
    from benchwright.execution.hosts.local import LocalWorker
    from benchwright.worker.channel import Job

ENVIRONMENT = "environment"  # the parameter of a case that names the environment


class MatrixHost:
    """Starts each worker in the environment that its case names, with that environment's Python."""

    def __init__(self, parts: Sequence[BuiltRevision]) -> None:
        self._parts = {part.label: part for part in parts}
        self._hosts = {
            part.label: RevisionHost(python=part.python, directory=part.folder, environment=part.environment)
            for part in parts
            if part.ok
        }

    def launch(self, job: Job) -> LocalWorker:
        """Hands the job to a fresh process and returns at once; an environment that was not built is refused."""
        label = str(job.case.params.get(ENVIRONMENT, ""))
        host = self._hosts.get(label)
        if host is not None:
            return host.launch(job)
        failure = self._parts[label].failure if label in self._parts else None
        if failure is None:
            raise MeasureError(f"there is no environment {label!r}")
        raise MeasureError(failure.message, remedy=failure.remedy)

    def close(self) -> None:
        """Nothing waits here."""
