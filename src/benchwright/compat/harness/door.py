"""One call of harness.py: read the request, plan, measure, report; the exit code says how it went."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright import schema
from benchwright.compat.harness import (
    devices,
    documents,
    escalation,
    info,
    inprocess,
    lab_flags,
    outcome,
    reporters,
)
from benchwright.compat.harness import flags as harness_flags
from benchwright.compat.harness import (
    run as running,
)
from benchwright.compat.harness.documents import HarnessDocument
from benchwright.compat.harness.escalation import Escalation, Rerun
from benchwright.compat.harness.flags import HarnessFlags
from benchwright.compat.harness.info import InfoDocument
from benchwright.compat.harness.reporters import Reports
from benchwright.compat.harness.run import DeviceMeasurement
from benchwright.compat.harness.specs import loader, lookups, planner
from benchwright.compat.harness.specs.plans import PlannedTest, SpecPlan, SpecRequest
from benchwright.errors import OptionError, StoreError, TargetError, did_you_mean
from benchwright.events import Event, Listener, nobody
from benchwright.execution.attempt import INTERRUPTED
from benchwright.machine.devices import DeviceFacts
from benchwright.records import Run, Status, Value
from benchwright.units.numbers import printable

PROGRAMS = ("caffe2", "pytorch", "generic", "tflite", "glow", "oculus")  # frameworks that are programs of their own
COMMAND = ("benchwright", "harness")
INTERRUPTED_CODE = 130  # as a shell says it
TAIL = 20  # lines of a failed program's output
ROOT = "FAIPEPROOT"  # names the folder of FAI-PEP's own scripts, which some specs use
Watching = Callable[[], AbstractContextManager[Listener]]
Notes = Mapping[str, Mapping[str, Value]]


def main(arguments: Sequence[str], watching: Watching) -> int:
    """0 when every test was measured and every reporter heard of it, else 1; a `UserError` for a wrong request.

    With `regression_commits` in --info and a local reporter, what was measured is judged; a suspicion is verified. With
    --lab, the machines of a lab measure it.
    """
    if lab_flags.asks_for_lab(arguments):
        from benchwright.compat.harness import lab

        return lab.main(arguments, watching, _plan_for_lab)
    done = _run_suite(arguments, watching)
    root = done.flags.texts["local_reporter"]
    commits = escalation.commits_of(done.info.document.get("regression_commits"))
    if not (root and commits and done.documents) or done.run_type != "benchmark" or done.code == INTERRUPTED_CODE:
        return done.code
    ladder = Escalation(
        root=Path(root),
        commits=commits,
        again=lambda step: _rerun(step, arguments, watching),
        say=say,
    )
    return max(done.code, ladder.climb(done.documents))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SuiteOutcome:
    """One suite that was carried out."""

    flags: HarnessFlags
    info: InfoDocument
    code: int
    documents: Sequence[HarnessDocument] = ()

    @property
    def run_type(self) -> str:
        return self.flags.run_type or self.info.run_type or "benchmark"


def _rerun(step: Rerun, arguments: Sequence[str], watching: Watching) -> int:
    code = _run_suite(step.words(arguments), watching, only=step).code
    if code == INTERRUPTED_CODE:
        raise KeyboardInterrupt
    return code


def _run_suite(arguments: Sequence[str], watching: Watching, *, only: Rerun | None = None) -> _SuiteOutcome:
    """Runs the suite; with `only`, that test on that device."""
    flags = _read_flags(arguments)
    given = info.parse(
        flags.texts["info"],
        program=flags.texts["program"],
        libraries=harness_flags.parse_names(flags.texts["shared_libs"]),
        needs_program=flags.framework in PROGRAMS and not flags.dry_run,
    )
    planned = _plan_tests(flags, given)
    if flags.dry_run:
        sys.stdout.write(planner.describe_plan(planned).rstrip() + "\n")
        sys.stdout.flush()  # before a refusal is said on standard error
        _refuse_impossible(flags, planned)
        return _SuiteOutcome(flags=flags, info=given, code=0)
    for notice in (*planned.notices, *devices.list_doubts(flags), *_find_vain_options(flags, given)):
        say(str(notice))
    _refuse_impossible(flags, planned)
    where = devices.choose_devices(flags)
    tests = _runnable_tests(planned)
    if only is not None:
        where = [each for each in where if each[1].serial == only.document.meta["platform_hash"]]
        tests = [test for test in tests if only.concerns(test.net, test.identifier, test.metric)]
    with _hold_core(tests, where) as core:
        works = running.plan_works(flags, given, tests, where, core=core)
        if only is None:
            devices.reboot(flags, where)
        code, told = _carry_out(flags, given, works, _repeatable_arguments(arguments, flags, given), watching)
    complete = only is not None or len(tests) == len(planned.tests)
    return _SuiteOutcome(flags=flags, info=given, code=code or int(not complete), documents=told)


def _plan_for_lab(arguments: Sequence[str]) -> tuple[HarnessFlags, InfoDocument, list[PlannedTest]]:
    """What is to be measured on machines that are not known yet; where only the plan is wanted, it is printed."""
    flags = _read_flags(arguments)
    devices.check_platform(flags.platform)
    reporters.check(flags)
    needs_program = flags.framework in PROGRAMS and not flags.dry_run
    given = info.parse(
        flags.texts["info"],
        program=flags.texts["program"],
        libraries=harness_flags.parse_names(flags.texts["shared_libs"]),
        needs_program=needs_program,
    )
    planned = _plan_tests(flags, given)
    if flags.dry_run:
        sys.stdout.write(planner.describe_plan(planned).rstrip() + "\n")
    for notice in planned.notices:
        say(str(notice))
    return flags, given, _runnable_tests(planned)


@contextmanager
def _hold_core(tests: Sequence[PlannedTest], where: Sequence[tuple[str, DeviceFacts]]) -> Iterator[int | None]:
    """Holds a core that no other harness has meanwhile, for programs that choose no core themselves."""
    wanted = running.usable_cores(tests, where)
    with running.hold_free_core(wanted) as core:
        if wanted and core is None:
            say("other harnesses use every core: programs are not bound to a core, and disturb each other's times")
        yield core


def _repeatable_arguments(arguments: Sequence[str], flags: HarnessFlags, given: InfoDocument) -> Sequence[str]:
    """The command line with --info in full: a file of it may say something else when the run is repeated."""
    inline = not flags.texts["info"] or flags.texts["info"].startswith("{")
    return arguments if inline else [*arguments, "--info", json.dumps(given.document)]


def _carry_out(
    flags: HarnessFlags,
    given: InfoDocument,
    works: Sequence[DeviceMeasurement],
    arguments: Sequence[str],
    watching: Watching,
) -> tuple[int, list[HarnessDocument]]:
    command = documents.mask_command((*COMMAND, *arguments))
    notes = {running.note_key(work): outcome.notes(flags, given, work, command) for work in works}
    reports = Reports(flags, works)
    run, failures = _measure(flags, works, notes, command, watching, reports)
    kept = flags.save and not failures
    reports.finish(run)
    made = reports.device_reports
    stopped = any(result.error is not None and result.error.kind == INTERRUPTED for result in run.results)
    failures += reports.failures
    _show(flags, run, kept)
    if not _has_table(flags):  # which says it itself
        for text in _describe_failures(run, works):
            say(text)
    for text in (*(warning for each in made for warning in each.warnings), *failures):
        say(text)
    reported = [each.document for each in made]
    if stopped:
        return INTERRUPTED_CODE, reported
    for text in reporters.send(flags, say):  # last: a server that does not answer is waited for
        failures.append(text)
        say(text)
    return int(bool(failures) or any(result.status is not Status.OK for result in run.results)), reported


def _read_flags(arguments: Sequence[str], *, warn: bool = True) -> HarnessFlags:
    """Reads the flags, with those that the spec itself sets where the command line says nothing."""
    file = harness_flags.benchmark_file(arguments)
    if file is not None and not file.is_file():
        raise TargetError(f"there is no spec {file}", remedy="-b names a file of JSON")
    defaults = loader.default_args(file) if file else {}
    flags = harness_flags.parse(harness_flags.with_defaults(arguments, defaults))
    known = (*PROGRAMS, *inprocess.FRAMEWORKS)
    if flags.framework not in known:
        raise OptionError(f"unknown framework {flags.framework!r}", remedy=did_you_mean(flags.framework, known))
    for name in flags.idle if warn else ():
        say(f"--{name} does nothing here: {harness_flags.INERT[name]}")
    return flags


def check(arguments: Sequence[str]) -> None:
    """Raises what a run with these flags would raise before it measures. The program need not be built yet."""
    flags = _read_flags(arguments, warn=False)
    given = info.parse(flags.texts["info"], program=flags.texts["program"], libraries=(), needs_program=False)
    _refuse_impossible(flags, _plan_tests(flags, given))


def _refuse_impossible(flags: HarnessFlags, planned: SpecPlan) -> None:
    """Refuses what cannot be run, as far as that shows without fetching, building or writing; a run and a plan alike.

    A phone need not be connected yet.
    """
    devices.check(flags)
    reporters.check(flags)
    if flags.model_cache.exists() and not flags.model_cache.is_dir():
        raise OptionError(
            f"--model_cache {flags.model_cache} is a file", remedy="name a folder; it is made when missing"
        )
    _first_runnable(planned)


def _plan_tests(flags: HarnessFlags, given: InfoDocument) -> SpecPlan:
    planned = planner.plan(flags.benchmark_file, _spec_request(flags, given))
    return replace(planned, tests=tuple(_require_root(test) for test in planned.tests))


def _require_root(test: PlannedTest) -> PlannedTest:
    """Returns the test; with a reason not to run it where it needs the folder of FAI-PEP and none is named."""
    named = ROOT in {*lookups.unknown_names(test)} or any(f"{{{ROOT}}}" in entry.location for entry in test.files)
    if not named or ROOT in os.environ or ROOT in test.tokens or test.reason:
        return test
    reason = f"{{{ROOT}}} is in its commands or files, and the environment does not say what it is: export {ROOT}=DIR"
    return replace(test, reason=reason)


def _spec_request(flags: HarnessFlags, given: InfoDocument) -> SpecRequest:
    root = flags.texts["root_model_dir"]
    return SpecRequest(
        framework=flags.framework,
        string_map=flags.string_map,
        command_args=flags.command_args,
        backend=flags.texts["backend"],
        wipe_cache=flags.texts["wipe_cache"],
        timeout=flags.timeout,
        root_model_dir=Path(root) if root else None,
        platform=flags.platform,
        info=given.document,
        env=flags.env,
    )


def _find_vain_options(flags: HarnessFlags, given: InfoDocument) -> Iterator[str]:
    if given.control is not None and flags.framework in inprocess.FRAMEWORKS:
        yield f"--info.control is not run: {flags.framework} is a library, of which there is one version here"


def _runnable_tests(planned: SpecPlan) -> list[PlannedTest]:
    """Returns the tests that can be run here, and says why others cannot."""
    _first_runnable(planned)
    for test in planned.tests:
        if test.reason:
            say(f"{test.place}: {test.name} ({test.metric}) is not run: {test.reason}")
    return [test for test in planned.tests if not test.reason]


def _first_runnable(planned: SpecPlan) -> PlannedTest:
    for test in planned.tests:
        if not test.reason:
            return test
    reasons = "; ".join(dict.fromkeys(test.reason for test in planned.tests)) or "it has none"
    raise TargetError(f"{planned.file}: no test can be run here: {reasons}")


def _measure(
    flags: HarnessFlags,
    works: Sequence[DeviceMeasurement],
    notes: Notes,
    command: Sequence[str],
    watching: Watching,
    reports: Reports,
) -> tuple[Run, list[str]]:
    """Measures; returns the run, and why it could not be kept. A result is in the store before reporters hear of it."""
    # What the screen reporters print shows how far it is; a progress line would be drawn into it.
    shown = watching() if not (flags.screen or flags.simple_screen) else nullcontext(nobody)
    try:
        with shown as listener:

            def listeners(event: Event) -> None:
                listener(event)
                reports.hear(event)

            return running.measure(flags, works, notes, command=command, listener=listeners), []
    except StoreError as error:
        if not isinstance(error.measured, Run):
            raise
        return error.measured, [str(error)]


def _has_table(flags: HarnessFlags) -> bool:
    return not (flags.as_json or flags.screen or flags.simple_screen)


def _describe_failures(run: Run, works: Sequence[DeviceMeasurement]) -> Iterator[str]:
    """Yields what went wrong in each test, with the end of what its program printed."""
    for work, result in zip(works, run.results, strict=True):
        error = result.error
        if error is None:
            continue
        tail = [f"| {line}" for line in error.log_tail.rstrip().splitlines()[-TAIL:]]
        said = [f"{work.label}: {result.status}: {error.message}", *filter(None, [error.remedy]), *tail]
        yield printable("\n  ".join(said), lines=True)


def _show(flags: HarnessFlags, run: Run, kept: bool) -> None:
    """Prints the run on standard output: as JSON, or as our table where no screen reporter printed it."""
    if flags.as_json:
        sys.stdout.write(schema.dumps(run, indent=2) + "\n")
    elif _has_table(flags):
        from benchwright.report.table import print_run

        where = f"Kept as {run.id}. As entries: benchwright show {run.id} --format harness"
        print_run(run, next_steps=where if kept else "", saved=kept)
    sys.stdout.flush()  # before more is said on standard error


def say(text: str) -> None:
    """Writes a message for people to standard error."""
    sys.stderr.write(f"benchwright: {text}\n")
