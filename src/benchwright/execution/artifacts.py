"""The files a measurement left behind, as records."""

from __future__ import annotations

from pathlib import Path

from benchwright.records import Artifact

MOST_FILES = 1000  # a benchmark that writes more than that keeps them to itself
MOST_HASHED = 64 << 20  # bytes; larger files are named without a digest
KINDS = {
    ".log": "log",
    ".txt": "text",
    ".svg": "picture",
    ".png": "picture",
    ".pdf": "picture",
    ".html": "page",
    ".csv": "table",
    ".json": "data",
    ".jsonl": "data",
    ".pb": "data",
    ".npy": "arrays",
    ".npz": "arrays",
}
# Profilers name what opens their files in the ending.
ENDINGS = {
    ".trace.json": "chrome trace",
    ".speedscope.json": "speedscope",
    ".xplane.pb": "tensorboard profile",
    ".flame.svg": "flame graph",
}


def collect(folder: Path) -> tuple[Artifact, ...]:
    """Every file below the folder, by name. Links are not followed out of it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return tuple(_artifact(path, folder) for path in files[:MOST_FILES])


def kind_of(path: Path) -> str:
    """What a file is, from its name; "file" when its ending says nothing."""
    for ending, kind in ENDINGS.items():
        if path.name.endswith(ending):
            return kind
    return KINDS.get(path.suffix, "file")


def _artifact(path: Path, folder: Path) -> Artifact:
    size = path.stat().st_size
    return Artifact(
        name=path.relative_to(folder).as_posix(),
        kind=kind_of(path),
        path=str(path.absolute()),
        size=size,
        sha256=_digest(path) if size <= MOST_HASHED else "",
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        import hashlib  # few runs leave files

        return hashlib.file_digest(file, "sha256").hexdigest()
