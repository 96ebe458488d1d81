"""What a library or a user's code says when it fails: its own words in the log, one sentence for the reader.

Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import shlex
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from benchwright.errors import LoadError
from benchwright.records import Failure
from benchwright.system.texts import describe_error, words_of
from benchwright.units import format_value

LONG = 100  # characters of a command in a message
WHOLE = "the file may be incomplete: copy it or export it again"
SEE_THE_LOG = "see the log"
_TOLD = "_benchwright_told"  # an attribute of an exception whose traceback is in the log already
_is_told = False  # a benchmark's own log takes tracebacks now
_PACKAGE = str(Path(__file__).parents[2])
_NO_MEMORY = ("bad_alloc", "bad alloc", "not enough memory", "cannot allocate memory", "failed to map segment")
_NO_THREAD = "resource temporarily unavailable"  # under a limit on memory, a stack that could not be reserved


def refuse_empty(path: str) -> None:
    """Raises a `LoadError` for a model file without content: libraries say that in many ways, and some crash."""
    file = Path(path)
    if file.is_file() and not file.stat().st_size:
        raise LoadError(f"{path} is empty", remedy=WHOLE)


def load_error(library: str, doing: str, error: Exception, *, reason: str = "", remedy: str = WHOLE) -> LoadError:
    """The error to raise when a library could not, say, `load model.onnx`: the reason here, all it said in the log."""
    sys.stderr.write(f"{describe_error(error)}\n")
    remedy = memory_remedy() if lacks_memory(error) else remedy
    return LoadError(f"{library} could not {doing}: {reason or first_line(error)}", remedy=remedy)


@contextlib.contextmanager
def explain_lack_of_memory(library: str, path: str) -> Iterator[None]:
    """Turns every failure inside that comes from too little memory into a `LoadError` that names the file."""
    try:
        yield
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        if not lacks_memory(error):
            raise
        sys.stderr.write(f"{describe_error(error)}\n")
        raise LoadError(f"{library} had too little memory to load {path}", remedy=memory_remedy()) from None


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, or its cause, comes from too little memory, which each library says in its own words."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    is_limited = _memory_limit() is not None
    if is_limited and isinstance(error, SystemError):  # what is left of a MemoryError that C code has dropped
        return True
    words = (*_NO_MEMORY, _NO_THREAD) if is_limited else _NO_MEMORY
    if isinstance(error, ImportError | RuntimeError | OSError) and any(
        each in words_of(error).lower() for each in words
    ):
        return True
    before = error.__cause__ or error.__context__
    return before is not None and lacks_memory(before)


def memory_remedy() -> str:
    """What to do about too little memory, which depends on whether this process was given a limit."""
    limit = _memory_limit()
    if limit is None:
        return "free memory, or measure something smaller"
    return f"give --memory-limit more than {format_value(limit, 'B')}; it counts what is reserved, used or not"


def _memory_limit() -> int | None:
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


@contextlib.contextmanager
def leave_traceback_to_caller() -> Iterator[None]:
    """Keeps `log_traceback` from logging what is raised inside: the caller writes it down."""
    global _is_told
    before, _is_told = _is_told, True
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(AttributeError):  # a class with slots
            setattr(error, _TOLD, True)
        raise
    finally:
        _is_told = before


def log_traceback(error: BaseException) -> None:
    """Writes to the log where foreign code failed: without our own calls that led there, unless there are no others."""
    if _is_told or getattr(error, _TOLD, False):
        return
    try:
        traceback.print_exception(type(error), error, foreign_part(error), file=sys.stderr)
    except Exception as second:  # an exception is foreign code too: what it is made of may fail when it is looked at
        sys.stderr.write(f"{describe_error(error)}\n(its traceback cannot be had: {describe_error(second)})\n")


def foreign_part(error: BaseException) -> TracebackType | None:
    """The traceback of an error from the first call that is not ours; the whole where all calls are ours."""
    foreign = error.__traceback__
    while foreign is not None and _is_ours(foreign):
        foreign = foreign.tb_next
    return foreign or error.__traceback__


def first_line(error: BaseException) -> str:
    """The first line of what an error says; the name of its class when it says nothing."""
    return next((line.strip() for line in words_of(error).splitlines() if line.strip()), type(error).__name__)


def shorten_command(argv: Sequence[str]) -> str:
    """The command for a message, on one line that is not too long."""
    line = " ".join(shlex.join(argv).split())
    return line if len(line) <= LONG else f"{line[: LONG - 1]}…"


def describe_exit(line: str, code: int) -> str:
    """How a command ended that failed; an exit code below zero is a signal's number."""
    if code < 0:
        names = {int(known): known.name for known in signal.Signals}
        return f"{line} was killed by {names.get(-code, f'signal {-code}')}"
    return f"{line} exited with status {code}"


def failure_of_exit(line: str, code: int, *, timed_out: bool, limit: float, what: str) -> Failure | None:
    """Why a command failed that took longer than its limit, or ended with a code; None when it did well.

    `what` is what the remedy gives more time to: a test, a task.
    """
    if timed_out:
        message = f"{line} took longer than {limit:g} s and was ended"
        return Failure(kind="timeout", message=message, remedy=f"give the {what}, or --timeout, more time")
    if code:
        kind = "signal" if code < 0 else "exit"
        return Failure(kind=kind, message=describe_exit(line, code), remedy=SEE_THE_LOG)
    return None


def _is_ours(step: TracebackType) -> bool:
    file = step.tb_frame.f_code.co_filename
    return file.startswith((_PACKAGE, "<frozen importlib", "<string>"))
