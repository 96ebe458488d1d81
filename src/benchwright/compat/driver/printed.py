"""What a task had printed before its worker was stopped, read from its log."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from benchwright.errors import OptionError, UserError
from benchwright.records import Result, Status
from benchwright.targets.tasks import binding, reader
from benchwright.worker.tasks.extraction import Extracted, Extractor

_READ = 1 << 20


def empty_log(log: Path) -> None:
    """Takes an earlier run's output out of the log: nothing of it may be found in this one's."""
    try:
        if log.is_file():
            os.truncate(log, 0)
    except OSError as error:
        raise OptionError(f"{log} cannot be written: {error.strerror}", remedy="check its owner and mode") from None


def add_printed_metrics(result: Result, log: Path) -> Result:
    """The result with the metrics in the log, when its worker could not tell of them any more.

    The log does not say when a line came: a metric that needs the times is left out, and there are no timelines.
    """
    if result.status is Status.OK or "log" in result.details:
        return result
    try:
        if not log.is_file() or not log.stat().st_size:  # it never began: not even a count of 0 is known
            return result
        found = _extract_metrics(result, log)
    except (UserError, OSError):  # the task's file was changed meanwhile, or is gone
        return result
    return replace(result, metrics=(*result.metrics, *found.metrics), details={**result.details, **found.details})


def _extract_metrics(result: Result, log: Path) -> Extracted:
    file, _, name = result.case.target.uri.rpartition("::")
    task = reader.read(Path(file), name)[0]
    params = {key: value for key, value in result.case.params.items() if key != "runtime"}
    command = str(result.case.target.options.get("command", ""))
    extractor = Extractor(task, workers=binding.bind(task, params, dict(os.environ), command=command).workers)
    with log.open("rb") as stream:
        while data := stream.read(_READ):
            extractor.feed(data)
    extractor.finish()
    return extractor.result()
