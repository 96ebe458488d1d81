"""Bisecting a real repository: every commit checked out, built and measured in processes of its own."""

from __future__ import annotations

import dataclasses
import math
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from benchwright import schema
from benchwright.errors import OptionError, StoreError, TargetError
from benchwright.execution.builds import Builder, BuiltRevision
from benchwright.records import Better, Case, Estimate, Metric, Run, Verdict
from benchwright.records.bisections import Bisected
from benchwright.records.findings import Finding, Suspect
from benchwright.records.trials import Pair
from benchwright.store import Store, open_store
from benchwright.workflows.ab.pairs import MeasuredSide
from benchwright.workflows.bisect import run as culprits
from benchwright.workflows.bisect import search
from benchwright.workflows.bisect.pairs import can_last, find_adjacent, with_length
from benchwright.workflows.bisect.search import BisectionTerms, _prior, bisect

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
    assert sum(each.probability for each in found.commits) + found.nothing >= 1 - 1e-9
    assert len(found.commits) == COUNT - 1 and found.built < 10
    assert found.runs == 2 * len(found.pairs) <= 60 and found.again == 0
    assert found.passed and {each.why.split()[-1] for each in found.passed} == {"1"}  # exit codes
    assert git(repository, "status", "--porcelain", "--untracked-files=no") == ""


def test_it_ends_with_pairs_of_the_commit_and_its_own_parent(repository: Path, found: Bisected) -> None:
    parent, culprit = (git(repository, "rev-parse", f"c{number}") for number in (CULPRIT - 1, CULPRIT))
    closing = [pair for pair in found.pairs if pair.against == parent]
    assert len(closing) >= 8 and {pair.revision for pair in closing} == {culprit}
    assert found.pairs[-1] == closing[-1] and {pair.control_first for pair in closing} == {True, False}
    assert found.culprits[0].effect == found.effect  # what a finding keeps
    assert found.elsewhere is not None and found.elsewhere.low is not None and found.elsewhere.high is not None
    assert found.elsewhere.low < 1.0 < found.elsewhere.high and found.further == ()


def test_every_pair_is_kept_with_the_revisions_it_is_of(repository: Path, found: Bisected, store: Store) -> None:
    run = store.run(found.id, samples=False)
    assert run.reason == "bisect" and "bisect" in run.tags
    assert len(run.results) == found.runs
    good = git(repository, "rev-parse", "c0")
    revisions = [result.revision.id for result in run.results if result.revision]
    assert revisions.count(good) == sum(pair.against == good for pair in found.pairs)
    assert {*revisions} == {each for pair in found.pairs for each in (pair.revision, pair.against)}


def test_what_was_measured_is_used_again_and_a_finding_hears_of_it(found: Bisected, store: Store) -> None:
    finding = store.keep_finding(_finding(found, store))
    again = _bisect(Path.cwd(), good="", bad="", finding=finding.id)
    assert again.again == again.runs == found.runs  # nothing had to be measured
    assert [each.revision for each in again.culprits] == [each.revision for each in found.culprits]
    assert again.metric == "latency_p50"
    told = store.finding(finding.id)
    assert told.suspects[0].revision == found.culprits[0].revision and told.suspects[0].author == "Ada"
    assert told.suspects[0].effect == again.effect  # the commit's own size, beside that of the series
    assert told.remarks[-1].what == "bisected" and f"change {CULPRIT}" in told.remarks[-1].text
    assert "against its parent" in told.remarks[-1].text and "lies elsewhere" in told.remarks[-1].text


def test_pairs_of_another_machine_do_not_count(repository: Path, found: Bisected, store: Store) -> None:
    run = store.run(found.id, samples=False)
    elsewhere = [
        dataclasses.replace(each, environment=dataclasses.replace(each.environment, machine={"cpu": "another"}))
        for each in run.results
    ]
    case, builder = run.results[0].case, Builder(repository, command=BUILD)

    def recalled(earlier: Run) -> Bisected:
        def case_in(built: BuiltRevision) -> Case:
            return culprits.move_case(case, builder.repository.root, built)

        return bisect(builder, "c0", "main", case_in, BisectionTerms(most_runs=1), earlier=[earlier])

    assert recalled(run).again == found.runs
    assert recalled(dataclasses.replace(run, results=tuple(elsewhere))).again == 0


def test_pairs_that_were_measured_otherwise_do_not_count(found: Bisected, store: Store) -> None:
    run = store.run(found.id, samples=False)
    case = run.results[0].case
    longer = dataclasses.replace(case, load=dataclasses.replace(case.load, duration=60.0))
    reseeded = dataclasses.replace(case, load=dataclasses.replace(case.load, seed=case.load.seed + 1))
    counts = [len(list(find_adjacent(run, each))) for each in (case, reseeded, longer)]
    assert counts == [len(found.pairs), len(found.pairs), 0]


def test_pairs_of_longer_processes_are_known_again(found: Bisected, store: Store) -> None:
    run = store.run(found.id, samples=False)
    case = run.results[0].case
    assert case.load.duration is not None
    shorter = dataclasses.replace(case, load=dataclasses.replace(case.load, duration=case.load.duration / 3))
    assert {pair.length for pair in find_adjacent(run, shorter)} == {3.0}


def test_what_is_not_a_matter_of_time_is_not_made_longer(found: Bisected, store: Store) -> None:
    case = store.run(found.id, samples=False).results[0].case

    def under(**load: object) -> Case:
        return dataclasses.replace(case, load=dataclasses.replace(case.load, **load))  # type: ignore[arg-type]

    assert can_last(case, 9.0) and can_last(under(duration=None), 3.0)  # a second is usual
    assert with_length(under(duration=None), 3.0).load.duration == 3.0
    assert not can_last(under(duration=15.0), 3.0) and not can_last(under(samples=10), 3.0)
    assert not can_last(under(once=True), 3.0) and with_length(under(samples=10), 1.0).load.samples == 10


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
    there = culprits.move_case(case, builder.repository.root, built)
    assert there.target.uri == f"{built.folder}/bench.py::work"
    home = dataclasses.replace(case, target=dataclasses.replace(case.target, uri=f"{repository}/bench.py::work"))
    assert culprits.move_case(home, builder.repository.root, built) == there


def test_a_budget_is_kept_and_what_was_learnt_is_told(repository: Path) -> None:
    told = _bisect(repository, save=False, most_runs=2)
    assert not told.sure and told.runs == 2 and told.why == "2 runs are not enough to name a commit"
    assert [each.subject for each in told.commits] == [f"change {i}" for i in range(1, COUNT)]


@pytest.mark.soak
def test_a_budget_counts_what_was_measured_before(repository: Path, store: Store) -> None:
    first, again = (_bisect(repository, good="c0", bad="c3", most_runs=4) for _ in range(2))
    assert (first.runs, first.again) == (4, 0)
    assert (again.runs, again.again, again.why) == (4, 4, "4 runs are not enough to name a commit")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"good": "c5", "bad": "c5"}, "same commit"),
        ({"good": "c5", "bad": "c2"}, "not an ancestor"),
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


class Simulated:
    """Takes the place of `Contest`: figures by chance, no process is started."""

    metric = Metric(
        name="latency_p50", unit="s", better=Better.LOWER, estimate=Estimate(point=1.0, low=None, high=None)
    )
    hopeless = ""
    levels: ClassVar[dict[int, float]] = {}  # from this commit on
    noise: ClassVar[float] = 0.0
    durations: ClassVar[list[float | None]] = []
    rng: ClassVar[random.Random] = random.Random(1)

    def __init__(self, control: MeasuredSide, treatment: MeasuredSide, case: Case, **_: object) -> None:
        self._sides, self._case, self._count = (control, treatment), case, 0

    def pair(self) -> Pair:
        figures = [self._figure(int(side.built.revision.subject.split()[-1])) for side in self._sides]
        self._count += 1
        Simulated.durations.append(self._case.load.duration)
        return Pair(number=self._count, order=self.rng.choice(["AB", "BA"]), control=figures[0], treatment=figures[1])

    def _figure(self, number: int) -> float:
        level = math.prod(ratio for first, ratio in self.levels.items() if number >= first)
        return level * math.exp(self.rng.gauss(0, self.noise))


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> type[Simulated]:
    monkeypatch.setattr(search, "PairedCase", Simulated)
    Simulated.levels, Simulated.noise, Simulated.durations, Simulated.rng = {}, 0.003, [], random.Random(1)
    return Simulated


@pytest.mark.soak
def test_pairs_that_tell_nothing_lengthen_processes_and_then_end_the_search(
    repository: Path, simulated: type[Simulated]
) -> None:
    """They used to go on until the budget was spent."""
    simulated.levels, simulated.noise = {CULPRIT: 1.02}, 0.6
    told = _bisect(repository, save=False, most_runs=400)
    assert not told.sure and "tell next to nothing" in told.why
    assert len(told.pairs) < 150 and told.length == 9.0
    assert [pair.length for pair in told.pairs] == sorted(pair.length for pair in told.pairs)
    assert sorted({*simulated.durations}) == pytest.approx([0.06, 0.18, 0.54])


@pytest.mark.soak
def test_each_culprit_gets_its_own_size_when_all_are_asked_for(repository: Path, simulated: type[Simulated]) -> None:
    """The whole difference of both ends used to be booked on one commit."""
    simulated.levels = {4: 1.10, CULPRIT: 1.20}
    one, every = (_bisect(repository, save=False, every=asked) for asked in (False, True))
    for told in (one, every):
        assert told.sure and [each.subject for each in told.culprits] == [f"change {CULPRIT}"]
        assert told.effect is not None and told.effect.point == pytest.approx(1.20, abs=0.01)
        assert told.whole is not None and told.whole.point == pytest.approx(1.32, abs=0.02)
    assert one.further == () and one.elsewhere is not None
    assert one.elsewhere.point == pytest.approx(1.10, abs=0.02) and (one.elsewhere.low or 0) > 1.0
    assert [each.subject for culprit in every.further for each in culprit.commits] == ["change 4"]
    assert every.further[0].effect is not None and every.further[0].effect.point == pytest.approx(1.10, abs=0.01)
    assert every.elsewhere is not None and every.elsewhere.point == pytest.approx(1.0, abs=0.02)
    assert [each.effect for each in every.commits if each.subject == "change 4"] == [every.further[0].effect]


def test_a_range_in_which_nothing_changed_ends_soon(repository: Path, simulated: type[Simulated]) -> None:
    told = _bisect(repository, save=False)
    assert told.culprits == () and told.why == "nothing changed in this range" and len(told.pairs) < 30


def test_a_suspect_stands_for_the_commits_since_the_last_that_was_measured() -> None:
    index = {f"r{i}": i for i in range(8)}
    prior = _prior(BisectionTerms(suspects={"r5": 0.8, "r1": 0.2}, measured=("r0", "r1", "r2", "r5")), index)
    assert prior.commits[3] == prior.commits[4] == prior.commits[5] > prior.commits[1] > prior.commits[6] > 0
    assert sum(prior.commits) == pytest.approx(1)
