"""Tests × devices × treatment and control, through our own runner: one run, in the older harness's order."""

from __future__ import annotations

import contextlib
import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright import config
from benchwright.compat.harness import inprocess, model_cache
from benchwright.compat.harness.flags import HarnessFlags
from benchwright.compat.harness.info import CONTROL, TREATMENT, BuildSide, InfoDocument
from benchwright.compat.harness.specs import planner
from benchwright.compat.harness.specs.plans import PlannedTest
from benchwright.events import Listener
from benchwright.execution import rounds
from benchwright.execution.attempt import LOAD_ALLOWANCE
from benchwright.machine.devices import DeviceFacts
from benchwright.records import Case, Load, Mode, Run, Scalar, Target, Value
from benchwright.system.locks import hold_free_lock
from benchwright.targets.sources import digest_files
from benchwright.targets.specs import passes
from benchwright.targets.specs.passes import Pass
from benchwright.workflows import run

GROUP_VARIABLE = "AIBENCH_TREATMENT_GROUP"  # tells a program which of the two it is
WEEK = 7 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMeasurement:
    """One measurement: a test, with one of the programs, on one device."""

    test: PlannedTest
    side: BuildSide
    about: DeviceFacts
    pair: str  # the same for a treatment and its control
    case: Case

    @property
    def label(self) -> str:
        """The measurement's name for people."""
        return f"{self.test.name} ({self.test.metric}), {self.side.name} on {self.about.name}"


def plan_works(
    flags: HarnessFlags,
    info: InfoDocument,
    tests: Sequence[PlannedTest],
    devices: Sequence[tuple[str, DeviceFacts]],
    *,
    core: int | None = None,
) -> list[DeviceMeasurement]:
    """Plans all measurements in order, and puts every file into the cache. Nothing has run yet when this raises.

    On this machine, `core` is for the programs of tests that choose none, treatment and control alike.
    """
    shelves = _ModelCache(flags.model_cache)
    placed = [shelves.place_files(test) for test in tests]
    numbers = _number_tests(tests)
    versions = {side.program: _version(Path(side.program)) for side in info.sides}
    found: list[DeviceMeasurement] = []
    for text, about in devices:
        for number, test in enumerate(tests):
            for side in info.sides:
                if side.name == CONTROL and not _has_control(test):
                    continue
                params = _params(test, numbers[number], side, info, about if len(devices) > 1 else None)
                if test.framework in inprocess.FRAMEWORKS:
                    case = inprocess.case(test, placed[number], params)
                else:
                    one = _make_pass(flags, test, side, placed[number], core if about.kind == "host" else None)
                    case = _case(test, text, one, params, versions[side.program])
                pair = f"{about.serial} {number}"
                found.append(DeviceMeasurement(test=test, side=side, about=about, pair=pair, case=case))
    return found


def usable_cores(tests: Sequence[PlannedTest], devices: Sequence[tuple[str, DeviceFacts]]) -> list[int]:
    """The cores of this machine of which one is wanted: none where no program runs here, or there is but one.

    `"cpu-list": -1` in a test lets its program go where it likes.
    """
    if not any(_takes_core(test) for test in tests):
        return []
    for _, about in devices:
        known = about.facts.get("cpus")
        if about.kind == "host" and isinstance(known, list) and len(known) > 1:
            return [core for core in known if isinstance(core, int)]
    return []


def measure(
    flags: HarnessFlags,
    planned: Sequence[DeviceMeasurement],
    notes: Mapping[str, Mapping[str, Value]],
    *,
    command: Sequence[str],
    listener: Listener,
) -> Run:
    """Measures them one after another and keeps the run; `notes`, by `note_key`, are kept with each result."""
    by_case = {id(work.case): work for work in planned}
    rests = {id(after.case): _rest(flags, before) for before, after in itertools.pairwise(planned)}
    plan = rounds.Plan(
        cases=[work.case for work in planned],
        rounds=1,
        tags=config.load().tags,
        command=command,
        pause=lambda case: rests.get(id(case), 0.0),
        notes=lambda case: notes[note_key(by_case[id(case)])],
        operators=_wants_operators(planned),
        monitors=() if any(work.case.target.device.startswith("adb:") for work in planned) else rounds.MONITORS,
    )
    folders = _OutputFolders() if flags.save or flags.debug else None
    if folders is not None and flags.framework not in inprocess.FRAMEWORKS:
        plan = replace(plan, folder=lambda case, number: folders.next())
    with contextlib.closing(folders) if folders else contextlib.nullcontext():
        return run.execute(plan, store=flags.store, save=flags.save, listener=listener)


def note_key(work: DeviceMeasurement) -> str:
    """Returns the key that tells the measurements of a run apart."""
    return f"{work.pair} {work.side.name}"


class _OutputFolders:
    """Where programs' outputs and logs stay: one folder for each measurement; those that stay empty go."""

    def __init__(self) -> None:
        self._root = Path.cwd() / rounds.ARTIFACTS / f"harness-{rounds.new_run_id()}"
        self._count = 0

    def next(self) -> Path:
        self._count += 1
        return self._root / str(self._count - 1)

    def close(self) -> None:
        for folder in (*self._root.glob("*"), self._root):
            with contextlib.suppress(OSError):  # not empty, or never made
                folder.rmdir()


class _ModelCache:
    """The older model cache. Files that several tests share are looked at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[tuple[str, ...], Path] = {}

    def place_files(self, test: PlannedTest) -> dict[str, Path]:
        """Returns where each file of the test lies, by its key."""
        return {entry.key: self._place_file(test, entry) for entry in test.files if entry.is_wanted}

    def _place_file(self, test: PlannedTest, entry: planner.FileEntry) -> Path:
        asked = {
            "format": test.format,
            "model": test.net,
            "filename": entry.filename,
            "location": entry.location,
            "md5": entry.md5,
        }
        key = tuple(asked.values())
        if key not in self._found:
            self._found[key] = model_cache.obtain(self._root, **asked)
        return self._found[key]


def _make_pass(
    flags: HarnessFlags, test: PlannedTest, side: BuildSide, placed: Mapping[str, Path], core: int | None
) -> Pass:
    one = planner.to_pass(test, program=side.program, programs=side.programs, libraries=side.libraries, placed=placed)
    return replace(
        one,
        tokens={**one.tokens, **side.string_map},
        env={GROUP_VARIABLE: "1" if side.name == TREATMENT else "0", **one.env},
        log_output=one.log_output or flags.debug,
        cpus=(core,) if core is not None and _takes_core(test) else one.cpus,
    )


def _case(test: PlannedTest, device: str, one: Pass, params: Mapping[str, Scalar], version: str) -> Case:
    uri = f"{test.file}::{test.identifier}"
    return Case(
        name=test.net,
        target=Target(runtime="binary", uri=uri, device=device, work=passes.to_text(one)),
        params={"framework": test.framework, **params},
        load=Load(mode=Mode.SINGLE, timeout=_worker_timeout(one)),
        version=version,
    )


def _version(program: Path) -> str:
    return digest_files([program]) if program.is_file() else ""


def _params(
    test: PlannedTest, number: int | None, side: BuildSide, info: InfoDocument, about: DeviceFacts | None
) -> dict[str, Scalar]:
    """What tells this measurement from the others of the run, and is the same in the next run."""
    found: dict[str, Scalar] = {"test": test.identifier, "metric": test.metric}
    if test.shapes:
        found["shape"] = ",".join("x".join(map(str, shape)) for shape in test.shapes.values())
    if number is not None:
        found["number"] = number
    if info.control is not None:
        found["side"] = side.name
    if about is not None:
        found["device"] = about.serial
    return found


def _number_tests(tests: Sequence[PlannedTest]) -> list[int | None]:
    """For tests that would be called the same, which of them each is; None for one that stands alone."""
    names = [(test.net, test.identifier, test.metric, frozenset(test.shapes.items())) for test in tests]
    total, seen = Counter(names), Counter[object]()
    found: list[int | None] = []
    for each in names:
        found.append(seen[each] if total[each] > 1 else None)
        seen[each] += 1
    return found


def _takes_core(test: PlannedTest) -> bool:
    return test.framework not in inprocess.FRAMEWORKS and not test.cpus and "cpu-list" not in test.test


def _has_control(test: PlannedTest) -> bool:
    """Whether a control is measured beside the treatment.

    Outputs are compared with golden ones already; FAI-PEP of early 2018 compared programs by their delay alone. A
    library has no second program, so there is nothing to compare it with.
    """
    if test.framework in inprocess.FRAMEWORKS:
        return False
    return test.metric == "delay" if test.seed_dialect else test.metric != "error"


def _rest(flags: HarnessFlags, before: DeviceMeasurement) -> float:
    return flags.cooldown if before.test.cooldown is None else before.test.cooldown


def _wants_operators(planned: Sequence[DeviceMeasurement]) -> bool:
    """Whether a library records operators, in a pass whose times are dropped. Programs report their own."""
    library = [work.test for work in planned if work.test.framework in inprocess.FRAMEWORKS]
    return any(map(inprocess.wants_operators, library))


def _worker_timeout(one: Pass) -> float:
    """Seconds after which a worker hangs: more than all its commands may take, each with its own limit."""
    executions = max(1, one.repeat) * max(1, len(one.commands)) * (1 + max(0, one.iterations))
    steps = [step for step in (one.before, one.before_each, one.after_each, one.after) if step is not None]
    limits = [(one.timeout, executions)]
    limits += [(step.timeout or one.timeout, max(1, one.repeat) * len(step.commands)) for step in steps]
    seconds = sum(math.inf if timeout is None else timeout * times for timeout, times in limits)
    return LOAD_ALLOWANCE + seconds if math.isfinite(seconds) else 52 * WEEK


@contextmanager
def hold_free_core(cores: Sequence[int]) -> Iterator[int | None]:
    """The last of these cores that no other harness has at this time; None when each is taken.

    It is ours until the end of the block, or of this process, however that ends.
    """
    for core in reversed(cores):
        path = Path(tempfile.gettempdir(), f"benchwright-core-{core}.lock")
        with hold_free_lock(path) as is_ours:
            if is_ours:
                yield core
                return
    yield None
