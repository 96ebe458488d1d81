"""What a user's file offers, found out in a child process: the parent never imports it. Standard library only.

`python -m benchwright.targets.sources.discovery MODULE NAME ANSWER LIFELINE [ASKED]` imports the module and writes JSON
to the file ANSWER, so that whatever the user's code prints, or how it ends, cannot be taken for the answer. It ends,
with all that it started, when the parent's end of the pipe LIFELINE closes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib.machinery import BuiltinImporter, ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from benchwright import schema
from benchwright.errors import LoadError, TargetError
from benchwright.system import orphans, temporary_folder, whole_files
from benchwright.system.lent_package import code_for
from benchwright.targets.sources.offered import BenchmarkOffer, OfferedBenchmark, SearchFilter, find_offers

_LATE = "not done after"
TIMEOUT = 60.0  # seconds for importing the user's file, unless the request has a timeout
_ANYTHING = SearchFilter()
_TAIL = 2000  # bytes of what the file printed that are shown


def benchmarks(
    module: str, name: str = "", *, timeout: float = TIMEOUT, asked: SearchFilter = _ANYTHING
) -> list[OfferedBenchmark]:
    """The benchmark `name` of a file, module or package, or every one, in the order they are written.

    A module of a package that cannot be imported is an error.
    """
    return list(refuse_broken(run_search(module, name, timeout=timeout, asked=asked), module).found)


def refuse_broken(offer: BenchmarkOffer, module: str) -> BenchmarkOffer:
    """The offer, where every module of the package `module` could be imported; else an error."""
    for inner, reason in offer.broken:
        raise TargetError(f"{inner}: {reason}", remedy=f"name the modules of {module} that can be imported")
    return offer


def run_search(
    module: str, name: str = "", *, timeout: float = TIMEOUT, asked: SearchFilter = _ANYTHING
) -> BenchmarkOffer:
    """Everything that the child found, with what it could not import."""
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        answer = Path(folder, "answer.json")
        ended, log = run_child(
            __name__, [module, name, str(answer)], timeout, [json.dumps(schema.encode(asked))], folder=folder
        )
        if not answer.is_file():
            raise TargetError(f"{module} could not be imported: {ended}", remedy=tail_of(log) or "it printed nothing")
        content = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in content:
        raise TargetError(content["error"], remedy=content["remedy"] or tail_of(log))
    found = [schema.decode(OfferedBenchmark, entry, where=module) for entry in content["benchmarks"]]
    broken = tuple((inner, reason) for inner, reason in content["broken"])
    return BenchmarkOffer(found=tuple(found), broken=broken, left=tuple(content["left"]))


def locate(module: str) -> Path | None:
    """The file of a dotted module as seen from the present folder, found without importing anything.

    A built-in module is part of the interpreter, so that is its file.
    """
    if BuiltinImporter.find_spec(module) is not None:
        return Path(sys.executable)
    specs = _specs_along(module)
    if len(specs) <= module.count("."):
        return None
    return Path(specs[-1].origin) if specs[-1].origin and specs[-1].has_location else None


def split(dotted: str) -> tuple[str, str]:
    """The longest part of a dotted name that is a module or package, and what follows; nothing is imported."""
    if BuiltinImporter.find_spec(dotted) is not None:
        return dotted, ""
    parts, count = dotted.split("."), len(_specs_along(dotted))
    return ".".join(parts[:count]), ".".join(parts[count:])


def _specs_along(dotted: str) -> list[ModuleSpec]:
    """What each part of a dotted name is, as far as the parts are packages and modules."""
    found: list[ModuleSpec] = []
    search = [str(Path.cwd()), *sys.path]
    parts = dotted.split(".")
    for count in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:count]), search)
        if spec is None:
            break
        found.append(spec)
        search = list(spec.submodule_search_locations or [])
    return found


def run_child(
    module: str, arguments: list[str], timeout: float, more: list[str] | None = None, *, folder: str
) -> tuple[str, str]:
    """How a child ended that ran `main` of a module of ours, and the end of what it printed.

    It is given the arguments, its end of the lifeline, and more. Nothing that it started is left behind. `folder` is
    its temporary folder.
    """
    # The package that runs here, whether or not the interpreter has one installed: both ends must agree.
    code = code_for(f"from {module} import main; main(sys.argv[1:])", first=True)
    environment = {**os.environ, **temporary_folder.variables(folder, os.environ)}

    def command_for(lifeline: str) -> list[str]:
        return [
            sys.executable,
            "-u",
            "-c",
            code,
            *arguments,
            lifeline,
            *(more or []),
        ]  # -u: what it printed is there at once

    with tempfile.TemporaryFile() as log:
        with orphans.start_tied(command_for, environment, output=log) as child:
            try:
                status = child.wait(timeout)
                ended = f"killed by signal {-status}" if status < 0 else f"ended with status {status}"
            except subprocess.TimeoutExpired:
                ended = f"{_LATE} {timeout:g} s"
        log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
        return ended, log.read(_TAIL).decode(errors="replace")


def more_time(ended: str) -> str:
    """What to add to the remedy where a child was ended because it took too long."""
    return "; give --timeout more seconds" if ended.startswith(_LATE) else ""


def tail_of(log: str) -> str:
    """What a child printed last, as the remedy of an error shows it."""
    return log.strip().replace("\n", "\n  ")


# ---- the child ----


def main(arguments: list[str]) -> None:
    """Imports the module and writes what it offers."""
    module, name, answer, lifeline, *more = arguments
    os.set_inheritable(int(lifeline), False)
    orphans.tie(int(lifeline))
    search = schema.decode(SearchFilter, json.loads(more[0]), where="asked") if more else _ANYTHING
    sys.path += search.last_paths
    try:
        offer = find_offers(module, name, search)
        found = [asdict(each) for each in offer.found]
        content: dict[str, Any] = {"benchmarks": found, "broken": offer.broken, "left": offer.left}
    except (LoadError, TargetError) as error:
        content = {"error": error.message, "remedy": "" if error.remedy == "see the log" else error.remedy}
    whole_files.write_text(Path(answer), json.dumps(content))


if __name__ == "__main__":
    main(sys.argv[1:])
