"""Spec files of our own form: `model.yaml`, `model.yaml::test`, and folders of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import ClassVar

from benchwright import plugins
from benchwright.errors import DecodeError, TargetError, did_you_mean
from benchwright.events import Fetching, Noted
from benchwright.records import Case, Load, Mode, Scalar, Target
from benchwright.targets.sources import Request, digest_files, find_file, matrix, source_of
from benchwright.targets.specs import files, folders, passes, reader, translation
from benchwright.targets.specs.definition import RuntimeEntry, Shapes, Spec, SpecFile, SpecTest
from benchwright.targets.specs.references import BINARY, endings_of_runtime
from benchwright.targets.specs.translation import RuntimeNames
from benchwright.worker.runtimes import check_installed, is_installed

_HOST = "host"


class Specs:
    """A model's files, inputs and outputs, and tests of it. A folder stands for every spec in it."""

    name: ClassVar[str] = "specs"

    def accepts(self, target: str) -> bool:
        return target.partition("::")[0].endswith(reader.ENDINGS) or _is_folder(target)

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        for parameter in request.params:
            raise TargetError(f"{target}: a spec takes no parameter {parameter!r}", remedy="leave --param out")
        text, separator, name = target.partition("::")
        specs = [each for each in request.targets if isinstance(source_of(each), Specs)]
        if len(specs) > 1 and target == specs[0]:
            _refuse_doubles(specs)
        if Path(text).is_dir():
            yield from _folder(Path(text), request)
            return
        if separator and not name:
            raise TargetError(f"{target} names nothing after ::", remedy=f"write {text}::test, or {text} for all")
        find_file(text)  # says which file is meant instead
        spec = reader.read(Path(text).expanduser())
        yield from _SpecPlan(_select_test(spec, name), request).cases()


def _is_folder(target: str) -> bool:
    """Whether it is a folder, and without a slash one that holds specs: `name` alone may be a Python package."""
    folder = Path(target)
    if "/" in target or not folder.is_dir():
        return folder.is_dir()
    return not (folder / "__init__.py").exists() and folders.holds_specs(folder)


def _refuse_doubles(targets: Iterable[str]) -> None:
    """Refuses specs of one model name, as a folder with both of them does."""
    specs: list[Spec] = []
    for place in dict.fromkeys(Path(target.partition("::")[0]).expanduser() for target in targets):
        specs += folders.read_folder(place) if place.is_dir() else [reader.read(place)] if place.is_file() else []
    if problems := list(folders.find_doubles(specs)):
        raise reader.refusal(problems)


def _folder(folder: Path, request: Request) -> Iterator[Case]:
    """Every spec of a folder. A model that has nothing for a runtime is told and left out, unless all of them are."""
    able: list[tuple[_SpecPlan, list[str]]] = []
    left_out = []
    for spec in folders.read_folder(folder):
        planned = _SpecPlan(spec, request)
        refusals = {runtime: planned.refusal(runtime) for runtime in planned.choose_runtimes()}
        able.append((planned, [runtime for runtime, reason in refusals.items() if not reason]))
        left_out += [f"{spec.name}: {reason}" for reason in refusals.values() if reason]
    runtimes = {runtime for _, each in able for runtime in each}
    if not runtimes:
        raise TargetError(f"{folder}: no spec in it can be measured in this way", remedy="; ".join(left_out[:5]))
    _check_installed(runtimes, request)  # before files are fetched for hours
    for text in left_out:
        request.listener(Noted(text=f"left out: {text}"))
    for planned, each in able:
        yield from planned.cases(each)


def _check_installed(runtimes: Iterable[str], request: Request) -> None:
    if not request.elsewhere:
        for runtime in runtimes:
            check_installed(runtime)


def _select_test(spec: Spec, name: str) -> Spec:
    if not name:
        return spec
    found = tuple(test for test in spec.tests if test.name == name)
    if not found:
        remedy = did_you_mean(name, [test.name for test in spec.tests if test.name]) or "it names no tests"
        raise TargetError(f"{spec.path.name} has no test {name!r}", remedy=remedy)
    return dataclasses.replace(spec, tests=found)


class _SpecPlan:
    """The cases of one spec for one request."""

    def __init__(self, spec: Spec, request: Request) -> None:
        self._spec, self._request = spec, request
        self._held: dict[str, files.LocalFile] = {}

    def choose_runtimes(self) -> list[str]:
        """The runtimes that were asked for; else those that the spec names; else one for each of the model's files."""
        if self._request.runtimes:
            return [*self._request.runtimes]
        named = list(self._spec.runtimes)
        return named or list(dict.fromkeys(self._first_runtime(file) for file in self._spec.files.values()))

    def refusal(self, runtime: str) -> str:
        """Why this runtime cannot measure the model, or ""."""
        if runtime == BINARY:
            return "" if BINARY in self._spec.runtimes else "the spec has no entry for the runtime binary"
        if self._file(runtime) is None:
            known = ", ".join(file.name for file in self._spec.files.values()) or "none"
            endings = ", ".join(endings_of_runtime(runtime)) or "none"
            return f"no file for {runtime}, which loads {endings}; there is {known}"
        if not any(self._runs_in(test, runtime) for test in self._spec.tests):
            return f"no test is for {runtime}"
        return ""

    def cases(self, runtimes: Sequence[str] | None = None) -> Iterator[Case]:
        """Each test, shape and runtime in turn, so that runtimes stand side by side."""
        runtimes = self.choose_runtimes() if runtimes is None else runtimes
        for runtime in runtimes:
            if reason := self.refusal(runtime):
                raise TargetError(f"{self._spec.path.name}: {reason}", remedy="add a file, or leave the runtime out")
        _check_installed(runtimes, self._request)
        for test in self._spec.tests:
            for shapes in test.shapes or ({},):
                for runtime in runtimes:
                    if self._runs_in(test, runtime):
                        make = self._programs if runtime == BINARY else self._models
                        yield from make(runtime, test, shapes)

    def _models(self, runtime: str, test: SpecTest, shapes: Shapes) -> Iterator[Case]:
        file, entry = self._file(runtime), self._spec.runtimes.get(runtime)
        assert file is not None, "cases() refuses a runtime that has no file"
        names = RuntimeNames.of_file(file, entry)
        request = self._complete_request(test, shapes, entry)
        inputs = translation.inputs_of(self._spec, shapes, names, request.inputs, self._place)
        if test.batch_sizes or self._has_batch_sizes():
            inputs = dataclasses.replace(inputs, shapes=translation.without_batch(inputs.shapes))
        uri, version = str(self._place(file)), self._version(file)
        request = dataclasses.replace(request, inputs=inputs)
        for case in matrix.models(self._spec.name, uri, runtime, version, request):
            batch = case.inputs.batch_size
            expected = translation.expected_of(self._spec, test, shapes, batch, names, self._place)
            yield dataclasses.replace(case, params=self._params(case.params, test, shapes), expected=expected)

    def _programs(self, runtime: str, test: SpecTest, shapes: Shapes) -> Iterator[Case]:
        entry = self._spec.runtimes[runtime]
        request = self._complete_request(test, shapes, entry)
        matrix.refuse_inputs(self._spec.name, self._request)
        device = _HOST if tuple(request.devices) == ("cpu",) else request.devices[0]
        for batch in request.batch_sizes:
            wanted = request.load
            work = translation.pass_of(self._spec, test, shapes, batch, entry, wanted, self._place)
            load = Load(mode=Mode.SINGLE, timeout=wanted.timeout, seed=wanted.seed, objectives=wanted.objectives)
            uri = f"{self._spec.path}::{test.name or self._spec.name}"
            target = Target(runtime=runtime, uri=uri, device=device, work=passes.to_text(work))
            params = self._params({"runtime": runtime, "batch_size": batch}, test, shapes)
            version = digest_files([Path(work.program)] if work.program else [self._spec.path])
            yield matrix.case(self._spec.name, target, params, request.inputs, load, version, request)

    def _complete_request(self, test: SpecTest, shapes: Shapes, entry: RuntimeEntry | None) -> Request:
        """The request with what the test and the runtime's entry say where the request says nothing."""
        request = self._request
        stated = translation.batch_of(translation.shapes_of(self._spec, shapes))
        return dataclasses.replace(
            request,
            batch_sizes=request.batch_sizes if self._has_batch_sizes() else test.batch_sizes or (stated,),
            devices=request.devices if tuple(request.devices) != ("cpu",) else test.devices or request.devices,
            options={**(entry.options if entry else {}), **request.options},
            load=translation.load_of(test, request.load),
            tags=tuple(dict.fromkeys([*self._spec.tags, *test.tags, *request.tags])),
        )

    def _params(self, params: Mapping[str, Scalar], test: SpecTest, shapes: Shapes) -> dict[str, Scalar]:
        """What tells the case from its neighbours: the test and the shape where there are several."""
        more: dict[str, Scalar] = {"test": test.name} if test.name and len(self._spec.tests) > 1 else {}
        if len(test.shapes) > 1:
            more["shape"] = _format_shapes(shapes)
        return {"runtime": params["runtime"], **more, **params}

    def _has_batch_sizes(self) -> bool:
        return tuple(self._request.batch_sizes) != (1,)

    def _runs_in(self, test: SpecTest, runtime: str) -> bool:
        return not test.runtimes or runtime in test.runtimes

    def _file(self, runtime: str) -> SpecFile | None:
        """The file that the spec names for a runtime, else the first that it loads."""
        entry = self._spec.runtimes.get(runtime)
        if entry and entry.file:
            return self._spec.files[entry.file]
        endings = endings_of_runtime(runtime)
        return next((file for file in self._spec.files.values() if PurePath(file.name).suffix in endings), None)

    def _first_runtime(self, file: SpecFile) -> str:
        """The first installed runtime that loads the file; else the first at all, which then says what to install."""
        ending = PurePath(file.name).suffix
        matching = [name for name in plugins.BUILTIN["runtimes"] if ending in endings_of_runtime(name)]
        if not matching:
            known = sorted({end for name in plugins.BUILTIN["runtimes"] for end in endings_of_runtime(name)})
            raise DecodeError(
                f"{file.where}: no runtime loads {file.name}", remedy=f"known endings: {', '.join(known)}"
            )
        if self._request.elsewhere:
            return matching[0]
        return next((name for name in matching if is_installed(name)), matching[0])

    def _place(self, file: SpecFile) -> Path:
        return self._obtain(file).path

    def _obtain(self, file: SpecFile) -> files.LocalFile:
        if not self._request.fetching and (file.is_url or file.sha256):
            return files.LocalFile(path=Path(file.name), sha256=file.sha256)
        if file.where not in self._held:
            self._held[file.where] = files.obtain(file, self._tell)
        return self._held[file.where]

    def _version(self, file: SpecFile) -> str:
        here = self._obtain(file)
        if here.sha256 or not here.path.is_file():
            return here.sha256
        return digest_files([here.path])

    def _tell(self, name: str, here: int, whole: int | None) -> None:
        self._request.listener(Fetching(name=name, here=here, whole=whole))


def _format_shapes(shapes: Shapes) -> str:
    """`1x3x224x224`, or `a:1x3 b:1x5` of several inputs."""
    texts = {name: "x".join(map(str, shape)) for name, shape in shapes.items()}
    return " ".join(texts.values()) if len(texts) == 1 else " ".join(f"{name}:{text}" for name, text in texts.items())
