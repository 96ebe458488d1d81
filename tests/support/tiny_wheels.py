"""Wheels of a few lines that tests install: no index is asked."""

from __future__ import annotations

import zipfile
from pathlib import Path


def write(folder: Path, version: str = "1.0", *, name: str = "needed", code: str = "") -> Path:
    """A wheel of one module that knows its version, in `folder`; its path."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n{code}")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path
