"""What a person can change about a Linux machine, and how busy it was when a measurement began."""

from __future__ import annotations

import os
from pathlib import Path

from benchwright.machine.environment.hardware import cpuinfo
from benchwright.machine.environment.proc_files import (
    cpu_ranges,
    list_numbered,
    one_or_mixed,
    read_facts,
    read_number,
    read_text,
    unavailable,
)
from benchwright.records import Value

_CPU = Path("sys/devices/system/cpu")
_ASLR = {0: "off", 1: "without heap", 2: "full"}


def collect(root: Path) -> dict[str, Value]:
    """Knobs by name; `at_start` holds what is true only for the moment."""
    knobs = read_facts(
        root,
        {
            "governor": _governor,
            "frequency_driver": _frequency_driver,
            "turbo": _turbo,
            "smt": _smt,
            "aslr": lambda root: _ASLR[read_number(root / "proc/sys/kernel/randomize_va_space")],
            "affinity": lambda _: cpu_ranges(os.sched_getaffinity(0)),
            "isolated_cpus": lambda root: read_text(root / _CPU / "isolated") or "none",
            "nice": lambda _: os.getpriority(os.PRIO_PROCESS, 0),
            "transparent_hugepages": lambda root: _read_choice(
                read_text(root / "sys/kernel/mm/transparent_hugepage/enabled")
            ),
            "swappiness": lambda root: read_number(root / "proc/sys/vm/swappiness"),
            "numa_balancing": _numa_balancing,
            "microcode": _microcode,
            "mitigations": _mitigations,
        },
    )
    knobs["at_start"] = read_facts(
        root,
        {
            "load": lambda root: [float(v) for v in read_text(root / "proc/loadavg").split()[:3]],
            "pressure": _pressure,
            "swap": _swap,
            "memory_available": lambda root: _meminfo(root)["MemAvailable"],
            "cpu_mhz": _cpu_mhz,
            "temperature": _temperature,
        },
    )
    return knobs


def _policies(root: Path) -> list[Path]:
    found = list_numbered(root / _CPU / "cpufreq", "policy")
    if not found:
        raise FileNotFoundError(2, "", "cpufreq policy (not offered by this kernel or hypervisor)")
    return found


def _governor(root: Path) -> Value:
    return one_or_mixed(read_text(policy / "scaling_governor") for policy in _policies(root))


def _frequency_driver(root: Path) -> Value:
    return one_or_mixed(read_text(policy / "scaling_driver") for policy in _policies(root))


def _turbo(root: Path) -> Value:
    if (switch := root / _CPU / "intel_pstate/no_turbo").is_file():
        return "off" if read_number(switch) else "on"
    if (switch := root / _CPU / "cpufreq/boost").is_file():
        return "on" if read_number(switch) else "off"
    return unavailable("no switch for it in /sys/devices/system/cpu")


def _smt(root: Path) -> Value:
    state = read_text(root / _CPU / "smt/control")
    return "not supported by this CPU" if state == "notsupported" else state


def _numa_balancing(root: Path) -> Value:
    return "on" if read_number(root / "proc/sys/kernel/numa_balancing") else "off"


def _microcode(root: Path) -> Value:
    return cpuinfo(root).get("microcode") or unavailable("/proc/cpuinfo names none")


def _mitigations(root: Path) -> Value:
    """The CPU faults that the kernel works around, which costs time."""
    folder = root / _CPU / "vulnerabilities"
    return [path.name for path in sorted(folder.iterdir()) if read_text(path).startswith("Mitigation")]


def _read_choice(options: str) -> str:
    """`always [madvise] never` -> `madvise`."""
    return options[options.index("[") + 1 : options.index("]")]


def _pressure(root: Path) -> Value:
    """Percent of the last ten seconds in which some task waited, for each resource."""
    found: dict[str, Value] = {}
    for resource in ("cpu", "memory", "io"):
        some = read_text(root / "proc/pressure" / resource).splitlines()[0]
        found[resource] = float(some.split("avg10=")[1].split()[0])
    return found


def _meminfo(root: Path) -> dict[str, int]:
    lines = (line.split() for line in read_text(root / "proc/meminfo").splitlines())
    return {line[0].rstrip(":"): int(line[1]) * 1024 for line in lines if line[-1] == "kB"}


def _swap(root: Path) -> Value:
    memory = _meminfo(root)
    return {"total": memory["SwapTotal"], "used": memory["SwapTotal"] - memory["SwapFree"]}


def _cpu_mhz(root: Path) -> Value:
    """The mean over the CPUs now, or the nominal figure where the kernel cannot tell."""
    try:
        now = [read_number(policy / "scaling_cur_freq") / 1000 for policy in _policies(root)]
        return round(sum(now) / len(now))
    except OSError:
        return round(float(cpuinfo(root)["cpu MHz"]))


def _temperature(root: Path) -> Value:
    """Degrees Celsius of the hottest zone."""
    zones = list_numbered(root / "sys/class/thermal", "thermal_zone")
    found = [celsius for zone in zones if (celsius := _zone(zone)) is not None]
    return max(found) if found else unavailable("no thermal zone can be read")


def _zone(zone: Path) -> float | None:
    try:
        return read_number(zone / "temp") / 1000
    except (OSError, ValueError):
        return None  # zones of parts that sleep refuse to answer
