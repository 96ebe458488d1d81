"""FAI-PEP's run_remote.py: a spec is submitted to the devices of a lab, followed, and its results are fetched.

Every device that is named measures every test, the treatment and the control on the same one.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path

from benchwright import schema
from benchwright.compat.harness import documents, lab_flags, outcome, reporters
from benchwright.compat.harness import flags as harness_flags
from benchwright.compat.harness import run as running
from benchwright.compat.harness.flags import HarnessFlags
from benchwright.compat.harness.info import InfoDocument
from benchwright.compat.harness.lab_flags import QUEUE, TAG, LabFlags, say
from benchwright.compat.harness.reporters import Reports
from benchwright.compat.harness.run import DeviceMeasurement
from benchwright.compat.harness.specs.plans import PlannedTest
from benchwright.errors import OptionError
from benchwright.events import Listener
from benchwright.execution import rounds
from benchwright.execution.lanes import host_name
from benchwright.machine.devices import DeviceFacts
from benchwright.pages.lab_shapes import LabMachineLine
from benchwright.records import Result, Run, Status, Value
from benchwright.units.selectors import Selector
from benchwright.workflows.lab.client import LabCaller
from benchwright.workflows.lab.follow import ENDED, describe, follow
from benchwright.workflows.lab.submission import LabRequest, fetch, submit

Watching = Callable[[], AbstractContextManager[Listener]]
Planner = Callable[[Sequence[str]], tuple[HarnessFlags, InfoDocument, list[PlannedTest]]]
CACHE = Path(".benchwright", "model_cache")  # run_remote.py has no flag for it
COMMAND = ("benchwright", "harness")


def main(arguments: Sequence[str], watching: Watching, plan: Planner) -> int:
    """Submits a spec, or answers a question about the lab; `plan` reads the flags of the harness and the spec."""
    asked, rest = lab_flags.parse(arguments)
    for name in asked.idle:
        say(f"--{name} does nothing here: {lab_flags.INERT[name]}")
    with closing(LabCaller(asked.server)) as lab:
        if asked.query in ("list_devices", "list_job_queues", "query_num_devices"):
            return _tell_machines(lab, asked)
        if asked.query:
            return _tell_submissions(lab, asked, rest)
        if not any(word.startswith("--model_cache") for word in rest):
            rest = [*rest, "--model_cache", str(CACHE)]
        return _submit(lab, asked, rest, watching, plan)


# ---- questions ----


def _tell_machines(lab: LabCaller, asked: LabFlags) -> int:
    machines = lab.lab().machines
    if asked.query == "list_job_queues":
        _print(sorted({one.labels[QUEUE] for one in machines if one.labels.get(QUEUE)}), asked)
    elif asked.query == "query_num_devices":
        found = [one for one in machines if _is_named(one, asked.name)]
        _print({asked.name: len(found)}, asked)
    else:
        wanted = Selector.parse(asked.selector_for(""))
        _print([_device(one) for one in machines if wanted.matches(_described(one))], asked)
    return 0


def _device(one: LabMachineLine) -> dict[str, str]:
    """A machine in the older system's words."""
    return {
        "kind": "android" if one.kind == "phone" else "host",
        "name": one.facts.get("device", "") or one.name,
        "hash": one.facts.get("serial", "") or one.name,
        "abi": one.facts.get("arch", ""),
        "os": one.facts.get("os", ""),
        "status": one.state,
        QUEUE: one.labels.get(QUEUE, ""),
    }


def _described(one: LabMachineLine) -> dict[str, str]:
    return {**one.labels, **one.facts, "machine": one.name, "agent": one.agent, "kind": one.kind}


def _is_named(one: LabMachineLine, name: str) -> bool:
    return any(Selector.parse(f"{key}={name}").matches(_described(one)) for key in ("machine", "device"))


def _print(found: object, asked: LabFlags) -> None:
    """As JSON, as the older program did; a list of devices as lines for people where nobody asked for it."""
    if isinstance(found, list) and not asked.as_json:
        for one in found:
            sys.stdout.write(("  ".join(filter(None, one.values())) if isinstance(one, dict) else str(one)) + "\n")
        return
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _tell_submissions(lab: LabCaller, asked: LabFlags, rest: Sequence[str]) -> int:
    code = 0
    for identifier in asked.identifiers:
        run = find_run(lab, identifier)
        if asked.query == "kill":
            say(f"{identifier}: {lab.cancel(run).state}")
        elif asked.query == "fetch_status":
            view = lab.submission(run)
            sys.stdout.write(json.dumps(schema.encode(view), indent=2) + "\n" if asked.as_json else "")
            if not asked.as_json:
                sys.stdout.write(f"{identifier}: {view.state}: {describe(view) or view.run}\n")
        else:
            code = max(code, _fetch(lab, run, asked, rest))
    return code


def find_run(lab: LabCaller, identifier: str) -> str:
    """The run of a submission: by the identifier that it was given, or by its own id."""
    return lab.find(f"{TAG}{identifier}" if identifier.isdecimal() else identifier)


def _fetch(lab: LabCaller, run: str, asked: LabFlags, rest: Sequence[str]) -> int:
    view = lab.submission(run)
    if view.state not in ENDED:
        say(f"not all of it: {describe(view)}")
    found = fetch(run, store=asked.server)
    words = [*rest, "--model_cache", str(CACHE), "-b", "-", "--framework", "generic", "--platform", "host"]
    flags = harness_flags.parse(words)
    return report(flags, found, quiet=False)


# ---- a submission ----


def _submit(lab: LabCaller, asked: LabFlags, rest: Sequence[str], watching: Watching, plan: Planner) -> int:
    lab.check_scope("write", "to submit")
    flags, given, tests = plan(rest)
    if flags.dry_run:
        return 0
    works = _plan_works(flags, given, tests)
    identifier = flags.texts["user_identifier"]
    command = documents.mask_command((*COMMAND, "--lab", asked.selector, *rest))
    notes = {running.note_key(work): _notes(flags, given, work, command) for work in works}
    by_case = {id(work.case): notes[running.note_key(work)] for work in works}
    whole = rounds.Plan(
        cases=[work.case for work in works],
        rounds=1,
        tags=(f"{TAG}{identifier}",),
        command=command,
        notes=lambda case: by_case[id(case)],
        monitors=() if flags.platform.startswith("android") else rounds.MONITORS,
        paths=(str(Path.cwd()),),
    )
    request = LabRequest(
        selector=asked.selector_for(flags.platform),
        where="each",
        detach=not asked.waits,
        phone="reboot=before" if flags.reboot and flags.platform.startswith("android") else "",
    )
    with watching() as listener:
        run = submit(lab, whole, request, listener)
        say(f"user_identifier {identifier}: benchwright harness --lab --fetch_result --user_identifier {identifier}")
        if not asked.waits:
            return 0
        follow(lab, run.id, listener, cancels=True)
    return report(flags, fetch(run.id, store=asked.server), quiet=flags.as_json)


def _plan_works(flags: HarnessFlags, given: InfoDocument, tests: Sequence[PlannedTest]) -> list[DeviceMeasurement]:
    """The measurements, for a device of which nothing is known yet but its kind."""
    is_phone = flags.platform.startswith("android")
    nobody = DeviceFacts(kind="android" if is_phone else "host", serial="", name="")
    works = running.plan_works(flags, given, tests, [("adb" if is_phone else "host", nobody)])
    if not works:
        raise OptionError(f"{flags.benchmark_file}: no test is left to submit")
    return works


def _notes(
    flags: HarnessFlags, given: InfoDocument, work: DeviceMeasurement, command: Sequence[str]
) -> dict[str, Value]:
    """The notes of a result, but for its platform: that of whichever machine measures it."""
    found = outcome.notes(flags, given, work, command)
    kept = found[outcome.DETAILS]
    assert isinstance(kept, dict)
    meta = kept["meta"]
    assert isinstance(meta, dict)
    bare = {name: value for name, value in meta.items() if name not in ("platform", "platform_hash")}
    return {outcome.DETAILS: {**kept, "meta": bare}}


# ---- results ----


def report(flags: HarnessFlags, run: Run, *, quiet: bool) -> int:
    """Tells the reporters of every test on every machine; prints documents where no screen reporter does."""
    told = Reports(flags, ())
    told_of = []
    for results in _by_machine(run):
        found = outcome.make_reports(replace(run, results=tuple(results)), failed=True)
        told.tell(found)
        told_of += [{"meta": one.document.meta, "data": one.document.data} for one in found if one.document.data]
    if flags.as_json and quiet:
        sys.stdout.write(schema.dumps(run, indent=2) + "\n")
    elif not (flags.screen or flags.simple_screen):
        sys.stdout.write(json.dumps(told_of, indent=2) + "\n")
    for text in (*_failures(run), *told.failures, *reporters.send(flags, say)):
        say(text)
    return int(bool(told.failures) or any(result.status is not Status.OK for result in run.results))


def _by_machine(run: Run) -> list[list[Result]]:
    found: dict[str, list[Result]] = defaultdict(list)
    for result in run.results:
        found[host_name(result)].append(result)
    return list(found.values())


def _failures(run: Run) -> Iterator[str]:
    for result in run.results:
        if result.error is not None:
            where = f" on {host_name(result)}" if host_name(result) else ""
            yield f"{result.case.name}{where}: {result.status}: {result.error.message}"
