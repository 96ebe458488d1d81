"""What reports say of compared answers, also of very many cases, and of records that nobody vouches for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchwright.analysis.rows import Row, rows
from benchwright.records import Case, Environment, Result, Run, Status, Target
from benchwright.report.answers import HEADS, cells, summary

GOOD: dict[str, Any] = {
    "within": True,
    "size": 10,
    "off": 0,
    "max_abs": 2e-6,
    "mean_abs": 1e-6,
    "max_rel": 0.25,
    "cosine": 0.9999999,
    "top1": 1.0,
}
BAD = {**GOOD, "within": False, "off": 3, "max_abs": 0.5, "worst": [0, 2], "worst_found": 1.5, "worst_expected": "nan"}


def _table(*rounds: Sequence[Any]) -> list[Row]:
    """One case for each argument, one round for each item of it: what `details.answers` holds."""
    results = [
        Result(
            id=f"{i}-{number}",
            case=Case(name="m", target=Target(runtime="r", uri="m"), params={"batch_size": i}),
            round=number,
            status=Status.OK,
            environment=Environment(machine={}, system={}),
            started_at="",
            duration=0.0,
            details={"answers": told} if told else {},
        )
        for i, several in enumerate(rounds)
        for number, told in enumerate(several)
    ]
    return rows(Run(id="r", started_at="", harness="0", results=tuple(results)))


def test_each_case_has_a_sentence() -> None:
    table = _table([{"y": GOOD}], [{"y": GOOD, "z": BAD}], [{"y": {**GOOD, "within": None}}], [None])
    assert summary(table) == [
        "Answers of batch_size=0: y within tolerance; largest error 2.00e-06, relative 0.250; cosine 0.9999999",
        "Answers of batch_size=1: z out of tolerance; largest error 0.500, relative 0.250; cosine 0.9999999",
        "Answers of batch_size=2: y compared, not judged; largest error 2.00e-06, relative 0.250; cosine 0.9999999",
    ]


def test_one_bad_round_is_enough() -> None:
    (row,) = _table([{"y": GOOD}, {"y": BAD}, {"y": {**GOOD, "max_abs": 9.0}}])
    (line,) = cells(row).values()
    assert len(line) == len(HEADS)
    assert line[0] == "out of tolerance: 3 of 10 elements"
    assert line[-1] == "[0, 2]: 1.50000, expected nan"


def test_what_is_no_number_is_not_told_as_a_perfect_answer() -> None:
    nothing = {**GOOD, "within": None, "unlike": 10, "max_abs": 0.0, "max_rel": 0.0, "cosine": None}
    some, equal = {**BAD, "unlike": 3}, {**nothing, "within": True, "unlike": 0}
    table = _table([{"y": GOOD}, {"y": nothing}], [{"y": some}], [{"y": equal}])
    assert [line.partition(": ")[2] for line in summary(table)] == [
        "y compared, not judged; 10 of 10 elements of y are not finite numbers",
        "y out of tolerance; largest error 0.500, relative 0.250; cosine 0.9999999; "
        "3 of 10 elements of y are not finite numbers",
        "y within tolerance; no element of y is a finite number",
    ]
    line = cells(table[0])["y"]
    assert line[0] == "not judged; 10 of 10 elements of y are not finite numbers" and line[1:7] == ["none"] * 6


def test_of_very_many_cases_those_out_of_tolerance_are_named() -> None:
    table = _table(*([{"y": BAD if i % 10 == 0 else GOOD}] for i in range(100)))
    said = summary(table)
    assert said[0] == "Answers: 90 of 100 cases are not out of tolerance"
    assert said[1].startswith("Answers of batch_size=0: y out of tolerance") and len(said) == 10
    assert said[-1] == "Answers: and 2 more out of tolerance"


def test_records_of_another_form_do_no_harm() -> None:
    (row, other) = _table([["no", "mapping"]], [{"y": 3, "z": {"max_abs": "much", "worst": 7}}])
    assert cells(row) == {} and cells(other)["z"][1] == "0"
    assert len(summary([row, other])) == 1
