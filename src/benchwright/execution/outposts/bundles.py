"""The files that a job needs on another machine, and the job as it reads there.

There, every file lies below one folder, the root, at the path that it has here: `/home/me/model.onnx` becomes
`ROOT/home/me/model.onnx`. So relative paths mean the same on both machines, and an absolute one gets the root in front.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.worker.channel import Job

PIECE = 1 << 20  # bytes of a file that are sent at once
MOST_FILES = 20_000
MOST_BYTES = 2 << 30  # of a project's files; a model that is named may be larger
MOST_LEFT = 1000  # files of an attempt that are sent back
GIT_SECONDS = 30.0
CODE = ("python", "class", "command", "task", "pipeline", "binary")  # runtimes that read more than the file they name
_SYSTEM = tuple(map(Path, ("/bin", "/dev", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")))
_SENT = re.compile(
    r"(?:OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|NUMEXPR|VECLIB|ORT|OV|TF|XLA|JAX|TORCH|PYTORCH)_\w+"
    r"|CUDA_VISIBLE_DEVICES|PYTHON(?:HASHSEED|OPTIMIZE|DEVMODE)|MALLOC_\w+"
)
_LEFT_OUT = {"__pycache__", "node_modules"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """A file that is sent: where it lies here, and what is in it."""

    path: str  # absolute
    sha256: str
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What must be there for a job."""

    paths: tuple[Path, ...]  # of files, absolute
    named: tuple[Path, ...]  # what the job itself names
    folders: tuple[str, ...]  # that must be there, empty or not
    places: tuple[str, ...]  # below which everything that is there was sent from here


def bundle_for(job: Job, here: Path) -> Bundle:
    """The files that the job names, with those that belong to them; for code, the project that it is part of."""
    named = list(dict.fromkeys(_named(job, here)))
    roots = _project_roots(job, here) if _needs_code(job) else []
    files: dict[Path, None] = {}
    for path in named:
        if path.is_dir():
            files |= dict.fromkeys(_files_of_folder(path))
        elif not any(root in path.parents for root in roots):
            files |= dict.fromkeys(_with_companions(path))
        else:
            files |= dict.fromkeys((path, *_weights_of(path)))
    for root in roots:
        files |= dict.fromkeys(_files_of_project(root))
    _refuse_too_many(files, named)
    places = tuple(dict.fromkeys(map(str, (*roots, *named, *files))))
    return Bundle(paths=tuple(files), named=tuple(named), folders=(str(here), *map(str, roots)), places=places)


def translate(job: Job, bundle: Bundle, root: str, moved: Mapping[str, str] | None = None) -> Job:
    """The job as it reads on the other machine: every path that was sent has the root in front.

    `moved` are folders that lie somewhere else over there.
    """
    return schema.decode(Job, translate_texts(schema.encode(job), bundle, root, moved or {}), where="job")


def translate_texts(value: Any, bundle: Bundle, root: str, moved: Mapping[str, str]) -> Any:
    """Any data with the paths in its texts as they are on the other machine."""
    tops = sorted({*bundle.places, *bundle.folders, *moved}, key=len, reverse=True)
    if not tops:
        return value
    known = re.compile(rf"(?<![^\s'\"=:,;(\[])(?:{'|'.join(map(re.escape, tops))})(?=$|[/\s'\",:;)\]])")
    within = sorted(moved, key=len, reverse=True)

    def place(found: str) -> str:
        folder = next((one for one in within if found == one or found.startswith(f"{one}/")), None)
        return f"{root}{found}" if folder is None else moved[folder] + found[len(folder) :]

    return _with_texts(value, lambda text: known.sub(lambda found: place(found[0]), text))


def bring_back(value: Any, root: str, moved: Mapping[str, str]) -> Any:
    """Any data that came from the other machine, with the paths in its texts as they are here."""

    def name(text: str) -> str:
        for folder, there in moved.items():
            text = text.replace(there, folder)
        return text.replace(f"{root}/", "/")

    return _with_texts(value, name)


def below(root: Path, path: str) -> Path:
    """The place of a path below the root; one that would lead out of it is refused."""
    parts = PurePosixPath(path).parts
    if not parts or parts[0] != "/" or ".." in parts or "\0" in path:
        raise OptionError(f"{path!r} is not an absolute path")
    return root.joinpath(*parts[1:])


def pieces_of(file: BinaryIO) -> Iterator[bytes]:
    """What a file holds, in pieces; an empty file is one empty piece."""
    piece = file.read(PIECE)
    while True:
        following = file.read(PIECE)
        yield piece
        if not following:
            return
        piece = following


def padded(piece: bytes) -> bytes:
    """The bytes, filled up to whole numbers of eight bytes: what the line carries."""
    return piece + bytes(-len(piece) % 8)


def sent_variables() -> dict[str, str]:
    """The variables of this process that say how libraries compute; all others belong to one machine or its user."""
    return {name: value for name, value in os.environ.items() if may_be_sent(name)}


def may_be_sent(name: str) -> bool:
    """Whether a variable says how libraries compute."""
    return _SENT.fullmatch(name) is not None


# ---- which files ----


def _named(job: Job, here: Path) -> Iterator[Path]:
    """Every file or folder of this machine that the job's texts name, as an absolute path."""
    case = job.case
    words = [case.target.uri, case.inputs.source, case.load.trace, *case.inputs.files.values()]
    if case.target.runtime == "command":
        words += _words(case.target.uri)
    words += [value for value in (*case.target.options.values(), *case.params.values()) if isinstance(value, str)]
    if case.expected is not None:
        words += [*case.expected.outputs.values(), *case.expected.inputs.values()]
    words += re.findall(r'"((?:/|\./|\.\./)[^"\\]+)"', case.target.work)
    for text in words:
        path = Path(os.path.normpath(here / text.partition("::")[0])) if text else here
        if path != here and not _is_system(path) and _exists(path):
            yield path


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quotation mark: the worker says so
        return []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL: not a path at all
        return False


def _is_system(path: Path) -> bool:
    """Whether every machine has its own of these."""
    return path == Path("/") or any(top in (path, *path.parents) for top in _SYSTEM)


def _needs_code(job: Job) -> bool:
    return job.case.target.runtime in CODE or ":" in job.case.inputs.source


def _project_roots(job: Job, here: Path) -> list[Path]:
    """The folders whose modules the job may import: those of its paths, without what is installed here."""
    found = [Path(path) for path in (*job.paths, *job.last_paths)] or [here]
    wanted = [path for path in found if path.is_dir() and not _is_system(path) and "site-packages" not in path.parts]
    return [path for path in dict.fromkeys(wanted) if not any(other in path.parents for other in wanted)]


def _with_companions(path: Path) -> Iterator[Path]:
    """A file, those that it names, and those beside it that are named after it: weights lie apart from graphs."""
    yield path
    yield from _weights_of(path)
    beginnings = (f"{path.name}.", f"{path.name}_", f"{path.stem}.")
    for beside in sorted(path.parent.iterdir()):
        if beside != path and beside.name.startswith(beginnings) and beside.is_file():
            yield beside


def _weights_of(path: Path) -> list[Path]:
    """The files that hold the weights of an ONNX model, wherever below its folder and whatever their names."""
    if path.suffix != ".onnx":
        return []
    from benchwright.targets.signatures.onnx import external_files

    return external_files(path)


def _files_of_project(root: Path) -> Iterator[Path]:
    """The files of a project: those that its repository does not ignore, or all that is no environment or cache."""
    listed = _listed_by_git(root)
    yield from _files_of_folder(root) if listed is None else listed


def _listed_by_git(root: Path) -> list[Path] | None:
    """What git knows or would add below the folder; None where there is no repository, or no git."""
    names: dict[str, None] = {}
    for asked in (["--cached", "--recurse-submodules"], ["--others", "--exclude-standard"]):  # git takes not both
        command = ["git", "-C", str(root), "ls-files", *asked, "-z"]
        try:
            told = subprocess.run(
                command, capture_output=True, timeout=GIT_SECONDS, check=False, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if told.returncode:
            return None
        names |= dict.fromkeys(os.fsdecode(name) for name in told.stdout.split(b"\0") if name)
    return [path for name in names if (path := root / name).is_file()]


def _files_of_folder(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        here = Path(folder)
        inner[:] = [
            name
            for name in sorted(inner)
            if name not in _LEFT_OUT and not name.startswith(".") and not (here / name / "pyvenv.cfg").exists()
        ]
        yield from (path for name in sorted(names) if (path := here / name).is_file())


def _refuse_too_many(files: Iterable[Path], named: Iterable[Path]) -> None:
    paths, wanted = list(files), {*named}
    if len(paths) > MOST_FILES:
        raise OptionError(
            f"{len(paths)} files would be sent, more than {MOST_FILES}",
            remedy="measure from the project's own folder, or let .gitignore name what is not needed",
        )
    size = sum(path.stat().st_size for path in paths if path not in wanted)
    if size > MOST_BYTES:
        raise OptionError(
            f"{size / 1e9:.1f} GB of a project's files would be sent, more than {MOST_BYTES / 1e9:.1f} GB",
            remedy="measure from the project's own folder, or let .gitignore name what is not needed",
        )


# ---- the job there ----


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _with_texts(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_texts(item, change) for item in value]
    return value
