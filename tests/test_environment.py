from __future__ import annotations

import platform
import subprocess
import sys
import types
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import psutil  # before a test pretends to be on another system
import pytest

from benchwright import environment, schema
from benchwright.environment import accelerators, cgroups, knobs, machine, portable, system
from benchwright.environment.page import sections
from benchwright.environment.reading import cpu_numbers, cpu_ranges, is_known
from benchwright.records import Environment

CPU = "sys/devices/system/cpu"
XEON = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
microcode\t: 0xd0003a5
cpu MHz\t\t: 2000.123
flags\t\t: lm cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f avx512_vnni
"""


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return root


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


# ---- the whole ----


def test_the_same_machine_gives_the_same_key_and_survives_the_schema() -> None:
    first, second = environment.collect(runtimes={"torch": "2.13"}), environment.collect(packages={"numpy": "2.1"})
    assert first.machine == second.machine
    assert schema.environment_key(first) == schema.environment_key(second)
    assert schema.loads(schema.dumps(first), Environment) == first
    assert first.runtimes == {"torch": "2.13"}
    assert second.packages == {"numpy": "2.1"}
    assert first.collected_at.endswith("+00:00")


def test_a_root_without_any_file_gives_reasons_not_errors(tmp_path: Path) -> None:
    found = environment.collect(root=tmp_path)
    assert set(found.machine) == set(environment.collect().machine)
    assert all(not is_known(value) for value in found.machine.values())
    assert found.knobs["governor"] == f"unavailable: no {tmp_path}/{CPU}/cpufreq"
    assert found.accelerators == ()
    assert str(found.knobs["accelerators"]).startswith("unavailable: ")
    assert schema.loads(schema.dumps(found), Environment) == found


def test_nothing_is_started_to_collect(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    assert environment.collect().machine["threads"]


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys; from benchwright.environment import collect, installed_packages; collect(); installed_packages()"
    )
    check = "assert not {'numpy', 'psutil', 'subprocess'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], check=True)


def test_the_host_name_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "the-secret-host")
    found = environment.collect()
    assert "the-secret-host" not in schema.dumps(found)
    assert len(str(found.system["host"])) == 8


@pytest.mark.parametrize("name", ["darwin", "win32"])
def test_other_systems_answer_the_same_questions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = environment.collect()
    monkeypatch.setattr(sys, "platform", name)
    monkeypatch.setattr(portable, "_cpu", lambda: "Apple M3")  # winreg exists on Windows alone
    found = environment.collect()
    assert found.machine.keys() == here.machine.keys()
    assert found.knobs.keys() == here.knobs.keys()
    assert found.system.keys() == here.system.keys()
    assert found.machine["memory"] == psutil.virtual_memory().total
    assert str(found.knobs["governor"]).startswith("unavailable: ")


def test_packages_are_those_that_can_be_imported() -> None:
    found = environment.installed_packages()
    assert found["psutil"] == metadata.version("psutil")
    assert list(found) == sorted(found, key=str.lower)


def test_every_section_is_shown() -> None:
    here = environment.collect(packages={"numpy": "2.1"})
    gpu = replace(
        here, accelerators=({"vendor": "NVIDIA", "name": "A100"},), knobs={"accelerators": [{"memory": 2**30}]}
    )
    assert [s.title for s in sections(here)] == [
        *("Machine", "System", "Accelerators", "Knobs", "At the start", "Packages"),
    ]
    assert dict(sections(gpu)[2].lines) == {"0": "NVIDIA A100, memory 1.00 GiB"}


# ---- differences ----


def test_differences_name_the_place_and_both_values() -> None:
    a = environment.collect(packages={"numpy": "2.1", "scipy": "1.15"})
    changed = {**a.machine, "caches": {"L2": 1, **dict(a.machine["caches"])} | {"L2": 7}}  # type: ignore[dict-item]
    b = replace(a, machine=changed, packages={"numpy": "2.2"}, collected_at="another moment")
    assert environment.difference(a, a) == []
    assert environment.difference(a, b) == [
        ("machine.caches.L2", a.machine["caches"]["L2"], 7),  # type: ignore[index,call-overload]
        ("packages.numpy", "2.1", "2.2"),
        ("packages.scipy", "1.15", None),
    ]
    assert environment.difference(b, a)[-1] == ("packages.scipy", None, "1.15")


# ---- machine ----


def test_the_machine_is_counted_from_what_is_present(tmp_path: Path) -> None:
    found = machine.collect(tree(tmp_path, bare_metal()))
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


def test_switching_smt_off_is_a_knob_not_another_machine(tmp_path: Path) -> None:
    on, off = tree(tmp_path / "on", bare_metal()), tree(tmp_path / "off", bare_metal(smt=False))
    assert machine.collect(on) == machine.collect(off)
    assert (knobs.collect(on)["smt"], knobs.collect(off)["smt"]) == ("on", "off")


def test_memory_without_blocks_ignores_what_a_kernel_update_shifts(tmp_path: Path) -> None:
    old = machine.collect(tree(tmp_path, {"proc/meminfo": "MemTotal:       32780120 kB"}))["memory"]
    new = machine.collect(tree(tmp_path, {"proc/meminfo": "MemTotal:       32768004 kB"}))["memory"]
    assert old == new == 125 * 2**28


@pytest.mark.parametrize(
    ("part", "name"), [("0xd0c", "Arm Neoverse-N1"), ("0xfff", "Arm part 0xfff")], ids=["known", "unknown"]
)
def test_arm_processors_are_named_by_their_part(tmp_path: Path, part: str, name: str) -> None:
    info = f"CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: {part}\nFeatures\t: fp asimd asimddp sve"
    found = machine.collect(tree(tmp_path, {"proc/cpuinfo": info}))
    assert (found["cpu"], found["vendor"], found["level"]) == (name, "Arm", "8")
    assert found["features"] == ["asimd", "asimddp", "sve"]


def test_rubbish_in_a_file_is_a_reason(tmp_path: Path) -> None:
    found = machine.collect(tree(tmp_path, {f"{CPU}/present": "many"}))
    assert str(found["threads"]).startswith("unavailable: not understood: ")


# ---- system ----


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2", "proc/cpuinfo": "flags : lm hypervisor"}, "Amazon EC2"),
        ({"sys/class/dmi/id/sys_vendor": "QEMU", "proc/cpuinfo": "flags : lm hypervisor"}, "KVM or QEMU"),
        ({"sys/class/dmi/id/sys_vendor": "Dell Inc.", "proc/cpuinfo": "flags : lm"}, "none"),
        ({"sys/hypervisor/type": "xen", "proc/cpuinfo": "flags : lm"}, "xen"),
        ({"proc/cpuinfo": "flags : lm hypervisor"}, "a hypervisor that does not name itself"),
        ({"proc/cpuinfo": "Features : asimd"}, "unavailable: neither CPU nor firmware tells"),
    ],
)
def test_virtualisation(tmp_path: Path, files: dict[str, str], answer: str) -> None:
    assert system.virtualisation(tree(tmp_path, files)) == answer


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "systemd-nspawn"}, "systemd-nspawn"),
        ({"proc/self/cgroup": "0::/kubepods.slice/pod1"}, "kubernetes"),
        ({"proc/self/cgroup": "0::/user.slice"}, "none"),
    ],
)
def test_container(tmp_path: Path, files: dict[str, str], answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert system.collect(tree(tmp_path, files))["container"] == answer


def test_the_tightest_limit_of_the_groups_above_counts(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/a.slice"
    files = {
        "proc/self/cgroup": "0::/a.slice/b.scope",
        "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0",
        f"{group}/cpu.max": "150000 100000",
        f"{group}/memory.max": "max",
        f"{group}/b.scope/cpu.max": "400000 100000",
        f"{group}/b.scope/memory.max": "1073741824",
    }
    assert cgroups.limits(tree(tmp_path, files)) == {"version": "2", "cpu_quota": 1.5, "memory": 2**30}


def test_limits_of_version_one_seen_from_inside_a_container(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n1:pids:/\n0::/",
        "proc/self/mounts": "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup ro,cpu,cpuacct 0 0\n"
        "cgroup /sys/fs/cgroup/memory cgroup ro,memory 0 0\n"
        "proc /proc proc rw 0 0",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    }
    assert cgroups.limits(tree(tmp_path, files)) == {"version": "1", "cpu_quota": 0.5, "memory": "unlimited"}


# ---- knobs ----


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
        ({"proc/cpuinfo": XEON}, "microcode", "0xd0003a5"),
    ],
)
def test_knobs(tmp_path: Path, files: dict[str, str], knob: str, answer: object) -> None:
    assert knobs.collect(tree(tmp_path, files))[knob] == answer


def test_the_moment_is_kept_apart(tmp_path: Path) -> None:
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
    assert knobs.collect(tree(tmp_path, files))["at_start"] == {
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


# ---- accelerators ----

NVIDIA_FILES = {
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC version: 12",
    "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 100",
}


class NvmlError(Exception):
    pass


def fake_nvml(*, broken: bool = False) -> types.ModuleType:
    nvml = types.ModuleType("pynvml")

    def init() -> None:
        if broken:
            raise NvmlError("Driver Not Loaded")

    def unsupported(*_: object) -> int:
        raise NvmlError("Not Supported")

    vars(nvml).update(
        NVMLError=NvmlError,
        NVML_CLOCK_SM=1,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=init,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: b"NVIDIA A100-SXM4-40GB",
        nvmlSystemGetDriverVersion=lambda: "550.54.15",
        nvmlSystemGetCudaDriverVersion=lambda: 12040,
        nvmlDeviceGetMemoryInfo=lambda handle: types.SimpleNamespace(total=40 * 2**30),
        nvmlDeviceGetEnforcedPowerLimit=lambda handle: 400_000,
        nvmlDeviceGetClockInfo=lambda handle, kind: 1410,
        nvmlDeviceGetTemperature=lambda handle, kind: 35,
        nvmlDeviceGetPersistenceMode=unsupported,
    )
    return nvml


def test_nvml_tells_devices_drivers_and_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    found = environment.collect()
    assert found.accelerators == ({"vendor": "NVIDIA", "name": "NVIDIA A100-SXM4-40GB"},)
    assert found.system["drivers"] == {"nvidia": "550.54.15", "cuda": "12.4"}
    assert found.knobs["accelerators"] == [
        {
            "memory": 40 * 2**30,
            "power_limit_w": 400.0,
            "sm_clock_mhz": 1410,
            "temperature": 35,
            "persistence": "unavailable: Not Supported",
        }
    ]


def test_a_device_is_the_same_with_and_without_nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    asked = accelerators.collect(Path("/"))
    read = accelerators.collect(tree(tmp_path, NVIDIA_FILES))
    assert read.devices == asked.devices
    assert read.drivers["nvidia"] == asked.drivers["nvidia"]


def test_nvml_that_does_not_work_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(broken=True))
    found = accelerators.collect(Path("/"))
    assert found.devices == ()
    assert "Driver Not Loaded" in str(found.state)


def test_amd_devices_are_read_from_the_kernel(tmp_path: Path) -> None:
    nodes = "sys/class/kfd/kfd/topology/nodes"
    files = {
        f"{nodes}/0/properties": "cpu_cores_count 64\nsimd_count 0",
        f"{nodes}/0/name": "",
        f"{nodes}/1/properties": "cpu_cores_count 0\nsimd_count 440",
        f"{nodes}/1/name": "gfx90a",
        f"{nodes}/1/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 68702699520",
        "sys/module/amdgpu/version": "6.7.0",
    }
    found = accelerators.collect(tree(tmp_path, files))
    assert found.devices == ({"vendor": "AMD", "name": "gfx90a"},)
    assert found.drivers == {"amdgpu": "6.7.0"}
    assert found.state == [{"memory": 68702699520}]
