"""Bisecting a real repository: every commit checked out, built and measured in processes of its own."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright import culprits, schema
from benchwright.bisected import Bisected
from benchwright.bisection import Terms, _adjacent, _prior, bisect
from benchwright.builds import Builder, Built
from benchwright.errors import OptionError, StoreError, TargetError
from benchwright.findings import Finding, Suspect
from benchwright.records import Case, Estimate, Run, Verdict
from benchwright.store import Store, open_store

COUNT, CULPRIT, BROKEN = 18, 11, (8, 9)
BUILD = "sh build.sh"


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Commits c0 to c17; c11 makes `work` take twice as long, c8 and c9, in the middle, do not build."""
    top = tmp_path_factory.mktemp("bisection")
    folder = top / "project"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
            patch.setenv(f"{name}_NAME", "Ada")
            patch.setenv(f"{name}_EMAIL", "ada@example.org")
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("BENCHWRIGHT_CACHE", str(top / "cache"))
        patch.chdir(folder)
        git(folder, "init", "-q", "-b", "main")
        for number in range(COUNT):
            milliseconds = 6 if number >= CULPRIT else 3
            (folder / "bench.py").write_text(f"import time\n\n\ndef work():\n    time.sleep({milliseconds}e-3)\n")
            (folder / "build.sh").write_text(f"exit {int(number in BROKEN)}  # {number}\n")
            git(folder, "add", ".")
            git(folder, "commit", "-q", "-m", f"change {number}")
            git(folder, "tag", f"c{number}")
        yield folder


@pytest.fixture(scope="module")
def store(repository: Path) -> Iterator[Store]:
    opened = open_store(repository.parent / "results.db")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def found(repository: Path, store: Store) -> Bisected:
    return _bisect(repository)


def _bisect(repository: Path, *targets: str, good: str = "c0", bad: str = "main", **options: object) -> Bisected:
    return culprits.bisect(
        *(targets or (() if "finding" in options else ("bench.py::work",))),
        good=good,
        bad=bad,
        build=BUILD,
        duration=0.06,
        store=str(repository.parent / "results.db"),
        **options,  # type: ignore[arg-type]
    )


def test_the_commit_is_named_with_its_probability_and_its_cost(repository: Path, found: Bisected) -> None:
    assert [each.subject for each in found.culprits] == [f"change {CULPRIT}"], found
    assert found.sure and found.probability >= 0.98 and found.why == "sure enough"
    assert found.metric == "latency_p50" and found.effect is not None and 1.5 < found.effect.point < 2.4
    assert sum(each.probability for each in found.commits) + found.nothing == pytest.approx(1)
    assert len(found.commits) == COUNT - 1 and found.built < 10
    assert found.runs == 2 * len(found.pairs) <= 40 and found.again == 0
    assert found.plain is not None and found.plain >= 2 * 6
    assert found.passed and {each.why.split()[-1] for each in found.passed} == {"1"}  # exit codes
    assert git(repository, "status", "--porcelain", "--untracked-files=no") == ""


def test_every_pair_is_kept_with_the_revisions_it_is_of(repository: Path, found: Bisected, store: Store) -> None:
    run = store.run(found.id, samples=False)
    assert run.reason == "bisect" and "bisect" in run.tags
    assert len(run.results) == found.runs
    good = git(repository, "rev-parse", "c0")
    revisions = [result.revision.id for result in run.results if result.revision]
    assert revisions.count(good) == len(found.pairs)
    assert sorted({*revisions} - {good}) == sorted({pair.revision for pair in found.pairs})


def test_what_was_measured_is_used_again_and_a_finding_hears_of_it(found: Bisected, store: Store) -> None:
    finding = store.keep_finding(_finding(found, store))
    again = _bisect(Path.cwd(), good="", bad="", finding=finding.id)
    assert again.again == again.runs == found.runs  # nothing had to be measured
    assert [each.revision for each in again.culprits] == [each.revision for each in found.culprits]
    assert again.metric == "latency_p50"
    told = store.finding(finding.id)
    assert told.suspects[0].revision == found.culprits[0].revision and told.suspects[0].author == "Ada"
    assert told.remarks[-1].what == "bisected" and f"change {CULPRIT}" in told.remarks[-1].text


def test_pairs_of_another_machine_do_not_count(repository: Path, found: Bisected, store: Store) -> None:
    run = store.run(found.id, samples=False)
    elsewhere = [
        dataclasses.replace(each, environment=dataclasses.replace(each.environment, machine={"cpu": "another"}))
        for each in run.results
    ]
    case, builder = run.results[0].case, Builder(repository, command=BUILD)

    def recalled(earlier: Run) -> Bisected:
        def case_in(built: Built) -> Case:
            return culprits.moved(case, builder.repository.root, built)

        return bisect(builder, "c0", "main", case_in, Terms(most_runs=1), earlier=[earlier])

    assert recalled(run).again == found.runs
    assert recalled(dataclasses.replace(run, results=tuple(elsewhere))).again == 0


def test_pairs_that_were_measured_otherwise_do_not_count(found: Bisected, store: Store) -> None:
    run = store.run(found.id, samples=False)
    case = run.results[0].case
    longer = dataclasses.replace(case, load=dataclasses.replace(case.load, duration=60.0))
    reseeded = dataclasses.replace(case, load=dataclasses.replace(case.load, seed=case.load.seed + 1))
    counts = [len(list(_adjacent(run, found.good.id, each))) for each in (case, reseeded, longer)]
    assert counts == [len(found.pairs), len(found.pairs), 0]


def _finding(found: Bisected, store: Store) -> Finding:
    """As a series of `work` would make it: the last revision as before, and those that may have changed it."""
    result = next(each for each in store.run(found.id, samples=False).results if each.status == "ok")
    point = Estimate(point=0.003, low=None, high=None)
    return Finding(
        id="f1",
        series=schema.series_key(result.case, result.environment, "latency_p50"),
        before=point,
        after=dataclasses.replace(point, point=0.006),
        effect=Estimate(point=2.0, low=1.8, high=2.2),
        method="test",
        verdict=Verdict.WORSE,
        revisions=(found.good.id, *(each.revision for each in found.commits)),
        suspects=(Suspect(revision=found.commits[CULPRIT].revision, probability=0.9),),
        case=result.case.name,
        metric="latency_p50",
        run=found.id,
        found_at="2026-03-01T10:00:00+00:00",
    )


def test_a_case_of_a_run_is_found_in_another_working_copy(repository: Path, found: Bisected, store: Store) -> None:
    case = store.run(found.id, samples=False).results[0].case
    builder = Builder(repository, command=BUILD)
    built = builder.prepare("c3")
    there = culprits.moved(case, builder.repository.root, built)
    assert there.target.uri == f"{built.folder}/bench.py::work"
    home = dataclasses.replace(case, target=dataclasses.replace(case.target, uri=f"{repository}/bench.py::work"))
    assert culprits.moved(home, builder.repository.root, built) == there


def test_a_budget_is_kept_and_what_was_learnt_is_told(repository: Path) -> None:
    told = _bisect(repository, save=False, most_runs=2)
    assert not told.sure and told.runs == 2 and told.why == "2 runs do not tell"
    assert [each.subject for each in told.commits] == [f"change {i}" for i in range(1, COUNT)]


def test_a_budget_counts_what_was_measured_before(repository: Path, store: Store) -> None:
    first, again = (_bisect(repository, good="c0", bad="c3", most_runs=4) for _ in range(2))
    assert (first.runs, first.again) == (4, 0)
    assert (again.runs, again.again, again.why) == (4, 4, "4 runs do not tell")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"good": "c5", "bad": "c5"}, "one commit"),
        ({"good": "c5", "bad": "c2"}, "no ancestor"),
        ({"good": "c5", "bad": "nowhere"}, "nowhere"),
        ({"good": "c5", "bad": "c8"}, "an end of the range: the build of"),
        ({"good": "c5", "bad": ""}, "no range"),
        ({"confidence": 1.0}, "confidence"),
        ({"most_runs": 1}, "too few"),
        ({"finding": "no-such"}, "no-such"),
    ],
)
def test_a_wrong_request_is_refused(options: dict[str, object], said: str, repository: Path, store: Store) -> None:
    with pytest.raises((TargetError, OptionError, StoreError), match=said):
        _bisect(repository, **options)  # type: ignore[arg-type]


def test_a_target_with_several_cases_must_be_narrowed(repository: Path) -> None:
    with pytest.raises(TargetError, match="2 cases, and one can be bisected"):
        _bisect(repository, "bench.py::work", "fake:constant?ms=1", good="c0", bad="c3")


def test_a_suspect_stands_for_the_commits_since_the_last_that_was_measured() -> None:
    index = {f"r{i}": i for i in range(8)}
    prior = _prior(Terms(suspects={"r5": 0.8, "r1": 0.2}, measured=("r0", "r1", "r2", "r5")), index)
    assert prior.commits[3] == prior.commits[4] == prior.commits[5] > prior.commits[1] > prior.commits[6] > 0
    assert sum(prior.commits) == pytest.approx(1)
