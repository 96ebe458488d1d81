"""Machines: their names, what they did, how noisy they were."""

from __future__ import annotations

import pytest

from benchwright.pages.machines import machines
from benchwright.pages.names import machine_name, names_of
from benchwright.records import Environment, Value
from benchwright.stats.summary import combine
from benchwright.store.sql import SqlStore


def test_who_measured_what_and_how_noisily(archive: SqlStore) -> None:
    found = machines(archive).machines
    assert [one.name for one in found] == ["Example Server 7, 32 cores", "Example Core 9000, 8 cores"]
    assert [(one.results, one.failed, one.cases) for one in found] == [(1320, 20, 4), (1320, 0, 4)]
    noise = found[0].noise
    assert len(noise.at) == len(noise.spread) == len(noise.runs) == 40
    assert list(noise.at) == sorted(noise.at)
    assert all(0 < width < 0.1 for width in noise.spread)
    assert found[0].facts["system"]["kernel"] == "6.8.0"  # type: ignore[index,call-overload]


def test_noise_is_the_middle_case_of_a_run(archive: SqlStore) -> None:
    noise = machines(archive).machines[0].noise
    rounds: dict[str, list[object]] = {}
    for value in archive.values_of_runs([noise.runs[-1]], metrics=["latency_p50"]):
        rounds.setdefault(value.series, []).append(value.estimate)
    combined = [combine(several) for several in rounds.values()]  # type: ignore[arg-type]
    widths = sorted((one.high - one.low) / 2 / one.point for one in combined)  # type: ignore[operator]
    assert len(widths) == 10
    assert noise.spread[-1] == pytest.approx((widths[4] + widths[5]) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("machine", "system", "accelerators", "name"),
    [
        ({"cpu": "Example  9000 ", "cores": 8}, {}, (), "Example 9000, 8 cores"),
        ({"cpu": "unavailable: no such file"}, {"architecture": "aarch64"}, (), "aarch64"),
        ({}, {"host": "bench-1", "architecture": "aarch64"}, (), "bench-1"),
        ({}, {}, (), "unknown machine"),
        ({"cpu": "X", "cores": 2}, {"image": {"name": "ubuntu:24.04"}}, (), "X, 2 cores, in ubuntu:24.04"),
        ({"cpu": "X"}, {"device": {"name": "Pixel 9", "serial": "1"}}, (), "Pixel 9"),
        ({"cpu": "X"}, {}, ({"name": "Example GPU"},), "X, Example GPU"),
    ],
)
def test_a_machine_is_called_what_a_person_would(
    machine: dict[str, Value], system: dict[str, Value], accelerators: tuple[dict[str, Value], ...], name: str
) -> None:
    assert machine_name(Environment(machine=machine, system=system, accelerators=accelerators)) == name


def test_a_host_is_not_named_twice() -> None:
    alike = {f"{letter * 8}": Environment(machine={}, system={"host": "bench-1", "os": letter}) for letter in "ab"}
    assert names_of(alike) == {"aaaaaaaa": "bench-1 #aaaaaa", "bbbbbbbb": "bench-1 #bbbbbb"}


def test_no_two_machines_have_one_name() -> None:
    def one(host: str, memory: int) -> Environment:
        return Environment(machine={"cpu": "X", "cores": 2, "memory": memory << 30}, system={"host": host})

    alike = {"aaaaaaaa": one("a", 8), "bbbbbbbb": one("b", 8), "cccccccc": one("b", 16), "dddddddd": one("b", 16)}
    assert names_of(alike) == {
        "aaaaaaaa": "X, 2 cores, a",
        "bbbbbbbb": "X, 2 cores, b, 8 GiB",
        "cccccccc": "X, 2 cores, b, 16 GiB #cccccc",
        "dddddddd": "X, 2 cores, b, 16 GiB #dddddd",
    }
