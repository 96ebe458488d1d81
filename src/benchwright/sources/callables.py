"""Python callables: `file.py::name`, every marked benchmark of `file.py`, `package.module:name`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from benchwright import plugins
from benchwright.errors import TargetError, did_you_mean
from benchwright.records import Case, Scalar, Target
from benchwright.runtimes import check_installed
from benchwright.sources import Request, content, discover, matrix

_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_][\w.]*)")
_ISSUING = ("runtime", "workers", "copies", "rate")  # names that a callable's own parameters cannot have


class Callables:
    """Functions, and classes or factories of models when a runtime such as torch is asked for."""

    name: ClassVar[str] = "callables"

    def accepts(self, target: str) -> bool:
        return target.partition("::")[0].endswith(".py") or _DOTTED.fullmatch(target) is not None

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        place = _place(target)
        for runtime in request.runtimes or ("python",):
            if ".py" not in plugins.load("runtimes", runtime).extensions:
                raise TargetError(f"{runtime} does not load Python code", remedy="use python or torch")
            check_installed(runtime)
        version = content.digest([place.file])
        for runtime in request.runtimes or ("python",):
            if runtime == "python":
                yield from _python(place, version, request)
            elif not place.name:
                raise TargetError(f"{target} does not say which model", remedy=f"write {target}::Name")
            else:
                yield from matrix.models(place.shown(place.name), place.uri(place.name), runtime, version, request)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A file or module, and the name in it; "" for every marked benchmark."""

    module: str  # the absolute path of a file, or a dotted name
    file: Path
    name: str

    def uri(self, name: str) -> str:
        return f"{self.module}{self._separator}{name}"

    def shown(self, name: str) -> str:
        return f"{self.file.name if self._separator == '::' else self.module}{self._separator}{name}"

    @property
    def _separator(self) -> str:
        return "::" if self.module.endswith(".py") else ":"


def _place(target: str) -> _Place:
    dotted = _DOTTED.fullmatch(target)
    if dotted:
        file = discover.locate(dotted[1])
        if file is None:
            raise TargetError(f"there is no module {dotted[1]!r} here", remedy="is its folder the present one?")
        return _Place(module=dotted[1], file=file, name=dotted[2])
    text, separator, name = target.partition("::")
    file = content.existing(text)
    if separator and not name:
        raise TargetError(f"{target} names nothing after ::", remedy=f"write {text}::name, or {text} for all")
    return _Place(module=str(file), file=file, name=name)


def _python(place: _Place, version: str, request: Request) -> Iterator[Case]:
    if tuple(request.devices) != ("cpu",) or tuple(request.precisions) != ("",):
        raise TargetError(
            f"{place.file.name}: a Python callable chooses its device and precision itself",
            remedy="give it a parameter for that, or use --runtime torch",
        )
    matrix.refuse_inputs(place.shown(place.name) if place.name else place.file.name, request)
    for found in discover.benchmarks(place.module, place.name, timeout=request.load.timeout or discover.TIMEOUT):
        shown = place.shown(found.name)
        target = Target(runtime="python", uri=place.uri(found.name), options=matrix.options_for("python", request))
        for own in matrix.combinations(_own_params(shown, found, request)):
            inputs = dataclasses.replace(request.inputs, batch_size=_batch_size(own))
            for load, issuing in matrix.loads(request, found.loops):
                params = {"runtime": "python", **own, **issuing}
                yield matrix.case(shown, target, params, inputs, load, version, request)


def _own_params(shown: str, found: discover.Found, request: Request) -> dict[str, tuple[Scalar, ...]]:
    """The mark's parameters, narrowed or added to by the request's; every one that must have a value has one."""
    asked = {name: tuple(values) for name, values in request.params.items()}
    if tuple(request.batch_sizes) != (1,):
        asked["batch_size"] = tuple(request.batch_sizes)
    for name in [*found.params, *asked]:
        if name in _ISSUING:
            raise TargetError(f"{shown}: a parameter cannot be named {name!r}", remedy="rename it")
        if not found.takes_any and name not in found.accepts:
            raise TargetError(f"{shown} takes no parameter {name!r}", remedy=did_you_mean(name, found.accepts))
    params = {**found.params, **asked}
    for name in found.required:
        if name not in params:
            raise TargetError(f"{shown} needs a value for {name!r}", remedy=f"add --param {name}=VALUE")
    return params


def _batch_size(own: dict[str, Scalar]) -> int:
    size = own.get("batch_size", 1)
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 1
