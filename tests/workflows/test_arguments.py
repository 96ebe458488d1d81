"""What people type, read strictly: every complaint names the flag."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.execution.plans import Plan
from benchwright.records import Objective
from benchwright.records.prices import Price
from benchwright.workflows import arguments


@given(st.lists(st.integers(1, 10**9), min_size=1))
def test_lists_are_read_item_by_item(numbers: list[int]) -> None:
    text = " , ".join(map(str, numbers))
    assert arguments.parse_list(text, arguments.whole("--n"), "--n") == numbers


@pytest.mark.parametrize("text", ["", ",", "1,", ",1", "1,,2"])
def test_an_empty_item_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"--n: .* has an empty item"):
        arguments.parse_list(text, arguments.whole("--n"), "--n")


@pytest.mark.parametrize(("text", "complaint"), [("1.5", "not a whole"), ("0", "below 1"), ("-3", "below 1")])
def test_whole_numbers_are_whole_and_large_enough(text: str, complaint: str) -> None:
    with pytest.raises(OptionError, match=f"--n: .*{complaint}"):
        arguments.whole("--n")(text)


def test_copies_may_be_as_many_as_there_are_cpus() -> None:
    assert arguments.copies("max") == arguments.available_cpus() == len(os.sched_getaffinity(0))
    assert arguments.copies("3") == 3


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("p99<20ms", Objective(metric="latency_p99", relation="<", bound=0.02)),
        (" p99.9 <= 1 s ", Objective(metric="latency_p99.9", relation="<=", bound=1.0)),
        ("mean<5s", Objective(metric="latency", relation="<", bound=5.0)),
        ("latency_p50<1ms", Objective(metric="latency_p50", relation="<", bound=0.001)),
        ("throughput>=2k/s", Objective(metric="throughput", relation=">=", bound=2000.0)),
        ("throughput>100", Objective(metric="throughput", relation=">", bound=100.0)),
        ("rss_peak<1GiB", Objective(metric="rss_peak", relation="<", bound=2.0**30)),
        ("service_p99<2ms", Objective(metric="service_p99", relation="<", bound=0.002)),
        ("context_switches<100", Objective(metric="context_switches", relation="<", bound=100.0)),
    ],
)
def test_objectives_are_bounds_in_base_units(text: str, objective: Objective) -> None:
    assert arguments.objective(text) == objective


@pytest.mark.parametrize("text", ["p99<20", "mean<=0.5", "wall_time<20", "service_p99 < 2e1 "])
def test_a_time_without_its_unit_is_refused_with_both_readings(text: str) -> None:
    number = text.split("<")[1].lstrip("= ").strip()
    with pytest.raises(OptionError, match=f"'{number}' may mean {number} ms or {number} s") as refused:
        arguments.objective(text)
    assert f"{number}ms'" in refused.value.remedy and f"{number}s'" in refused.value.remedy
    assert arguments.objective("wall_time<20s").bound == 20.0


@pytest.mark.parametrize("text", ["p99<-1ms", "p99<0", "p99>-1ms", "throughput>=-1/s", "rss_peak<-1B"])
def test_a_bound_that_always_or_never_holds_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="is never below zero"):
        arguments.objective(text)
    assert arguments.objective("throughput>0").bound == 0
    assert arguments.objective("my_gain>-1").bound == -1  # of what we do not know, zero may be the middle


@pytest.mark.parametrize("text", ["p99", "p99=3", "<3ms", "p99<", "p99<fast", "p99<3GiB", "99<3ms"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--objective"):
        arguments.objective(text)


def test_shapes_belong_to_an_input_or_to_all() -> None:
    assert arguments.shapes(["x:1x3x224x224", "2x4", "a:b:7"]) == {"x": (1, 3, 224, 224), "": (2, 4), "a:b": (7,)}
    for bad in ("x:", "x:1x", "x:axb", "x:0x3", "x:-1"):
        with pytest.raises(OptionError, match="is not NAME:1x3x224x224"):
            arguments.shapes([bad])


def test_pairs_are_numbers_truths_or_text() -> None:
    pairs = arguments.pairs(["a=1", "b=1.5", "c=true", "d=false", "e=x=y", "f="], "--option")
    assert pairs == {"a": 1, "b": 1.5, "c": True, "d": False, "e": "x=y", "f": ""}
    for bad in ("a", "=1"):
        with pytest.raises(OptionError, match=r"--option: .* is not NAME=VALUE"):
            arguments.pairs([bad], "--option")


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "infinity"])
def test_what_is_no_finite_number_stays_text(text: str) -> None:
    """It could not be recorded, and a parameter may well be called so."""
    assert arguments.scalar(text) == text


def test_parameters_are_lists() -> None:
    assert arguments.parameter_lists(["size=1,2", "how=fast"]) == {"size": [1, 2], "how": ["fast"]}


def test_cpus_are_numbers_and_ranges_of_those_there_are() -> None:
    there = sorted(os.sched_getaffinity(0))
    assert arguments.cpu_list(f"{there[0]},{there[0]}-{there[0]}") == (there[0],)
    if there == list(range(len(there))):
        assert arguments.cpu_list(f"0-{there[-1]}") == tuple(there)
    for bad in ("", "x", "0-", "4096", "-1", "1-0"):
        with pytest.raises(OptionError, match="--cpus"):
            arguments.cpu_list(bad)


def test_keywords_take_one_or_many() -> None:
    assert arguments.one_or_many(None, (1,)) == (1,)
    assert arguments.one_or_many(3, ()) == [3]
    assert arguments.one_or_many("cpu", ()) == ["cpu"]
    assert arguments.one_or_many((1, 2), ()) == [1, 2]  # type: ignore[arg-type]


def test_a_metric_nobody_knows_is_told_with_its_neighbour() -> None:
    with pytest.raises(OptionError, match="'throughputs' is not a metric") as error:
        arguments.objective("throughputs>5k/s")
    assert "throughput" in error.value.remedy
    assert arguments.objective("my_monitors_metric<5").bound == 5.0


def test_each_machine_of_a_run_may_have_a_price() -> None:
    found = arguments.named_prices(["rack7=0.34EUR/h", "local=1USD/h"], ["local", "ssh:rack7"])
    assert {name: (price.amount, price.currency) for name, price in found.items()} == {
        "rack7": (0.34, "EUR"),
        "local": (1.0, "USD"),
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [("rack8=1USD/h", "no machine of this run"), ("rack7", "not NAME=PRICE"), ("rack7=desk", "neither an amount")],
)
def test_a_price_of_no_machine_is_refused(text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        arguments.named_prices([text], ["local", "ssh:rack7"])
    with pytest.raises(OptionError, match="twice"):
        arguments.named_prices(["local=1", "local=2"], ["local"])


def test_python_names_prices_of_hosts_in_a_mapping() -> None:
    mine = Price.bare(2.0)
    plan = arguments.priced(Plan(), {"ssh:rack7": "0.34EUR/h", "local": mine}, None, "local,ssh:rack7")
    assert (plan.price, plan.prices["local"], plan.prices["ssh:rack7"].currency) == (None, mine, "EUR")
    assert arguments.priced(Plan(), "1USD/h", None, "").price == arguments.price("1USD/h")
    with pytest.raises(OptionError, match="price: 'rack8' is no machine of this run"):
        arguments.priced(Plan(), {"rack8": "1"}, None, "local")
