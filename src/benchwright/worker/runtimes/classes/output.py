"""Where a benchmark class leaves what it writes: its output folder, TensorFlow's report files in it, and a log.

The folder is the one the worker was given, or a temporary one that goes when the worker is done. Standard library only.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from benchwright.errors import BenchwrightError
from benchwright.system.scratch import JOB_VARIABLE, OUTPUT_VARIABLE, unwanted_folder
from benchwright.worker.runtimes.failures import foreign_part, leave_traceback_to_caller

PREFIX_VARIABLE = "TEST_REPORT_FILE_PREFIX"  # tells tf.test.Benchmark where reports go
PREFIX = "proto_"
_FORMAT = "%(asctime)s %(levelname)s: %(message)s"


class OutputFolder:
    """The folder of one attempt. Environment variables tell the benchmark about it before anything is imported."""

    def __init__(self) -> None:
        given = os.environ.get(OUTPUT_VARIABLE, "")
        self._temporary = not given
        self.folder = Path(given or unwanted_folder(os.environ.get(JOB_VARIABLE) or os.urandom(8).hex()))
        os.environ[PREFIX_VARIABLE] = f"{self.folder}/{PREFIX}"
        self._before: set[Path] = set()

    def make(self) -> None:
        """Makes the folder, for classes that may write into it."""
        if self._temporary and not self.folder.exists():
            self.folder.mkdir(mode=0o700)

    def expect(self, name: str) -> None:
        """Forgets the report of an attempt before this one: TensorFlow refuses to write over it."""
        (self.folder / f"{PREFIX}{name}").unlink(missing_ok=True)
        self._before = set(self.folder.glob(f"{PREFIX}*"))

    def reports(self, name: str) -> list[Path]:
        """The report files that are new: the one named for the method first, the others as they were written.

        `report_benchmark` takes a name of its own, so there may be others, and only others.
        """
        files = set(self.folder.glob(f"{PREFIX}*")) - self._before
        return sorted(files, key=lambda file: (file.name != f"{PREFIX}{name}", file.stat().st_mtime_ns, file.name))

    def close(self) -> None:
        """Removes the folder when nobody asked for it."""
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)


class RootLog:
    """The root logger's records in a file and on stdout, and what ended the benchmark; nothing without a file.

    Its sentences are PerfZero's: people's scripts look for them.
    """

    def __init__(self, file: Path | None, level: str, name: str = "") -> None:
        self._name = name
        self._handlers: list[logging.Handler] = []
        if file is None:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(sys.stdout, io.TextIOWrapper):  # whoever follows what is printed sees each line when it is whole
            sys.stdout.reconfigure(line_buffering=True)
        # On stdout too, so that records and what is printed are seen in the order in which they came.
        self._handlers = [logging.FileHandler(file, mode="w", encoding="utf-8"), logging.StreamHandler(sys.stdout)]
        root = logging.getLogger()
        for handler in self._handlers:
            handler.setFormatter(logging.Formatter(_FORMAT))
            root.addHandler(handler)
        self._level_before = root.level
        root.setLevel(min(root.level, logging.getLevelNamesMapping()[level]))

    def tell(self, sentence: str) -> None:
        """Writes down how far the benchmark is, with its name behind it."""
        if self._handlers:
            logging.getLogger().info("%s: %s", sentence, self._name)

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """Whatever is raised inside is written down and raised again, a SystemExit as well."""
        if not self._handlers:
            yield
            return
        try:
            with leave_traceback_to_caller():
                yield
        except BaseException as error:
            reason = _reason(error.__cause__ or error)  # ours only say where the user's came from
            logging.getLogger().error("Benchmark execution for %s failed due to error:\n %s", self._name, reason)
            raise

    def close(self) -> None:
        """Ends the file; records go where they went before."""
        for handler in self._handlers:
            logging.getLogger().removeHandler(handler)
            logging.getLogger().setLevel(self._level_before)
            if isinstance(handler, logging.FileHandler):
                handler.close()


def _reason(error: BaseException) -> str:
    """Where the user's code failed; of an error of ours, which comes from no code of theirs, what it says."""
    if isinstance(error, BenchwrightError):
        return f"{type(error).__name__}: {error}"
    return "".join(traceback.format_exception(type(error), error, foreign_part(error))).rstrip()
