"""Suites of asv: `asv.conf.json`, or `asv.conf.json::REGEX` for the benchmarks whose names match.

A suite is searched by this interpreter, so whoever wants to know what a project offers in one of its environments asks
with that environment's Python (`execution.builds.matrix`).
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from benchwright import schema
from benchwright.errors import TargetError, did_you_mean
from benchwright.events import Imported, Noted
from benchwright.records import Case, Load, Mode, Scalar, Target
from benchwright.system import orphans, whole_files
from benchwright.targets.asv.config import AsvFile, is_config, read_config, split_target
from benchwright.targets.sources import CaseDescription, Request, digest_files, discovery, matrix
from benchwright.worker.engine.engine import DEFAULT_DURATION
from benchwright.worker.runtimes.asv import NAME, SuiteWork, suite
from benchwright.worker.runtimes.asv.suite import SuitePlace

WARMUP_ALLOWANCE = 10.0  # seconds that a benchmark's timeout does not count: warming up, and starting the worker
SLOW = 5.0  # seconds of an import that are worth a word
_MOST_FILES = 10_000  # of a suite, whose content tells its state
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBenchmark:
    """A benchmark as the child that imported the suite tells of it."""

    place: SuitePlace
    combinations: tuple[Mapping[str, Scalar], ...] = ()
    names: tuple[str, ...] = ()  # of its parameters
    skipped: int = 0  # combinations that it leaves out by itself
    rounds: int | None = None
    timeout: float | None = None
    cache: str = ""
    cache_timeout: float | None = None
    version: str = ""
    summary: str = ""
    owner_summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSuite:
    """All that a suite offers, and what of it could not be imported, with the reason."""

    benchmarks: tuple[ListedBenchmark, ...] = ()
    broken: tuple[tuple[str, str], ...] = field(default_factory=tuple)


class AsvSuites:
    """Functions and methods that asv would run, each with every combination of its parameters."""

    name: ClassVar[str] = "asv"

    def accepts(self, target: str) -> bool:
        return is_config(target)

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        yield from (case for case, _ in self.describe(target, request))

    def describe(self, target: str, request: Request) -> Iterator[tuple[Case, CaseDescription]]:
        """Every case of the suite, with what its author says of it."""
        _refuse(target, request)
        file = read_config(target)
        file.check_suite()
        found = _search(file, request)
        for module, reason in found.broken:
            request.listener(Noted(text=f"{module} is left out: {reason}"))
        chosen = _choose(target, file, found)
        digest = digest_suite(file.suite)
        skipped = sum(each.skipped for each in chosen)
        if skipped:
            told = "1 combination of parameters is" if skipped == 1 else f"{skipped} combinations of parameters are"
            request.listener(Noted(text=f"{told} left out, as skip_for_params says"))
        for each in chosen:
            yield from _cases(file, each, digest, request)


def digest_suite(folder: Path) -> str:
    """What names the state of a suite: its Python files, wherever they lie."""
    files = sorted(path for path in folder.rglob("*.py") if path.is_file())
    return digest_files(files[:_MOST_FILES])


def _refuse(target: str, request: Request) -> None:
    """Refuses what means nothing to a suite, whose benchmarks say themselves how they are called."""
    load = request.load
    told = {
        "--runtime": bool(request.runtimes) and tuple(request.runtimes) != (NAME,),
        "--device": tuple(request.devices) != ("cpu",),
        "--numeric-precision": tuple(request.precisions) != ("",),
        "--batch-size": tuple(request.batch_sizes) != (1,),
        "--workers": tuple(request.workers) != (1,),
        "--copies": tuple(request.copies) != (1,),
        "--rate": tuple(request.rates) != (None,),
        "--option": bool(request.options),
        "--precision": load.precision is not None,
        f"a load that is {load.mode}": load.mode is not Mode.CLOSED,
    }
    for flag in (flag for flag, given in told.items() if given):
        raise TargetError(f"{target} is a suite of asv's, and {flag} does not apply to it", remedy="leave it out")
    matrix.refuse_inputs(target, request)


def _search(file: AsvFile, request: Request) -> ListedSuite:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        answer = Path(folder, "answer.json")
        limit = request.load.timeout or discovery.TIMEOUT
        ended, log = discovery.run_child(__name__, [str(file.suite), str(answer)], limit, folder=folder)
        if not answer.is_file():
            raise TargetError(
                f"{file.suite.name} could not be imported: {ended}",
                remedy=discovery.tail_of(log) or f"it printed nothing{discovery.more_time(ended)}",
            )
        found = schema.decode(ListedSuite, json.loads(answer.read_text(encoding="utf-8")), where=file.suite.name)
    if not found.benchmarks and found.broken:
        module, reason = found.broken[0]
        raise TargetError(f"{module}: {reason}", remedy=discovery.tail_of(log) or "nothing else was found")
    if (seconds := time.monotonic() - begin) >= SLOW:
        request.listener(Imported(module=file.suite.name, seconds=seconds))
    return found


def _choose(target: str, file: AsvFile, found: ListedSuite) -> list[ListedBenchmark]:
    pattern = split_target(target)[1]
    chosen = [each for each in found.benchmarks if pattern is None or pattern.search(each.place.name)]
    if chosen:
        return chosen
    names = [each.place.name for each in found.benchmarks]
    if not names:
        raise TargetError(
            f"{file.suite} holds no benchmark", remedy="functions and methods begin with time_, mem_, peakmem_, track_"
        )
    assert pattern is not None
    some = ", ".join(names[:_MOST_NAMED])
    near = did_you_mean(pattern.pattern, names)
    raise TargetError(
        f"{target} matches none of {len(names)} benchmarks",
        remedy=near if near.startswith("did you mean") else f"there are {some}{', ...' * (len(names) > _MOST_NAMED)}",
    )


def _cases(
    file: AsvFile, found: ListedBenchmark, digest: str, request: Request
) -> Iterator[tuple[Case, CaseDescription]]:
    kept = file.config.default_benchmark_timeout
    work = SuiteWork(
        folder=str(file.suite),
        place=found.place,
        digest=digest,
        rounds=found.rounds,
        cache=found.cache,
        cache_timeout=(kept if found.cache_timeout is None else found.cache_timeout) if found.cache else 0.0,
    )
    target = Target(runtime=NAME, uri=f"{file.path}::{found.place.name}", work=work.text())
    load = _load(
        found, kept + work.cache_timeout if found.timeout is None else found.timeout + work.cache_timeout, request
    )
    owner = found.place.name.rpartition(".")[0] if found.place.owner else ""
    about = CaseDescription(summary=found.summary, owner=owner, owner_summary=found.owner_summary)
    for params in _narrow(found, request):
        yield matrix.case(found.place.name, target, params, request.inputs, load, found.version, request), about


def _load(found: ListedBenchmark, timeout: float, request: Request) -> Load:
    asked = request.load
    measuring = asked.duration or DEFAULT_DURATION
    limit = asked.timeout or timeout + measuring + (asked.warmup or 0.0) + WARMUP_ALLOWANCE
    if found.place.kind in suite.TIMED:
        return dataclasses.replace(asked, timeout=limit)
    return Load(mode=Mode.SINGLE, timeout=limit, seed=asked.seed, objectives=asked.objectives)


def _narrow(found: ListedBenchmark, request: Request) -> Iterator[dict[str, Scalar]]:
    """The combinations that fit the values asked for by `--param`; a value that nothing has is handed as it is."""
    wanted = {name: tuple(values) for name, values in request.params.items()}
    for name in wanted:
        if name not in found.names:
            raise TargetError(f"{found.place.name} takes no parameter {name!r}", remedy=did_you_mean(name, found.names))
    seen: dict[str, dict[str, Scalar]] = {}
    for combination in found.combinations:
        others = {name: value for name, value in combination.items() if name not in wanted}
        for asked in matrix.combinations(wanted):
            params = {name: {**others, **asked}[name] for name in combination}
            seen.setdefault(json.dumps(params), params)
    yield from seen.values()


# ---- the child ----


def main(arguments: list[str]) -> None:
    """Imports the suite in the folder named first, and writes what it offers to the file named second."""
    folder, answer, lifeline = arguments
    os.set_inheritable(int(lifeline), False)
    orphans.tie(int(lifeline))
    os.chdir(tempfile.gettempdir())
    from benchwright.worker.runtimes.asv.catalogue import list_suite

    content: dict[str, Any] = list_suite(Path(folder))
    whole_files.write_text(Path(answer), json.dumps(content))
