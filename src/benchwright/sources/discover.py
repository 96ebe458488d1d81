"""What a user's file offers, found out in a child process: the parent never imports it. Standard library only.

`python -m benchwright.sources.discover MODULE NAME ANSWER LIFELINE` imports the module and writes JSON to the file
ANSWER, so that whatever the user's code prints, or how it ends, cannot be taken for the answer. It ends, with all that
it started, when the parent's end of the pipe LIFELINE closes.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.machinery import BuiltinImporter, PathFinder
from pathlib import Path
from typing import Any

from benchwright import orphans, schema
from benchwright.errors import LoadError, TargetError, did_you_mean
from benchwright.marks import Mark, mark_of
from benchwright.orphans import TOKEN_BYTES, TOKEN_VARIABLE
from benchwright.records import Scalar

TIMEOUT = 60.0  # seconds for importing the user's file, unless the request has a timeout
_TAIL = 2000  # bytes of what the file printed that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One benchmark: its parameters and what its signature accepts."""

    name: str
    params: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    accepts: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    takes_any: bool = False
    loops: int | None = None


def benchmarks(module: str, name: str = "", *, timeout: float = TIMEOUT) -> list[Found]:
    """The benchmark `name` of a file or module, or every marked one, in the order they are written."""
    with tempfile.TemporaryDirectory(prefix="benchwright-") as folder:
        answer = Path(folder, "answer.json")
        ended, log = _run([module, name, str(answer)], timeout)
        if not answer.is_file():
            raise TargetError(f"{module} could not be imported: {ended}", remedy=_tail(log) or "it printed nothing")
        content = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in content:
        raise TargetError(content["error"], remedy=content["remedy"] or _tail(log))
    return [schema.decode(Found, entry, where=module) for entry in content["benchmarks"]]


def locate(module: str) -> Path | None:
    """The file of a dotted module as seen from the present folder, found without importing anything.

    A built-in module is part of the interpreter, so that is its file.
    """
    if BuiltinImporter.find_spec(module) is not None:
        return Path(sys.executable)
    search: list[str] | None = [str(Path.cwd()), *sys.path]
    spec = None
    parts = module.split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), search)
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or [])
    return Path(spec.origin) if spec and spec.origin and spec.has_location else None


def _run(arguments: list[str], timeout: float) -> tuple[str, str]:
    """How the child ended, and the end of what it printed; nothing that it started is left behind."""
    token = os.urandom(TOKEN_BYTES).hex()
    lifeline, kept = os.pipe()
    with tempfile.TemporaryFile() as log:
        try:
            child = _spawn(arguments, lifeline, token, log.fileno())
            try:
                code = child.wait(timeout)
                ended = f"killed by signal {-code}" if code < 0 else f"ended with status {code}"
            except subprocess.TimeoutExpired:
                ended = f"not done after {timeout:g} s"
            finally:
                _end_group(child)
                orphans.sweep(token)
        finally:
            os.close(lifeline)
            os.close(kept)
        log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
        return ended, log.read(_TAIL).decode(errors="replace")


def _spawn(arguments: list[str], lifeline: int, token: str, log: int) -> subprocess.Popen[bytes]:
    """The child in a session of its own. Unbuffered: what it printed is there however it ends."""
    return subprocess.Popen(
        [sys.executable, "-u", "-m", __name__, *arguments, str(lifeline)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(lifeline,),
        start_new_session=True,
        env={**os.environ, TOKEN_VARIABLE: token},
    )


def _end_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _tail(log: str) -> str:
    return log.strip().replace("\n", "\n  ")


# ---- the child ----


def main(arguments: list[str]) -> None:
    """Imports the module and writes what it offers."""
    module, name, answer, lifeline = arguments
    os.set_inheritable(int(lifeline), False)
    orphans.die_with(int(lifeline))
    orphans.stand_guard(int(lifeline), os.environ[TOKEN_VARIABLE], closing=())
    try:
        content: dict[str, Any] = {"benchmarks": [asdict(found) for found in _offered(module, name)]}
    except (LoadError, TargetError) as error:
        content = {"error": error.message, "remedy": "" if error.remedy == "see the log" else error.remedy}
    partial = Path(f"{answer}.partial")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.rename(answer)  # complete or not there at all


def _offered(module: str, name: str) -> list[Found]:
    from benchwright.runtimes.importing import load_module, load_object

    if name:
        separator = "::" if module.endswith(".py") else ":"
        return [_described(name, load_object(f"{module}{separator}{name}"), module)]
    names = vars(load_module(module))
    marked = [_described(key, value, module) for key, value in names.items() if mark_of(value)]
    if not marked:
        functions = [key for key, value in names.items() if inspect.isfunction(value) and not key.startswith("_")]
        shown = f"{module}::{functions[0]}" if functions else f"{module}::name"
        raise TargetError(
            f"{module} marks no benchmark", remedy=f"name a function, as in {shown}, or use @benchwright.benchmark"
        )
    return marked


def _described(name: str, function: Any, module: str) -> Found:
    if not callable(function):
        raise TargetError(f"{name!r} in {module} is {type(function).__name__}, which cannot be called")
    mark = mark_of(function) or Mark()
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a built-in that tells no signature
        return Found(name=name, params=mark.params, takes_any=True, loops=mark.loops)
    if mark.setup is not None:
        parameters = parameters[1:]
    wanted = parameters + _setup_parameters(mark)
    by_name = [p for p in wanted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    found = Found(
        name=name,
        params=mark.params,
        accepts=tuple(dict.fromkeys(p.name for p in by_name)),
        required=tuple(dict.fromkeys(p.name for p in by_name if p.default is p.empty)),
        takes_any=any(p.kind is p.VAR_KEYWORD for p in wanted),
        loops=mark.loops,
    )
    for key in mark.params:
        if not found.takes_any and key not in found.accepts:
            raise TargetError(f"{name} in {module} takes no parameter {key!r}", remedy=did_you_mean(key, found.accepts))
    return found


def _setup_parameters(mark: Mark) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(mark.setup).parameters.values()) if mark.setup else []
    except ValueError:  # a built-in that tells no signature, such as dict, is called with nothing
        return []


if __name__ == "__main__":
    main(sys.argv[1:])
