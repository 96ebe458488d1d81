from __future__ import annotations

from typing import Any

import pytest

from benchwright.compat.harness.specs import settings
from benchwright.compat.harness.specs.plans import SpecRequest

HOST = SpecRequest(framework="generic", timeout=300.0, env={"A": "cli", "B": "cli"})
PHONE = SpecRequest(framework="generic", platform="android")


@pytest.mark.parametrize(
    ("test", "model", "seconds"),
    [
        ({"timeout": 5}, {"timeout": 6}, 5.0),
        ({}, {"timeout": "6"}, 6.0),
        ({"platform_args": {"timeout": 7}}, {}, 7.0),
        ({}, {}, 300.0),
    ],
)
def test_the_timeout_is_the_tests_then_the_models_then_the_command_lines(
    test: dict[str, Any], model: dict[str, Any], seconds: float
) -> None:
    assert settings.timeout(test, model, HOST) == seconds


def test_variables_of_the_spec_win_and_threads_are_one_unless_somebody_says_more() -> None:
    test = {"env": {"A": "test", "N": 3}, "platform_args": {"env": {"A": "args", "C": "args"}}}

    assert settings.env(test, {}, HOST) == {
        "A": "test",
        "B": "cli",
        "C": "args",
        "N": "3",
        "MKL_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


@pytest.mark.parametrize(
    ("test", "asked", "threads"),
    [
        ({"OMP_NUM_THREADS": 4}, HOST, "4"),
        ({"OMP_NUM_THREADS": 0}, HOST, None),
        ({"env": {"OMP_NUM_THREADS": "8"}}, HOST, "8"),
        ({"OMP_NUM_THREADS": -1, "env": {"OMP_NUM_THREADS": "8"}}, HOST, None),
        ({"OMP_NUM_THREADS": 4}, PHONE, None),
    ],
)
def test_thread_variables(test: dict[str, Any], asked: SpecRequest, threads: str | None) -> None:
    assert settings.env(test, {}, asked).get("OMP_NUM_THREADS") == threads


@pytest.mark.parametrize(
    ("test", "asked", "cores"),
    [
        ({"cpu-list": 3}, HOST, (3,)),
        ({"cpu-list": 0}, HOST, ()),
        ({}, HOST, ()),
        ({"platform_args": {"taskset": "f0"}}, HOST, ()),
        ({"platform_args": {"taskset": "f0"}}, PHONE, (4, 5, 6, 7)),
        ({"platform_args": {"taskset": 80}}, PHONE, (7,)),
        ({"platform_args": {"taskset": "zz"}}, PHONE, ()),
        ({"cpu-list": 3}, PHONE, ()),
    ],
)
def test_cores(test: dict[str, Any], asked: SpecRequest, cores: tuple[int, ...]) -> None:
    assert settings.cpus(test, {}, asked) == cores


def test_arguments_of_the_test_replace_those_of_the_model() -> None:
    model = {"platform_args": {"taskset": "3", "sleep_before_run": 20}}
    assert settings.cpus({"platform_args": {}}, model, PHONE) == ()
    assert settings.sleep_before_run({}, model, PHONE) == 20.0
    assert settings.sleep_before_run({}, model, HOST) == 0.0, "this machine does not wait"
