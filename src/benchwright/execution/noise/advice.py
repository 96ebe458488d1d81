"""What to change about a machine so that it measures better, each with the command that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from benchwright.execution.instrument import OTHERS_NOISY, STEAL_NOISY
from benchwright.execution.noise.resolution import rounds_to_resolve
from benchwright.machine.environment.proc_files import cpu_numbers, is_known
from benchwright.records import Environment, ResultWarning, Value

if TYPE_CHECKING:
    from benchwright.execution.noise import NoiseFloor

LOAD_PER_CPU = 0.25  # load average from which other work disturbs
COARSE = 0.05  # a smallest change above this asks for more rounds


def advice(environment: Environment, noise: NoiseFloor | None = None) -> list[ResultWarning]:
    """What was seen that spoils measurements, the worst first. Commands are for Linux; most last until a restart."""
    seen = [warning for check in _CHECKS for warning in check(environment)]
    return [*_from_noise(noise), *seen] if noise is not None else seen


def _from_noise(noise: NoiseFloor) -> Iterator[ResultWarning]:
    if noise.cpu_others is not None and noise.cpu_others > OTHERS_NOISY:
        yield ResultWarning(
            code="busy",
            seen=f"other processes took {noise.cpu_others:.0f} % of a core during the noise measurement",
            remedy="find and stop them: top -o %CPU",
        )
    if noise.steal is not None and noise.steal > STEAL_NOISY:
        yield ResultWarning(
            code="steal",
            seen=f"the hypervisor withheld {noise.steal:.1f} % of the machine's time",
            remedy="use a dedicated or metal instance; on this one take more rounds: benchwright run --rounds 20",
        )
    if noise.smallest_change > COARSE:
        rounds = rounds_to_resolve(COARSE, max(work.between for work in noise.workloads.values()))
        yield ResultWarning(
            code="noisy",
            seen=f"{noise.rounds} rounds resolve no change below {noise.smallest_change:.1%}",
            remedy=f"quieten the machine; as it is, {COARSE:.0%} needs: benchwright run --rounds {rounds}",
        )


def _governor(environment: Environment) -> Iterator[ResultWarning]:
    governor = environment.knobs.get("governor")
    if is_known(governor) and governor != "performance":
        yield ResultWarning(
            code="governor",
            seen=f"the CPU frequency follows the load (governor {governor})",
            remedy="sudo cpupower frequency-set --governor performance",
        )


def _turbo(environment: Environment) -> Iterator[ResultWarning]:
    if environment.knobs.get("turbo") == "on":
        intel = str(environment.knobs.get("frequency_driver", "")).startswith("intel_pstate")
        switch = "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
        yield ResultWarning(
            code="turbo",
            seen="turbo is on: speed depends on temperature and on how many cores work",
            remedy=switch if intel else "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        )


def _smt(environment: Environment) -> Iterator[ResultWarning]:
    if environment.knobs.get("smt") == "on":
        yield ResultWarning(
            code="smt",
            seen="two threads share each core: what runs on the sibling slows the measured one",
            remedy="echo off | sudo tee /sys/devices/system/cpu/smt/control",
        )


def _load(environment: Environment) -> Iterator[ResultWarning]:
    load, threads = _at_start(environment, "load"), environment.machine.get("threads")
    if not isinstance(load, list) or not isinstance(threads, int):
        return
    now = load[0]
    if isinstance(now, float) and now > LOAD_PER_CPU * threads:
        yield ResultWarning(
            code="load",
            seen=f"the load average was {now:.2f} on {threads} CPUs before anything was measured",
            remedy="wait, or find what runs: top -o %CPU",
        )


def _affinity(environment: Environment) -> Iterator[ResultWarning]:
    affinity, threads = environment.knobs.get("affinity"), environment.machine.get("threads")
    if not isinstance(affinity, str) or not isinstance(threads, int) or not is_known(affinity) or threads < 4:
        return
    cpus = cpu_numbers(affinity) if affinity != "all" else list(range(threads))
    if len(cpus) == threads:
        chosen = f"{cpus[-2]},{cpus[-1]}"
        yield ResultWarning(
            code="affinity",
            seen=f"work may move between all {threads} CPUs",
            remedy=f"keep it on a few, away from CPU 0 and its interrupts: benchwright run --cpus {chosen}",
        )


def _quota(environment: Environment) -> Iterator[ResultWarning]:
    limits = environment.system.get("cgroup")
    quota = limits.get("cpu_quota") if isinstance(limits, dict) else None
    if isinstance(quota, int | float):
        yield ResultWarning(
            code="quota",
            seen=f"a control group allows {quota:g} CPUs and stops all threads for the rest of each period",
            remedy="give whole CPUs instead of a quota: docker run --cpuset-cpus 0,1 (without --cpus)",
        )


def _aslr(environment: Environment) -> Iterator[ResultWarning]:
    if environment.knobs.get("aslr") in ("full", "without heap"):
        yield ResultWarning(
            code="aslr",
            seen="addresses are random, so memory layout differs from process to process",
            remedy="several rounds average it out; to hold it still: setarch -R benchwright run ...",
        )


def _swap(environment: Environment) -> Iterator[ResultWarning]:
    swap = _at_start(environment, "swap")
    used = swap.get("used") if isinstance(swap, dict) else None
    if isinstance(used, int) and used > 0:
        yield ResultWarning(
            code="swap",
            seen=f"{used / 2**20:,.0f} MiB are swapped out: a first touch may wait for the disk",
            remedy="sudo swapoff --all && sudo swapon --all",
        )


def _clock_source(environment: Environment) -> Iterator[ResultWarning]:
    source = environment.system.get("clock_source")
    if source in ("hpet", "acpi_pm", "jiffies", "refined-jiffies"):
        yield ResultWarning(
            code="clock",
            seen=f"reading the clock goes through {source}, which takes a microsecond or more",
            remedy="echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        )


def _at_start(environment: Environment, name: str) -> Value:
    moment = environment.knobs.get("at_start")
    return moment.get(name) if isinstance(moment, dict) else None


_CHECKS: tuple[Callable[[Environment], Iterator[ResultWarning]], ...] = (
    _quota,
    _load,
    _swap,
    _clock_source,
    _governor,
    _turbo,
    _smt,
    _affinity,
    _aslr,
)
