"""Names in a spec that lead somewhere: to its own inputs, outputs and files, and to runtimes that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from benchwright import plugins
from benchwright.errors import did_you_mean
from benchwright.fetch.downloads import SCHEMES
from benchwright.system.addresses import scheme_of
from benchwright.targets.specs.definition import RuntimeEntry, Spec, SpecFile
from benchwright.targets.specs.places import Place, PlacedDocument, SpecProblem

BINARY = "binary"  # the runtime that runs a program and reads what it prints
GOLDEN_ENDINGS = (".npy", ".npz", ".txt")
INPUT_ENDINGS = (".npy", ".txt")


def find_problems(spec: Spec, document: PlacedDocument) -> list[SpecProblem]:
    """Names that nothing bears, files that their runtime cannot load, and addresses of unknown kinds."""
    looks = _References(spec, document)
    return [*looks.runtimes(), *looks.maps(), *looks.tests(), *looks.files()]


class _References:
    def __init__(self, spec: Spec, document: PlacedDocument) -> None:
        self._spec, self._document = spec, document

    def runtimes(self) -> Iterator[SpecProblem]:
        for name, entry in self._spec.runtimes.items():
            path: Place = ("runtimes", name)
            yield from self._unknown(name, _known_runtimes([name]), path, "runtime")
            if entry.file:
                yield from self._unknown(entry.file, self._spec.files, (*path, "file"), "file")
            if name == BINARY:
                yield from self._binary(entry, path)
            else:
                yield from self._model(name, entry, path)

    def _binary(self, entry: RuntimeEntry, path: Place) -> Iterator[SpecProblem]:
        if not entry.commands:
            yield self._problem(path, "the runtime binary needs a command", 'command: "{program} --model {files.NAME}"')
        for command in entry.commands:
            if "{program}" in command and entry.program is None:
                yield self._problem(
                    (*path, "command"), "{program} is not known", "add program: PATH beside the command"
                )

    def _model(self, name: str, entry: RuntimeEntry, path: Place) -> Iterator[SpecProblem]:
        for key, given in (("program", entry.program), ("command", entry.commands), ("env", entry.env)):
            if given:
                yield self._problem(
                    (*path, key), f"the runtime {name} does not read {key}", f"it belongs to the runtime {BINARY}"
                )
        file = self._spec.files.get(entry.file)
        if file and name in _known_runtimes([name]) and PurePath(file.name).suffix not in endings_of_runtime(name):
            loads = ", ".join(endings_of_runtime(name)) or "no files"
            yield self._problem((*path, "file"), f"{name} does not load {file.name}", f"it loads {loads}")

    def maps(self) -> Iterator[SpecProblem]:
        owners: list[tuple[Place, SpecFile | RuntimeEntry]] = [
            *((("model", "files", key), file) for key, file in self._spec.files.items()),
            *((("runtimes", key), entry) for key, entry in self._spec.runtimes.items()),
        ]
        for path, owner in owners:
            for name in owner.inputs:
                yield from self._unknown(name, self._spec.inputs, (*path, "inputs", name), "input")
            for name in owner.outputs:
                yield from self._unknown(name, self._spec.outputs, (*path, "outputs", name), "output")

    def tests(self) -> Iterator[SpecProblem]:
        seen: set[str] = set()
        for i, test in enumerate(self._spec.tests):
            if test.name in seen:
                yield self._problem(
                    ("tests", i, "name"), f"there are two tests {test.name!r}", "give each its own name"
                )
            seen.add(test.name)
            for name in test.runtimes:
                yield from self._unknown(name, _known_runtimes([name]), ("tests", i, "runtimes"), "runtime")
            for name, shape in test.shapes[0].items() if test.shapes else ():
                path = ("tests", i, "shapes", name)
                yield from self._unknown(name, self._spec.inputs, path, "input")
                known = self._spec.inputs[name].shape if name in self._spec.inputs else None
                if known is not None and len(known) != len(shape):
                    yield self._problem(path, f"{name!r} has {len(known)} dimensions, these shapes {len(shape)}")

    def files(self) -> Iterator[SpecProblem]:
        if not self._spec.files and BINARY not in self._spec.runtimes:
            yield self._problem(("model",), "the model has no files", "files: {onnx: model.onnx}")
        for file in all_files(self._spec):
            if file.is_url and scheme_of(file.location) not in SCHEMES:
                remedy = did_you_mean(scheme_of(file.location), SCHEMES)
                yield SpecProblem(
                    where=file.where, message=f"unknown scheme {scheme_of(file.location)!r}", remedy=remedy
                )
            elif file.is_url and not (file.sha256 or file.md5):
                remedy = "add sha256, so that everybody measures the same file and it is fetched once"
                yield SpecProblem(
                    where=file.where, message="what is behind a url can change", remedy=remedy, severity="warning"
                )
        yield from self._endings()

    def _endings(self) -> Iterator[SpecProblem]:
        inputs = [one.file for one in self._spec.inputs.values() if one.file]
        golden = [one.golden for one in self._spec.outputs.values() if one.golden]
        for files, endings, what in ((inputs, INPUT_ENDINGS, "an input"), (golden, GOLDEN_ENDINGS, "a golden output")):
            for file in files:
                if PurePath(file.name).suffix not in endings:
                    known = ", ".join(endings)
                    yield SpecProblem(
                        where=file.where, message=f"{file.name} cannot be {what}", remedy=f"known endings: {known}"
                    )

    def _unknown(self, name: str, known: Iterable[str], path: Place, what: str) -> Iterator[SpecProblem]:
        names = list(known)
        if name not in names:
            remedy = did_you_mean(name, names) or f"the model names no {what}s"
            yield self._problem(path, f"there is no {what} {name!r}", remedy)

    def _problem(self, path: Place, message: str, remedy: str = "") -> SpecProblem:
        return SpecProblem(where=self._document.at(*path), message=message, remedy=remedy)


def all_files(spec: Spec) -> list[SpecFile]:
    """Every file that the spec names."""
    found = [*spec.files.values()]
    found += [one.file for one in spec.inputs.values() if one.file]
    found += [one.golden for one in spec.outputs.values() if one.golden]
    return found + [one.program for one in spec.runtimes.values() if one.program]


def endings_of_runtime(runtime: str) -> tuple[str, ...]:
    """The endings of files that the runtime loads."""
    return () if runtime == BINARY else tuple(plugins.load("runtimes", runtime).extensions)


def _known_runtimes(wanted: Iterable[str]) -> list[str]:
    """Built-in ones, and installed ones only when one of those is meant: to look for them takes time."""
    known = [*plugins.BUILTIN["runtimes"], BINARY]
    return list(dict.fromkeys(known if set(wanted) <= set(known) else [*known, *plugins.names("runtimes")]))
