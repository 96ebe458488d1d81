"""Machine and knobs where there is no `/proc` and `/sys`: macOS and Windows, through psutil and what they tell."""

from __future__ import annotations

import os
import platform
import sys

from benchwright.machine.environment.proc_files import cpu_ranges, unavailable
from benchwright.records import Value

_LINUX_ONLY = "read on Linux only"
_SYSCTLS = {"L1d": "hw.l1dcachesize", "L1i": "hw.l1icachesize", "L2": "hw.l2cachesize", "L3": "hw.l3cachesize"}


def machine() -> dict[str, Value]:
    """Returns the facts of the machine that Linux would tell, as far as this system tells them."""
    import psutil

    return {
        "cpu": _cpu(),
        "vendor": unavailable(_LINUX_ONLY),
        "level": platform.machine(),
        "features": unavailable(_LINUX_ONLY),
        "sockets": unavailable(_LINUX_ONLY),
        "cores": psutil.cpu_count(logical=False) or unavailable("psutil cannot tell"),
        "threads": os.cpu_count() or unavailable("the system cannot tell"),
        "caches": _caches(),
        "memory": psutil.virtual_memory().total,
        "numa_nodes": unavailable(_LINUX_ONLY),
    }


def knobs() -> dict[str, Value]:
    """Returns the knobs that can be read without Linux."""
    names = ("governor", "frequency_driver", "turbo", "smt", "aslr", "isolated_cpus", "transparent_hugepages")
    more = ("swappiness", "numa_balancing", "microcode", "mitigations")
    found: dict[str, Value] = {name: unavailable(_LINUX_ONLY) for name in (*names, *more)}
    import psutil

    this, swap = psutil.Process(), psutil.swap_memory()
    found["affinity"] = cpu_ranges(this.cpu_affinity()) if hasattr(this, "cpu_affinity") else "all"
    found["nice"] = int(this.nice())
    found["at_start"] = {
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else unavailable("this system has no load average"),
        "pressure": unavailable(_LINUX_ONLY),
        "swap": {"total": swap.total, "used": swap.used},
        "memory_available": psutil.virtual_memory().available,
        "cpu_mhz": unavailable(_LINUX_ONLY),
        "temperature": unavailable(_LINUX_ONLY),
    }
    return found


def _cpu() -> Value:
    if sys.platform == "win32":
        import winreg

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"HARDWARE\DESCRIPTION\System\CentralProcessor\0") as key:
            return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()
    return _sysctl("machdep.cpu.brand_string") or platform.processor() or unavailable("the system names no CPU")


def _caches() -> Value:
    found: dict[str, Value] = {
        name: int(size) for name, key in _SYSCTLS.items() if (size := _sysctl(key)).isdigit() and int(size)
    }
    return found or unavailable("the system names no caches")


def _sysctl(key: str) -> str:
    """What macOS says under a name; empty where there is no such program or name."""
    import subprocess

    try:
        answer = subprocess.run(["sysctl", "-n", key], capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
