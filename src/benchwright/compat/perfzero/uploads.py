"""Sends what a method left: a row, hooks, the output folder. Each is tried; none can touch the summary on disk."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from benchwright.compat.perfzero import flags as perfzero_flags
from benchwright.compat.perfzero import preparation, summary
from benchwright.compat.perfzero.console import log
from benchwright.compat.perfzero.flags import PerfZeroFlags
from benchwright.compat.perfzero.workspace import SUMMARY, Workspace
from benchwright.errors import BenchwrightError, OptionError, UploadError
from benchwright.exchange.uploads import bigquery, folders, hooks, runs, stores
from benchwright.exchange.uploads.runs import Delivery
from benchwright.records import Result, Run, Status
from benchwright.schema.parsing import json_value
from benchwright.system import streams
from benchwright.system.masking import HIDDEN, mask_url

COMMAND = ("benchwright", "perfzero")
T = TypeVar("T")


def upload_all(
    flags: PerfZeroFlags, folder: Path, summary: Mapping[str, Any], *, paths: Sequence[str] = ()
) -> Delivery:
    """Sends everything that the flags ask for, in PerfZero's order; returns what arrived, and what failed.

    `paths` are where hooks may be imported from, beside the usual places.
    """
    sent, failures = [], []
    for what, send in _wanted_uploads(flags, folder, summary, paths):
        try:
            sent.append(send())
        except BenchwrightError as error:
            failures.append(f"{what} failed: {error}")
    return Delivery(sent=tuple(sent), failures=tuple(failures))


def check(flags: PerfZeroFlags) -> None:
    """Raises for what cannot be sent from here, before a method runs: an impossible address, a package that is absent.

    No service is asked. Hooks are left alone: importing them may do anything.
    """
    project, table = flags.texts["bigquery_project_name"], flags.texts["bigquery_dataset_table_name"]
    if project and table:
        bigquery.check(project, bigquery.present_table(table))
    if url := flags.texts["output_gcs_url"]:
        stores.check(url)


def repeat(run: Run) -> Delivery:
    """Sends a run's outputs again, as the flags in its command say."""
    if run.command[:2] != COMMAND:
        raise OptionError(f"run {run.id} was not made by benchwright perfzero", remedy="upload it with a URL")
    flags = perfzero_flags.parse(run.command[2:])
    if not is_wanted(flags):
        raise OptionError(f"run {run.id} names no place to upload to", remedy="give a URL")
    sent: list[str] = []
    failures: list[str] = []
    for result in run.results:
        if result.status is Status.SKIPPED:  # it never began
            continue
        try:
            delivery = _repeat_result(flags, result)
        except UploadError as error:
            failures.append(error.message)
            continue
        sent += delivery.sent
        failures += delivery.failures
    return Delivery(sent=tuple(sent), failures=tuple(failures))


def is_wanted(flags: PerfZeroFlags) -> bool:
    """Whether the flags ask for any upload."""
    return any(flags.texts[name] for name in ("output_gcs_url", "bigquery_project_name", "result_upload_methods"))


def folder_of(result: Result) -> Path | None:
    """The output folder that the result's artifacts lie in."""
    found = runs.roots(result)
    return found[0] if len(found) == 1 else None


def _repeat_result(flags: PerfZeroFlags, result: Result) -> Delivery:
    """Sends one result again as when it was new: the same files, import paths of hooks, and key."""
    folder = folder_of(result)
    if folder is None:
        raise UploadError(f"{result.case.name}, trial {result.round + 1}: has no output folder")
    try:
        told = json_value(streams.read_text(folder / SUMMARY), finite=False)
    except (OSError, ValueError) as error:
        raise UploadError(f"{folder / SUMMARY}: cannot be read: {error}") from None
    if not runs.is_its_own(result, folder):
        raise UploadError(f"{folder}: holds other files now than this run left there; not sent")
    workspace = Workspace(project=folder.parents[2], name=folder.parents[1].name)
    preparation.reuse_key(flags, workspace)
    kept = result.details.get(summary.DETAILS)
    directory = kept.get("directory") if isinstance(kept, Mapping) else None
    here = [directory] if isinstance(directory, str) else []
    return upload_all(flags, folder, told, paths=(*workspace.python_path(flags.split("python_path")), *here))


def _wanted_uploads(
    flags: PerfZeroFlags, folder: Path, summary: Mapping[str, Any], paths: Sequence[str]
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yields what is to be sent, and the function that sends it and returns where it went."""
    project, table = flags.texts["bigquery_project_name"], flags.texts["bigquery_dataset_table_name"]
    if project and table:
        yield "the BigQuery row", lambda: _insert(summary, project, bigquery.present_table(table))
    if names := flags.split("result_upload_methods"):
        yield "the result upload", lambda: _call(names, summary, paths)
    if url := flags.texts["output_gcs_url"]:
        yield "the copy of the output folder", lambda: _copy(folder, url)


def _insert(summary: Mapping[str, Any], project: str, table: str) -> str:
    bigquery.insert(summary, project, table)
    log.info("Uploaded benchmark result to the table %s of the bigquery project %s.", table, project)
    return f"bigquery:{project}.{table}"


def _call(names: Sequence[str], summary: Mapping[str, Any], paths: Sequence[str]) -> str:
    hooks.call(names, summary, paths=paths)
    return ", ".join(names)


def _copy(folder: Path, url: str) -> str:
    if HIDDEN in url:
        raise UploadError(f"{url}: the secrets of this address are not kept", remedy="send the run with --to URL")
    sent = folders.upload(folder, url)
    log.info("Uploaded data from local directory %s to gcs %s", folder, mask_url(url))
    return sent


def run_unless_stopped(step: Callable[[], T]) -> T | None:
    """Returns what the step returns; None when Ctrl-C, SIGTERM or SIGHUP ended it.

    The handler that was set before gets the signal then.
    """
    if threading.current_thread() is not threading.main_thread():
        return step()
    numbers = [
        n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) not in (signal.SIG_IGN, None)
    ]
    before = {number: signal.signal(number, _stop) for number in numbers}
    try:
        return step()
    except _StoppedError as stopped:
        number = stopped.number
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    signal.raise_signal(number)
    return None


class _StoppedError(KeyboardInterrupt):
    """A signal asked the upload to stop; like Ctrl-C, it passes every `except Exception` on its way."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def _stop(number: int, frame: FrameType | None) -> None:
    raise _StoppedError(number)
