"""What a Python file holds to be measured, read from its text: nothing of the project is imported or run."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path

_LARGEST = 2**20  # bytes of a file that is looked into
# A file without any of these words holds nothing for us, and is not parsed.
_MENTIONED = re.compile(r"bench|def (?:time|track|mem|peakmem|bench)_", re.IGNORECASE)
_METHOD = re.compile(r"(?:time|track|mem|peakmem|benchmark)_\w|benchmark[A-Z]\w")
_BY_NAME = re.compile(
    r"bench|perf|speed", re.IGNORECASE
)  # files, folders and classes whose names say what they are for
_TEST_FILE = re.compile(r"(?:test_\w*|\w*_test)\.py")
_FIXTURES = ("benchmark", "benchmark_weave", "benchwright")
_OURS = "benchwright"


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBenchmarks:
    """The benchmarks of one file, by name."""

    marked: tuple[str, ...] = ()  # functions with @benchwright.benchmark
    methods: tuple[str, ...] = ()  # of benchmark classes, `Class.time_encode`
    functions: tuple[str, ...] = ()  # `bench_*`, which can be called without an argument
    open: tuple[tuple[str, str], ...] = ()  # `bench_*`, and the first parameter that needs a value
    tests: tuple[str, ...] = ()  # of pytest, with the fixture `benchmark`
    missing: str = ""  # the first package that the file imports at its top and that is not installed here

    def __bool__(self) -> bool:
        """Whether there is anything to measure."""
        return bool(self.marked or self.methods or self.functions or self.open or self.tests)


def read_python(folder: Path, path: Path) -> PythonBenchmarks | None:
    """The benchmarks of the file `path` in `folder`; None where it cannot be read as Python."""
    try:
        with (folder / path).open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError:
        return None
    text = content.decode(errors="replace")
    if len(content) > _LARGEST or not _MENTIONED.search(text):
        return PythonBenchmarks()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes in other people's texts are their own affair
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = _find(tree, path)
    return replace(found, missing=_missing_import(tree, folder, path)) if found else found


def _missing_import(tree: ast.Module, folder: Path, path: Path) -> str:
    """The first top-level import that would fail, as far as that shows without importing: "" where none would."""
    places = {folder, folder / "src", (folder / path).parent}
    for node in tree.body:
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in (each.partition(".")[0] for each in names):
            if name in sys.builtin_module_names or any(
                (p / name).is_dir() or (p / f"{name}.py").exists() for p in places
            ):
                continue
            if PathFinder.find_spec(name) is None and name not in sys.stdlib_module_names:
                return name
    return ""


def _find(tree: ast.Module, path: Path) -> PythonBenchmarks:
    names = _names_of_decorator(tree)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if _TEST_FILE.fullmatch(path.name):
        return PythonBenchmarks(
            marked=tuple(node.name for node in functions if _is_marked(node, names)), tests=tuple(_tests(tree))
        )
    said = any(_BY_NAME.search(part) for part in path.parts)
    plain = [node for node in functions if node.name.startswith("bench_") and not _is_marked(node, names)]
    return PythonBenchmarks(
        marked=tuple(node.name for node in functions if _is_marked(node, names)),
        methods=tuple(
            f"{owner.name}.{name}"
            for owner in classes
            if said or _is_benchmark_class(owner)
            for name in _methods(owner)
        ),
        functions=tuple(node.name for node in plain if not _needs_value(node)),
        open=tuple((node.name, needed) for node in plain if (needed := _needs_value(node))),
    )


def _names_of_decorator(tree: ast.Module) -> set[str]:
    """How the file calls our decorator: `benchmark`, `bw.benchmark`, or as it was renamed."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {f"{each.asname or each.name}.benchmark" for each in node.names if each.name == _OURS}
        elif isinstance(node, ast.ImportFrom) and node.module in (_OURS, f"{_OURS}.decorator"):
            names |= {each.asname or each.name for each in node.names if each.name == "benchmark"}
    return names


def _is_marked(node: ast.FunctionDef, names: set[str]) -> bool:
    made = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(ast.unparse(each) in names for each in made if isinstance(each, ast.Name | ast.Attribute))


def _is_benchmark_class(node: ast.ClassDef) -> bool:
    """Whether its name or what it is made of says so: a `time_left` alone makes no benchmark."""
    return any(_BY_NAME.search(name) for name in (node.name, *map(ast.unparse, node.bases)))


def _methods(node: ast.ClassDef) -> Iterator[str]:
    if node.name.startswith("_"):
        return
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and _METHOD.match(inner.name):
            yield inner.name


def _needs_value(node: ast.FunctionDef) -> str:
    """The first parameter without a default; "" where there is none."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    needed = positional[: len(positional) - len(given.defaults)]
    needed += [each for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    return needed[0].arg if needed else ""


def _tests(tree: ast.Module) -> Iterator[str]:
    """Tests of a module and of its classes that take the fixture of a benchmark, by their place in it."""
    for node in tree.body:
        inner = [(f"{node.name}::", each) for each in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        for place, each in inner:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test"):
                arguments = [*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs]
                if any(argument.arg in _FIXTURES for argument in arguments):
                    yield f"{place}{each.name}"
