"""Model files, and the fake runtime's targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from benchwright import plugins
from benchwright.errors import TargetError
from benchwright.records import Case
from benchwright.targets.sources import Request, digest_files, find_file, matrix
from benchwright.worker.runtimes import check_installed, is_installed

FAKE = "fake:"


class Models:
    """`model.onnx`, `model.xml`, `model.pt2`: any file whose ending some runtime loads; and `fake:constant?ms=5`."""

    name: ClassVar[str] = "models"

    def accepts(self, target: str) -> bool:
        if target.startswith(FAKE):
            return True
        ending = Path(target).suffix
        return ending != ".py" and any(ending in _endings(name) for name in plugins.BUILTIN["runtimes"])

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        if target.startswith(FAKE):
            yield from self._fake(target, request)
            return
        path = find_file(target)
        runtimes = request.runtimes or (_default_runtime(path, request.elsewhere),)
        for runtime in runtimes:
            known = plugins.load("runtimes", runtime).extensions
            if path.suffix not in known:
                loads = f"it loads {', '.join(known)}" if known else "it loads no files"
                raise TargetError(f"{runtime} does not load {path.name}", remedy=loads)
            if not request.elsewhere:
                check_installed(runtime)
        version = digest_files(_parts(path))
        for runtime in runtimes:
            yield from matrix.models(path.name, str(path), runtime, version, request)

    def _fake(self, target: str, request: Request) -> Iterator[Case]:
        for runtime in request.runtimes:
            if runtime != "fake":
                raise TargetError(f"{target} is for the runtime fake, not {runtime}")
        yield from matrix.models(target, target, "fake", "", request)


def _default_runtime(path: Path, elsewhere: bool) -> str:
    """The first installed runtime that loads such a file; else the first at all, which then says what to install."""
    for name in _matching(plugins.BUILTIN["runtimes"], path):
        if elsewhere or is_installed(name):
            return name
    matching = list(_matching(plugins.names("runtimes"), path))
    if not matching:
        raise TargetError(f"no runtime loads {path.name}")
    return next((name for name in matching if is_installed(name)), matching[0])


def _matching(names: Iterable[str], path: Path) -> Iterator[str]:
    return (name for name in names if path.suffix in _endings(name))


def _endings(runtime: str) -> tuple[str, ...]:
    return tuple(plugins.load("runtimes", runtime).extensions)


def _parts(path: Path) -> list[Path]:
    """The model's file, and the weights that it keeps in others: OpenVINO's, and what an ONNX model names."""
    if path.suffix == ".onnx":
        from benchwright.targets.signatures.onnx import external_files

        return [path, *external_files(path)]
    weights = path.with_suffix(".bin")
    return [path, weights] if path.suffix == ".xml" and weights.is_file() else [path]
