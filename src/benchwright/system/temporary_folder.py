"""A temporary folder for one process and all it starts: it goes with them, however they end.

A worker leaves without exit handlers, and one that was killed has none; so whatever the measured code keeps under
`tempfile.gettempdir()` would stay. Whoever starts a process makes a folder, hands it over in the variables that name
the place for temporary files, and removes it in the end; where that one is killed too, a keeper does (`orphans.tie`).
Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator, Mapping

NAMES = ("TMPDIR", "TEMP", "TMP")  # in which programs look for the place of temporary files
_PREFIX = "benchwright-"  # short: a socket below the folder has a path of 107 bytes at most
_COMPILED = "TORCHINDUCTOR_CACHE_DIR"  # of torch.compile: what it compiled, in the temporary folder unless this is set


def make() -> str:
    """Makes an empty folder that nobody else may read, below the usual place; its path."""
    import tempfile

    return tempfile.mkdtemp(prefix=_PREFIX)


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """A folder that is gone afterwards."""
    place = make()
    try:
        yield place
    finally:
        remove(place)


def variables(place: str, given: Mapping[str, str]) -> dict[str, str]:
    """What to add to a process's variables `given`, so that it and its children keep temporary files in `place`.

    What `torch.compile` made stays where it is found again, in the usual place: else every process would compile anew.
    """
    named = dict.fromkeys(NAMES, place)
    return named if given.get(_COMPILED) else {**named, _COMPILED: _usual_cache()}


def move_to(place: str) -> None:
    """Makes `place` the temporary folder of this very process, whatever it has found out before."""
    os.environ.update(variables(place, os.environ))
    if "tempfile" in sys.modules:
        import tempfile

        tempfile.tempdir = None  # which it remembers


def remove(place: str) -> None:
    """Removes the folder with all in it; what cannot be removed is left."""
    import shutil

    shutil.rmtree(place, ignore_errors=True)
    if os.path.isdir(place):  # noqa: PTH112 - folders in it were made read-only
        for inner, _, _ in os.walk(place):
            with contextlib.suppress(OSError):
                os.chmod(inner, stat.S_IRWXU)  # noqa: PTH101
        shutil.rmtree(place, ignore_errors=True)


def _usual_cache() -> str:
    """Where torch keeps what it compiled, unless told otherwise."""
    import getpass
    import re
    import tempfile

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        user = str(os.getuid())
    return os.path.join(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user))  # noqa: PTH118
