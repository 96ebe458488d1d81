"""Where methods run: on this machine, with two peculiarities that PerfZero's flags ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright import plugins
from benchwright.errors import BenchwrightError
from benchwright.execution.hosts import Worker
from benchwright.worker.channel import Job


class Hosting:
    """The local host. While there is a `refusal` it starts nothing and says why: what cannot run leaves its record.

    With `scratch` the constructor gets an `output_dir` below that URL, named like the output folder; everything else
    stays here. `follow` is given a descriptor of what each worker prints, which is then its own to close.
    """

    def __init__(self, scratch: str, follow: Callable[[int], object]) -> None:
        self.refusal: BenchwrightError | None = None
        self._follow = follow
        self._scratch, self._local = scratch.rstrip("/"), plugins.load("hosts", "local")()

    def launch(self, job: Job) -> Worker:
        """Starts a fresh process with this job."""
        if self.refusal is not None:
            raise self.refusal
        worker: Any = self._local.launch(self._redirect(job) if self._scratch else job)
        self._follow(worker.duplicate_log())
        return worker  # type: ignore[no-any-return]

    def _redirect(self, job: Job) -> Job:
        target = job.case.target
        given = json.loads(str(target.options.get("constructor") or "{}"))
        given["output_dir"] = f"{self._scratch}/{Path(job.folder).name}"
        changed = replace(target, options={**target.options, "constructor": json.dumps(given)})
        return replace(job, case=replace(job.case, target=changed))
