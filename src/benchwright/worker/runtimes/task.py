"""A command and the numbers it prints: started once, listened to while it runs. Standard library only."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, ClassVar

from benchwright.errors import DeviceError, LoadError, MeasureError, UserError
from benchwright.records import Case, Failure, ResultWarning, Scalar, Value
from benchwright.system.scratch import OUTPUT_VARIABLE
from benchwright.targets.tasks import binding, reader
from benchwright.targets.tasks.definition import BACKSTOP, DAY, ReadyCommand, Task
from benchwright.targets.tasks.launchers import LAUNCHER
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.failures import failure_of_exit, shorten_command
from benchwright.worker.runtimes.options import refuse_unknown
from benchwright.worker.tasks import process
from benchwright.worker.tasks.extraction import ExtractedValues, Extractor
from benchwright.worker.tasks.gpus import GpuMemory, GpuWatch
from benchwright.worker.tasks.process import CommandEnd, TreeMemory
from benchwright.worker.tasks.traces import TRACES_VARIABLE, read_communication

OPTIONS = frozenset({"log", "command", LAUNCHER})
LOG_NAME = "task.log"
TOLD = 1.0  # seconds between two words to whoever watches the run


class TaskRuntime:
    """The target's uri is `file::name`; the case's parameters fill the command in.

    Options: `log`, a file that gets all output; `command`, a shell line instead of an older task's own; `launcher`,
    what starts several processes of it.
    """

    name: ClassVar[str] = "task"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    def load(self, case: Case) -> Loaded:
        options = case.target.options
        refuse_unknown(options, OPTIONS, "task")
        if case.target.device != "cpu":
            raise DeviceError(
                f"task cannot see that device {case.target.device!r} is used", remedy="give the task a parameter for it"
            )
        task, ready = _bind_task(case)
        _check_program(task, ready)
        limit = DAY if case.load.timeout is None else max(0.001, case.load.timeout - BACKSTOP)
        execution = _Execution(task, ready, limit, _log_files(options))
        loaded = Loaded(
            call=execution.run,
            versions={"python": platform.python_version()},
            report=execution.report,
            close=execution.close,
        )
        execution.loaded = loaded
        return loaded


def _bind_task(case: Case) -> tuple[Task, ReadyCommand]:
    file, _, name = case.target.uri.rpartition("::")
    try:
        task = binding.add_launcher(reader.read(Path(file), name)[0], str(case.target.options.get(LAUNCHER, "")))
        params = {key: value for key, value in case.params.items() if key != "runtime"}
        command = str(case.target.options.get("command", ""))
        return task, binding.bind(task, params, dict(os.environ), command=command, seed=case.load.seed)
    except (UserError, OSError) as error:  # the file was changed since it was read for the plan
        raise LoadError(str(error)) from None


def _check_program(task: Task, ready: ReadyCommand) -> None:
    if not ready.directory.is_dir():
        raise LoadError(f"there is no folder {ready.directory}", remedy="see `directory` in the task")
    program = ready.argv[0]
    inside = "/" in program
    found = shutil.which(str(ready.directory / program) if inside else program, path=ready.environment.get("PATH"))
    if found is None:
        remedy = "check the path, its mode and PATH"
        if task.launcher:
            remedy = f"install the launcher and put it on PATH, or choose another one; {remedy}"
        raise LoadError(f"there is no program {program!r}", remedy=remedy)


def _log_files(options: Mapping[str, Scalar]) -> list[Path]:
    """Returns the files that the output goes to, beside the worker's own log."""
    log = options.get("log")
    folder = os.environ.get(OUTPUT_VARIABLE)
    return [*([Path(str(log))] if log else []), *([Path(folder, LOG_NAME)] if folder else [])]


class _Execution:
    """The one call of a task, and what there is to tell about it."""

    loaded: Loaded

    def __init__(self, task: Task, ready: ReadyCommand, limit: float, logs: list[Path]) -> None:
        self._task, self._limit = task, limit
        self._traces = tempfile.mkdtemp(prefix="traces-")  # in the worker's own temporary folder, which goes with it
        self._ready = replace(ready, environment={**ready.environment, TRACES_VARIABLE: self._traces})
        self._extractor = Extractor(task, workers=ready.workers, streams=2)
        self._gpus = GpuWatch(ready.num_gpus, task.interval)
        self._seen = GpuMemory()
        self._ended: CommandEnd | None = None
        self._next_word = 0.0
        self._bytes = 0
        self._memory = TreeMemory()
        try:
            self._logs: list[IO[bytes]] = [path.open("wb", buffering=0) for path in logs]
        except OSError as error:
            raise LoadError(f"the log cannot be written: {error}") from None

    def run(self) -> None:
        self._gpus.start()
        begin = time.perf_counter()
        try:
            self._ended = process.follow(self._ready, self._hear, timeout=self._limit, look=self._look)
        except OSError as error:
            raise MeasureError(f"{shorten_command(self._ready.argv)} could not be started: {error.strerror}") from None
        finally:
            self._seen = self._gpus.stop()
        self._extractor.finish(time.perf_counter() - begin)

    def report(self) -> Report:
        assert self._ended is not None, "asked after the call"
        extracted = self._extractor.result()
        details: dict[str, Value] = {
            "argv": list(self._ready.argv),
            "exit_code": self._ended.code,
            "output_bytes": self._bytes,
            "memory": self._memory.stop(),
            **extracted.details,
        }
        if self._task.scaling:
            details["scaling"] = self._task.scaling
        if extracted.absent:
            details["absent"] = dict(extracted.absent)
        if self._seen.details:
            details["gpus"] = [*self._seen.details]
        traced = read_communication(Path(self._traces))
        if traced.ranks:
            details["communication"] = [*traced.ranks]
        own = {metric.name for metric in self._task.metrics}
        told = (metric for metric in traced.metrics if metric.name not in own)
        return Report(
            metrics=(*extracted.metrics, *self._seen.metrics, *told),
            timelines=(*extracted.timelines, *self._seen.timelines),
            warnings=(*self._ready.warnings, *extracted.warnings, *traced.warnings, *self._warnings()),
            details=details,
            operators=extracted.operators,
            failure=self._failure(self._ended, extracted),
        )

    def close(self) -> None:
        for log in self._logs:
            log.close()
        shutil.rmtree(self._traces, ignore_errors=True)

    def _hear(self, data: bytes, at: float, stream: int) -> None:
        self._bytes += len(data)
        for log in self._logs:
            log.write(data)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        self._extractor.feed(data, at, stream)

    def _look(self, pid: int) -> None:
        self._memory.look(pid)
        self._tell()

    def _tell(self) -> None:
        """The latest value of each metric, for whoever watches."""
        now = time.monotonic()
        if now < self._next_word:
            return
        latest = self._extractor.latest()
        shown = {metric.series: metric.name for metric in reversed(self._task.metrics)}
        words = [f"{name} {latest[series]:.6g}" for series, name in shown.items() if series in latest]
        if words:
            self._next_word = now + TOLD
            self.loaded.tell(", ".join(reversed(words)))

    def _failure(self, ended: CommandEnd, extracted: ExtractedValues) -> Failure | None:
        line = shorten_command(self._ready.argv)
        if failure := failure_of_exit(line, ended.code, timed_out=ended.timed_out, limit=self._limit, what="task"):
            return failure
        if extracted.missing:
            why = "; ".join(f"{name}: {reason}" for name, reason in extracted.missing.items())
            remedy = "try the patterns on this log with `benchwright tasks check FILE --log LOG`, or mark it optional"
            return Failure(kind="missing", message=f"no value for {why}", remedy=remedy)
        return None

    def _warnings(self) -> list[ResultWarning]:
        found = []
        if self._seen.reason:
            remedy = "put nvidia-smi on PATH, or set num_gpus to 0"
            found.append(ResultWarning(code="gpu-unseen", seen=self._seen.reason, remedy=remedy))
        if self._ended is not None and self._ended.left_behind:
            seen = "processes that the command had left behind were still printing, and were ended"
            found.append(ResultWarning(code="left-behind", seen=seen, remedy="let the command wait for what it starts"))
        return found
