"""The hardware, as Linux reports it. Only what stays the same from run to run: a series is keyed by these facts.

So CPUs are those present, not those online; memory is what is built in, not what the kernel left over.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from benchwright.machine.environment.proc_files import (
    cpu_numbers,
    list_numbered,
    read_facts,
    read_number,
    read_text,
    unavailable,
)
from benchwright.records import Value

_CPU = Path("sys/devices/system/cpu")
_FIRST_CPUS = 16384  # bytes: the whole of /proc/cpuinfo takes milliseconds on a machine of many cores

# What numerical libraries choose their kernels by.
_FEATURES = (
    *("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx_vnni_int8", "avx_ifma", "avx512f", "avx512bw"),
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"),
)

# The x86-64 levels of the System V ABI, as far as /proc/cpuinfo names their features.
_LEVELS = (
    ("x86-64-v2", {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}),
    ("x86-64-v3", {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}),
    ("x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
)

_ARM_PARTS = {
    ("0x41", "0xd03"): "Arm Cortex-A53",
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0x41", "0xd0b"): "Arm Cortex-A76",
    ("0x41", "0xd0c"): "Arm Neoverse-N1",
    ("0x41", "0xd40"): "Arm Neoverse-V1",
    ("0x41", "0xd49"): "Arm Neoverse-N2",
    ("0x41", "0xd4f"): "Arm Neoverse-V2",
    ("0xc0", "0xac3"): "Ampere-1",
}
_ARM_VENDORS = {"0x41": "Arm", "0x4e": "NVIDIA", "0x51": "Qualcomm", "0x61": "Apple", "0xc0": "Ampere"}


def collect(root: Path) -> dict[str, Value]:
    """CPU, caches, memory and NUMA nodes."""
    info = cpuinfo(root)
    return read_facts(
        root,
        {
            "cpu": partial(_model, info),
            "vendor": partial(_vendor, info),
            "level": partial(_level, info),
            "features": partial(_features, info),
            "sockets": lambda root: len({package for package, _ in _cores(root)}),
            "cores": lambda root: len(_cores(root)),
            "threads": lambda root: len(cpu_numbers(read_text(root / _CPU / "present"))),
            "caches": _caches,
            "memory": _memory,
            "numa_nodes": lambda root: len(cpu_numbers(read_text(root / "sys/devices/system/node/online"))),
        },
    )


def cpuinfo(root: Path) -> dict[str, str]:
    """The first CPU's entry of /proc/cpuinfo; empty when there is none."""
    try:
        descriptor = os.open(root / "proc/cpuinfo", os.O_RDONLY)
    except OSError:
        return {}
    try:
        page = os.read(descriptor, _FIRST_CPUS).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    found: dict[str, str] = {}
    for line in page.splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    return found


def flags(info: dict[str, str]) -> set[str]:
    """The CPU's features by the kernel's names."""
    return set((info.get("flags") or info.get("Features") or "").split())


def _model(info: dict[str, str], _: Path) -> Value:
    if name := info.get("model name") or info.get("cpu") or info.get("uarch"):
        return name
    implementer, part = info.get("CPU implementer", ""), info.get("CPU part", "")
    if implementer:
        return _ARM_PARTS.get((implementer, part), f"{_ARM_VENDORS.get(implementer, implementer)} part {part}")
    return unavailable("/proc/cpuinfo names no model")


def _vendor(info: dict[str, str], _: Path) -> Value:
    implementer = info.get("CPU implementer", "")
    name = info.get("vendor_id") or _ARM_VENDORS.get(implementer, implementer)
    return name or unavailable("/proc/cpuinfo names no vendor")


def _level(info: dict[str, str], _: Path) -> Value:
    found, level = flags(info), "x86-64-v1"
    if "lm" not in found:
        return info.get("CPU architecture") or info.get("isa") or unavailable("/proc/cpuinfo names no level")
    for name, needed in _LEVELS:
        if not needed <= found:
            break
        level = name
    return level


def _features(info: dict[str, str], _: Path) -> Value:
    found = flags(info)
    return [name for name in _FEATURES if name in found] if found else unavailable("/proc/cpuinfo lists no features")


def _cores(root: Path) -> set[tuple[int, int]]:
    """(package, core) of every core with a thread online; switching SMT off leaves it the same."""
    cores = set()
    for cpu in list_numbered(root / _CPU, "cpu"):
        try:
            cores.add((read_number(cpu / "topology/physical_package_id"), read_number(cpu / "topology/core_id")))
        except FileNotFoundError:
            continue  # an offline CPU has no topology
    if not cores:
        raise LookupError("no CPU has a topology")
    return cores


def _caches(root: Path) -> Value:
    """The sizes that one core of the first socket sees, in bytes."""
    sizes: dict[str, Value] = {}
    for index in list_numbered(root / _CPU / "cpu0/cache", "index"):
        kind = {"Data": "d", "Instruction": "i"}.get(read_text(index / "type"), "")
        sizes[f"L{read_number(index / 'level')}{kind}"] = _size(read_text(index / "size"))
    return sizes


def _size(shown: str) -> int:
    return int(shown[:-1]) * {"K": 1024, "M": 1024**2, "G": 1024**3}[shown[-1]]


def _memory(root: Path) -> Value:
    """Bytes. MemTotal shifts with the kernel, so it is taken, to the nearest 256 MiB, only where blocks are unknown."""
    blocks = root / "sys/devices/system/memory"
    try:
        return int(read_text(blocks / "block_size_bytes"), 16) * len(list_numbered(blocks, "memory"))
    except (OSError, ValueError):
        lines = (line.split() for line in read_text(root / "proc/meminfo").splitlines())
        total = next(int(line[1]) for line in lines if line[0] == "MemTotal:") * 1024
        return round(total / 2**28) * 2**28 or total
