"""The cases of targets as they are in another folder, with another Python: a child process makes the plan.

The child reads a request as JSON and writes to a file the cases, or why there are none. It ends, with all that it
started, when the parent does.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright import errors, schema
from benchwright.errors import TargetError, UserError
from benchwright.events import Event, Imported
from benchwright.records import Case, Inputs, Load
from benchwright.system import orphans, temporary_folder, whole_files
from benchwright.system.lent_package import code_for
from benchwright.targets.sources import Request

if TYPE_CHECKING:
    from benchwright.execution.builds import BuiltRevision

TIMEOUT = 300.0  # seconds; importing a large framework in a cold environment
_TAIL = 2000
_ABSENT = re.compile(r"No module named '([^']+)'")
_LENT = ("benchwright", "yaml")  # the second reads specs; what they measure never sees it


def plan_in(built: BuiltRevision, request: Request, *, timeout: float = TIMEOUT) -> list[Case]:
    """What `sources.plan` says in the working copy of a revision, with the revision's own Python.

    Its errors come back as what they are there. The request's listener hears which imports took long.
    """
    request = dataclasses.replace(request, last_paths=(*request.last_paths, *built.last_paths))
    code = code_for("from benchwright.execution.plan_elsewhere import main; main(sys.argv[1:])", lent=_LENT)
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        answer = Path(folder, "answer.json")
        environment = {**os.environ, **built.environment}
        environment |= temporary_folder.variables(folder, environment) | {"PYTHONPATH": os.pathsep.join(built.paths)}

        def command_for(lifeline: str) -> list[str]:
            return [str(built.python), "-P", "-c", code, str(answer), lifeline]

        with tempfile.TemporaryFile() as document, tempfile.TemporaryFile() as log:
            document.write(_encode(request))
            document.seek(0)
            try:
                with orphans.start_tied(
                    command_for, environment, output=log, given=document, folder=built.folder
                ) as child:
                    status = child.wait(timeout)
            except subprocess.TimeoutExpired:
                raise TargetError(f"{_where(built)}: no plan within {timeout:g} s") from None
            if not answer.is_file():
                log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
                tail = log.read().decode("utf-8", "replace").strip()
                raise TargetError(f"{_where(built)}: planning ended with code {status}", remedy=tail)
        plan = json.loads(answer.read_bytes())
    for module, seconds in plan.get("imports", ()):
        request.listener(Imported(module=module, seconds=seconds))
    return _cases(plan, built)


def _encode(request: Request) -> bytes:
    """The request as JSON, without its listener."""
    fields = {each.name: getattr(request, each.name) for each in dataclasses.fields(request)}
    return json.dumps({name: schema.encode(value) for name, value in fields.items() if not callable(value)}).encode()


def _cases(plan: dict[str, Any], built: BuiltRevision) -> list[Case]:
    """The cases of a plan; what went wrong there is raised here, as the error that it was."""
    if "error" in plan:
        kind = getattr(errors, plan["error"], TargetError)
        if not (isinstance(kind, type) and issubclass(kind, UserError)) or kind is errors.NotInstalledError:
            kind = TargetError
        plan |= {name: _from_the_root(str(plan[name]), built.folder) for name in ("message", "remedy")}
        raise kind(f"{_where(built)}: {plan['message']}", remedy=_remedy(plan, built))
    return [schema.decode(Case, each, where="plan") for each in plan["cases"]]


def _remedy(plan: dict[str, Any], built: BuiltRevision) -> str:
    """What to do; where a package is missing, how it comes into an environment that has nothing but its own."""
    if built.own and "cannot import name" in plan["message"]:
        newest = "its packages are the newest that its files allow; --constraint FILE holds them back"
        return f"{newest}\n{plan['remedy']}"
    absent = _ABSENT.search(f"{plan['message']} {plan['remedy']}")
    if not built.own or (absent is None and plan["error"] != errors.NotInstalledError.__name__):
        return str(plan["remedy"])
    name = absent[1].partition(".")[0] if absent else str(plan["remedy"]).removeprefix("pip install ")
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

    from benchwright.targets import sources

    fields = json.load(sys.stdin)
    records = {"inputs": Inputs, "load": Load}  # everything else is plain
    fields |= {name: schema.decode(kind, fields[name], where=f"request.{name}") for name, kind in records.items()}
    slow: list[tuple[str, float]] = []

    def hear(event: Event) -> None:
        if isinstance(event, Imported):
            slow.append((event.module, event.seconds))

    request = Request(**fields, listener=hear)
    sys.path += request.last_paths
    try:
        content: dict[str, Any] = {"cases": [schema.encode(case) for case in sources.plan(request)]}
        content["imports"] = slow
    except UserError as error:
        content = {"error": type(error).__name__, "message": error.message, "remedy": error.remedy}
    whole_files.write_text(Path(answer), json.dumps(content))
