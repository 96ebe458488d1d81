"""One method in one trial: its folder while it runs, and the files that are written when it has ended."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchwright.compat.perfzero import console, processes, summary
from benchwright.compat.perfzero.console import LogEcho, log
from benchwright.compat.perfzero.summary import Execution, RunFacts
from benchwright.compat.perfzero.workspace import LOG, PROCESS_INFO, PROFILE, SUMMARY
from benchwright.errors import LoadError
from benchwright.execution.artifacts import kind_of
from benchwright.records import Artifact, Failure, Result, Status, Value
from benchwright.system.masking import mask_url

_TENSORBOARD = """
Execute the command below to start tensorboard server using the collected profiler data:
tensorboard --logdir={folder}

Open localhost:6006 in your browser to access the Tensorbord GUI. Use ssh with port forwarding if tensorboard is \
running on a remote machine.
"""
_SHOWN_WARNINGS = ("profile", "no-cost")  # how the codes of those begin that say what was asked for in vain
MOST_READ = 1 << 20  # bytes of the end of a log that are looked through


class MethodAttempt:
    """Shows what the method's process prints, notes when it came to which phase, writes the files at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary: dict[str, Any] = {}
        self.lasted: dict[str, float] = {}
        self.lost = False  # a file could not be written
        self._began, self._called = time.time(), 0.0
        self._reached: dict[str, float] = {}  # phase -> the monotonic clock
        self._echo: LogEcho | None = None

    def follow(self, printed: int) -> None:
        """Shows from now on what is written to the log behind this descriptor."""
        self._echo = LogEcho(printed)

    def reach(self, phase: str) -> None:
        """The method's process came to a phase."""
        self._reached[phase] = time.monotonic()
        if phase == "measuring":
            self._called = time.time()

    def finish(self, facts: RunFacts, result: Result) -> Result:
        """Writes every file, the summary before anything that may fail; the result with all of them listed."""
        if self._echo is not None:
            self._echo.stop()
        self.lasted = self._timings(result)
        self.summary = summary.build(facts, self._execution(facts, result), result)
        told = [*_missing_records(result, self.folder / LOG), (logging.INFO, self._completion_text(result))]
        if self._write(self.folder, _make_folder):  # a method may have cleaned up too well
            self._write(self.folder / PROCESS_INFO, lambda path: _write_text(path, processes.lines(result)))
            if self._write(self.folder / SUMMARY, lambda path: summary.write(self.summary, path)):
                told.append((logging.INFO, f"Wrote summary to file {self.folder / SUMMARY}"))
            for level, message in told:
                record = partial(console.append_record, level=level, message=message + _quote_output(result, level))
                self._write(self.folder / LOG, record)
        for level, message in told:
            log.log(level, "%s", message)
        self._log_extras(facts, result)
        names = (LOG, PROCESS_INFO, SUMMARY)
        ours = [found for name in names if (found := _artifact(self.folder / name))]
        artifacts = (*(a for a in result.artifacts if a.name not in names), *ours)
        kept: Value = {"summary": self.summary, "directory": str(Path.cwd())}
        return replace(result, artifacts=artifacts, details={**result.details, summary.DETAILS: kept})

    def _execution(self, facts: RunFacts, result: Result) -> Execution:
        url, called = facts.flags.texts["output_gcs_url"], result.details.get("called_at")
        return Execution(
            id=self.folder.name,
            timestamp=called if isinstance(called, float) else self._called or self._began,
            output_url=f"{mask_url(url).rstrip('/')}/{self.folder.name}/" if url else "",
        )

    def _completion_text(self, result: Result) -> str:
        return f"Benchmark execution for {result.case.name} completed with summary:\n {summary.text_of(self.summary)}"

    def _log_extras(self, facts: RunFacts, result: Result) -> None:
        for warning in result.warnings:
            if warning.code.startswith(_SHOWN_WARNINGS):
                log.warning("%s; %s", warning.seen, warning.remedy)
        cost = summary.cost_of(facts.flags, result)
        if "per_million" in cost:
            log.info("A million items cost %.6g, counted by %s", cost["per_million"], cost["by"])
        if (self.folder / PROFILE).is_dir():
            console.say(_TENSORBOARD.format(folder=self.folder / PROFILE))

    def _write(self, path: Path, step: Callable[[Path], object]) -> bool:
        """Writes a file; returns whether that worked. A failure is logged, and the other files are still written."""
        try:
            step(path)
        except OSError as error:  # of a full disk it names no file
            self.lost = True
            log.error("%s: cannot be written: %s", path, error.strerror or error)
            return False
        return True

    def _timings(self, result: Result) -> dict[str, float]:
        """Seconds of construction and of the call, as the worker measured them, else as its phases were seen."""
        ended, reached = time.monotonic(), self._reached
        seen = {
            "class_initialization": reached.get("warming", ended) - reached.get("loading", ended),
            "method_execution": ended - reached.get("measuring", ended),
        }
        told = result.details.get("timings")
        if isinstance(told, dict):
            seen |= {name: seconds for name, seconds in told.items() if isinstance(seconds, float)}
        return {name: round(seen[name], 6) for name in ("class_initialization", "method_execution")}


def _missing_records(result: Result, log_file: Path) -> list[tuple[int, str]]:
    """Returns records that the method's own log lacks: how its process ended, or that nothing was reported."""
    name = result.case.name
    if result.error is not None and not _is_in_log(result.error, _read_end(log_file)):
        reason = f"{result.error.kind}: {result.error.message}"
        return [(logging.ERROR, f"Benchmark execution for {name} failed due to error:\n {reason}")]
    if result.status is Status.OK and summary.has_exception(result):
        reason = "it ended without calling report_benchmark: there is no result"
        return [(logging.ERROR, f"Benchmark execution for {name} failed due to error:\n {reason}")]
    return []


def _quote_output(result: Result, level: int) -> str:
    """Quotes the end of what a method printed, for its log; the console has shown it already."""
    tail = result.error.log_tail.rstrip() if result.error is not None and level == logging.ERROR else ""
    return f"\nThe end of what it printed:\n{tail}" if tail else ""


def _is_in_log(failure: Failure, told: str) -> bool:
    """Whether a log names the failure: by its message, or by the user's message, which a `LoadError` quotes."""
    quoted = failure.message.partition(": ")[2] if failure.kind == LoadError.__name__ else ""
    return failure.message in told or bool(quoted and quoted in told)


def _read_end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_READ))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _artifact(path: Path) -> Artifact | None:
    try:
        content = path.read_bytes()
    except OSError:  # it could not be written, which has been told
        return None
    digest = hashlib.sha256(content).hexdigest()
    return Artifact(name=path.name, kind=kind_of(path), path=str(path), size=len(content), sha256=digest)
