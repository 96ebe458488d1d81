"""Benchmark classes by their dotted names: `package.module.Class.method`, and what PerfZero's users write.

Also a module or a package: everything in it that is a benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from benchwright.errors import TargetError
from benchwright.records import Case, Load, Mode, Scalar, Target
from benchwright.targets.sources import CaseDescription, Request, benchmarks, discovery
from benchwright.targets.sources.benchmarks import BenchmarkPlace
from benchwright.targets.sources.offered import FILTER, SearchFilter

_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*)?")
_FILTERED = re.compile(rf"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.{FILTER}.*", re.DOTALL)


class Classes:
    """`pkg.module.Class.method`, `pkg.module.Class:method`, `pkg.module.Class`, `pkg.module.Class.filter:REGEX`,
    `pkg.module`, `pkg`."""

    name: ClassVar[str] = "classes"

    def accepts(self, target: str) -> bool:
        if _FILTERED.fullmatch(target):
            return True
        if not _PLAIN.fullmatch(target) or Path(target).is_file():
            return False
        return target.count(".") > 1 or bool(discovery.split(target.partition(":")[0])[0])

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        yield from (case for case, _ in self.describe(target, request))

    def describe(self, target: str, request: Request) -> Iterator[tuple[Case, CaseDescription]]:
        """Every case of the target, with what there is to say about it."""
        _check_runtimes(request)
        place = _place(target)
        for runtime in request.runtimes or ("",):
            for found in benchmarks.find(place, request, runtime):
                yield from benchmarks.cases(place, found, request)

    def list_cases(
        self, target: str, request: Request
    ) -> tuple[list[tuple[Case, CaseDescription]], list[tuple[str, str]]]:
        """Like `describe`, but modules of a package that cannot be imported are told beside what can, not raised."""
        _check_runtimes(request)
        place = _place(target)
        found, broken = benchmarks.find_importable(place, request)
        return [pair for each in found for pair in benchmarks.cases(place, each, request)], broken


def expand(
    method_string: str, *, style: str = "", last_paths: Sequence[str] = (), timeout: float = discovery.TIMEOUT
) -> list[str]:
    """The methods that `pkg.module.Class.filter:REGEX` stands for, in order of name; any other string as it is.

    As PerfZero does it, but in a child process: the class is constructed, and every name of the instance counts that
    the pattern matches from its beginning. None matching is an empty list. `style` says how to construct it, instead
    of what it looks like; `last_paths` go behind `sys.path`; importing and constructing may take `timeout` seconds.
    """
    owner, separator, pattern = method_string.partition(f".{FILTER}")
    if not separator:
        return [method_string]
    module, name = _module_and_name(owner)
    search = SearchFilter(style=style, last_paths=tuple(last_paths))
    found = discovery.benchmarks(module, f"{name}.{FILTER}{pattern}", timeout=timeout, asked=search)
    return [f"{owner}.{each.name.rpartition('.')[2]}" for each in found]


def case_for(
    method_string: str,
    *,
    style: str = "",
    constructor: str = "",
    root_data_dir: str | None = None,
    tpu: str = "",
    log: str = "",
    log_level: str = "",
    timeout: float | None = None,
) -> Case:
    """The case of one method string, called once a round. Nothing is imported and nothing checked.

    Whatever is wrong with it becomes a failed result. What is empty or None stays out of the case's options.
    """
    texts = {"style": style, "constructor": constructor, "tpu": tpu, "log": log, "log_level": log_level}
    options: dict[str, Scalar] = {name: text for name, text in texts.items() if text}
    if root_data_dir is not None:
        options["root_data_dir"] = root_data_dir
    target = Target(runtime="class", uri=_uri(method_string), options=options)
    load = Load(mode=Mode.SINGLE, timeout=timeout)
    return Case(name=method_string, target=target, params={"runtime": "class"}, load=load)


def _uri(method_string: str) -> str:
    """`pkg.module:Class.method` or `file.py::Class.method`; what cannot be split is left for the worker to refuse."""
    if "::" in method_string:
        return method_string
    owner, colon, method = method_string.rpartition(":")
    if not colon:
        owner, _, method = method_string.rpartition(".")
    elif "." in method:
        return method_string
    module, name = _module_and_name(owner)
    return f"{module}:{name}.{method}" if module and name and method else method_string


def _module_and_name(owner: str) -> tuple[str, str]:
    """A class's module and its name, split as PerfZero does, at the last dot."""
    file, separator, name = owner.rpartition("::")
    if separator:
        return str(Path(file).expanduser().absolute()), name
    module, _, name = owner.rpartition(".")
    return module, name


def _check_runtimes(request: Request) -> None:
    for runtime in request.runtimes:
        if runtime not in ("python", "class"):
            raise TargetError(f"{runtime} does not run benchmark classes", remedy="leave --runtime out")


def _place(target: str) -> BenchmarkPlace:
    owner, filtered, pattern = target.partition(f".{FILTER}")
    dotted, colon, method = (owner, "", "") if filtered else owner.partition(":")
    module, rest = discovery.split(dotted)
    if not module:
        first = dotted.partition(".")[0]
        raise TargetError(
            f"there is no module {first!r} here, and no file {target}", remedy="is this the right folder?"
        )
    name = ".".join(part for part in (rest, method) if part)
    if filtered:
        name = f"{rest}.{FILTER}{pattern}"
    file = discovery.locate(module)
    return BenchmarkPlace(
        module=module,
        file=file or Path(module),
        name=name,
        dotted=True,
        written=target if colon else "",
    )
