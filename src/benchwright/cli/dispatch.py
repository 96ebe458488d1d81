"""Finds the verb, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING

import click

from benchwright.cli import INTERRUPTED, VERBS, allow_interrupt
from benchwright.errors import BenchwrightError, OptionError, did_you_mean

if TYPE_CHECKING:
    from benchwright.execution.hosts.local import LocalHost

# Verbs that start workers, which Windows cannot: they need pipes that a child inherits, and process groups.
MEASURING = frozenset(("run", "tune", "ab", "watch", "bisect", "agent", "harness", "repo-driver", "perfzero", "driver"))


def dispatch(argv: list[str], host: LocalHost | None = None) -> int:
    """Runs `argv[0]` with the rest. A verb that measures finds `host` as its context's object."""
    try:
        code = _run(argv[0], argv[1:], host)
        sys.stdout.flush()  # here, where a reader that has gone and a full disk are dealt with
        return code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return error.exit_code
    except BenchwrightError as error:
        sys.stderr.write(f"benchwright: {error}\n")
        return 1 if getattr(error, "measured", None) is not None else 2  # measured, and not kept where it was meant
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write(INTERRUPTED)
        return 130
    except BrokenPipeError:  # the reader, a pager or head, has seen enough
        _silence_stdout()
        return 0
    except FileNotFoundError as error:
        if error.filename or not _is_folder_deleted():
            return _say_os_error(error)
        sys.stderr.write("benchwright: the present folder was deleted\n  change to a folder that exists\n")
        return 2
    except (MemoryError, ImportError, SystemError) as error:
        if not _lacks_memory(error):
            raise
        return _say_memory(error)
    except OSError as error:  # the border: what no verb could explain better, a full disk behind a pipe among them
        return _say_os_error(error)
    finally:
        gc.enable()  # also when there was no verb to import


def _lacks_memory(error: BaseException) -> bool:
    try:
        from benchwright.worker.runtimes.failures import lacks_memory

        return lacks_memory(error)
    except (OSError, MemoryError, ImportError, SystemError):  # there is not even enough to look
        return True


def _say_memory(error: BaseException) -> int:
    remedy = "raise the limit on address space (ulimit -v), or free memory"
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    sys.stderr.write(f"benchwright: too little memory: {first}\n  {remedy}\n")
    return 1


def _say_os_error(error: OSError) -> int:
    _silence_stdout()
    if error.errno == errno.ENOMEM:
        return _say_memory(error)
    sys.stderr.write(f"benchwright: {error.filename or 'standard output'}: {error.strerror or error}\n")
    return 1


def _is_folder_deleted() -> bool:
    """Whether the present folder was deleted."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def _silence_stdout() -> None:
    """Lets standard output lead nowhere: Python would complain once more when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(verb: str, rest: list[str], host: LocalHost | None) -> int:
    if verb not in VERBS:
        raise OptionError(f"unknown command {verb!r}", remedy=did_you_mean(verb, VERBS))
    command: click.Command = importlib.import_module(VERBS[verb][0]).command
    gc.enable()
    allow_interrupt()
    # Not `command.main`, which would turn a closed pipe into exit 1.
    with command.make_context(f"benchwright {verb}", rest, obj=host) as context:
        if verb in MEASURING and sys.platform == "win32":
            raise OptionError(
                f"'benchwright {verb}' measures on Linux and macOS, not on Windows itself",
                remedy="measure in WSL 2, or on another machine with --store FILE, and look at its results here",
            )
        code = command.invoke(context)
    return code if isinstance(code, int) else 0
