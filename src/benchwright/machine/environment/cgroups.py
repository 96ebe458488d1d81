"""Limits that control groups set on this process, versions 1 and 2, the groups above included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchwright.machine.environment.proc_files import read_number, read_text
from benchwright.records import Value

UNLIMITED = "unlimited"
_NO_LIMIT = 1 << 60  # version 1 writes the largest multiple of a page instead of "max"


def limits(root: Path) -> Value:
    """CPU quota in cores and memory in bytes, the tightest on the way up; `unlimited` where none is set."""
    mounts = _mounts(root)
    quotas: list[float] = []
    memory: list[int] = []
    versions: set[int] = set()
    for line in read_text(root / "proc/self/cgroup").splitlines():
        hierarchy, controllers, path = line.split(":", 2)
        version = 2 if hierarchy == "0" else 1
        controller = "" if version == 2 else _choose_controller(controllers)
        if controller is None or controller not in mounts:
            continue
        versions.add(version)
        for group in _upwards(root, mounts[controller], path):
            quotas += _quota(group)
            memory += _memory(group)
    return {
        "version": " and ".join(map(str, sorted(versions))) or "none",
        "cpu_quota": min(quotas, default=None) or UNLIMITED,
        "memory": min(memory, default=None) or UNLIMITED,
    }


def _choose_controller(controllers: str) -> str | None:
    names = controllers.split(",")
    return next((name for name in ("cpu", "memory") if name in names), None)


def _mounts(root: Path) -> dict[str, str]:
    """Controller -> where it is mounted; the unified hierarchy under the empty name."""
    found: dict[str, str] = {}
    for line in read_text(root / "proc/self/mounts").splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            found.setdefault("", place)
        elif kind == "cgroup":
            for controller in ("cpu", "memory"):
                if controller in options.split(","):
                    found.setdefault(controller, place)
    return found


def _upwards(root: Path, mount: str, path: str) -> Iterator[Path]:
    """The group and those above it. In a container the path may be the host's: then only the mount exists."""
    top = root / mount.lstrip("/")
    group = top / path.lstrip("/")
    while group != top and top in group.parents:
        if group.is_dir():
            yield group
        group = group.parent
    yield top


def _quota(group: Path) -> list[float]:
    """Cores, from `cpu.max` (version 2) or the pair of version 1."""
    try:
        quota, _, period = read_text(group / "cpu.max").partition(" ")
        return [int(quota) / int(period)] if quota != "max" else []
    except FileNotFoundError:
        pass
    try:
        micros = read_number(group / "cpu.cfs_quota_us")
        return [micros / read_number(group / "cpu.cfs_period_us")] if micros > 0 else []
    except FileNotFoundError:
        return []


def _memory(group: Path) -> list[int]:
    for name in ("memory.max", "memory.limit_in_bytes"):
        try:
            limit = read_text(group / name)
        except FileNotFoundError:
            continue
        return [int(limit)] if limit != "max" and int(limit) < _NO_LIMIT else []
    return []
