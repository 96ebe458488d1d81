"""Going on with a run: what of it stands, and what makes it another run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright import schema
from benchwright._version import VERSION
from benchwright.errors import OptionError
from benchwright.execution import resume
from benchwright.machine import environment
from benchwright.records import Case, Environment, Failure, Load, Result, Revision, Run, Status, Target
from benchwright.records.prices import Price

HERE = environment.collect()


def _case(name: str = "a", **load: Any) -> Case:
    target = Target(runtime="fake", uri="fake:")
    copies = load.get("copies", 1)
    return Case(name=name, target=target, params={"copies": copies}, load=Load(**load), version="v1", tags=("then",))


def _result(name: str, case: Case, number: int = 0, status: Status = Status.OK, kind: str = "exit") -> Result:
    error = None if status is Status.OK else Failure(kind=kind, message=f"{name} went wrong")
    return Result(
        id=name, case=case, round=number, status=status, environment=HERE, started_at="", duration=1.0, error=error
    )


def _run(*results: Result, **fields: Any) -> Run:
    return Run(id="run", started_at="", harness=VERSION, results=results, **fields)


def _matching(run: Run, *cases: Case, rounds: int = 1, directory: Path = Path("/")) -> list[Case]:
    return resume.match_cases(run, cases, rounds, directory)


def test_what_is_ok_stands_and_what_is_not_is_known_with_its_reason() -> None:
    ok, failed = _result("run-0", _case()), _result("run-1", _case("b"), status=Status.FAILED)
    before = resume.EarlierResults(_run(ok, failed))
    retagged = replace(_case(), tags=())
    assert before.has_numbers(retagged, 0)
    assert not before.has_numbers(_case(), 1) and not before.has_numbers(_case("b"), 0)
    assert before.failed_result(_case("b"), 0) is failed and before.failed_result(_case(), 0) is None
    assert [failure.message for failure in resume.earlier_failures(failed)] == ["run-1 went wrong"]
    assert before.results == [ok, failed]
    before.replace(failed)
    assert before.results == [ok]


def test_a_run_that_was_interrupted_is_no_failure_of_the_case() -> None:
    skipped = _result("run-0", _case(), status=Status.SKIPPED, kind="interrupted")
    assert list(resume.earlier_failures(skipped)) == list(resume.earlier_failures(None)) == []


@pytest.mark.parametrize(
    ("ids", "free"), [((), 0), (("run-0", "run-1"), 2), (("run-0", "run-7"), 8), (("imported", "x-y", "z"), 3)]
)
def test_new_ids_begin_where_no_old_one_is(ids: tuple[str, ...], free: int) -> None:
    results = [_result(name, _case(), number) for number, name in enumerate(ids)]
    assert resume.EarlierResults(_run(*results)).free == free


def test_a_fresh_run_holds_nothing() -> None:
    before = resume.EarlierResults()
    assert (before.results, before.free) == ([], 0)
    assert not before.has_numbers(_case(), 0) and before.failed_result(_case(), 0) is None


def test_the_same_request_goes_on_and_keeps_the_runs_tags() -> None:
    asked = [replace(_case(), tags=("now",)), replace(_case("b"), tags=("now",))]
    run = _run(_result("run-0", _case()), planned=4)
    assert [case.tags for case in _matching(run, *asked, rounds=2)] == [("then",)] * 2
    assert [case.tags for case in _matching(_run(), *asked)] == [("now",)] * 2  # cut off before its first result


def test_cases_with_tags_of_their_own_keep_them() -> None:
    def asked(typed: str) -> list[Case]:
        own = {"a": "slow", "b": "fast", "c": "new"}
        return [replace(_case(name), tags=("all", tag, typed)) for name, tag in own.items()]

    a, b, _ = asked("then")
    run = _run(_result("run-0", a), _result("run-1", b))
    found = _matching(run, *asked("now"))
    assert [case.tags for case in found] == [("all", "slow", "then"), ("all", "fast", "then"), ("all", "new", "then")]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ([_case("b", copies=2)], "a copies=2 is not among the cases now"),
        ([_case(copies=4)], "a copies=2: params.copies was 2 and is now 4; load.copies was 2 and is now 4"),
        ([_case(copies=2, duration=3.0)], "a copies=2: load.duration was None and is now 3.0"),
        ([replace(_case(copies=2), version="v2")], "a copies=2: its content has changed"),
    ],
)
def test_other_cases_are_another_run(asked: list[Case], complaint: str) -> None:
    run = _run(_result("run-0", _case(copies=2)), command=("benchwright", "run", "a b"))
    with pytest.raises(OptionError, match=f"run run measured something else: {complaint}") as refused:
        _matching(run, *asked)
    assert "benchwright run 'a b'" in refused.value.remedy


def test_many_differences_are_counted() -> None:
    run = _run(*(_result(f"run-{i}", _case(f"c{i}")) for i in range(5)))
    with pytest.raises(OptionError, match="c2 copies=1 is not among the cases now; and 2 more") as refused:
        _matching(run, _case())
    assert refused.value.remedy == "repeat the command line that began the run, or measure a new run, without --resume"


def test_other_rounds_are_another_run() -> None:
    with pytest.raises(OptionError, match="planned 2 results; 1 cases in 3 rounds make 3"):
        _matching(_run(_result("run-0", _case()), planned=2), _case(), rounds=3)
    assert _matching(_run(_result("run-0", _case()), planned=0), _case(), rounds=3)  # nobody said


def test_another_version_is_another_run() -> None:
    with pytest.raises(OptionError, match=f"was measured by benchwright 0.0.0; this is {VERSION}"):
        _matching(replace(_run(_result("run-0", _case())), harness="0.0.0"), _case())


def test_another_machine_is_another_run() -> None:
    elsewhere = replace(HERE, machine={**HERE.machine, "cpu": "Z80"})
    result, nowhere = _result("run-0", _case()), Environment(machine={}, system={})
    with pytest.raises(OptionError, match=r"on another machine: machine\.cpu.* was 'Z80' and is now "):
        _matching(_run(replace(result, environment=elsewhere)), _case())
    assert _matching(_run(replace(result, environment=nowhere)), _case())  # it never came to looking


def test_another_commit_is_another_run(root: Path) -> None:
    run = _run(_result("run-0", _case()), revision=Revision(vcs="git", id="0123456789abcdef"))
    with pytest.raises(OptionError, match="is of commit 0123456789ab; the project is at "):
        _matching(run, _case(), directory=root)
    assert _matching(run, _case(), directory=Path("/"))  # no project: nothing to tell


def test_the_price_is_carried_over_and_another_one_is_refused() -> None:
    run = _run(replace(_result("r-0", _case()), details={"cost_per_hour": 2.0}))
    assert resume.price_of(run, None) == resume.price_of(run, Price.bare(2.0)) == Price.bare(2.0)
    assert resume.price_of(_run(_result("r-0", _case())), None) is None
    with pytest.raises(OptionError, match=r"was priced otherwise \(2 an hour, as given\), not by 3 an hour"):
        resume.price_of(run, Price.bare(3.0))
    rented = Price(provider="aws", shape="c7i.large", amount=0.1, fetched_at="2026-11-01")
    run = _run(replace(_result("r-0", _case()), details={"cost_per_hour": 0.1, "price": schema.encode(rented)}))
    assert resume.price_of(run, None) == rented
    with pytest.raises(OptionError, match=r"aws/c7i.large, on-demand, 2026-11-01"):
        resume.price_of(run, Price.bare(0.1))
