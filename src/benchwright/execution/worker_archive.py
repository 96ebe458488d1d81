"""The worker as one file: `python worker.pyz CONTROL ANSWER LIFELINE` on a machine where nothing is installed.

It holds the modules a worker needs and nothing else, all of which stand on the standard library; frameworks are those
of the machine it runs on. The bytes depend on the modules alone, so their hash can name a copy that is there already.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchwright.system import whole_files

MODULES = (
    "__init__.py",
    "_moved.py",
    "_version.py",
    "decorator.py",
    "errors.py",
    "plugins.py",
    "records/*.py",
    "schema/__init__.py",
    "schema/plain_values.py",
    "schema/parsing.py",
    "schema/soundness.py",
    "units/__init__.py",
    "units/money.py",
    "units/numbers.py",
    "units/objectives.py",
    "machine/**/*.py",
    "worker/**/*.py",
    "targets/__init__.py",
    "targets/signatures/*.py",
    "targets/specs/__init__.py",
    "targets/specs/passes.py",
    "targets/specs/placeholders.py",
    "targets/specs/rows/*.py",
    "targets/tasks/*.py",
    "stats/__init__.py",
    "stats/correlation.py",
    "stats/distributions.py",
    "stats/errors.py",
    "stats/histogram.py",
    "stats/moments.py",
    "stats/ranks.py",
    "stats/reach.py",
    "stats/steady.py",
    "stats/summary.py",
    "system/__init__.py",
    "system/lent_package.py",
    "system/locks.py",
    "system/masking.py",
    "system/orphans.py",
    "system/process.py",
    "system/program_output.py",
    "system/scratch.py",
    "system/streams.py",
    "system/temporary_folder.py",
    "system/texts.py",
    "system/whole_files.py",
)
_MAIN = "from benchwright.worker.main import start\n\nstart()\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file knows


def pack(path: Path) -> Path:
    """Writes the worker to `path`, in one step, and returns it. Needs Python 3.11 or newer to run."""
    package = Path(__file__).parents[1]
    with whole_files.replace_file(path, mode=0o755) as file:
        os.fchmod(file.fileno(), 0o755)  # whatever the mask says: others run it, too
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            _add(packed, "__main__.py", _MAIN.encode())
            _add_modules(packed, package, MODULES)
    return path


def packed(modules: Sequence[str], *, root: Path) -> bytes:
    """The modules that match these patterns, as the bytes of a zip file without a program of its own."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        _add_modules(file, root, modules)
    return content.getvalue()


def digest_of(modules: Sequence[str], *, root: Path) -> str:
    """The SHA-256 of the names and contents of these modules, which is cheaper than to pack them."""
    state = hashlib.sha256()
    for name, content in _read_modules(root, modules):
        state.update(b"%d %s %d\n" % (len(name), name.encode(), len(content)))
        state.update(content)
    return state.hexdigest()


def _add_modules(packed: zipfile.ZipFile, package: Path, patterns: Sequence[str]) -> None:
    for name, content in _read_modules(package, patterns):
        _add(packed, name, content)


def _read_modules(package: Path, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    found = dict.fromkeys(module for pattern in patterns for module in sorted(package.glob(pattern)))
    for module in found:
        yield f"benchwright/{module.relative_to(package).as_posix()}", module.read_bytes()


def _add(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    packed.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
