"""NVML is imported only where a driver has left its signs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchwright.machine import nvml


@pytest.mark.parametrize(
    "sign", ["proc/driver/nvidia/version", "dev/nvidiactl", "dev/dxg", "sys/module/nvidia/version"]
)
def test_a_driver_leaves_a_sign(tmp_path: Path, sign: str) -> None:
    assert not nvml.has_driver(tmp_path, platform="linux")
    (tmp_path / sign).parent.mkdir(parents=True)
    (tmp_path / sign).touch()
    assert nvml.has_driver(tmp_path, platform="linux")


def test_elsewhere_only_nvml_can_tell(tmp_path: Path) -> None:
    assert nvml.has_driver(tmp_path, platform="win32")


@pytest.mark.parametrize("loaded", [False, True])
def test_nothing_is_imported_without_a_driver(tmp_path: Path, loaded: bool) -> None:
    """The package is there, and says so when it is imported."""
    (tmp_path / "pynvml.py").write_text(
        "print('imported')\nclass NVMLError(Exception): pass\ndef nvmlInit(): raise NVMLError('Driver Not Loaded')\n"
    )
    script = (
        "from benchwright.machine import nvml\nfrom benchwright.machine.environment import accelerators\n"
        "from benchwright.machine.monitors.gpu import GpuMonitor\nfrom pathlib import Path\n"
        f"nvml.has_driver = lambda: {loaded}\n"
        "monitor = GpuMonitor()\nmonitor.start([])\n"
        "print(monitor.stop().unavailable['gpu'], accelerators.collect(Path('/')).state)"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ("imported" in ended.stdout) is loaded
    reason = "NVML: Driver Not Loaded" if loaded else "no NVIDIA driver is loaded"
    assert ended.stdout.count(reason) >= 2
