"""run_tests.py WORKERS [as-it-is]: everything that `make test` checks, in as little time as the machine allows.

The parallel tests take most of it. Beside them, one after the other, go what needs one core for a while: lint, the
dashboard's unit tests, and the store's tests on PostgreSQL. Those that measure time follow, alone. Temporary files are
in memory where that can be had, unless they are to lie where they lie.

Tests start servers, kill processes and wait for them, on machines that may lose half of their processor to others. So
where a few tests failed beside others, they are run once more, alone, and what then passes is named at the end: a test
that is named there often waits for the wrong thing, and is to be mended.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import BinaryIO

import psutil

ROOM = 8 * 2**30  # bytes of memory that must be free; tests leave some hundred megabytes of files behind
# Temporary files in memory, in a mount that nobody else sees. $0 is the folder.
IN_MEMORY = 'mount -t tmpfs -o mode=1777 tmpfs "$0" && TMPDIR="$0" exec "$@"'
TRIAL = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", tempfile.gettempdir()]
PYTEST = [sys.executable, "-m", "pytest"]
USUAL = "not serial and not soak"
FEW = 5  # failed tests: more of them are no accident


def main(workers: str, *, as_it_is: bool) -> int:
    if as_it_is or not _may_mount():
        return _run_all(workers)
    with tempfile.TemporaryDirectory(prefix="bw-") as folder:
        command = ["unshare", "--mount", "sh", "-c", IN_MEMORY, folder, sys.executable, __file__, workers, "as-it-is"]
        return subprocess.run(command, check=False).returncode


def _run_all(workers: str) -> int:
    with tempfile.TemporaryFile() as log:
        beside = _Beside(log)
        beside.start()
        codes = [_test(["-n", workers, "--dist", "worksteal", "-m", USUAL])]
        beside.join()
        log.seek(0)
        shutil.copyfileobj(log, sys.stdout.buffer)
        sys.stdout.flush()
    codes += [*beside.codes, _test(["-m", "serial and not soak", *_files_that_measure()])]
    return int(any(codes))


def _test(arguments: list[str]) -> int:
    """Runs tests, and a few that failed once more, alone."""
    with tempfile.TemporaryDirectory(prefix="bw-cache-") as cache:
        kept = ["-o", f"cache_dir={cache}"]
        code = _call([*PYTEST, *kept, *arguments])
        failed = _failed(Path(cache))
        if code != 1 or not 0 < len(failed) <= FEW:
            return code
        again = _call([*PYTEST, *kept, *failed])
    if again == 0:
        sys.stdout.write("\n  ".join(["failed beside other tests, and passed alone:", *failed]) + "\n")
        sys.stdout.flush()
    return again


def _failed(cache: Path) -> list[str]:
    """The tests that failed, as pytest keeps them."""
    file = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []


def _may_mount() -> bool:
    """Whether files can be kept in memory: stores wait for the disk some ten thousand times."""
    try:
        trial = subprocess.run(TRIAL, capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return trial.returncode == 0 and psutil.virtual_memory().available > ROOM


class _Beside(threading.Thread):
    """What goes on while the parallel tests run; what it prints is kept for the end."""

    def __init__(self, log: BinaryIO) -> None:
        super().__init__()
        self.codes: list[int] = []
        self._log = log

    def run(self) -> None:
        store = ["tests/store", "--ignore", "tests/store/remote", "-m", USUAL]
        for command in (
            ["make", "--no-print-directory", "lint", "test-pages"],
            [sys.executable, "-W", "ignore", "scripts/with_postgres.py", *PYTEST, *store],
        ):
            self.codes.append(_call(command, self._log))


def _call(command: list[str], log: BinaryIO | None = None) -> int:
    return subprocess.run(command, stdout=log, stderr=log and subprocess.STDOUT, check=False).returncode


def _files_that_measure() -> list[str]:
    """Only the files that have such tests: to collect the others takes ten seconds."""
    files = Path("tests").rglob("*.py")
    return sorted(str(file) for file in files if "mark.serial" in file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], as_it_is="as-it-is" in sys.argv))
