"""`benchwright perfzero diff`: every trial counts, and what cannot be compared says why."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero.differences import differences
from benchwright.errors import OptionError

Benchwright = Callable[..., subprocess.CompletedProcess[str]]


def _write(
    folder: Path, label: str | None, wall_time: float, *, trial: int = 1, failed: bool = False, **more: Any
) -> None:
    metrics = [{"name": name, "value": value} for name, value in more.items()]
    summary = {
        "benchmark_result": {"name": "m.C.x", "wall_time": wall_time, "metrics": metrics, "trial_id": trial},
        "benchmark_info": {"has_exception": failed, **({"execution_label": label} if label else {})},
    }
    place = folder / f"{label}-{trial}"
    place.mkdir(parents=True)
    (place / "perfzero_summary.json").write_text(json.dumps(summary))


def test_all_trials_make_an_interval(tmp_path: Path) -> None:
    for trial, (a, b) in enumerate([(1.0, 1.5), (1.02, 1.52), (0.98, 1.48)], start=1):
        _write(tmp_path, "a", a, trial=trial)
        _write(tmp_path, "b", b, trial=trial)
    ((found,), problems) = differences(tmp_path)
    (change,) = found.changes
    assert (found.control, found.treatment, problems) == ("a", "b", [])
    assert change.percent == pytest.approx(50, abs=1)
    assert change.low is not None and change.high is not None and 40 < change.low < change.percent < change.high < 60
    assert (change.verdict, len(change.control)) == ("worse", 3)


def test_one_trial_each_has_no_interval(tmp_path: Path) -> None:
    _write(tmp_path, "a", 2.0)
    _write(tmp_path, "b", 1.0)
    (change,) = differences(tmp_path)[0][0].changes
    assert (change.percent, change.low, change.verdict) == (pytest.approx(-50), None, "unclear")


def test_a_control_of_zero_has_no_percentage(tmp_path: Path) -> None:
    _write(tmp_path, "a", 1.0, err=0.0)
    _write(tmp_path, "b", 1.0, err=0.5)
    change = differences(tmp_path)[0][0].changes[1]
    assert (change.metric, change.percent) == ("err", None)
    assert "0" in change.why


def test_failed_trials_are_left_out_and_counted(tmp_path: Path) -> None:
    _write(tmp_path, "a", -1, failed=True)
    _write(tmp_path, "a", 1.0, trial=2)
    _write(tmp_path, "b", 1.1)
    found = differences(tmp_path)[0][0]
    assert found.changes[0].control == (1.0,)
    assert found.notes == ("a: 1 trial of 2 failed and is left out",)


@pytest.mark.parametrize(("labels", "why"), [(("a",), "nothing to compare"), (("a", "b", "c"), "two are needed")])
def test_one_label_or_three_say_why(tmp_path: Path, labels: tuple[str, ...], why: str) -> None:
    for label in labels:
        _write(tmp_path, label, 1.0)
    found = differences(tmp_path)[0][0]
    assert found.changes == () and why in found.notes[0]


def test_a_missing_label_is_a_label(tmp_path: Path, inside: Benchwright) -> None:
    _write(tmp_path, None, 1.0)
    _write(tmp_path, "b", 2.0)
    (tmp_path / "broken_perfzero_summary.json").write_text("{")
    ended = inside("perfzero", "diff", ".")
    assert ended.returncode == 0, ended.stderr
    assert "control: (no label), treatment: b" in ended.stdout
    assert "+100.00%" in ended.stdout
    assert "broken_perfzero_summary.json: is not a summary" in ended.stderr
    (told,) = json.loads(inside("perfzero", "diff", ".", "--json").stdout)["data"]
    assert told["changes"][0]["metric"] == "wall_time"


def test_a_folder_without_summaries_is_a_wrong_request(tmp_path: Path, inside: Benchwright) -> None:
    with pytest.raises(OptionError, match="no perfzero_summary"):
        differences(tmp_path)
    assert inside("perfzero", "diff", "nowhere").returncode == 2
