"""How an outpost is started on a machine of which nothing is known but that it has a shell."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence

from benchwright.errors import LinkError
from benchwright.execution.outposts import archive
from benchwright.execution.outposts.link import FIRST_WORD, Link

PYTHONS = ("python3", "python3.14", "python3.13", "python3.12", "python3.11", "python")
NO_PYTHON = 97  # exit code of the shell over there
# For any POSIX shell: takes the first Python that there is, which gives way to a later one if it is too old itself.
_FIND = f'for p in "$@"; do command -v "$p" >/dev/null 2>&1 && exec "$p" -c "$BW" "$0" "$@"; done; exit {NO_PYTHON}'


def command(python: str = "", *, mark: str = "") -> list[str]:
    """The words that start an outpost in a shell; `python` is the interpreter, `mark` a word to know the process by."""
    code = base64.b64encode(archive.BOOTSTRAP.encode()).decode()  # nothing in it means anything to any shell
    run = f"import base64; exec(base64.b64decode('{code}'))"
    inner = f"BW={shlex.quote(run)}; export BW; {_FIND}"
    return ["/bin/sh", "-c", inner, mark or "benchwright-outpost", *((python,) if python else PYTHONS)]


def start(words: Sequence[str], *, name: str, python: str = "", home: str = "", patience: float = FIRST_WORD) -> Link:
    """A line to the outpost that a command starts; a machine without Python is named.

    `patience` is how many seconds it may take until something over there speaks.
    """
    try:
        return Link(words, name=name, archive=archive.find(), home=home, patience=patience)
    except LinkError as error:
        if python and error.message == f"{name}: the line ended with code 0":
            raise LinkError(f"{name}: {python} ended at once", remedy="is it Python 3.11 or newer?") from None
        if f"code {NO_PYTHON}" not in error.message:
            raise
        raise LinkError(
            f"{name}: there is no {python or 'python3'} on that machine",
            remedy="install Python 3.11 or newer there, or name one with ?python=PATH",
        ) from None
