"""Sources read one kind of target and yield cases. They run in the parent and import no framework."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import ClassVar, Protocol

from benchwright import plugins, schema
from benchwright.errors import TargetError
from benchwright.events import Event, Imported, Listener, Noted, nobody
from benchwright.records import Case, Inputs, Load, Scalar, Tolerance

WEIGHTS = (".safetensors", ".gguf", ".ckpt", ".pth")  # files that hold numbers and no graph
FED_BY_FILE = ("onnxruntime", "openvino", "litert", "torch")  # runtimes that feed a model what its file says
LAUNCHED = ("tasks", "commands")  # sources of what a launcher can start as several processes
_CHUNK = 2**20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asked for, before it is crossed into cases. Every sequence is a dimension of the matrix."""

    targets: Sequence[str]
    command: Sequence[str] = ()  # what followed `--`
    runtimes: Sequence[str] = ()  # empty: the first installed one that loads the target
    devices: Sequence[str] = ("cpu",)
    precisions: Sequence[str] = ("",)
    batch_sizes: Sequence[int] = (1,)
    workers: Sequence[int] = (1,)
    copies: Sequence[int] = (1,)
    rates: Sequence[float | None] = (None,)
    processes: Sequence[int] = ()  # of a task or a command that a launcher starts; empty: as the task says
    params: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)  # narrows or adds parameters of a callable
    options: Mapping[str, Scalar] = field(default_factory=dict)
    inputs: Inputs = field(default_factory=Inputs)
    load: Load = field(default_factory=Load)  # everything but workers, copies and rate
    tags: Sequence[str] = ()
    elsewhere: bool = False  # another host runs it: what is installed here says nothing
    listener: Listener = nobody  # hears of files being fetched and of what is left out
    last_paths: Sequence[str] = ()  # behind sys.path of whatever imports a target
    launcher: str = ""  # of a task or a command: torchrun, mpirun or a template
    fetching: bool = True  # false: only looked at, so what is not here yet stays where it is


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRequest:
    """What is to be done about the answers of the models."""

    source: str = ""  # a runtime's name, a file or a folder of outputs; "": what the cases themselves expect
    tolerance: Tolerance | None = None  # for every output; None: what the case says, or what is usual for its type
    keep: bool = False  # leave the outputs of each case's first round among the run's files

    def __bool__(self) -> bool:
        """Whether anything is to be done."""
        return bool(self.source or self.tolerance or self.keep)


class Source(Protocol):
    """What every source offers."""

    name: ClassVar[str]

    def accepts(self, target: str) -> bool:
        """Whether this source reads such a target; decided from the text and the file's ending alone."""
        ...

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        """Every case of the target, in the order to run them; a `TargetError` names what is wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDescription:
    """What a benchmark's author says of a case: the first lines of docstrings; "" where there is nothing."""

    summary: str = ""
    owner: str = ""  # the class, as it would be asked for
    owner_summary: str = ""


def plan(request: Request) -> list[Case]:
    """Every case of the request, each once, in the order to run them; every error shows before anything runs."""
    return [case for case, _ in describe_cases(request)]


def describe_cases(request: Request) -> list[tuple[Case, CaseDescription]]:
    """The cases of `plan`, each with what its author says about it, where its source knows."""
    if not request.targets and not request.command:
        raise TargetError("nothing to measure", remedy="name a model file, file.py::name, or a command after --")
    cases: dict[str, tuple[Case, CaseDescription]] = {}
    for target in request.targets:
        source = source_of(target)
        _refuse_processes(target, source, request)
        tell = getattr(source, "describe", None)
        described = (
            tell(target, request) if tell else ((case, CaseDescription()) for case in source.cases(target, request))
        )
        for case, about in described:
            cases.setdefault(schema.fingerprint(case), (case, about))
    if request.command:
        for case in plugins.load("sources", "commands")().cases("", request):
            cases.setdefault(schema.fingerprint(case), (case, CaseDescription()))
    whole = list(cases.values())
    if any(case.target.runtime in FED_BY_FILE for case, _ in whole):
        from benchwright.targets.sources import model_inputs  # only now: functions and commands do without

        whole = [(model_inputs.add_file_facts(case), about) for case, about in whole]
    return list(zip(_tell_apart([case for case, _ in whole]), (about for _, about in whole), strict=True))


def _refuse_processes(target: str, source: Source, request: Request) -> None:
    """Refuses a launcher for what is loaded into a process of ours."""
    flag = "--processes" if request.processes else "--launcher" if request.launcher else ""
    if flag and source.name not in LAUNCHED:
        raise TargetError(
            f"{target} is no command that a launcher starts, so {flag} does not apply to it",
            remedy="write a task for it, or a command after --; --copies loads a model into several processes",
        )


def list_cases(request: Request) -> tuple[list[tuple[Case, CaseDescription]], list[tuple[str, str]]]:
    """The cases of every target, and the modules that could not be imported, with the reason, for people to look at.

    A package is listed although some of its modules cannot be imported; a `TargetError` when nothing at all is left.
    """
    listers = [(each, source) for each in request.targets if hasattr(source := source_of(each), "list_cases")]
    others = [each for each in request.targets if all(each != target for target, _ in listers)]
    pairs = describe_cases(dataclasses.replace(request, targets=others)) if others else []
    broken: list[tuple[str, str]] = []
    for target, source in listers:
        found, failed = source.list_cases(target, request)
        pairs += found
        broken += failed
    if not pairs and broken:
        module, reason = broken[0]
        raise TargetError(f"{module}: {reason}", remedy="nothing else was found")
    return pairs, broken


def _source_names() -> Iterator[str]:
    """The built-in ones; then, where somebody still asks, the installed ones: their metadata takes 47 ms to read."""
    built_in = plugins.BUILTIN["sources"]
    yield from built_in
    yield from (name for name in plugins.names("sources") if name not in built_in)


def source_of(target: str) -> Source:
    """The first source that reads the target. What is installed is looked through only when no built-in one does."""
    if target.partition("::")[0].endswith(".py"):  # asked first: to say no, others import every runtime and more
        return plugins.load("sources", "callables")()  # type: ignore[no-any-return]
    for name in _source_names():
        source: Source = plugins.load("sources", name)()
        if source.accepts(target):
            return source
    ending = PurePath(target).suffix
    endings = {end for name in plugins.names("runtimes") for end in plugins.load("runtimes", name).extensions}
    if ending in endings:
        return plugins.load("sources", "models")()  # type: ignore[no-any-return]
    if ending:
        path = find_file(target)
        if ending in WEIGHTS:
            raise TargetError(
                f"{path.name} holds weights, and not the code that computes with them",
                remedy="measure your code that loads it, in a file of yours: benchwright run file.py::name",
            )
        raise TargetError(
            f"no runtime loads {path.name}: unknown ending {ending!r}",
            remedy=f"known endings: {', '.join(sorted(endings))}",
        )
    raise TargetError(
        f"{target!r} is not a target that is known here",
        remedy="name a model file, a spec, file.py::name, package.module:name, or a command after --",
    )


def _tell_apart(cases: list[Case]) -> list[Case]:
    """Cases of equal name but of different files get as many folders in front as tell them apart."""
    places = defaultdict(set)
    for case in cases:
        places[case.name].add(case.target.uri)
    return [_lengthen_name(case, places[case.name]) for case in cases]


def _lengthen_name(case: Case, uris: set[str]) -> Case:
    if len(uris) == 1 or not case.target.uri.endswith(case.name):  # named by its author, not by its file
        return case
    mine, others = PurePath(case.target.uri).parts, [PurePath(uri).parts for uri in uris - {case.target.uri}]
    for depth in range(2, len(mine) + 1):
        if all(other[-depth:] != mine[-depth:] for other in others):
            return dataclasses.replace(case, name="/".join(mine[-depth:]))
    return case


# ---- the files that targets name ----


def find_file(target: str) -> Path:
    """The absolute path of the file that `target` names, or a `TargetError` that names the nearest one beside it.

    Links are not followed: caches of models keep files without their endings behind links that have them.
    """
    path = Path(target).expanduser().absolute()
    if path.is_file():
        return path
    if path.is_dir():
        raise TargetError(f"{target} is a folder", remedy="name a file in it")
    if not path.parent.is_dir():
        raise TargetError(f"there is no file {target}", remedy=f"there is no folder {path.parent} either")
    import difflib  # costs 5 ms and is needed only when something is wrong

    near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    raise TargetError(f"there is no file {target}", remedy=f"did you mean {near[0]!r}?" if near else "")


def digest_files(paths: Iterable[Path]) -> str:
    """SHA-256 of the files' contents one after another; that of large files is kept until somebody touches them."""
    from benchwright.fetch.remembered_digests import sha256_of  # with OpenSSL: a few milliseconds

    return sha256_of(list(paths))


# ---- imports that take long ----


class ImportTimes:
    """What importing a target's file will take, told before it is spent: each process that measures imports it anew.

    It keeps how long imports took while targets were planned, and passes every other event on to the listener.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._seconds: dict[str, float] = {}  # by the name of the file or module
        self._mentioned: set[str] = set()
        self._noted: set[str] = set()

    def hear(self, event: Event) -> None:
        """Takes an event, as a listener does."""
        if isinstance(event, Imported):
            self._seconds[_module_name(event.module)] = event.seconds
        elif isinstance(event, Noted) and event.text in self._noted:
            return  # what is planned again for the next revision is noted once
        else:
            if isinstance(event, Noted):
                self._noted.add(event.text)
            self._listener(event)

    def tell(self, cases: Sequence[Case], each: int, remedy: str, *, whose: str = "", most: bool = False) -> None:
        """Tells once of each slow module what importing it will take where every case has `each` processes.

        `whose` says what they belong to when there will be more, `most` that there may be fewer. `remedy` may hold
        {once}: what `each` imports would take.
        """
        from benchwright.worker.runtimes.user_objects import split  # only now: models and commands do without

        for name, seconds in self._seconds.items():
            times = each * sum(_module_name(split(case.target.uri)[0]) == name for case in cases)
            if times and name not in self._mentioned:
                self._mentioned.add(name)
                upto = "at most " if most else ""
                text = (
                    f"importing {name} takes {_format_seconds(seconds)}, and {upto}{times} processes{whose} will do it"
                )
                once = _format_seconds(each * seconds)
                self._listener(Noted(text=f"{text}: {_format_seconds(times * seconds)}; {remedy.format(once=once)}"))


def _module_name(module: str) -> str:
    return Path(module).name if module.endswith(".py") else module


def _format_seconds(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
