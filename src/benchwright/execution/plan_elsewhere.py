"""The cases of targets as they are in another folder, with another Python: found out in a child process.

`python -m benchwright.execution.plan_elsewhere` reads a request as JSON and writes to a file the cases, or why there
are none.
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
from benchwright.system import temporary_folder, whole_files
from benchwright.system.lent_package import code_for
from benchwright.targets.sources import Request

if TYPE_CHECKING:
    from benchwright.execution.builds import Built

TIMEOUT = 300.0  # seconds; importing a large framework in a cold environment
_TAIL = 2000
_ABSENT = re.compile(r"No module named '([^']+)'")
_LENT = ("benchwright", "yaml")  # the second reads specs; what they measure never sees it


def plan_in(built: Built, request: Request, *, timeout: float = TIMEOUT) -> list[Case]:
    """What `sources.plan` says in the working copy of a revision, with the revision's own Python.

    Its errors come back as what they are there. The request's listener hears which imports took long.
    """
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        answer, log = Path(folder, "answer.json"), Path(folder, "log")
        request = dataclasses.replace(request, last_paths=(*request.last_paths, *built.last_paths))
        told = {each.name: getattr(request, each.name) for each in dataclasses.fields(request)}
        asked = json.dumps({name: schema.encode(value) for name, value in told.items() if not callable(value)}).encode()
        code = code_for("from benchwright.execution.plan_elsewhere import main; main()", lent=_LENT)
        given = {**os.environ, **built.environment}
        with log.open("wb") as output:
            try:
                child = subprocess.run(
                    [built.python, "-P", "-c", code, str(answer)],
                    input=asked,
                    stdout=output,
                    stderr=output,
                    cwd=built.folder,
                    env={
                        **given,
                        **temporary_folder.variables(folder, given),
                        "PYTHONPATH": os.pathsep.join(built.paths),
                    },
                    timeout=timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise TargetError(f"{_where(built)}: no plan within {timeout:g} s") from None
        if not answer.is_file():
            tail = log.read_bytes()[-_TAIL:].decode("utf-8", "replace").strip()
            raise TargetError(f"{_where(built)}: planning ended with code {child.returncode}", remedy=tail)
        found = json.loads(answer.read_bytes())
        for module, seconds in found.get("imports", ()):
            request.listener(Imported(module=module, seconds=seconds))
        return _read(found, built)


def _read(told: dict[str, Any], built: Built) -> list[Case]:
    if "error" in told:
        kind = getattr(errors, told["error"], TargetError)
        if not (isinstance(kind, type) and issubclass(kind, UserError)) or kind is errors.NotInstalledError:
            kind = TargetError
        told |= {name: _as_asked(str(told[name]), built.folder) for name in ("message", "remedy")}
        raise kind(f"{_where(built)}: {told['message']}", remedy=_remedy(told, built))
    return [schema.decode(Case, each, where="plan") for each in told["cases"]]


def _remedy(told: dict[str, Any], built: Built) -> str:
    """What to do; where a package is missing, how it comes into an environment that has nothing but its own."""
    if built.own and "cannot import name" in told["message"]:
        newest = "its packages are the newest that its files allow; --constraint FILE holds them back"
        return f"{newest}\n{told['remedy']}"
    absent = _ABSENT.search(f"{told['message']} {told['remedy']}")
    if not built.own or (absent is None and told["error"] != errors.NotInstalledError.__name__):
        return str(told["remedy"])
    name = absent[1].partition(".")[0] if absent else str(told["remedy"]).removeprefix("pip install ")
    return (
        f"a revision's environment holds what its files ask for and nothing else: --install {name} adds it, "
        "--build 'pip install -e .' installs the project, --environment here shows it all that is installed here"
    )


def _as_asked(text: str, copy: Path) -> str:
    """The text with paths of a revision's working copy as they are named in the user's repository: from its root."""
    for folder in (os.path.realpath(copy), str(copy)):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


def _where(built: Built) -> str:
    return f"revision {built.revision.id[:12]}"


# ---- the child ----


def main() -> None:
    """Reads a request from standard input and writes what comes of it to the file named first."""
    from benchwright.targets import sources

    told = json.load(sys.stdin)
    records = {"inputs": Inputs, "load": Load}  # everything else is plain
    told |= {name: schema.decode(kind, told[name], where=f"request.{name}") for name, kind in records.items()}
    slow: list[tuple[str, float]] = []

    def hear(event: Event) -> None:
        if isinstance(event, Imported):
            slow.append((event.module, event.seconds))

    request = Request(**told, listener=hear)
    sys.path += request.last_paths
    try:
        content: dict[str, Any] = {"cases": [schema.encode(case) for case in sources.plan(request)]}
        content["imports"] = slow
    except UserError as error:
        content = {"error": type(error).__name__, "message": error.message, "remedy": error.remedy}
    whole_files.write_text(Path(sys.argv[1]), json.dumps(content))
