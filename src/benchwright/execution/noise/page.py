"""A noise floor and a self-test in words, for people."""

from __future__ import annotations

from collections.abc import Mapping

from benchwright.execution.noise import NoiseFloor, rounds_to_resolve
from benchwright.records import Value
from benchwright.units import format_number, format_value

_GOAL = 0.01


def noise_lines(noise: NoiseFloor) -> list[tuple[str, str]]:
    """Label and words: each kind of work, what it means, and what else was seen."""
    lines = [
        (
            name,
            f"{format_value(w.typical, 's')} ± {_percent(w.within)} within a process, "
            f"± {_percent(w.between)} between {w.processes} processes",
        )
        for name, w in noise.workloads.items()
    ]
    worst = max(w.between for w in noise.workloads.values())
    lines += [
        (
            "smallest change",
            f"{_percent(noise.smallest_change)} with {noise.rounds} rounds on each side (95 % confidence, 80 % power)",
        ),
        ("to resolve 1 %", f"{rounds_to_resolve(_GOAL, worst):,} rounds on each side"),
        ("CPU of others", _share(noise.cpu_others, "of a core")),
        ("steal", _share(noise.steal, "of the machine's time")),
        (
            "sleep",
            f"{format_value(noise.sleep_error_p50, 's')} too long, "
            f"1 % more than {format_value(noise.sleep_error_p99, 's')}",
        ),
        (
            "clock",
            f"{format_value(noise.clock_cost, 's')} a read, steps of {format_value(noise.clock_resolution, 's')}",
        ),
    ]
    return lines


def self_test_lines(told: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Label and words for each figure of a self-test."""
    return [
        ("verdict", str(told["verdict"])),
        ("cost per call", f"{_ns(told['cost_per_call_ns'])}; a call that does nothing: {_ns(told['nothing_p50_ns'])}"),
        ("clock", f"{_ns(told['clock_cost_ns'])} a read, steps of {_ns(told['clock_resolution_ns'])}"),
        ("wake-up error", _ns(told["wakeup_error_ns"])),
        ("lateness", f"{_ns(told['lateness_p50_ns'])}, 1 % of arrivals more than {_ns(told['lateness_p99_ns'])}"),
        ("arrivals", f"{_number(told['delivered_rate']):.2f}/s of {_number(told['intended_rate']):.2f}/s intended"),
        ("CPU of others", _share(told["cpu_others_percent"], "of a core")),
        ("steal", _share(told["steal_percent"], "of the machine's time")),
    ]


def _percent(share: float) -> str:
    return f"{format_number(100 * share, 2)} %"


def _share(percent: Value, of: str) -> str:
    return (
        f"{format_number(percent, 2)} % {of}" if isinstance(percent, int | float) else "unavailable: not counted here"
    )


def _ns(nanoseconds: Value) -> str:
    return format_value(_number(nanoseconds) / 1e9, "s")


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
