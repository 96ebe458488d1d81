"""This installation as a wheel, made from its own files: nothing is downloaded and nothing is compiled.

The bytes depend on the files alone, so that an engine's cache knows an unchanged one.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from benchwright._version import VERSION

NAME = f"benchwright-{VERSION}-py3-none-any.whl"
_INFO = f"benchwright-{VERSION}.dist-info"
_WHEEL = "Wheel-Version: 1.0\nGenerator: benchwright\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_METADATA = f"Metadata-Version: 2.1\nName: benchwright\nVersion: {VERSION}\nRequires-Python: >=3.11\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file knows


def write(folder: Path) -> Path:
    """Writes the wheel into `folder` and returns its path."""
    path = folder / NAME
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in (*_sources(), *_metadata()):
            wheel.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        wheel.writestr(zipfile.ZipInfo(f"{_INFO}/RECORD", _EPOCH), f"{record}{_INFO}/RECORD,,\n")
    return path


def _sources() -> Iterator[tuple[str, bytes]]:
    package = Path(__file__).resolve().parents[2]
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(package.parent).as_posix(), path.read_bytes()


def _metadata() -> Iterator[tuple[str, bytes]]:
    """What the installation says of itself; sources that were never installed say the least a wheel must."""
    try:
        installed = distribution("benchwright")
    except PackageNotFoundError:
        told, points = None, None
    else:
        told, points = installed.read_text("METADATA"), installed.read_text("entry_points.txt")
    yield f"{_INFO}/METADATA", (told or _METADATA).encode()
    yield f"{_INFO}/WHEEL", _WHEEL.encode()
    yield f"{_INFO}/entry_points.txt", (points or "[console_scripts]\nbenchwright = benchwright.cli:main\n").encode()
