"""NVML, where there is something to ask: NVIDIA's library for its drivers, through the package nvidia-ml-py.

Its import takes 60 ms, which every run on a machine without such a device would pay; so the driver is looked for first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

NO_DRIVER = "no NVIDIA driver is loaded"
NOT_INSTALLED = "nvidia-ml-py is not installed (pip install 'benchwright[gpu]')"
_SIGNS = (  # any of which a driver leaves that NVML talks to
    "proc/driver/nvidia",
    "dev/nvidiactl",
    "dev/dxg",  # the driver of Windows, seen from Linux inside of it
    "sys/module/nvidia",
)


def open_nvml() -> tuple[Any, str]:
    """The module `pynvml`, initialised, which the caller must shut down; or None and the reason."""
    if not (is_imported() or has_driver()):
        return None, NO_DRIVER
    try:
        import pynvml
    except ImportError:
        return None, NOT_INSTALLED
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return None, f"NVML: {error}"
    return pynvml, ""


def has_driver(root: Path = Path("/"), *, platform: str = sys.platform) -> bool:
    """Whether a driver may be loaded; where that leaves no files, only NVML can tell."""
    return platform != "linux" or any((root / sign).exists() for sign in _SIGNS)


def is_imported() -> bool:
    """Whether asking costs nothing any more."""
    return "pynvml" in sys.modules
