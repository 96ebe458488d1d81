"""Whether this machine is fit to measure now: its disk, memory, heat, CPU frequency, other load and clock.

What would spoil a measurement, or lose it, makes a machine unfit, and whoever hands out work waits until that is over.
What merely makes numbers less steady is a doubt: it is said and refuses nothing. A check takes milliseconds, and as
long as it watches the load of others. Standard library only, so that an outpost can do it as well.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchwright.errors import OptionError
from benchwright.machine.environment import cgroups, knobs, portable
from benchwright.machine.environment.proc_files import list_numbered, read_fact, read_number
from benchwright.machine.monitors.system_cpu import SystemCpu
from benchwright.records import ResultWarning, Value
from benchwright.units import format_value, parse_quantity

WINDOW = 0.5  # seconds for which the load of others is watched
CODES = ("disk", "memory", "temperature", "throttled", "frequency", "quota", "busy", "steal", "clock", "skew")
_FEW_FILES = 1000  # that a disk can still take
_SLOWEST_DRIVERS = ("intel_pstate", "amd-pstate-epp", "amd-pstate")  # whose `powersave` still follows the load
_LIMITED = 0.9  # of the CPU's highest frequency: below it, it may be meant so
_TIME_ERROR = 5  # what adjtimex(2) answers while nothing sets the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class FitnessLimits:
    """Up to where a machine is fit; None leaves a check out."""

    disk: int | None = 1 << 30  # bytes that must be free
    memory: float | None = 0.05  # of all memory that must be available
    temperature: float | None = 95.0  # degrees Celsius of the hottest zone
    frequency: float | None = 0.5  # of the CPU's highest, which it must be allowed to reach
    quota: float | None = 1.0  # CPUs that a control group must allow
    busy: float | None = 50.0  # per cent of all CPUs that others may use
    steal: float | None = 10.0  # per cent of the machine's time that the hypervisor may withhold
    waiting: float | None = 20.0  # per cent of the last ten seconds in which some task may have waited for memory
    skew: float | None = 5.0  # seconds between this clock and that of whoever hands out work
    ignore: Collection[str] = ()  # codes of what makes no machine unfit, whatever is seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitness:
    """Whether a machine may be given work: what speaks against it, and what is only doubtful."""

    reasons: tuple[ResultWarning, ...] = ()  # why it is unfit; empty: it is fit
    doubts: tuple[ResultWarning, ...] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)  # what was looked at

    @property
    def is_fit(self) -> bool:
        """Whether nothing speaks against giving it work."""
        return not self.reasons

    @property
    def verdict(self) -> str:
        """`fit`, or `unfit: ` and why."""
        return "unfit: " + "; ".join(one.seen for one in self.reasons) if self.reasons else "fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What was read of the machine."""

    root: Path
    folders: tuple[Path, ...]  # where is measured, and where temporary files lie
    knobs: Mapping[str, Value]
    limits: FitnessLimits
    skew: float | None
    busy: float | None  # per cent of all CPUs, used by others; None where nobody watched
    steal: float | None
    throttled: int  # how often the CPU was slowed down by heat meanwhile

    @property
    def now(self) -> Mapping[str, Value]:
        """What is true only for the moment."""
        moment = self.knobs.get("at_start")
        return moment if isinstance(moment, Mapping) else {}


_Said = tuple[bool, ResultWarning]  # whether it makes the machine unfit, and what was seen


def check_machine(
    folder: Path | None = None,
    *,
    limits: FitnessLimits | None = None,
    window: float = WINDOW,
    skew: float | None = None,
    root: Path = Path("/"),
) -> Fitness:
    """Looks at this machine now. `folder` is where it measures, by default the present one.

    `window` is how long the load of others is watched; with 0 only the system's own averages are looked at, which say
    more of the last minute than of now and are doubts. `skew` is how far this clock is ahead of the one of whoever
    asks, in seconds, where that is known.
    """
    on_linux = sys.platform.startswith("linux")
    before, own = _throttle_count(root), _own_cpu_seconds()
    busy, steal = _watch_others(window, root, own) if window > 0 else (None, None)
    look = _Look(
        root=root,
        folders=tuple(dict.fromkeys([folder or Path.cwd(), Path(tempfile.gettempdir())])),
        knobs=knobs.collect(root) if on_linux else portable.knobs(),
        limits=limits or FitnessLimits(),
        skew=skew,
        busy=busy,
        steal=steal,
        throttled=max(0, _throttle_count(root) - before),
    )
    said = [one for check in _CHECKS for one in check(look)]
    ignored = look.limits.ignore
    return Fitness(
        reasons=tuple(told for is_reason, told in said if is_reason and told.code not in ignored),
        doubts=tuple(told for is_reason, told in said if not is_reason or told.code in ignored),
        facts=_facts(look),
    )


def configured_limits() -> FitnessLimits:
    """The limits that `[machines]` of the nearest `benchwright.toml` sets, or the usual ones."""
    from benchwright import config

    rules = config.load().machines
    if unknown := [code for code in rules.ignore if code not in CODES]:
        raise OptionError(f"[machines] ignore: nothing is called {unknown[0]!r}", remedy=f"known: {', '.join(CODES)}")
    least = int(parse_quantity(rules.disk, "B", what="[machines] disk"))
    return FitnessLimits(disk=least, temperature=rules.temperature, ignore=tuple(rules.ignore))


class SelfCheck:
    """The check of this machine for a process that lives long: asked before each piece of work, made now and then.

    One that found the machine fit counts for `fresh` seconds, one that did not for `again`.
    """

    def __init__(
        self,
        folder: Path | None = None,
        limits: FitnessLimits | None = None,
        *,
        fresh: float = 60.0,
        again: float = 5.0,
        check: Callable[..., Fitness] = check_machine,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._limits, self._check, self._now = folder, limits, check, now
        self._fresh, self._again = fresh, again
        self._last: tuple[float, Fitness] | None = None

    def fitness(self, skew: float | None = None) -> Fitness:
        """How the machine is; looked at again when the last look is too old."""
        if self._last is not None:
            at, found = self._last
            if self._now() - at < (self._fresh if found.is_fit else self._again):
                return found
        found = self._check(self._folder, limits=self._limits, skew=skew)
        self._last = (self._now(), found)
        return found


# ---- what is looked at ----


def _disk(look: _Look) -> Iterator[_Said]:
    least = look.limits.disk
    if least is None:
        return
    for folder in look.folders:
        remedy = f"free some space: du -xh --max-depth 2 {folder}"
        try:
            free = shutil.disk_usage(folder).free
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"\0" * 4096)
                file.flush()
        except OSError as error:
            yield True, ResultWarning(code="disk", seen=f"{folder} cannot be written: {error.strerror}", remedy=remedy)
            continue
        if free < least:
            seen = f"{format_value(free, 'B')} are free in {folder}, and {format_value(least, 'B')} are needed"
            yield True, ResultWarning(code="disk", seen=seen, remedy=remedy)
        elif hasattr(os, "statvfs") and (room := os.statvfs(folder)).f_files and room.f_favail < _FEW_FILES:
            seen = f"{folder} has room for {room.f_favail} more files only"
            yield True, ResultWarning(code="disk", seen=seen, remedy="remove files that nobody needs")


def _memory(look: _Look) -> Iterator[_Said]:
    least, available, total = look.limits.memory, look.now.get("memory_available"), _total_memory(look.root)
    remedy = "find what holds it: top -o %MEM"
    if least is not None and isinstance(available, int) and total and available < least * total:
        seen = f"{format_value(available, 'B')} of {format_value(total, 'B')} of memory are available"
        yield True, ResultWarning(code="memory", seen=seen, remedy=remedy)
    pressure, most = look.now.get("pressure"), look.limits.waiting
    waited = pressure.get("memory") if isinstance(pressure, Mapping) else None
    if most is not None and isinstance(waited, float) and waited > most:
        seen = f"tasks waited for memory in {waited:.0f} % of the last ten seconds"
        yield True, ResultWarning(code="memory", seen=seen, remedy=remedy)


def _heat(look: _Look) -> Iterator[_Said]:
    most, celsius = look.limits.temperature, look.now.get("temperature")
    if most is not None and isinstance(celsius, float) and celsius >= most:
        seen = f"it is {celsius:.0f} °C hot, and {most:.0f} °C is too much"
        yield True, ResultWarning(code="temperature", seen=seen, remedy="let it cool; look at fans and filters")
    if look.throttled:
        seen = f"heat slowed the CPU down {look.throttled} times while it was looked at"
        yield True, ResultWarning(code="throttled", seen=seen, remedy="let it cool; look at fans and filters")


def _frequency(look: _Look) -> Iterator[_Said]:
    driver, governor = str(look.knobs.get("frequency_driver", "")), look.knobs.get("governor")
    remedy = "sudo cpupower frequency-set --governor performance"
    if governor == "powersave" and not driver.startswith(_SLOWEST_DRIVERS):
        seen = "the governor powersave keeps the CPU at its lowest frequency"
        yield look.limits.frequency is not None, ResultWarning(code="frequency", seen=seen, remedy=remedy)
    share = _allowed_frequency(look.root)
    if share is not None and share < _LIMITED:
        seen = f"the CPU may reach {share:.0%} of its highest frequency only"
        too_low = look.limits.frequency is not None and share < look.limits.frequency
        yield too_low, ResultWarning(code="frequency", seen=seen, remedy="sudo cpupower frequency-set --max HIGHEST")


def _quota(look: _Look) -> Iterator[_Said]:
    limits, least = read_fact(look.root, cgroups.limits), look.limits.quota
    quota = limits.get("cpu_quota") if isinstance(limits, dict) else None
    if isinstance(quota, int | float):
        seen = f"a control group allows {quota:g} CPUs and stops all threads for the rest of each period"
        remedy = "give whole CPUs instead of a quota: docker run --cpuset-cpus 0,1 (without --cpus)"
        yield least is not None and quota < least, ResultWarning(code="quota", seen=seen, remedy=remedy)


def _load(look: _Look) -> Iterator[_Said]:
    remedy = "wait, or find what runs: top -o %CPU"
    most = look.limits.busy
    if look.busy is not None:
        if most is not None and look.busy > most:
            seen = f"other processes use {look.busy:.0f} % of all CPUs"
            yield True, ResultWarning(code="busy", seen=seen, remedy=remedy)
    else:
        load, cpus = look.now.get("load"), os.cpu_count() or 1
        if most is not None and isinstance(load, list) and isinstance(load[0], float) and load[0] > most / 100 * cpus:
            seen = f"the load average was {load[0]:.2f} on {cpus} CPUs before anything was measured"
            yield False, ResultWarning(code="busy", seen=seen, remedy=remedy)
    if look.limits.steal is not None and look.steal is not None and look.steal > look.limits.steal:
        seen = f"the hypervisor withholds {look.steal:.0f} % of the machine's time"
        yield True, ResultWarning(code="steal", seen=seen, remedy="use a dedicated or metal instance")


def _clock(look: _Look) -> Iterator[_Said]:
    if is_clock_synchronised() is False:
        seen = "nothing sets this machine's clock, so its instants may be wrong"
        yield False, ResultWarning(code="clock", seen=seen, remedy="sudo timedatectl set-ntp true")
    most = look.limits.skew
    if most is not None and look.skew is not None and abs(look.skew) > most:
        ahead = "ahead of" if look.skew > 0 else "behind"
        seen = f"this machine's clock is {abs(look.skew):.0f} s {ahead} the one of whoever hands out work"
        yield True, ResultWarning(code="skew", seen=seen, remedy="sudo timedatectl set-ntp true")


_CHECKS: tuple[Callable[[_Look], Iterator[_Said]], ...] = (_disk, _memory, _heat, _frequency, _quota, _load, _clock)


# ---- how it is read ----


def is_clock_synchronised() -> bool | None:
    """Whether something keeps this machine's clock right, as the kernel knows it; None where it does not tell."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        ask = ctypes.CDLL(None).adjtimex
    except (OSError, AttributeError):
        return None
    state = ask(ctypes.create_string_buffer(512))  # a zeroed `struct timex` changes nothing
    return None if state < 0 else state != _TIME_ERROR


def _watch_others(window: float, root: Path, own: float) -> tuple[float, float | None]:
    """Per cent of all CPUs that other processes use, and that the hypervisor withholds, over so many seconds."""
    system = SystemCpu(root)
    try:
        before = system.times()
        time.sleep(window)
        after = system.times()
    except (OSError, ValueError):
        return 0.0, None
    finally:
        system.close()
    total = max(1e-9, after.total - before.total)
    busy = max(0.0, after.busy - before.busy - (_own_cpu_seconds() - own))
    steal = None if after.steal is None or before.steal is None else 100 * max(0.0, after.steal - before.steal) / total
    return min(100.0, 100 * busy / total), steal


def _own_cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system


def _throttle_count(root: Path) -> int:
    """How often heat has slowed a core down since the machine was started; 0 where nobody counts."""
    try:
        cpus = list_numbered(root / "sys/devices/system/cpu", "cpu")
        return sum(read_number(cpu / "thermal_throttle/core_throttle_count") for cpu in cpus)
    except (OSError, ValueError):
        return 0


def _allowed_frequency(root: Path) -> float | None:
    """Of the highest frequency of a CPU the share that it may reach now, of the CPU that is held lowest."""
    try:
        policies = list_numbered(root / "sys/devices/system/cpu/cpufreq", "policy")
        pairs = [(read_number(one / "scaling_max_freq"), read_number(one / "cpuinfo_max_freq")) for one in policies]
    except (OSError, ValueError):
        return None
    return min((allowed / highest for allowed, highest in pairs if highest > 0), default=None)


def _total_memory(root: Path) -> int:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("MemTotal:")) * 1024
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


def _facts(look: _Look) -> dict[str, Value]:
    shown: dict[str, Value] = {}
    for folder in look.folders:
        try:
            shown[f"disk free in {folder}"] = shutil.disk_usage(folder).free
        except OSError as error:
            shown[f"disk free in {folder}"] = f"unavailable: {error.strerror}"
    synchronised = is_clock_synchronised()
    clock = "unavailable: not told here" if synchronised is None else "yes" if synchronised else "no"
    return shown | {
        "memory available": look.now.get("memory_available"),
        "temperature": look.now.get("temperature"),
        "governor": look.knobs.get("governor"),
        "frequency allowed": _allowed_frequency(look.root),
        "cpu used by others": look.busy,
        "steal": look.steal,
        "load": look.now.get("load"),
        "pressure": look.now.get("pressure"),
        "clock synchronised": clock,
        "clock skew": look.skew,
    }
