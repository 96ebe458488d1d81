"""Python code by its place: `file.py::name`, every benchmark of `file.py`, `package.module:name`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from benchwright import plugins
from benchwright.errors import TargetError
from benchwright.records import Case
from benchwright.targets.sources import CaseDescription, Request, benchmarks, digest_files, discovery, find_file, matrix
from benchwright.targets.sources.benchmarks import BenchmarkPlace
from benchwright.targets.sources.offered import OfferedBenchmark
from benchwright.worker.runtimes import check_installed

_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_][\w.]*)")
_OURS = ("python", "class")  # runtimes that call what they find; others make a model of it


class Callables:
    """Functions and benchmark classes, and classes or factories of models when a runtime such as torch is asked for."""

    name: ClassVar[str] = "callables"

    def accepts(self, target: str) -> bool:
        if target.partition("::")[0].endswith(".py"):
            return True
        dotted = _DOTTED.fullmatch(target)
        return dotted is not None and not _names_a_class(dotted[1])

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        yield from (case for case, _ in self.describe(target, request))

    def describe(self, target: str, request: Request) -> Iterator[tuple[Case, CaseDescription]]:
        """Every case of the target, with what there is to say about it."""
        place = _place(target)
        for runtime in request.runtimes or _OURS:
            if ".py" not in plugins.load("runtimes", runtime).extensions:
                raise TargetError(f"{runtime} does not load Python code", remedy="use python or torch")
            if not request.elsewhere:
                check_installed(runtime)
        for runtime in request.runtimes or ("",):
            if runtime in ("", *_OURS):
                for found in benchmarks.find(place, request, runtime):
                    yield from benchmarks.cases(place, found, request)
            elif not place.name:
                raise TargetError(f"{target} does not say which model", remedy=f"write {target}::Name")
            else:
                named = OfferedBenchmark(name=place.name)
                version = digest_files([place.file])
                model = matrix.models(place.case_name(named), place.uri(named), runtime, version, request)
                yield from ((case, CaseDescription()) for case in model)


def _names_a_class(dotted: str) -> bool:
    """Whether what stands before the colon goes on behind a module: `package.module.Class:method`, or a filter."""
    module, rest = discovery.split(dotted)
    return bool(module and rest)


def _place(target: str) -> BenchmarkPlace:
    dotted = _DOTTED.fullmatch(target)
    if dotted:
        file = discovery.locate(dotted[1])
        if file is None:
            raise TargetError(f"there is no module {dotted[1]!r} here", remedy="is its folder the present one?")
        return BenchmarkPlace(module=dotted[1], file=file, name=dotted[2])
    text, separator, name = target.partition("::")
    file = find_file(text)
    if separator and not name:
        raise TargetError(f"{target} names nothing after ::", remedy=f"write {text}::name, or {text} for all")
    return BenchmarkPlace(module=str(file), file=file, name=name)
