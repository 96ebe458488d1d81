from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import MeasureError
from benchwright.execution import noise
from benchwright.execution.noise import NoiseFloor, WorkloadNoise, probes
from benchwright.execution.noise.page import noise_lines, self_test_lines
from benchwright.execution.noise.probes import quantile
from benchwright.execution.noise.selftest import verdict
from benchwright.machine import environment
from benchwright.records import Environment, Value

QUIET_WORK = WorkloadNoise(
    processes=50, repetitions=5000, typical=0.002, within=0.01, between=0.002, smallest_change=0.004
)
QUIET = NoiseFloor(
    seconds=60.0,
    workloads={"interpreter": QUIET_WORK},
    rounds=5,
    smallest_change=0.004,
    cpu_others=1.0,
    steal=0.0,
    sleep_error_p50=6e-5,
    sleep_error_p99=1e-4,
    clock_cost=5e-8,
    clock_resolution=2e-8,
)
TUNED = Environment(
    machine={"threads": 8},
    system={"clock_source": "tsc", "cgroup": {"cpu_quota": "unlimited", "memory": "unlimited"}},
    knobs={
        "governor": "performance",
        "frequency_driver": "intel_pstate",
        "turbo": "off",
        "smt": "off",
        "aslr": "off",
        "affinity": "2-3",
        "at_start": {"load": [0.1, 0.1, 0.1], "swap": {"total": 0, "used": 0}},
    },
)


# ---- what can be resolved ----


@pytest.mark.parametrize(("rounds", "between"), [(5, 0.01), (5, 0.2), (12, 0.05)])
def test_the_smallest_change_is_found_four_times_in_five(rounds: int, between: float) -> None:
    change = noise.smallest_change(between, rounds)
    rng = np.random.default_rng(1)
    a = rng.normal(0, between, (rounds, 20_000))
    b = rng.normal(np.log1p(change), between, (rounds, 20_000))
    found = scipy.stats.ttest_ind(a, b).pvalue < 0.05
    assert found.mean() == pytest.approx(0.80, abs=0.03)


@given(between=st.floats(1e-5, 0.5), change=st.floats(0.002, 0.5))
def test_the_rounds_to_resolve_are_enough_and_one_less_is_not(between: float, change: float) -> None:
    rounds = noise.rounds_to_resolve(change, between)
    assert noise.smallest_change(between, rounds) <= change
    assert rounds == 2 or noise.smallest_change(between, rounds - 1) > change


def test_a_quantile_is_numpys() -> None:
    values = sorted([3.0, 1.0, 4.0, 1.5, 9.0])
    for q in (0.0, 0.3, 0.5, 0.99, 1.0):
        assert quantile(values, q) == pytest.approx(float(np.quantile(values, q)))


# ---- measuring ----


@pytest.mark.parametrize("workload", probes.WORKLOADS)
def test_a_process_repeats_its_work(workload: str) -> None:
    taken = probes.run_process(workload, budget=0.02)
    assert len(taken) >= 5
    assert all(0 < seconds < 10 for seconds in taken)


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(MeasureError, match="the noise workload 'sorting' failed: KeyError: 'sorting'"):
        probes.run_process("sorting")


def test_spreads_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def scripted(name: str) -> list[float]:
        made.append(name)
        shift = 1.1 if len(made) > 3 else 1.0  # the second and third processes of each kind are 10 % slower
        return [0.01 * shift, 0.01 * shift, 0.02 * shift] if name == "memory" else [0.01 * shift] * 3

    monkeypatch.setattr(noise, "run_process", scripted)
    told: list[float] = []
    floor = noise.measure_noise(1e-9, told.append)
    assert made == ["interpreter", "memory", "matmul"] * 3  # kinds take turns; three processes each at least
    assert told == [1.0] * 9
    between = float(np.std(np.log([1.0, 1.1, 1.1]), ddof=1))
    for name, work in floor.workloads.items():
        assert work.between == pytest.approx(between)
        assert work.within == (pytest.approx(np.std(np.log([1, 1, 2]), ddof=1)) if name == "memory" else 0)
        assert (work.processes, work.repetitions, work.typical) == (3, 9, pytest.approx(0.011))
    assert floor.smallest_change == pytest.approx(noise.smallest_change(between))


@pytest.mark.serial
def test_this_machine_has_a_noise_floor() -> None:
    shares: list[float] = []
    floor = noise.measure_noise(2, shares.append)
    assert set(floor.workloads) == set(probes.WORKLOADS)
    assert 0 < floor.smallest_change < 50
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert floor.cpu_others is not None and floor.cpu_others >= 0
    assert 0 < floor.sleep_error_p50 <= floor.sleep_error_p99
    assert 0 < floor.clock_cost < 1e-4
    words = dict(noise_lines(floor))
    assert "95 % confidence, 80 % power" in words["smallest change"]


# ---- self-test ----

SOUND: dict[str, Value] = {
    "cpu_others_percent": 1.0,
    "steal_percent": 0.0,
    "lateness_p99_ns": 5e3,
    "intended_rate": 1000.0,
    "delivered_rate": 1000.0,
}


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        ({}, "trustworthy"),
        ({"cpu_others_percent": None, "steal_percent": None}, "trustworthy"),
        ({"cpu_others_percent": 30.0}, "noisy: others took 30 % of a core"),
        ({"cpu_others_percent": 90.0}, "unreliable: others took 90 % of a core"),
        ({"steal_percent": 20.0, "cpu_others_percent": 30.0}, "unreliable: steal 20.0 %, others took 30 % of a core"),
        ({"lateness_p99_ns": 1.5e5}, "noisy: 1 % of arrivals later than 150 µs"),
        ({"delivered_rate": 900.0}, "unreliable: arrivals off by 10.00%"),
    ],
)
def test_the_verdict_names_what_spoils_the_figures(changed: Mapping[str, Value], answer: str) -> None:
    assert verdict(SOUND | dict(changed)) == answer


@pytest.mark.serial
def test_the_engine_tests_itself() -> None:
    told = noise.self_test(1)
    numbers = {key: value for key, value in told.items() if isinstance(value, int | float)}
    assert 0 < numbers["clock_cost_ns"] < 1e5
    assert 0 < numbers["cost_per_call_ns"] < 1e5
    assert 0 < numbers["wakeup_error_ns"] < 1e8
    assert 0 <= numbers["lateness_p50_ns"] <= numbers["lateness_p99_ns"]
    assert numbers["intended_rate"] == 1000
    assert numbers["delivered_rate"] > 500
    assert str(told["verdict"]).split(":")[0] in ("trustworthy", "noisy", "unreliable")
    assert [label for label, _ in self_test_lines(told)] == [
        *("verdict", "cost per call", "clock", "wake-up error", "lateness", "arrivals", "CPU of others", "steal"),
    ]


# ---- advice ----


def test_a_tuned_quiet_machine_needs_no_advice() -> None:
    assert noise.advice(TUNED, QUIET) == []


def test_what_cannot_be_read_gives_no_advice() -> None:
    unknown = dict.fromkeys(TUNED.knobs, "unavailable: not here")
    machine = {"threads": "unavailable: not here"}
    assert noise.advice(replace(TUNED, machine=machine, knobs=unknown, system={"cgroup": "unavailable: no"})) == []


@pytest.mark.parametrize(
    ("knobs", "code", "command"),
    [
        ({"governor": "powersave"}, "governor", "cpupower frequency-set --governor performance"),
        ({"turbo": "on"}, "turbo", "intel_pstate/no_turbo"),
        ({"turbo": "on", "frequency_driver": "acpi-cpufreq"}, "turbo", "cpufreq/boost"),
        ({"smt": "on"}, "smt", "smt/control"),
        ({"aslr": "full"}, "aslr", "setarch -R"),
        ({"affinity": "0-7"}, "affinity", "--cpus 6,7"),
        ({"at_start": {"load": [3.0, 0.1, 0.1]}}, "load", "top"),
        ({"at_start": {"swap": {"total": 2**30, "used": 2**20}}}, "swap", "swapoff"),
    ],
)
def test_each_knob_has_its_command(knobs: dict[str, Any], code: str, command: str) -> None:
    (found,) = noise.advice(replace(TUNED, knobs={**TUNED.knobs, **knobs}), QUIET)
    assert found.code == code
    assert command in found.remedy


@pytest.mark.parametrize(
    ("system", "code"), [({"cgroup": {"cpu_quota": 1.5}}, "quota"), ({"clock_source": "hpet"}, "clock")]
)
def test_limits_and_clocks_are_noticed(system: dict[str, Any], code: str) -> None:
    assert [w.code for w in noise.advice(replace(TUNED, system={**TUNED.system, **system}))] == [code]


def test_what_the_measurement_saw_comes_first() -> None:
    restless = replace(QUIET, cpu_others=80.0, steal=5.0, smallest_change=0.3)
    powersave = replace(TUNED, knobs={**TUNED.knobs, "governor": "powersave"})
    assert [w.code for w in noise.advice(powersave, restless)] == ["busy", "steal", "noisy", "governor"]


def test_advice_for_this_machine_is_whole() -> None:
    for warning in noise.advice(environment.collect(), QUIET):
        assert warning.code and warning.seen and warning.remedy
