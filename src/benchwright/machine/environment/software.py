"""The operating system around the measurement: kernel, virtual machine, container, limits, Python."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path

from benchwright.machine.environment import cgroups
from benchwright.machine.environment.hardware import cpuinfo, flags
from benchwright.machine.environment.proc_files import read_fact, read_fields, read_text, unavailable
from benchwright.records import Value

# What firmware calls itself -> the hypervisor or provider.
_FIRMWARE = {
    "Amazon EC2": "Amazon EC2",
    "Google": "Google Compute Engine",
    "Microsoft Corporation Virtual Machine": "Hyper-V",
    "VMware": "VMware",
    "VirtualBox": "VirtualBox",
    "innotek": "VirtualBox",
    "Xen": "Xen",
    "Parallels": "Parallels",
    "OpenStack": "OpenStack",
    "KVM": "KVM",
    "QEMU": "KVM or QEMU",
}

_CONTAINER_MARKS = {
    "kubepods": "kubernetes",
    "docker": "docker",
    "libpod": "podman",
    "containerd": "containerd",
    "lxc": "lxc",
}


def collect(root: Path) -> dict[str, Value]:
    """Facts about the operating system and this interpreter. Of the host name only a short hash is kept."""
    on_linux = sys.platform.startswith("linux")
    return {
        "os": platform.system(),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "distribution": read_fact(root, _distribution) if on_linux else platform.version(),
        "libc": _libc(),
        "host": hashlib.sha256(platform.node().encode()).hexdigest()[:8],
        "clock_source": read_fact(root, _clock_source) if on_linux else unavailable(f"not told by {platform.system()}"),
        "virtualisation": read_fact(root, virtualisation)
        if on_linux
        else unavailable(f"not told by {platform.system()}"),
        "container": read_fact(root, _container) if on_linux else "none",
        "cgroup": read_fact(root, cgroups.limits) if on_linux else unavailable("only Linux has control groups"),
        "python": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "python_build": _python_build(),
    }


def virtualisation(root: Path) -> Value:
    """The hypervisor below this system, or `none`."""
    if "microsoft" in platform.release().lower() and root == Path("/"):
        return "WSL"
    firmware = _firmware(root)
    for mark, name in _FIRMWARE.items():
        if mark in firmware:
            return name
    if (kind := root / "sys/hypervisor/type").is_file():
        return read_text(kind)
    if (node := root / "proc/device-tree/hypervisor/compatible").is_file():
        return read_text(node)
    found = flags(cpuinfo(root))
    if "hypervisor" in found:
        return "a hypervisor that does not name itself"
    return "none" if "lm" in found or firmware else unavailable("neither CPU nor firmware tells")


def _firmware(root: Path) -> str:
    names = []
    for name in ("sys_vendor", "product_name", "bios_vendor"):
        try:
            names.append(read_text(root / "sys/class/dmi/id" / name))
        except OSError:
            continue  # no DMI here, or not for this user
    return " ".join(names)


def _container(root: Path) -> Value:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    if (mark := root / "run/systemd/container").is_file():
        return read_text(mark)
    groups = read_text(root / "proc/self/cgroup")
    return next((name for mark, name in _CONTAINER_MARKS.items() if mark in groups), "none")


def _distribution(root: Path) -> Value:
    release = read_fields(root / "etc/os-release", separator="=")
    return release["PRETTY_NAME"].strip("\"'")


def _clock_source(root: Path) -> Value:
    return read_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")


def _libc() -> Value:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or unavailable("the C library does not name itself")
    except (AttributeError, ValueError, OSError):
        return unavailable("the C library does not name itself")


def _python_build() -> Value:
    """The compiler, and the options that change how fast Python code runs."""
    marks = [platform.python_compiler()]
    if hasattr(sys, "gettotalrefcount"):
        marks.append("debug")
    gil = getattr(sys, "_is_gil_enabled", None)  # Python 3.13 and later
    if gil is not None and not gil():
        marks.append("free-threaded")
    return ", ".join(marks)
