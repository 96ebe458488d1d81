"""python dashboard/build.py: builds the dashboard's pages into the package, when their sources have changed.

What is built carries the digest of what it was built from, so that neither clocks nor copies mislead. Standard library
only; Node and npm are needed only when there is something to build. A build fetches the `dependencies` of package.json;
linter, formatter and test runner are its `devDependencies`, which `make` fetches.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUNDLE = HERE.parent / "src" / "benchwright" / "pages" / "dashboard" / "bundle"
STAMP = BUNDLE / "built-from"
SOURCES = ("build.py", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "src/**/*")


def build() -> bool:
    """Builds if need be, and says whether it did; a `RuntimeError` tells what is missing."""
    wanted = digest()
    if STAMP.is_file() and STAMP.read_text(encoding="ascii") == wanted:
        return False
    npm = shutil.which("npm")
    if npm is None:
        state = "older than its sources" if BUNDLE.is_dir() else "not built"
        raise RuntimeError(f"the dashboard is {state}, and npm is not found: install Node 20 or newer, then try again")
    if _wants_packages():
        # Not `ci`: it refuses a lock file that lacks other platforms' binaries, which registries do not always have.
        _run(npm, "install", "--omit=dev", "--no-save", "--no-audit", "--no-fund")
    _run(npm, "run", "build")  # empties the folder first: a build that is cut off has no stamp
    (BUNDLE / "licenses.txt").write_text(_licenses(), encoding="utf-8")
    STAMP.write_text(wanted, encoding="ascii")
    return True


def digest() -> str:
    """Of everything that the built files depend on."""
    files = sorted({path for pattern in SOURCES for path in HERE.glob(pattern) if path.is_file()})
    whole = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        whole.update(f"{path.relative_to(HERE).as_posix()} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def _licenses() -> str:
    """The licenses of the packages whose code is in the bundle; they ask to be passed on with it."""
    names = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["bundled"]
    files = [next((HERE / "node_modules" / name).glob("LICENSE*")) for name in names]
    texts = [f"{name}\n\n{file.read_text(encoding='utf-8')}" for name, file in zip(names, files, strict=True)]
    return "\n\n".join(texts)


def _wants_packages() -> bool:
    """Whether what is installed may not be what the lock file says."""
    installed = HERE / "node_modules" / ".package-lock.json"
    return not installed.is_file() or installed.stat().st_mtime < (HERE / "package-lock.json").stat().st_mtime


def _run(*command: str) -> None:
    ended = subprocess.run(command, cwd=HERE, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed in {HERE.name}/:\n{ended.stdout.strip()}")


if __name__ == "__main__":
    try:
        built = build()
    except RuntimeError as error:
        sys.exit(str(error))
    sys.stdout.write("the dashboard is built\n" if built else "")
