"""Methods × trials through the runner: a fresh process each, a folder each, and a summary as soon as one has ended."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchwright import config, plugins
from benchwright.compat.perfzero import console, tpus, uploads
from benchwright.compat.perfzero.attempts import MethodAttempt
from benchwright.compat.perfzero.console import log
from benchwright.compat.perfzero.destination import SummaryDestination
from benchwright.compat.perfzero.flags import mask_command
from benchwright.compat.perfzero.outputs import Folders
from benchwright.compat.perfzero.summary import RunFacts
from benchwright.compat.perfzero.uploads import run_unless_stopped
from benchwright.compat.perfzero.workspace import DATA, LOG, PROCESS_INFO, SUMMARY, Workspace
from benchwright.errors import BenchwrightError, MeasureError, OptionError, StoreError
from benchwright.events import Began, Ended, Event, Reached
from benchwright.execution import rounds
from benchwright.execution.attempt import INTERRUPTED
from benchwright.execution.hosts import Worker
from benchwright.records import Case, Profile, Result, Run
from benchwright.records.prices import Price
from benchwright.targets.sources import classes
from benchwright.worker import profilers
from benchwright.worker.channel import Job

INTERRUPTED_CODE = 130  # as a shell says it


class Trials:
    """One run. `seconds`, `succeeded` and `folders` are PerfZero's closing blocks, by trial and method."""

    def __init__(self, facts: RunFacts, workspace: Workspace, paths: Sequence[str]) -> None:
        self._facts, self._flags, self._workspace, self._paths = facts, facts.flags, workspace, paths
        self._folders = Folders(workspace, self._flags.texts["execution_id"])
        self._keeping: SummaryDestination | None = None
        self._profile, self._refusal = _profile(self._flags.texts["profiler_enabled_time"])
        self._host = MethodHost(self._flags.texts["scratch_gcs_url"], self._follow)
        self._attempt: MethodAttempt | None = None
        self._trial = 0
        self._is_bad = self._is_interrupted = False
        self.seconds: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
        self.succeeded: dict[str, dict[str, bool]] = defaultdict(dict)
        self.folders: dict[str, dict[str, str]] = defaultdict(dict)

    def run(self, methods: Sequence[str], arguments: Sequence[str]) -> int:
        """Runs all methods in all trials; returns the exit code."""
        if not methods or self._flags.trials < 1:
            return 0
        self._keeping = keeping = SummaryDestination(self._flags.store, self._workspace.project, self._finish)
        with tempfile.TemporaryDirectory(prefix="benchwright-") as empty, contextlib.closing(self._folders):
            self._empty = Path(empty)
            run = self._execute(methods, arguments, keeping)
        if self._is_interrupted or any(map(_was_interrupted, run.results)):
            return INTERRUPTED_CODE
        return 1 if self._is_bad or keeping.has_failed else 0

    def _execute(self, methods: Sequence[str], arguments: Sequence[str], keeping: SummaryDestination) -> Run:
        """Executes the plan; where the store lost the run, the log says in which file it is."""
        try:
            return rounds.execute(self._plan(methods, arguments), lambda: keeping, self._hear)
        except StoreError as error:
            if not isinstance(error.measured, Run):
                raise
            log.error("%s", error)
            return error.measured

    def _plan(self, methods: Sequence[str], arguments: Sequence[str]) -> rounds.Plan:
        texts = self._flags.texts
        return rounds.Plan(
            cases=[self._case(method) for method in methods],
            rounds=self._flags.trials,
            host=self._host,
            last_paths=self._paths,
            folder=self._folder,
            profile=self._profile,
            profile_inline=True,
            monitors=(*rounds.MONITORS, "vms"),
            tags=(*config.load(self._workspace.project).tags, *filter(None, [texts["execution_label"]])),
            command=mask_command((*uploads.COMMAND, *arguments)),
            directory=self._workspace.project,
            price=Price.bare(paid) if (paid := self._flags.cost_per_hour) is not None else None,
        )

    def _case(self, method: str) -> Case:
        texts = self._flags.texts
        tpu = tpus.parse(texts["tpu_parameters"])
        return classes.case_for(
            method,
            style=self._flags.style,
            constructor=texts["perfzero_constructor_args"],
            root_data_dir=texts["root_data_dir"] or DATA,
            tpu=tpu.name if tpu else "",
            log=LOG,
            log_level="DEBUG" if self._flags.debug else "",
            timeout=self._flags.limit,
        )

    # ---- what the runner asks and tells ----

    def _folder(self, case: Case, number: int) -> Path:
        """A new folder. Without one the method does not run, which is its result; the runner gets an empty one."""
        self._host.refusal = self._refusal
        try:
            folder = self._folders.next()
            log.info("Created directory %s", folder)
            (folder / PROCESS_INFO).write_bytes(b"")
        except OSError as error:
            folder, reason = self._folders.tried, error.strerror or error
            self._host.refusal = MeasureError(f"{folder}: cannot be made: {reason}", remedy="is there room for it?")
        wanted = self._flags.texts["execution_id"]
        if wanted and folder.name != wanted:
            log.info("--execution_id=%s is taken: %s goes to %s", wanted, case.name, folder.name)
        self._attempt = MethodAttempt(folder)
        return folder if self._host.refusal is self._refusal else self._empty

    def _follow(self, printed: int) -> None:
        assert self._attempt is not None  # `_folder` has made it
        self._attempt.follow(printed)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Began):
            if event.round + 1 != self._trial:
                self._trial = event.round + 1
                console.say(f"Running trial {self._trial} / {self._flags.trials}")
            log.info("Running benchmark method: %s", event.case.name)
        elif isinstance(event, Reached) and self._attempt is not None:
            self._attempt.reach(event.phase)
        elif isinstance(event, Ended) and self._attempt is not None:
            self._close(event.result, self._attempt)
            self._attempt = None

    def _finish(self, result: Result) -> Result:
        """Completes a result before it is kept; one that was skipped, since the run was interrupted, has no attempt."""
        return self._attempt.finish(self._facts, result) if self._attempt is not None else result

    def _close(self, result: Result, attempt: MethodAttempt) -> None:
        """The summary is on disk: uploads may fail now."""
        begin = time.perf_counter()
        failures = self._upload(result, attempt) if uploads.is_wanted(self._flags) else ()
        attempt.lasted["log_upload"] = round(time.perf_counter() - begin, 6)
        for failure in failures:
            log.error("%s: %s", result.case.name, failure)
        if failures and not attempt.lost:
            repeat = self._keeping.repeat_command if self._keeping else ""
            log.error("the summary is safe in %s%s", attempt.folder / SUMMARY, repeat and f"; to repeat: {repeat}")
        succeeded = bool(attempt.summary["benchmark_result"]["succeeded"])
        failed = bool(attempt.summary["benchmark_info"]["has_exception"] or failures or attempt.lost)
        self._is_bad |= failed or (self._flags.fail_on_bounds and not succeeded)
        trial, method = f"trial_{result.round + 1}", result.case.name
        self.seconds[trial][method] = attempt.lasted
        self.succeeded[trial][method] = succeeded and self.succeeded[trial].get(method, True)
        self.folders[trial][method] = str(attempt.folder)

    def _upload(self, result: Result, attempt: MethodAttempt) -> Sequence[str]:
        """Uploads a result; returns what could not be sent. Ctrl-C is obeyed here too, and nothing is sent after it."""
        if _was_interrupted(result):
            return ["not uploaded: the run was interrupted"]
        send = partial(uploads.upload_all, self._flags, attempt.folder, attempt.summary, paths=self._paths)
        delivery = run_unless_stopped(send)
        self._is_interrupted |= delivery is None
        return ["the upload was interrupted"] if delivery is None else delivery.failures


def _was_interrupted(result: Result) -> bool:
    return result.error is not None and result.error.kind == INTERRUPTED


def _profile(text: str) -> tuple[Profile | None, OptionError | None]:
    """The windows to profile, or why they make no sense: then methods fail instead of running."""
    if not text:
        return None, None
    try:
        return Profile(windows=profilers.windows(text)), None
    except OptionError as error:
        return None, OptionError(f"--profiler_enabled_time={text}: {error.message}", remedy=error.remedy)


class MethodHost:
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
