"""Summaries by both rules, and what a document says of its test."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.compat.harness import documents
from benchwright.compat.harness.documents import MetaFacts, mask_command, meta
from benchwright.compat.harness.summaries import SummaryRules, summarize_entry, summary
from benchwright.errors import OptionError


def test_todays_rules() -> None:
    found = summary([18, 10, 14, 12, 16])
    assert [*found] == ["mean", "p0", "p10", "p50", "p90", "p100", "stdev", "MAD", "cv"]
    assert found == pytest.approx(
        {
            "mean": 14,
            "p0": 10,
            "p10": 10.8,
            "p50": 14,
            "p90": 17.2,
            "p100": 18,
            "stdev": 2.8284271247,
            "MAD": 2,
            "cv": 0.2020305089,
        }
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7], [7, 7, 7, 7, 7]),
        ([4, 1, 3, 2], [1, 1, 2.5, 4, 4]),
        (range(100, 120, 2), [100, 102, 109, 116, 118]),
        (range(11), [0, 1, 5, 9, 10]),
    ],
)
def test_the_seeds_rules(values: Any, expected: list[float]) -> None:
    found = summary([*values], rules=SummaryRules.SEED)
    assert found == dict(zip(["p0", "p10", "p50", "p90", "p100"], expected, strict=True))


def test_statistics_that_a_spec_asks_for() -> None:
    found = summary(range(101), statistics=["p99.9", "MAD", "p5"])
    assert found == pytest.approx({"p99.9": 99.9, "MAD": 25, "p5": 5, "p50": 50})
    assert [*summary([1], statistics=["mean", "p50"])] == ["mean", "p50"]


@pytest.mark.parametrize("name", ["p101", "p", "P50", "median", "p-1", "pnan", "p1e1"])
def test_a_statistic_that_does_not_exist(name: str) -> None:
    with pytest.raises(OptionError, match="no statistic"):
        summary([1.0], statistics=[name])


def test_a_mean_of_zero_and_no_values() -> None:
    assert summary([-1, 1])["cv"] is None
    assert summary([]) == summary([], rules=SummaryRules.SEED) == {}


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 100))
def test_they_agree_with_others(values: list[float], percent: float) -> None:
    found = summary(values, statistics=["mean", "stdev", f"p{percent:.3f}"])
    assert found["mean"] == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert found["stdev"] == pytest.approx(statistics.pstdev(values), abs=1e-6)
    assert found[f"p{percent:.3f}"] == pytest.approx(np.percentile(values, float(f"{percent:.3f}")), abs=1e-6)


def test_an_entry_keeps_its_order_or_its_own_summary() -> None:
    entry = {"type": "NET", "metric": "latency", "unit": "us", "values": [3.0, 1.0, 2.0]}
    assert summarize_entry(entry)["values"] == [3.0, 1.0, 2.0] and summarize_entry(entry)["num_runs"] == 3
    assert summarize_entry(entry, rules=SummaryRules.SEED)["values"] == [1.0, 2.0, 3.0]
    own = {**entry, "values": [], "num_runs": 50, "summary": {"p0": 1.0, "mean": 2.0}}
    assert summarize_entry(own) == own
    assert summarize_entry({"type": "Conv", "info_string": "shape"}) == {
        "type": "Conv",
        "info_string": "shape",
        "values": [],
        "num_runs": 0,
        "summary": {},
    }


def facts(**changed: Any) -> MetaFacts:
    usual: dict[str, Any] = {
        "backend": "host/incremental",
        "framework": "caffe2",
        "net_name": "tiny",
        "metric": "delay",
        "platform": "Linux-6.1-CPU",
        "platform_hash": "box",
        "time": 5.5,
    }
    return MetaFacts(**usual | changed)


def test_meta() -> None:
    found = meta(facts(commit="abc", commit_time=1.0, user="me", command=("harness", "-b", "a b")))
    assert found == {
        "backend": "host/incremental",
        "time": 5.5,
        "framework": "caffe2",
        "platform": "Linux-6.1-CPU",
        "platform_hash": "box",
        "command": ["harness", "-b", "a b"],
        "command_str": "harness -b 'a b'",
        "net_name": "tiny",
        "metric": "delay",
        "identifier": "tiny",
        "commit": "abc",
        "commit_time": 1.0,
        "run_type": "benchmark",
        "user": "me",
        "user_identifier": None,
    }
    more = meta(facts(identifier="0", group="G", control_commit="def", control_commit_time=2.0, more={"metric": "x"}))
    assert (more["identifier"], more["group"], more["control_commit"], more["metric"]) == ("0", "G", "def", "delay")


@pytest.mark.parametrize(("platform", "name"), [("", "box"), ("null", "box"), ("Pixel", "Pixel")])
def test_a_platform_is_never_null(platform: str, name: str) -> None:
    assert meta(facts(platform=platform))["platform"] == name


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(documents.getpass, "getuser", nameless)  # type: ignore[attr-defined]
    assert meta(facts())["user"].isdecimal()


def test_a_kept_command_holds_no_secret() -> None:
    words = [
        "harness",
        "--remote_access_token",
        "S1",
        "--remote_acc=S2",
        "--token",
        "S3",
        "-b",
        "https://u:S4@h/x?k=S5",
    ]
    assert not any(f"S{i}" in word for word in mask_command(words) for i in range(1, 6))
    assert mask_command(["--remote_reporter", "h/p|c", "-b", "x"]) == ["--remote_reporter", "h/p|c", "-b", "x"]
