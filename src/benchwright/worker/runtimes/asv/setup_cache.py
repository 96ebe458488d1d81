"""What `setup_cache` makes: computed once for a commit, an environment and a state of the suite, by a child process.

The child runs in a folder of its own, which stays: files that it leaves there are part of what it made, and every
benchmark of the same `setup_cache` runs in that folder. One that failed is not tried again by the same command.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.errors import LoadError
from benchwright.schema.parsing import json_value
from benchwright.system import whole_files
from benchwright.system.lent_package import code_for
from benchwright.system.locks import hold_lock
from benchwright.system.streams import read_text
from benchwright.worker.runtimes.asv import CACHE_VARIABLE, SESSION_VARIABLE, SuiteWork, suite

PICKLE, FAILED = "cache.pickle", "failed.json"
_TAIL = 2000  # characters of what it printed that an error carries
_MOST_NOTE = 1 << 20  # bytes of a note of ours


def obtain(folder: Path, work: SuiteWork) -> Any:
    """What the benchmark's `setup_cache` made, with this process in its folder; a `LoadError` says why there is none.

    Nobody else may write the folder, so what lies there is unpacked as what this program packed.
    """
    place = _place_of(work)
    place.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(place.with_name(f".{place.name}.lock")):
        if not (place / PICKLE).is_file():
            _refuse_known_failure(place)
            _compute(place, work)
    os.chdir(place)
    suite.open_suite(folder)  # what was pickled may be of a class of the suite
    with (place / PICKLE).open("rb") as file:
        return pickle.load(file)  # noqa: S301 - of our own making, see above


def _place_of(work: SuiteWork) -> Path:
    told = "\0".join((work.folder, work.cache, work.digest, sys.version, os.environ.get("ASV_ENV_NAME", "")))
    root = Path(os.environ.get(CACHE_VARIABLE) or _own_folder())
    return root / hashlib.sha256(told.encode()).hexdigest()[:16]


@functools.cache
def _own_folder() -> str:
    """A new folder of this process: in one whose name others can foretell, they could leave a pickle of theirs."""
    return tempfile.mkdtemp(prefix="benchwright-asv-")


def _refuse_known_failure(place: Path) -> None:
    try:
        told = json_value(read_text(place / FAILED, most=_MOST_NOTE))
    except (OSError, ValueError):
        return
    session = os.environ.get(SESSION_VARIABLE, "")
    if session and isinstance(told, dict) and told.get("session") == session:
        raise LoadError(f"setup_cache failed before: {told.get('message', '')}", remedy="see the first failure's log")


def _compute(place: Path, work: SuiteWork) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for left in (PICKLE, FAILED):
        (place / left).unlink(missing_ok=True)
    code = code_for(f"from {__name__} import main; main(sys.argv[1])", first=True)
    command = [sys.executable, "-P", "-c", code, json.dumps(schema.encode(work))]
    try:
        done = subprocess.run(
            command,
            cwd=place,
            env=suite.child_variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=work.cache_timeout or None,
            check=False,
        )
    except subprocess.TimeoutExpired:
        _fail(place, f"setup_cache took longer than {work.cache_timeout:g} s", "give it an attribute timeout")
    else:
        sys.stdout.write(printed := done.stdout.decode(errors="replace"))
        if done.returncode != 0 or not (place / PICKLE).is_file():
            lines = [line for line in printed.splitlines() if line.strip()]
            why = lines[-1][:_TAIL] if lines else f"it ended with status {done.returncode}"
            _fail(place, f"setup_cache failed: {why}", "see the log")


def _fail(place: Path, message: str, remedy: str) -> None:
    noted = {"session": os.environ.get(SESSION_VARIABLE, ""), "message": message}
    whole_files.write_text(place / FAILED, json.dumps(noted))
    raise LoadError(message, remedy=remedy)


# ---- the child ----


def main(told: str) -> None:
    """Computes the cache in the present folder."""
    work = schema.decode(SuiteWork, json_value(told), where="work")
    found = suite.find_benchmark(Path(work.folder), work.place)
    made = found.attribute("setup_cache")()
    partial = Path(f".{PICKLE}.part")
    with partial.open("wb") as file:
        pickle.dump(made, file)
    partial.rename(PICKLE)
