"""Small files of `/proc` and `/sys`, read as facts; a fact that cannot be read says why."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from benchwright.records import Value

Reader = Callable[[Path], Value]

UNAVAILABLE = "unavailable: "


def read_facts(root: Path, readers: Mapping[str, Reader]) -> dict[str, Value]:
    """What each reader finds below `root`."""
    return {name: read_fact(root, reader) for name, reader in readers.items()}


def read_fact(root: Path, reader: Reader) -> Value:
    """What the reader finds, or the reason why it finds nothing."""
    try:
        return reader(root)
    except OSError as error:
        return unavailable(_describe_reason(error))
    except (ValueError, LookupError) as error:
        return unavailable(f"not understood: {error}")


def unavailable(reason: str) -> str:
    """The answer of a reader that cannot tell."""
    return UNAVAILABLE + reason


def is_known(value: Value) -> bool:
    """Whether a fact holds a value, not a reason."""
    return value is not None and not (isinstance(value, str) and value.startswith(UNAVAILABLE))


def read_text(path: Path) -> str:
    """A small file without the white space around it."""
    return path.read_text(encoding="utf-8", errors="replace").strip("\0 \n\t")


def read_number(path: Path) -> int:
    """A small file that holds one whole number."""
    return int(read_text(path))


def read_fields(path: Path, separator: str = ":") -> dict[str, str]:
    """`key: value` lines; of a repeated key the first."""
    found: dict[str, str] = {}
    for line in read_text(path).splitlines():
        key, mark, value = line.partition(separator)
        if mark:
            found.setdefault(key.strip(), value.strip())
    return found


def list_numbered(folder: Path, prefix: str) -> list[Path]:
    """The entries `prefix0`, `prefix1`, ... of a folder, in the order of their numbers."""
    found = [path for path in folder.iterdir() if path.name[: len(prefix)] == prefix and _tail(path, prefix).isdigit()]
    return sorted(found, key=lambda path: int(_tail(path, prefix)))


def cpu_numbers(ranges: str) -> list[int]:
    """Returns the CPU numbers of a list such as `'0-2,8'`."""
    numbers: list[int] = []
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def cpu_ranges(numbers: Iterable[int]) -> str:
    """The inverse of `cpu_numbers`."""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][-1] + 1:
            parts[-1][1:] = [n]
        else:
            parts.append([n])
    return ",".join("-".join(map(str, part)) for part in parts)


def one_or_mixed(values: Iterable[str]) -> str:
    """Returns the value that all have in common, or `mixed:` with each of the values."""
    distinct = sorted(set(values))
    return distinct[0] if len(distinct) == 1 else f"mixed: {', '.join(distinct)}"


def _tail(path: Path, prefix: str) -> str:
    return path.name[len(prefix) :]


def _describe_reason(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return f"no {error.filename}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{error.filename} may not be read by this user"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)
