"""Our own form of spec files: read whole, with every problem at its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError, FetchError, OptionError, TargetError
from benchwright.records import Objective, Tolerance
from benchwright.system.addresses import name_of
from benchwright.targets.specs import form, references, validator
from benchwright.targets.specs.definition import Input, RuntimeEntry, Shapes, Spec, SpecFile, SpecOutput, SpecTest
from benchwright.targets.specs.places import Place, PlacedDocument, SpecProblem, errors
from benchwright.targets.specs.places import read as read_document
from benchwright.units import parse_quantity
from benchwright.units.objectives import objective

MARK = "benchwright"  # the key that tells our form from older ones
ENDINGS = (".yaml", ".yml", ".json")
OLDER = (
    "`benchwright harness --benchmark_file {0}` runs it as it is, `benchwright spec convert {0}` shows it in our form"
)
_TOLERANCE = ("absolute", "relative", "cosine", "top")


def read(path: Path) -> Spec:
    """The spec in a file; a `DecodeError` tells everything that is wrong with it, at its line."""
    document = read_document(path)
    if is_older(document.value):
        raise TargetError(f"{path} is a spec of FAI-PEP's form", remedy=OLDER.format(path))
    if not is_ours(document.value):
        raise DecodeError(
            f"{document.at()}: this is not a spec: the key {MARK!r} is missing",
            remedy=f"begin it with `{MARK}: {form.VERSION}`; docs/specs.md shows how it goes on",
        )
    spec, problems = look(document, path)
    wrong = errors(problems)
    if spec is None or wrong:
        raise refusal(wrong)
    return spec


def look(document: PlacedDocument, path: Path) -> tuple[Spec | None, list[SpecProblem]]:
    """The spec, unless its form is wrong, and every problem: of form first, then of names that lead nowhere."""
    problems = validator.find_problems(document, form.json_schema())
    if errors(problems):
        return None, problems
    reader = _Reader(document, path.absolute().parent)
    spec = reader.spec(path.absolute())
    return spec, [*problems, *reader.problems, *references.find_problems(spec, document)]


def refusal(problems: Iterable[SpecProblem]) -> DecodeError:
    """Returns one error that holds all problems."""
    listed = list(problems)
    if len(listed) == 1:
        return DecodeError(f"{listed[0].where}: {listed[0].message}", remedy=listed[0].remedy)
    return DecodeError(
        "\n".join(map(str, listed)), remedy=f"{len(listed)} problems; `benchwright spec check` lists them too"
    )


def is_ours(value: Any) -> bool:
    """Whether a document is meant to be of our form."""
    return isinstance(value, dict) and MARK in value


def is_older(value: Any) -> bool:
    """Whether a document looks like FAI-PEP's: a model with tests, or a list of benchmarks with what they share."""
    keys = set(value) if isinstance(value, dict) and not is_ours(value) else set()
    return {"model", "tests"} <= keys or {"meta", "benchmarks"} <= keys


class _Reader:
    """From a document whose form is right. What a value means may still be wrong, and is then a problem."""

    def __init__(self, document: PlacedDocument, folder: Path) -> None:
        self.problems: list[SpecProblem] = []
        self._document, self._folder = document, folder

    def spec(self, path: Path) -> Spec:
        value = self._document.value
        model = value["model"]
        entries = {section: model.get(section, {}) for section in ("files", "inputs", "outputs")}
        tests = value.get("tests", [{}])
        return Spec(
            path=path,
            name=model["name"],
            description=model.get("description", ""),
            files={key: self._file(told, ("model", "files", key)) for key, told in entries["files"].items()},
            inputs={key: self._input(told, ("model", "inputs", key)) for key, told in entries["inputs"].items()},
            outputs={key: self._output(told, ("model", "outputs", key)) for key, told in entries["outputs"].items()},
            runtimes={key: self._runtime(told, ("runtimes", key)) for key, told in value.get("runtimes", {}).items()},
            tests=tuple(self._test(told, ("tests", i), len(tests)) for i, told in enumerate(tests)),
            tags=tuple(value.get("tags", ())),
        )

    def _file(self, told: str | dict[str, Any], path: Place) -> SpecFile:
        entry: dict[str, Any] = {("url" if "://" in told else "path"): told} if isinstance(told, str) else told
        if ("path" in entry) == ("url" in entry):
            self._add_problem(path, "a file has either a path or a url", "write one of the two")
        text = entry.get("url") or entry.get("path", "")
        text, _, member = text.partition("::")
        location = text if "url" in entry else str((self._folder / Path(text).expanduser()).resolve())
        name = entry.get("name") or self._name(text, path)
        if "/" in name or name in (".", ".."):
            self._add_problem(path, f"{name!r} is not a file name", "give it a `name:` without folders")
        return SpecFile(
            where=self._document.at(*path),
            location=location,
            name=name,
            sha256=entry.get("sha256", "").lower(),
            md5=entry.get("md5", "").lower(),
            member=member,
            inputs=entry.get("inputs", {}),
            outputs=entry.get("outputs", {}),
        )

    def _name(self, text: str, path: Place) -> str:
        if "://" not in text:
            return Path(text).name
        try:
            return name_of(text)
        except FetchError as error:
            self._add_problem(path, error.message, "give it a name: beside the url")
            return ""

    def _optional(self, entry: Mapping[str, Any], key: str, path: Place) -> SpecFile | None:
        return self._file(entry[key], (*path, key)) if key in entry else None

    def _input(self, entry: dict[str, Any], path: Place) -> Input:
        bounds = entry.get("range")
        if bounds and not bounds[0] < bounds[1]:
            self._add_problem((*path, "range"), "the first number of a range must be below the second")
        if bounds and "file" in entry:
            self._add_problem((*path, "range"), "an input from a file has no range", "leave out the range, or the file")
        return Input(
            shape=_shape(entry["shape"]) if "shape" in entry else None,
            dtype=entry.get("type", ""),
            range=(float(bounds[0]), float(bounds[1])) if bounds else None,
            file=self._optional(entry, "file", path),
        )

    def _output(self, entry: dict[str, Any], path: Place) -> SpecOutput:
        tolerance = {name: entry[name] for name in _TOLERANCE if name in entry}
        if "top" in tolerance:
            tolerance["top"] = int(tolerance["top"])
        return SpecOutput(golden=self._optional(entry, "golden", path), tolerance=Tolerance(**tolerance))

    def _runtime(self, entry: dict[str, Any], path: Place) -> RuntimeEntry:
        return RuntimeEntry(
            where=self._document.at(*path),
            file=entry.get("file", ""),
            options=entry.get("options", {}),
            inputs=entry.get("inputs", {}),
            outputs=entry.get("outputs", {}),
            program=self._optional(entry, "program", path),
            commands=_as_tuple(entry.get("command", ())),
            env=entry.get("env", {}),
        )

    def _test(self, entry: dict[str, Any], path: Place, tests: int) -> SpecTest:
        if tests > 1 and "name" not in entry:
            self._add_problem(path, "one of several tests needs a name", "name: short-word")
        seconds = {
            key: self._seconds(entry[key], (*path, key)) for key in ("duration", "warmup", "timeout") if key in entry
        }
        texts = _as_tuple(entry.get("objective", ()))
        return SpecTest(
            name=entry.get("name", ""),
            shapes=self._shapes(entry.get("shapes", {}), (*path, "shapes")),
            batch_sizes=tuple(map(int, entry.get("batch_sizes", ()))),
            iterations=int(entry["iterations"]) if "iterations" in entry else None,
            **seconds,
            objectives=tuple(self._objectives(texts, (*path, "objective"))),
            runtimes=tuple(entry.get("runtimes", ())),
            devices=tuple(entry.get("devices", ())),
            placeholders=entry.get("placeholders", {}),
            golden=entry.get("golden"),
            tags=tuple(entry.get("tags", ())),
        )

    def _shapes(self, entry: dict[str, list[list[int]]], path: Place) -> tuple[Shapes, ...]:
        counts = {name: len(shapes) for name, shapes in entry.items()}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name} {count}" for name, count in counts.items())
            self._add_problem(
                path, f"every input must list as many shapes: {listed}", "the i-th of each belong together"
            )
        for name, shapes in entry.items():
            if len({len(shape) for shape in shapes}) > 1:
                self._add_problem((*path, name), f"the shapes of {name!r} have different numbers of dimensions")
        rows = zip(*entry.values(), strict=False)
        return tuple(dict(zip(entry, map(_shape, row), strict=True)) for row in rows)

    def _seconds(self, value: float | str, path: Place) -> float | None:
        key = str(path[-1])
        try:
            seconds = parse_quantity(str(value), "s", what=key)
        except OptionError as error:
            self._add_problem(path, error.message, error.remedy)
            return None
        if seconds < 0 or (seconds == 0 and key != "warmup"):
            self._add_problem(path, f"{key}: {value} is not above zero")
        return seconds

    def _objectives(self, texts: Iterable[str], path: Place) -> Iterator[Objective]:
        for text in texts:
            try:
                yield objective(text, what="objective")
            except OptionError as error:
                self._add_problem(path, error.message, error.remedy)

    def _add_problem(self, path: Place, message: str, remedy: str = "") -> None:
        self.problems.append(SpecProblem(where=self._document.at(*path), message=message, remedy=remedy))


def _shape(sizes: Iterable[float]) -> tuple[int, ...]:
    return tuple(int(size) for size in sizes)


def _as_tuple(told: str | Iterable[str]) -> tuple[str, ...]:
    return (told,) if isinstance(told, str) else tuple(told)
