"""Notebooks: `%benchwright` measures a line and `%%benchwright` a cell, in the kernel's own process.

What a cell calls exists in the kernel alone, so no fresh process can be asked; the result says so. IPython itself is
not imported: it hands itself over when somebody types `%load_ext benchwright`.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchwright import config
from benchwright.errors import OptionError, UserError, did_you_mean
from benchwright.records import Case, Load, Run, Target

NAME = "benchwright"
MOST_NAME = 60  # characters of a case that is called like its code
EXAMPLES = {"--name": "sorting", "--rounds": "5", "--duration": "1s", "--tag": "mine", "--store": "results.db"}
FLAGS = (*EXAMPLES, "--no-save")
REMEDIES = {
    "never-steady": "give --duration more seconds; of that, half is the warm-up at most",
    "drift": "give --duration more seconds",
    "few-samples": "give --duration more seconds",
    "busy-machine": "measure on a quieter machine",
}
_FLAG = re.compile(r"\s*(--[a-z-]+)(?:(?:\s*=\s*|\s+)(\"[^\"]*\"|'[^']*'|[^\s-]\S*))?")
_FUNCTION = "benchwright_cell"


@dataclass(slots=True, kw_only=True)
class CellRequest:
    """What stands behind the magic: how the code is measured, and the rest of the line."""

    name: str = ""
    rounds: int = 5  # samples at least
    duration: float = 1.0
    tags: tuple[str, ...] = ()
    store: str | None = None
    save: bool = True
    rest: str = ""  # of the line: what is measured, or what is done before the cell


def load_ipython_extension(ipython: Any) -> None:
    """Gives IPython the magics; called by `%load_ext benchwright`."""

    def benchwright(line: str, cell: str | None = None) -> Any:
        """Measures a line or a cell in this process: [--name N] [--duration 1s] [--rounds 5] [--tag T] [--no-save]"""
        try:
            return measure_cell(ipython, line, cell)
        except UserError as error:
            raise _WrongMagicError(f"{error.message}{f': {error.remedy}' if error.remedy else ''}") from None

    ipython.register_magic_function(benchwright, magic_kind="line_cell", magic_name=NAME)


class _WrongMagicError(ValueError):
    """A flag that was not understood; IPython shows the last line of its traceback."""


def measure_cell(ipython: Any, line: str, cell: str | None) -> Any:
    """Measures the cell, or the rest of the line, with the notebook's names, and returns a `MeasuredRun`.

    Of a cell, the rest of the line is done once before. Names that the measured code sets are its own: it is the body
    of a function.
    """
    from benchwright.workflows.run import MeasuredRun

    asked = read_line(line)
    code = asked.rest if cell is None else cell
    if not code.strip():
        raise OptionError("there is nothing to measure", remedy="%benchwright f(x), or %%benchwright above a cell")
    call = compile_call(ipython.transform_cell(code), ipython.user_ns)
    if cell is not None and asked.rest.strip():
        ipython.ex(ipython.transform_cell(asked.rest))
    case = _case(asked, code)
    run = _measure(call, case, asked)
    return MeasuredRun(run)


def read_line(line: str) -> CellRequest:
    """The flags at the beginning of a line, and what follows them."""
    asked, left = CellRequest(), line
    while (found := _FLAG.match(left)) and left.lstrip().startswith("--"):
        flag, value = found[1], (found[2] or "").strip("\"'")
        left = left[found.end() :]
        if flag == "--no-save":
            asked.save, left = False, f"{found[2] or ''}{left}"
        elif flag not in FLAGS:
            raise OptionError(f"{flag} is not a flag of %benchwright", remedy=did_you_mean(flag, FLAGS))
        elif not value:
            raise OptionError(f"{flag} needs a value", remedy=f"for example {flag} {EXAMPLES[flag]}")
        elif flag == "--rounds":
            asked.rounds = _read_number(flag, value)
        elif flag == "--duration":
            asked.duration = _read_seconds(flag, value)
        elif flag == "--tag":
            asked.tags = (*asked.tags, value)
        else:
            setattr(asked, flag.removeprefix("--"), value)
    asked.rest = left.strip()
    return asked


def compile_call(code: str, names: dict[str, Any]) -> Callable[[], Any]:
    """The code as the body of a function that sees these names; a `SyntaxError` as Python gives it."""
    tree = ast.parse(code, filename="<cell>")
    compile(tree, "<cell>", "exec")  # what is wrong outside of a function: a `yield` would only make a generator
    module = ast.parse(f"def {_FUNCTION}(): pass", filename="<cell>")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = tree.body or function.body
    found: dict[str, Any] = {}
    exec(compile(module, "<cell>", "exec"), names, found)  # noqa: S102 - the user's own cell, in the user's own kernel
    call: Callable[[], Any] = found[_FUNCTION]
    return call


def _case(asked: CellRequest, code: str) -> Case:
    from benchwright.execution.in_process import IN_PROCESS

    lines = [line.strip() for line in code.strip().splitlines()]
    called = asked.name or f"{lines[0][:MOST_NAME]}{' ...' if len(lines) > 1 or len(lines[0]) > MOST_NAME else ''}"
    return Case(
        name=called,
        target=Target(runtime="python", uri=f"notebook:{called}", options=IN_PROCESS),
        load=Load(duration=asked.duration),
        version=hashlib.sha256(code.encode()).hexdigest()[:16],
        tags=asked.tags,
    )


def _measure(call: Callable[[], Any], case: Case, asked: CellRequest) -> Run:
    from benchwright._version import VERSION
    from benchwright.execution.in_process import Surrounding, make_result, time_here
    from benchwright.execution.new_runs import new_run_id, now
    from benchwright.execution.saver import Saver
    from benchwright.store import check_address, open_sink
    from benchwright.worker.engine.budget import CallBudget, prepare_within
    from benchwright.worker.engine.subject import Subject
    from benchwright.worker.runtimes import Loaded
    from benchwright.workflows.validation import check_tags

    url, tags = config.store_url(asked.store), tuple(dict.fromkeys((*config.load().tags, *asked.tags)))
    check_tags(tags)
    if asked.save:
        check_address(url)
    started_at, began = now(), time.monotonic()
    loaded = Loaded(call=call, versions={"python": platform.python_version()})
    prepared = prepare_within(Subject(call=call), CallBudget(seconds=asked.duration, least=asked.rounds))
    timed = time_here(loaded, prepared, started_at=started_at, began=began)
    around = Surrounding.collect(Path.cwd())
    run = Run(id=new_run_id(), started_at=started_at, harness=VERSION, tags=tags, revision=around.revision)
    result = make_result(f"{run.id}-0", case, timed, around, REMEDIES)
    saver = Saver((lambda: open_sink(url)) if asked.save else None, lambda: True)
    saver.save(run, result)
    saver.close()
    saver.report(run)
    return replace(run, results=(result,))


def _read_number(flag: str, value: str) -> int:
    if not value.isdecimal() or not int(value):
        raise OptionError(f"{flag}: {value!r} is not a number above 0", remedy=f"for example {flag} 5")
    return int(value)


def _read_seconds(flag: str, value: str) -> float:
    from benchwright.units import parse_quantity

    seconds = parse_quantity(value, "s", what=flag)
    if not 0 < seconds < 86400:
        raise OptionError(f"{flag}: {value} is not a time above 0", remedy=f"for example {flag} 0.5s")
    return seconds
