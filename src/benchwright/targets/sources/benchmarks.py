"""Cases of what a Python file, module or package offers: functions, and the methods of benchmark classes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import TargetError, did_you_mean
from benchwright.events import Imported, Noted
from benchwright.records import Case, Load, Mode, Scalar, Target
from benchwright.targets.sources import CaseDescription, Request, digest_files, discovery, matrix
from benchwright.targets.sources.offered import FUNCTION, BenchmarkOffer, OfferedBenchmark, SearchFilter
from benchwright.worker.runtimes.classes import conventions

_MOST_NAMED = 5
_NOT_TIMES = ("mem_", "peakmem_", "track_")
_MEANT = "asked for its memory (mem_, peakmem_) or its number (track_)"
SLOW = 5.0  # seconds of an import that are worth a word


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkPlace:
    """A file, module or package, and the name in it; "" for all there is."""

    module: str  # the absolute path of a file, or a dotted name
    file: Path
    name: str = ""
    dotted: bool = False  # a class in a module is written with dots alone: `package.module.Class.method`
    written: str = ""  # the name to keep, when what was written names exactly one

    def uri(self, found: OfferedBenchmark) -> str:
        """Returns the name that the worker imports the benchmark by."""
        module = found.module or self.module
        return f"{module}{'::' if module.endswith('.py') else ':'}{found.name}"

    def case_name(self, found: OfferedBenchmark) -> str:
        """How the case is called: such that it can be asked for again."""
        if self.module.endswith(".py"):
            return f"{self.file.name}::{found.name}"
        if self.written and found.name == self.name:
            return self.written
        dots = found.kind != FUNCTION and (self.dotted or bool(found.module))
        return f"{found.module or self.module}{'.' if dots else ':'}{found.name}"

    @property
    def label(self) -> str:
        """The place as a whole, for messages."""
        if self.module.endswith(".py"):
            return f"{self.file.name}::{self.name}" if self.name else self.file.name
        separator = "." if self.dotted else ":"
        return self.written or (f"{self.module}{separator}{self.name}" if self.name else self.module)


def find(place: BenchmarkPlace, request: Request, runtime: str = "") -> list[OfferedBenchmark]:
    """What the place offers to `runtime`, or to both that call Python code.

    A `TargetError` says that this is nothing, or that the request cannot be about it.
    """
    check(place, request)
    wanted = SearchFilter(style=_style(request), runtime=runtime, last_paths=tuple(request.last_paths))
    begin = time.monotonic()
    offer = discovery.run_search(place.module, place.name, timeout=_timeout(request), asked=wanted)
    found = list(discovery.refuse_broken(offer, place.module).found)
    if not found:
        raise _no_match_error(place)
    _tell(place, offer, request)
    if (seconds := time.monotonic() - begin) >= SLOW:
        request.listener(Imported(module=place.module, seconds=seconds))
    return found


def find_importable(place: BenchmarkPlace, request: Request) -> tuple[list[OfferedBenchmark], list[tuple[str, str]]]:
    """Like `find`, but what cannot be imported of a package is told beside what can."""
    check(place, request)
    wanted = SearchFilter(style=_style(request), last_paths=tuple(request.last_paths))
    offer = discovery.run_search(place.module, place.name, timeout=_timeout(request), asked=wanted)
    if not offer.found and not offer.broken:
        raise _no_match_error(place)
    _tell(place, offer, request)
    return list(offer.found), list(offer.broken)


def _tell(place: BenchmarkPlace, offer: BenchmarkOffer, request: Request) -> None:
    """Says what of asv is left out, and what is timed although its name asks for something else."""
    if offer.left:
        names, more = ", ".join(offer.left[:_MOST_NAMED]), len(offer.left) - _MOST_NAMED
        listed = f"{names} and {more} more" if more > 0 else names
        how = "only the methods of a class are read as benchmarks of asv, and timeraw_* is not supported"
        request.listener(Noted(text=f"{place.label}: left out: {listed}; {how}"))
    for found in offer.found:
        if found.kind == FUNCTION and found.name == place.name and found.name.startswith(_NOT_TIMES):
            how = f"how long it takes is measured; a method of a class by that name is {_MEANT}"
            request.listener(Noted(text=f"{place.label} is a function: {how}"))


def check(place: BenchmarkPlace, request: Request) -> None:
    """Refuses what means nothing to Python code."""
    if tuple(request.devices) != ("cpu",) or tuple(request.precisions) != ("",):
        raise TargetError(
            f"{place.file.name}: a Python callable chooses its device and precision itself",
            remedy="give it a parameter for that, or use --runtime torch",
        )
    matrix.refuse_inputs(place.label, request)


def cases(place: BenchmarkPlace, found: OfferedBenchmark, request: Request) -> Iterator[tuple[Case, CaseDescription]]:
    """Every case of one benchmark, with what there is to say about it."""
    runtime = "python" if found.kind == FUNCTION else "class"
    shown = place.case_name(found)
    target = Target(runtime=runtime, uri=place.uri(found), options=matrix.options_for(runtime, request))
    file = _file(place, found)
    version = digest_files([file]) if file.is_file() else ""
    about = CaseDescription(summary=found.summary, owner=_owner(shown, found), owner_summary=found.owner_summary)
    for own in matrix.combinations(_own_params(shown, found, request)):
        inputs = dataclasses.replace(request.inputs, batch_size=_batch_size(own))
        for load, issuing in _loads(shown, found, request):
            params = {"runtime": runtime, **own, **issuing}
            yield matrix.case(shown, target, params, inputs, load, version, request), about


def _no_match_error(place: BenchmarkPlace) -> TargetError:
    return TargetError(
        f"{place.label} matches no benchmark", remedy=f"benchwright list {place.module} shows what there is"
    )


def _timeout(request: Request) -> float:
    return request.load.timeout or discovery.TIMEOUT


def _style(request: Request) -> str:
    """The style that all classes are taken to have; "" when nobody says so."""
    return str(matrix.options_for("class", request).get("style") or "")


def _file(place: BenchmarkPlace, found: OfferedBenchmark) -> Path:
    return (discovery.locate(found.module) if found.module else None) or place.file


def _owner(shown: str, found: OfferedBenchmark) -> str:
    if found.kind == FUNCTION:
        return ""
    return shown[: -len(found.name.rpartition(".")[2]) - 1]


def _loads(shown: str, found: OfferedBenchmark, request: Request) -> Iterator[tuple[Load, dict[str, Scalar]]]:
    if found.kind in (FUNCTION, conventions.TIME):
        yield from matrix.loads(request, found.loops)
        return
    issuing = {
        "--workers": tuple(request.workers) != (1,),
        "--copies": tuple(request.copies) != (1,),
        "--rate": tuple(request.rates) != (None,),
        f"a load that is {request.load.mode}": request.load.mode is not Mode.CLOSED,
    }
    for flag in (flag for flag, given in issuing.items() if given):
        raise TargetError(
            f"{shown} is called once a round, so {flag} does not apply to it",
            remedy="leave it out, or name the method time_* to have it called over and over",
        )
    load = request.load
    yield Load(mode=Mode.SINGLE, timeout=load.timeout, seed=load.seed, objectives=load.objectives), {}


def _own_params(shown: str, found: OfferedBenchmark, request: Request) -> dict[str, tuple[Scalar, ...]]:
    """The declared parameters, narrowed or added to by the request's; every one that must have a value has one."""
    requested = {name: tuple(values) for name, values in request.params.items()}
    if tuple(request.batch_sizes) != (1,):
        requested["batch_size"] = tuple(request.batch_sizes)
    for name in [*found.params, *requested]:
        if name in conventions.ISSUING:
            raise TargetError(f"{shown}: a parameter cannot be named {name!r}", remedy="rename it")
        if not found.takes_any and name not in found.accepts:
            raise TargetError(f"{shown} takes no parameter {name!r}", remedy=did_you_mean(name, found.accepts))
    params = {**found.params, **requested}
    for name in found.required:
        if name not in params:
            raise TargetError(f"{shown} needs a value for {name!r}", remedy=f"add --param {name}=VALUE")
    return params


def _batch_size(own: dict[str, Scalar]) -> int:
    size = own.get("batch_size", 1)
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 1
