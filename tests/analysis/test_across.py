"""Cases that are equal but for some parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from benchwright.analysis.across import find_differing, pair_across, pair_within
from benchwright.analysis.rows import Row, rows
from benchwright.analysis.several_sides import judge_columns
from benchwright.errors import OptionError
from benchwright.records import Run, Scalar


def _run(run: Run, *params: Mapping[str, Scalar], name: str = "one") -> Run:
    """A run of one task with these parameters, a case for each."""
    results = [
        replace(
            result,
            id=f"{name}-{place}-{result.round}",
            case=replace(result.case, name="task", params=dict(some), inputs=replace(result.case.inputs, batch_size=1)),
        )
        for place, some in enumerate(params)
        for result in [r for r in run.results if r.case == run.results[0].case]
    ]
    return replace(run, id=name, results=tuple(results))


def _rows(run: Run, *params: Mapping[str, Scalar]) -> list[Row]:
    return rows(_run(run, *params))


def _shown(pairs: list[tuple[Row | None, Row | None]]) -> list[tuple[str, str]]:
    return [(one.label if one else "-", other.label if other else "-") for one, other in pairs]


def test_what_is_equal_but_for_the_parameter_is_a_pair(run: Run) -> None:
    before = _rows(run, {"lr": 0.1, "bs": 8}, {"lr": 0.1, "bs": 16})
    after = _rows(run, {"lr": 0.2, "bs": 16}, {"lr": 0.2, "bs": 32})
    assert _shown(pair_across(before, after, ["lr"])) == [
        ("task bs=8", "-"),
        ("task bs=16", "task bs=16 lr=0.1 → 0.2"),
        ("-", "task bs=32"),
    ]


def test_each_of_several_stands_against_the_only_one_of_the_first(run: Run) -> None:
    before, after = _rows(run, {"lr": 0.1}), _rows(run, {"lr": 0.1}, {"lr": 0.2})
    assert [b for _, b in _shown(pair_across(before, after, ["lr"]))] == ["task lr=0.1", "task lr=0.1 → 0.2"]
    with pytest.raises(OptionError, match="several cases are equal but for lr"):
        pair_across(before, after, ["lr"], one_each=True)


def test_an_ambiguous_pairing_is_refused_and_names_the_parameters(run: Run) -> None:
    both = _rows(run, {"lr": 0.1, "bs": 8}, {"lr": 0.2, "bs": 8})
    with pytest.raises(OptionError) as caught:
        pair_across(both, both, ["lr", "bs"])
    assert "task: several cases are equal but for lr and bs" in caught.value.message
    assert "lr=0.1 bs=8, lr=0.2 bs=8 in the first run" in caught.value.message
    assert "leave one of lr, bs out" in caught.value.remedy


def test_a_parameter_that_no_case_has_is_refused(run: Run) -> None:
    with pytest.raises(OptionError, match="no case has a parameter 'lrr'") as caught:
        pair_across(_rows(run, {"lr": 0.1}), _rows(run, {"lr": 0.2}), ["lrr"])
    assert "did you mean 'lr'" in caught.value.remedy


def test_a_batch_size_is_kept_in_two_places_and_taken_out_of_both(run: Run) -> None:
    before, after = (
        [replace(row, case=replace(row.case, inputs=replace(row.case.inputs, batch_size=size))) for row in table]
        for size, table in ((1, _rows(run, {"batch_size": 1})), (8, _rows(run, {"batch_size": 8})))
    )
    ((one, other),) = pair_across(before, after, ["batch_size"])
    assert one and other and other.label == "task batch_size=1 → 8"


def test_within_one_run_the_first_is_the_baseline(run: Run) -> None:
    table = _rows(run, {"lr": 0.1, "bs": 8}, {"lr": 0.2, "bs": 8}, {"lr": 0.3, "bs": 8}, {"lr": 0.1, "bs": 16})
    found = [b for _, b in _shown(pair_within(table, ["lr"]))]
    assert found == ["task bs=8 lr=0.1 → 0.2", "task bs=8 lr=0.1 → 0.3"]
    with pytest.raises(OptionError, match="no two cases of the run are equal but for bs") as caught:
        pair_within(table[1:], ["bs"])
    assert "lr, bs" in caught.value.remedy


def test_the_parameters_that_keep_two_runs_apart_are_found(run: Run) -> None:
    before = _rows(run, {"lr": 0.1, "bs": 8})
    assert find_differing(before, _rows(run, {"lr": 0.2, "bs": 8})) == ["lr"]
    assert find_differing(before, before) == []
    assert find_differing(_rows(run, {"lr": 0.1}, {"lr": 0.2}), _rows(run, {"lr": 0.3})) == []  # ambiguous


def test_columns_are_judged_across_parameters(run: Run) -> None:
    first, second = _run(run, {"lr": 0.1}, name="a"), _run(run, {"lr": 0.2}, name="b")
    [column] = judge_columns(first, [second], across=["lr"])
    assert [row.label for row in column.rows] == ["task lr=0.1 → 0.2"] and column.rows[0].metrics
    both = _run(run, {"lr": 0.1}, {"lr": 0.2}, name="a")
    [itself] = judge_columns(both, [both], across=["lr"])
    assert [row.label for row in itself.rows] == ["lr=0.1 → 0.2"]


def test_two_targets_are_compared_as_if_the_target_were_a_parameter(run: Run) -> None:
    before = rows(_run(run, {"bs": 8}))
    after = [replace(row, case=replace(row.case, name="other", version="2")) for row in _rows(run, {"bs": 8})]
    assert find_differing(before, after) == ["target"]
    assert _shown(pair_across(before, after, ["target"])) == [("task", "other target=task → other")]
    unlike = [replace(row, case=replace(row.case, name="other")) for row in _rows(run, {"bs": 16})]
    assert [pair for pair in pair_across(before, unlike, ["target"]) if None not in pair] == []


def test_a_parameter_that_is_called_target_is_one(run: Run) -> None:
    before, after = _rows(run, {"target": "a"}), _rows(run, {"target": "b"})
    assert _shown(pair_across(before, after, ["target"])) == [("task", "task target=a → b")]
