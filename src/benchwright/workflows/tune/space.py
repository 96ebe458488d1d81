"""The space of a race: every case of a request, with the options and machines that are dimensions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from benchwright import plugins, schema
from benchwright.errors import OptionError
from benchwright.records import Case, Scalar
from benchwright.records.races import HOST, MOST_CELLS, TARGET, RaceAxis
from benchwright.targets.sources import Request, matrix

# How `benchwright run` is told a parameter of a case that is no parameter of a callable.
_FLAGS = {
    "runtime": "--runtime",
    "device": "--device",
    "precision": "--numeric-precision",
    "batch_size": "--batch-size",
    "workers": "--workers",
    "copies": "--copies",
    "rate": "--rate",
    "processes": "--processes",
    "shape": "--shape",
}
_TEST = "test"  # of a spec: a part of what the target is called
_OPTION = "option "  # begins the names that options have while a space is put together

Options = Mapping[str, Sequence[Scalar]]
Settings = dict[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneCell:
    """One configuration: the case to measure, the machine, and its place on each axis."""

    case: Case
    host: str = ""
    places: tuple[int, ...] = ()
    target: str = ""  # what `benchwright run` is told of it


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSpace:
    """All configurations of a race."""

    axes: tuple[RaceAxis, ...]
    cells: tuple[TuneCell, ...]

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The places of all cells, which are in their order; none where the cells are every combination."""
        found = tuple(cell.places for cell in self.cells)
        return () if len(found) == prod(len(axis.values) for axis in self.axes) else found


def plan_space(
    request: Request,
    options: Options,
    plan_cases: Callable[[Request], Sequence[Case]],
    *,
    hosts: Sequence[str] = (),
    without: Mapping[str, Sequence[str]] | None = None,
) -> TuneSpace:
    """Every case of the request, once for each combination of `options` and each of the `hosts`.

    `without` names options that a runtime does not know: its cases are measured without them.
    """
    found: dict[tuple[str, str], tuple[TuneCell, Settings]] = {}
    check_size(request, options, hosts)
    for part, target in _parts(request):
        for combination in matrix.combinations(options):
            asked = {**part.options, **combination}
            cases = _plan_without(replace(part, options=asked), plan_cases, without or {})
            is_several = len({case.name for case in cases}) > 1
            for case in cases:
                settings = _settings(case, target, combination, without or {}, is_several=is_several)
                for host in hosts or ("",):
                    cell = TuneCell(case=case, host=host, target=str(settings[TARGET]))
                    own = {TARGET: settings[TARGET], **({HOST: host} if host else {}), **settings}
                    found.setdefault((schema.fingerprint(replace(case, tags=())), host), (cell, own))
    if len(found) > MOST_CELLS:
        raise _too_large(len(found))
    return _lay_out(list(found.values()))


def check_size(request: Request, options: Options, hosts: Sequence[str] = ()) -> None:
    """Refuses a space that nobody could hold in view, before any of it is planned."""
    own = (request.devices, request.precisions, request.batch_sizes, request.workers, request.copies, request.rates)
    lists = (*own, request.processes or (1,), *request.params.values(), *options.values())
    cells = prod(map(len, lists)) * max(1, len(request.runtimes)) * max(1, len(hosts)) * max(1, len(request.targets))
    if cells > MOST_CELLS:
        raise _too_large(cells)


def _too_large(cells: int) -> OptionError:
    return OptionError(
        f"{cells:,} combinations are more than {MOST_CELLS:,}, the most that one race takes",
        remedy="give ranges without a step, which double, or fewer values",
    )


def _parts(request: Request) -> Iterator[tuple[Request, str]]:
    """The request once for each of its targets, so that it is known which of them a case is of."""
    for target in request.targets:
        yield replace(request, targets=[target], command=()), target
    if request.command:
        yield replace(request, targets=[]), ""


def _plan_without(
    request: Request, plan_cases: Callable[[Request], Sequence[Case]], without: Mapping[str, Sequence[str]]
) -> list[Case]:
    """The cases of a request, those of each runtime without the options that it does not know."""
    found = []
    for case in plan_cases(request):
        unknown = without.get(case.target.runtime, ())
        options = {name: value for name, value in case.target.options.items() if name not in unknown}
        target = case.target if len(options) == len(case.target.options) else replace(case.target, options=options)
        found.append(replace(case, target=target))
    return found


def _settings(
    case: Case,
    target: str,
    combination: Mapping[str, Scalar],
    without: Mapping[str, Sequence[str]],
    *,
    is_several: bool,
) -> Settings:
    """What tells a case from the others of the space, by the names of dimensions."""
    runtime, names = case.target.runtime, plugins.names("runtimes")
    own: Settings = {TARGET: _name_target(case, target, is_several=is_several)}
    own |= {name: value for name, value in case.params.items() if name != _TEST}
    for name, value in combination.items():
        owner, dot, _ = name.partition(".")
        is_foreign = bool(dot) and owner in names and owner != runtime
        own[_OPTION + name] = None if is_foreign or name in without.get(runtime, ()) else value
    return own


def _name_target(case: Case, target: str, *, is_several: bool) -> str:
    """What `benchwright run` is told to measure this case and no other of the target."""
    file, _, chosen = target.partition("::")
    test = case.params.get(_TEST)
    if test and not chosen:
        return f"{file}::{test}"
    if not is_several or not target:
        return target
    inner = case.name.partition("::")[2]
    return f"{target}::{inner}" if inner and not chosen else case.name


# ---- axes ----


def _lay_out(found: Sequence[tuple[TuneCell, Settings]]) -> TuneSpace:
    """The cells with their places on the axes: one for each setting that is not the same in all of them."""
    names = dict.fromkeys(name for _, settings in found for name in settings)
    axes = []
    for name in names:
        values = list(dict.fromkeys(_tell_apart(settings.get(name)) for _, settings in found))
        if len(values) > 1:
            axes.append((name, _sort_values([value for _, value in values])))
    cells = [
        replace(cell, places=tuple(_find(values, settings.get(name)) for name, values in axes))
        for cell, settings in found
    ]
    return TuneSpace(
        axes=tuple(RaceAxis(name=_plain(name), values=values, arguments=_arguments(name)) for name, values in axes),
        cells=tuple(sorted(cells, key=lambda cell: cell.places)),
    )


def _tell_apart(value: Scalar) -> tuple[str, Scalar]:
    """A key under which 1 and true, which are equal, are two values."""
    return type(value).__name__, value


def _sort_values(values: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Numbers in their order, words in the order in which they were named."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return tuple(sorted(values))  # type: ignore[type-var]
    return tuple(values)


def _find(values: Sequence[Scalar], value: Scalar) -> int:
    return next(place for place, one in enumerate(values) if _tell_apart(one) == _tell_apart(value))


def _plain(name: str) -> str:
    return name.removeprefix(_OPTION)


def _arguments(name: str) -> tuple[str, ...]:
    if name == TARGET:
        return ()
    if name == HOST:
        return ("--host", "{}")
    if name.startswith(_OPTION):
        return ("--option", f"{_plain(name)}={{}}")
    return (_FLAGS[name], "{}") if name in _FLAGS else ("--param", f"{name}={{}}")
