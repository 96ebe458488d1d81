"""Workers of a built revision: in its folder, with its own Python.

A worker that only asks a served model is this program, the same for every revision. So it runs with this interpreter;
a server that it starts is the revision's: in its folder, with its environment first in PATH.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.execution.hosts.local import LocalHost, LocalWorker
from benchwright.targets.sources.endpoints import is_address

if TYPE_CHECKING:
    from benchwright.worker.channel import Job


class RevisionHost:
    """Starts the workers of one revision on this machine."""

    def __init__(self, *, python: str, directory: Path, environment: Mapping[str, str]) -> None:
        self._own = LocalHost(python=python, directory=directory, environment=environment)
        self._client = LocalHost(python=sys.executable, directory=directory, environment=environment, lent_first=True)

    def launch(self, job: Job) -> LocalWorker:
        """Hands the job to a fresh process and returns at once."""
        if is_address(job.case.target.uri):
            return self._client.launch(replace(job, paths=(), last_paths=()))  # nothing of the revision is imported
        return self._own.launch(job)

    def close(self) -> None:
        """Nothing waits here."""
