"""The cases of targets as they are in another folder, with another Python: a child process makes the plan.

The child reads a request as JSON and writes to a file the cases, or why there are none. It ends, with all that it
started, when the parent does.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import errors, schema
from benchwright.errors import TargetError, UserError
from benchwright.events import Event, Imported, Noted
from benchwright.records import Case, Inputs, Load
from benchwright.system import orphans, temporary_folder, whole_files
from benchwright.system.lent_package import code_for
from benchwright.targets.sources import Request
from benchwright.targets.sources.endpoints import is_address

if TYPE_CHECKING:
    from benchwright.execution.builds import BuiltRevision

TIMEOUT = 300.0  # seconds; importing a large framework in a cold environment
_TAIL = 2000
_ABSENT = re.compile(r"No module named '([^']+)'")
_LENT = ("benchwright", "yaml")  # the second reads specs; what they measure never sees it


def plan_in(built: BuiltRevision, request: Request, *, timeout: float = TIMEOUT) -> list[Case]:
    """What `sources.plan` says in the working copy of a revision, with the revision's own Python.

    Its errors come back as what they are there. The request's listener hears which imports took long. Whoever asks a
    served model is this program, the same for every revision; so addresses are planned here.
    """
    if built.parts:
        return _plan_in_environments(built, request, timeout)
    if built.there is None and any(map(is_address, request.targets)):
        return _plan_addresses_here(built, request, timeout)
    request = dataclasses.replace(request, last_paths=(*request.last_paths, *built.last_paths))
    if built.there is not None:
        plan = built.there.plan(encode(request), paths=built.paths, timeout=timeout)
    else:
        plan = ask_child(
            encode(request),
            python=built.python,
            folder=built.folder,
            variables=built.environment,
            paths=built.paths,
            timeout=timeout,
        )
    tell_imports(plan, request)
    return _cases(plan, built)


def _plan_in_environments(built: BuiltRevision, request: Request, timeout: float) -> list[Case]:
    """The cases of every environment, which is a parameter of theirs.

    One in which the revision could not be built, or nothing could be planned, has the cases of the first that could: so
    they are measured as failed, with the reason, and are not just missing. The plan of such an environment is told.
    """
    from benchwright.execution.hosts.matrix import ENVIRONMENT

    plans: dict[str, list[Case] | UserError] = {}
    for part in built.parts:
        if part.ok:
            try:
                plans[part.label] = plan_in(part, request, timeout=timeout)
            except UserError as error:
                plans[part.label] = error
    cases = next((plan for plan in plans.values() if not isinstance(plan, UserError)), None)
    if cases is None:
        raise next(plan for plan in plans.values() if isinstance(plan, UserError))
    found: list[Case] = []
    for part in built.parts:
        plan = plans.get(part.label, cases)
        if isinstance(plan, UserError):
            request.listener(Noted(text=f"{part.label} is left out: {plan.message}"))
            continue
        found += [dataclasses.replace(case, params={**case.params, ENVIRONMENT: part.label}) for case in plan]
    return found


def _plan_addresses_here(built: BuiltRevision, request: Request, timeout: float) -> list[Case]:
    from benchwright.targets import sources

    found: list[Case] = []
    for here, group in itertools.groupby(request.targets, key=is_address):
        part = dataclasses.replace(request, targets=list(group), command=())
        found += sources.plan(part) if here else plan_in(built, part, timeout=timeout)
    if request.command:
        found += plan_in(built, dataclasses.replace(request, targets=[]), timeout=timeout)
    return found


def ask_child(
    request: Mapping[str, Any],
    *,
    python: str,
    folder: Path,
    variables: Mapping[str, str],
    paths: Sequence[str],
    timeout: float = TIMEOUT,
    ours_first: bool = False,
) -> dict[str, Any]:
    """The answer of a child with that interpreter in that folder: the cases, or the error that it met.

    `paths` come first in its `sys.path`. With `ours_first` it runs this very Benchwright even where it has another.
    """
    code = code_for(
        "from benchwright.execution.plan_elsewhere import main; main(sys.argv[1:])", lent=_LENT, first=ours_first
    )
    with tempfile.TemporaryDirectory(prefix="benchwright-") as temporary:
        answer = Path(temporary, "answer.json")
        environment = {**os.environ, **variables}
        environment |= temporary_folder.variables(temporary, environment)
        # What the user's shell adds stays behind; the environment of a revision's own has taken it away.
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (*paths, environment.get("PYTHONPATH", ""))))

        def command_for(lifeline: str) -> list[str]:
            return [python, "-P", "-c", code, str(answer), lifeline]

        with tempfile.TemporaryFile() as document, tempfile.TemporaryFile() as log:
            document.write(json.dumps(dict(request)).encode())
            document.seek(0)
            try:
                with orphans.start_tied(command_for, environment, output=log, given=document, folder=folder) as child:
                    status = child.wait(timeout)
            except subprocess.TimeoutExpired:
                return _no_plan(f"no plan within {timeout:g} s")
            except OSError as error:
                return _no_plan(f"{python} cannot be started: {error.strerror}")
            if not answer.is_file():
                log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
                tail = log.read().decode("utf-8", "replace").strip()
                return _no_plan(f"planning ended with code {status}", tail)
        plan = json.loads(answer.read_bytes())
    assert isinstance(plan, dict)
    return plan


def encode(request: Request) -> dict[str, Any]:
    """The request as JSON has it, without its listener."""
    fields = {each.name: getattr(request, each.name) for each in dataclasses.fields(request)}
    return {name: schema.encode(value) for name, value in fields.items() if not callable(value)}


def tell_imports(plan: Mapping[str, Any], request: Request) -> None:
    """Tells the request's listener which imports took long, and what else was noted."""
    for module, seconds in plan.get("imports", ()):
        request.listener(Imported(module=str(module), seconds=float(seconds)))
    for text in plan.get("notes", ()):
        request.listener(Noted(text=str(text)))


def raise_error(plan: Mapping[str, Any], where: str, remedy: str) -> None:
    """Raises the error that a plan holds, as what it was there; nothing where it holds none."""
    if "error" in plan:
        kind = getattr(errors, str(plan["error"]), TargetError)
        if not (isinstance(kind, type) and issubclass(kind, UserError)) or kind is errors.NotInstalledError:
            kind = TargetError
        raise kind(f"{where}: {plan['message']}", remedy=remedy)


def absent_package(plan: Mapping[str, Any]) -> str:
    """The package that is not there, where that is why there is no plan; else ""."""
    absent = _ABSENT.search(f"{plan['message']} {plan['remedy']}")
    if absent is not None:
        return absent[1].partition(".")[0]
    if plan["error"] == errors.NotInstalledError.__name__:
        return str(plan["remedy"]).removeprefix("pip install ")
    return ""


def _no_plan(message: str, remedy: str = "") -> dict[str, Any]:
    return {"error": TargetError.__name__, "message": message, "remedy": remedy}


def _cases(plan: dict[str, Any], built: BuiltRevision) -> list[Case]:
    """The cases of a plan; what went wrong there is raised here, as the error that it was."""
    if "error" in plan:
        plan |= {name: _from_the_root(str(plan[name]), built.folder) for name in ("message", "remedy")}
        raise_error(plan, _where(built), _remedy(plan, built))
    return [schema.decode(Case, each, where="plan") for each in plan["cases"]]


def _remedy(plan: dict[str, Any], built: BuiltRevision) -> str:
    """What to do; where a package is missing, how it comes into an environment that has nothing but its own."""
    if built.own and "cannot import name" in plan["message"]:
        newest = "its packages are the newest that its files allow; --constraint FILE holds them back"
        return f"{newest}\n{plan['remedy']}"
    name = absent_package(plan) if built.own else ""
    if not name:
        return str(plan["remedy"])
    return (
        f"a revision's environment holds what its files ask for and nothing else: --install {name} adds it, "
        "--build 'pip install -e .' installs the project, --environment here shows it all that is installed here"
    )


def _from_the_root(text: str, copy: Path) -> str:
    """The text with paths of a revision's working copy as they are named in the user's repository: from its root."""
    for folder in (os.path.realpath(copy), str(copy)):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


def _where(built: BuiltRevision) -> str:
    return f"revision {built.revision.id[:12]}"


# ---- the child ----


def main(arguments: list[str]) -> None:
    """Reads a request from standard input and writes its plan to the file named first; ends with the lifeline."""
    answer, lifeline = arguments
    os.set_inheritable(int(lifeline), False)
    orphans.tie(int(lifeline))
    fields = json.load(sys.stdin)
    sys.path += fields["last_paths"]
    whole_files.write_text(Path(answer), json.dumps(make_plan(fields)))


def make_plan(request: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of an encoded request, made in this process: its cases, or the error that it met.

    What users wrote is imported by a child (`targets.sources.discovery`), never here.
    """
    from benchwright.targets import sources

    records = {"inputs": Inputs, "load": Load}  # everything else is plain
    fields = {name: value for name, value in request.items() if name not in records}
    fields |= {name: schema.decode(kind, request[name], where=f"request.{name}") for name, kind in records.items()}
    slow: list[tuple[str, float]] = []
    notes: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, Imported):
            slow.append((event.module, event.seconds))
        elif isinstance(event, Noted):
            notes.append(event.text)

    try:
        cases = sources.plan(Request(**fields, listener=hear))
    except UserError as error:
        return {"error": type(error).__name__, "message": error.message, "remedy": error.remedy}
    return {"cases": [schema.encode(case) for case in cases], "imports": slow, "notes": notes}
