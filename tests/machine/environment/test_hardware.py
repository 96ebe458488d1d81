from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.machine.environment import hardware, knobs

Tree = Callable[..., Path]
CPU = "sys/devices/system/cpu"
XEON = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
microcode\t: 0xd0003a5
cpu MHz\t\t: 2000.123
flags\t\t: lm cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f avx512_vnni
"""


def bare_metal(*, smt: bool = True) -> dict[str, str]:
    """Two sockets of two cores with two threads each; without SMT the second threads are offline."""
    files = {
        "proc/cpuinfo": XEON,
        f"{CPU}/present": "0-7",
        f"{CPU}/smt/control": "on" if smt else "off",
        "sys/devices/system/node/online": "0-1",
        "sys/devices/system/memory/block_size_bytes": "80000000",
        f"{CPU}/cpu0/cache/index0/level": "1",
        f"{CPU}/cpu0/cache/index0/type": "Data",
        f"{CPU}/cpu0/cache/index0/size": "48K",
        f"{CPU}/cpu0/cache/index1/level": "3",
        f"{CPU}/cpu0/cache/index1/type": "Unified",
        f"{CPU}/cpu0/cache/index1/size": "36M",
    }
    for block in range(32):
        files[f"sys/devices/system/memory/memory{block}/state"] = "online"
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/uevent"] = ""
        if smt or cpu < 4:
            files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = str(cpu % 4 // 2)
            files[f"{CPU}/cpu{cpu}/topology/core_id"] = str(cpu % 2)
    return files


def test_the_machine_is_counted_from_what_is_present(tree: Tree) -> None:
    found = hardware.collect(tree(bare_metal()))
    assert found == {
        "cpu": "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
        "vendor": "GenuineIntel",
        "level": "x86-64-v3",
        "features": ["sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512_vnni"],
        "sockets": 2,
        "cores": 4,
        "threads": 8,
        "caches": {"L1d": 48 * 1024, "L3": 36 * 1024**2},
        "memory": 64 * 1024**3,
        "numa_nodes": 2,
    }


def test_switching_smt_off_is_a_knob_not_another_machine(tree: Tree) -> None:
    on, off = tree(bare_metal(), "on"), tree(bare_metal(smt=False), "off")
    assert hardware.collect(on) == hardware.collect(off)
    assert (knobs.collect(on)["smt"], knobs.collect(off)["smt"]) == ("on", "off")


def test_memory_without_blocks_ignores_what_a_kernel_update_shifts(tree: Tree) -> None:
    old = hardware.collect(tree({"proc/meminfo": "MemTotal:       32780120 kB"}))["memory"]
    new = hardware.collect(tree({"proc/meminfo": "MemTotal:       32768004 kB"}))["memory"]
    assert old == new == 125 * 2**28


@pytest.mark.parametrize(
    ("part", "name"), [("0xd0c", "Arm Neoverse-N1"), ("0xfff", "Arm part 0xfff")], ids=["known", "unknown"]
)
def test_arm_processors_are_named_by_their_part(tree: Tree, part: str, name: str) -> None:
    info = f"CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: {part}\nFeatures\t: fp asimd asimddp sve"
    found = hardware.collect(tree({"proc/cpuinfo": info}))
    assert (found["cpu"], found["vendor"], found["level"]) == (name, "Arm", "8")
    assert found["features"] == ["asimd", "asimddp", "sve"]


def test_rubbish_in_a_file_is_a_reason(tree: Tree) -> None:
    found = hardware.collect(tree({f"{CPU}/present": "many"}))
    assert str(found["threads"]).startswith("unavailable: not understood: ")
