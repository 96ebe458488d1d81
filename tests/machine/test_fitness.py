"""Whether a machine is fit to measure: what speaks against it, on made-up machines and on this one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.machine import fitness
from benchwright.machine.fitness import Fitness, FitnessLimits, SelfCheck, check_machine, configured_limits

CPU = "sys/devices/system/cpu"


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., Path]:
    """`machine({"proc/loadavg": "9 9 9"})`: the root of a machine that is well, but for these files."""

    def build(changed: dict[str, str] | None = None) -> Path:
        files = {
            "proc/stat": "cpu 0 0 0 0 0 0 0 0\n",
            "proc/loadavg": "0.1 0.1 0.1 1/1 1",
            "proc/meminfo": "MemTotal: 1000000 kB\nMemAvailable: 800000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
            **{f"proc/pressure/{name}": "some avg10=0.00 avg60=0 avg300=0 total=0" for name in ("cpu", "memory", "io")},
            "sys/class/thermal/thermal_zone0/temp": "40000",
            f"{CPU}/cpufreq/policy0/scaling_governor": "performance",
            f"{CPU}/cpufreq/policy0/scaling_driver": "acpi-cpufreq",
            f"{CPU}/cpufreq/policy0/scaling_max_freq": "3000000",
            f"{CPU}/cpufreq/policy0/cpuinfo_max_freq": "3000000",
        } | (changed or {})
        for name, text in files.items():
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "root"

    return build


def _codes(found: Fitness) -> list[str]:
    return [one.code for one in found.reasons]


def _look(root: Path, **more: object) -> Fitness:
    return check_machine(root.parent, root=root, window=0.0, limits=FitnessLimits(disk=1), **more)  # type: ignore[arg-type]


def test_a_machine_that_is_well_is_fit(machine: Callable[..., Path]) -> None:
    found = _look(machine())
    assert found.is_fit and found.verdict == "fit", found.reasons
    assert found.facts["temperature"] == 40.0 and found.facts["frequency allowed"] == 1.0
    assert schema.decode(Fitness, schema.encode(found), where="fitness") == found, "it travels to whoever asks"


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({"sys/class/thermal/thermal_zone0/temp": "97000"}, "temperature", "97 °C hot"),
        ({f"{CPU}/cpufreq/policy0/scaling_max_freq": "1200000"}, "frequency", "40% of its highest"),
        ({f"{CPU}/cpufreq/policy0/scaling_governor": "powersave"}, "frequency", "lowest frequency"),
        ({"proc/meminfo": "MemTotal: 1000000 kB\nMemAvailable: 9000 kB\n"}, "memory", "of memory are available"),
        ({"proc/pressure/memory": "some avg10=44.00 avg60=0 avg300=0 total=0"}, "memory", "in 44 % of the last"),
        (
            {
                "proc/self/cgroup": "0::/job\n",
                "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
                "sys/fs/cgroup/job/cpu.max": "50000 100000",
            },
            "quota",
            "allows 0.5 CPUs",
        ),
    ],
)
def test_what_is_wrong_is_the_reason(
    machine: Callable[..., Path], changed: dict[str, str], code: str, words: str
) -> None:
    root = machine(changed)
    found = _look(root)
    assert _codes(found) == [code] and words in found.verdict and found.verdict.startswith("unfit: ")
    let_pass = check_machine(root.parent, root=root, window=0.0, limits=FitnessLimits(disk=1, ignore=[code]))
    assert let_pass.is_fit and code in [one.code for one in let_pass.doubts]


def test_what_may_be_meant_so_is_a_doubt(machine: Callable[..., Path]) -> None:
    limited = _look(machine({f"{CPU}/cpufreq/policy0/scaling_max_freq": "2400000"}))
    assert limited.is_fit and "80% of its highest" in limited.doubts[0].seen
    loaded = _look(machine({"proc/loadavg": "900 9 9 1/1 1"}))
    assert loaded.is_fit and "load average was 900.00" in str(loaded.doubts), "an average says little of now"


def test_the_disk_is_written_to_and_must_have_room(machine: Callable[..., Path], tmp_path: Path) -> None:
    full = check_machine(
        tmp_path, root=machine(), window=0.0, limits=FitnessLimits(disk=shutil.disk_usage("/").total * 9)
    )
    assert "disk" in _codes(full) and "are needed" in full.verdict
    gone = check_machine(tmp_path / "gone", root=machine(), window=0.0, limits=FitnessLimits(disk=1))
    assert "gone cannot be written: No such file or directory" in gone.verdict


def test_a_clock_that_is_far_off_is_a_reason(machine: Callable[..., Path]) -> None:
    assert "61 s ahead of" in _look(machine(), skew=61.0).verdict
    assert "61 s behind" in _look(machine(), skew=-61.0).verdict
    assert _look(machine(), skew=1.0).is_fit


def test_the_load_of_others_is_watched(machine: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    root, tick = machine(), os.sysconf("SC_CLK_TCK")

    def work(seconds: float) -> None:  # of two CPUs others use 1.8, and 0.1 are withheld
        total = int(2 * seconds * 10 * tick)
        (root / "proc/stat").write_text(f"cpu {int(0.90 * total)} 0 0 {int(0.05 * total)} 0 0 0 {int(0.05 * total)}\n")

    monkeypatch.setattr("benchwright.machine.fitness.time.sleep", work)
    found = check_machine(root.parent, root=root, window=1.0, limits=FitnessLimits(disk=1))
    assert _codes(found) == ["busy"] and "use 90 % of all CPUs" in found.verdict
    assert check_machine(root.parent, root=root, window=1.0, limits=FitnessLimits(disk=1, busy=None)).is_fit


def test_this_machine_can_be_looked_at(tmp_path: Path) -> None:
    found = check_machine(tmp_path, window=0.01)
    assert {*_codes(found)} <= {*fitness.CODES}
    assert found.facts[f"disk free in {tmp_path}"]
    assert fitness.is_clock_synchronised() in (True, False, None)


def test_a_check_counts_for_a_while() -> None:
    moment, looks = [0.0], []
    unfit = Fitness(reasons=tuple(check_machine(Path("/nowhere"), window=0.0).reasons))
    answers = [Fitness(), unfit, Fitness()]

    def check(*_: object, **__: object) -> Fitness:
        looks.append(moment[0])
        return answers[len(looks) - 1]

    mine = SelfCheck(check=check, now=lambda: moment[0])
    for at in (0.0, 30.0, 61.0, 63.0, 67.0, 100.0):
        moment[0] = at
        mine.fitness()
    assert looks == [0.0, 61.0, 67.0], "a fit machine is asked once a minute, an unfit one every few seconds"


def test_the_limits_come_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("benchwright.toml").write_text('[machines]\ndisk = "20GB"\ntemperature = 80\nignore = ["busy"]\n')
    limits = configured_limits()
    assert (limits.disk, limits.temperature, limits.ignore) == (20_000_000_000, 80.0, ("busy",))
    Path("benchwright.toml").write_text('[machines]\nignore = ["weather"]\n')
    with pytest.raises(OptionError, match="nothing is called 'weather'"):
        configured_limits()
