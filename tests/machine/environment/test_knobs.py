from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.machine.environment import knobs
from benchwright.machine.environment.proc_files import cpu_numbers, cpu_ranges

Tree = Callable[..., Path]
CPU = "sys/devices/system/cpu"


@pytest.mark.parametrize(
    ("files", "knob", "answer"),
    [
        ({f"{CPU}/cpufreq/policy0/scaling_governor": "performance"}, "governor", "performance"),
        (
            {
                f"{CPU}/cpufreq/policy0/scaling_governor": "performance",
                f"{CPU}/cpufreq/policy10/scaling_governor": "powersave",
            },
            "governor",
            "mixed: performance, powersave",
        ),
        ({f"{CPU}/intel_pstate/no_turbo": "0"}, "turbo", "on"),
        ({f"{CPU}/intel_pstate/no_turbo": "1"}, "turbo", "off"),
        ({f"{CPU}/cpufreq/boost": "1"}, "turbo", "on"),
        ({f"{CPU}/cpufreq/boost": "0"}, "turbo", "off"),
        ({f"{CPU}/smt/control": "notsupported"}, "smt", "not supported by this CPU"),
        ({"proc/sys/kernel/randomize_va_space": "0"}, "aslr", "off"),
        ({"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"}, "transparent_hugepages", "madvise"),
        (
            {f"{CPU}/vulnerabilities/a": "Mitigation: x", f"{CPU}/vulnerabilities/b": "Not affected"},
            "mitigations",
            ["a"],
        ),
        ({f"{CPU}/isolated": "2-3"}, "isolated_cpus", "2-3"),
        ({"proc/cpuinfo": "processor : 0\nmicrocode : 0xd0003a5"}, "microcode", "0xd0003a5"),
    ],
)
def test_knobs(tree: Tree, files: dict[str, str], knob: str, answer: object) -> None:
    assert knobs.collect(tree(files))[knob] == answer


def test_the_moment_is_kept_apart(tree: Tree) -> None:
    waiting = "some avg10={} avg60=0.00 avg300=0.00 total=1\nfull avg10=9.00 avg60=0.00 avg300=0.00 total=0"
    files = {
        "proc/loadavg": "0.36 0.39 0.22 1/123 4567",
        **{f"proc/pressure/{name}": waiting.format(v) for name, v in (("cpu", 2.5), ("memory", 0.0), ("io", 1.0))},
        "proc/meminfo": "MemTotal: 10 kB\nMemAvailable: 8 kB\nSwapTotal: 4 kB\nSwapFree: 1 kB\nHugePages_Total: 0",
        f"{CPU}/cpufreq/policy0/scaling_cur_freq": "3000000",
        f"{CPU}/cpufreq/policy1/scaling_cur_freq": "1000000",
        "sys/class/thermal/thermal_zone0/temp": "41500",
        "sys/class/thermal/thermal_zone1/temp": "not now",
    }
    assert knobs.collect(tree(files))["at_start"] == {
        "load": [0.36, 0.39, 0.22],
        "pressure": {"cpu": 2.5, "memory": 0.0, "io": 1.0},
        "swap": {"total": 4096, "used": 3072},
        "memory_available": 8192,
        "cpu_mhz": 2000,
        "temperature": 41.5,
    }


@pytest.mark.parametrize("text", ["0", "0-3", "0,2,4", "0-1,8-9,63"])
def test_cpu_ranges_read_what_they_write(text: str) -> None:
    assert cpu_ranges(cpu_numbers(text)) == text
