"""The files of a test: what they are called, where they come from, and what they are to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from benchwright.compat.harness.specs.plans import FileEntry, Role, SpecRequest
from benchwright.targets.specs import placeholders

RUN_TOKENS = frozenset({"TGTDIR", "HOSTDIR", "TEMPDIR", "BUILDDIR", "DEVICEHASH", "FAIPEPROOT", "INDEX"})
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MD5 = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLocation:
    """A file as the spec writes it: a mapping, or a plain path as in early 2018."""

    key: str
    role: Role
    path: tuple[str | int, ...]  # in the spec
    value: Any


def list_files(model: Mapping[str, Any], test: Mapping[str, Any], at: int) -> Iterator[FileLocation]:
    """Every file of a test and its model; `at` is the position of the test in the file."""
    yield from _group("files", Role.MODEL, ("model", "files"), model.get("files"))
    yield from _group("libraries", Role.LIBRARY, ("model", "libraries"), model.get("libraries"))
    yield from _group("input_files", Role.INPUT, ("tests", at, "input_files"), test.get("input_files"))
    yield from _group("output_files", Role.OUTPUT, ("tests", at, "output_files"), test.get("output_files"))
    yield from _group("test.files", Role.TEST, ("tests", at, "files"), test.get("files"))
    for name in ("preprocess", "postprocess"):
        for step, before, path in ((model, "model.", ("model",)), (test, "", ("tests", at))):
            inner = step.get(name)
            if isinstance(inner, Mapping):
                yield from _group(f"{before}{name}.files", Role.STEP, (*path, name, "files"), inner.get("files"))


def make_entry(
    found: FileLocation, *, spec: Path, asked: SpecRequest, metric: str, place: str
) -> tuple[FileEntry, str]:
    """Returns the file, and why it cannot be fetched; "" when it can be, or is not needed yet."""
    value = found.value
    said = value if isinstance(value, Mapping) else {"location": value, "filename": _own_name(found, value)}
    raw = str(said.get("location") or "")
    role = Role.GOLDEN if found.role is Role.OUTPUT and _is_golden(raw, metric) else found.role
    location, reason = ("", "") if not raw else _resolve_location(raw, role, spec=spec, asked=asked)
    name = str(said.get("filename") or PurePosixPath(raw).name)
    converter = said.get("converter")
    converter = converter if isinstance(converter, Mapping) else {}
    args = converter.get("args")
    made = FileEntry(
        key=found.key,
        filename=_device_path(raw) or name if role is Role.OUTPUT else name,
        location=location,
        md5=str(said.get("md5") or "").strip().lower(),
        converter=str(converter.get("name") or ""),
        args=args if isinstance(args, Mapping) else {},
        role=role,
        place=place,
    )
    return made, reason


def md5_is_fine(text: str) -> bool:
    """Whether a text can stand as a file's MD5: 32 hexadecimal digits, `directory`, or nothing."""
    return text in ("", "directory") or bool(_MD5.fullmatch(text))


def _group(key: str, role: Role, path: tuple[str | int, ...], files: Any) -> Iterator[FileLocation]:
    items: list[tuple[str | int, Any]]
    if isinstance(files, Mapping):
        items = list(files.items())
    elif isinstance(files, list):
        items = list(enumerate(files))
    else:
        return
    for name, value in items:
        if not isinstance(value, list):
            yield FileLocation(key=f"{key}.{name}", role=role, path=(*path, name), value=value)
            continue
        for i, one in enumerate(value):
            last = f".{i}" if len(value) > 1 else ""
            yield FileLocation(key=f"{key}.{name}{last}", role=role, path=(*path, name, i), value=one)


def _own_name(found: FileLocation, value: Any) -> str:
    """The program of early 2018 calls an output after its blob; an input keeps the name of its file."""
    if found.role is Role.OUTPUT:
        return found.key.removeprefix("output_files.") + ".txt"
    return PurePosixPath(str(value)).name


def _is_golden(location: str, metric: str) -> bool:
    return metric == "error" and bool(location) and not RUN_TOKENS.intersection(placeholders.names(location))


def _resolve_location(raw: str, role: Role, *, spec: Path, asked: SpecRequest) -> tuple[str, str]:
    """Returns an URL, an absolute path or a text that only the run fills in; and why the file cannot be fetched."""
    names = set(placeholders.names(raw))
    unknown = sorted(names - RUN_TOKENS)
    if unknown:
        said = ", ".join(f"{{{name}}}" for name in unknown)
        return raw, f"{said} in the location of a file is not defined; --string_map can define it"
    if names or role is Role.OUTPUT:
        # a fresh folder is what both mean, and the run has one on either side
        return raw.replace("{TEMPDIR}", "{TGTDIR}" if role is Role.OUTPUT else "{HOSTDIR}"), ""
    if _URL.match(raw):
        return raw, ""
    if raw.startswith("//"):
        if asked.root_model_dir is None:
            return raw, f"{raw} is below a folder that --root_model_dir names"
        return str(asked.root_model_dir.absolute() / raw.lstrip("/")), ""
    return os.path.normpath((spec.parent / raw).absolute()), ""


def _device_path(location: str) -> str:
    """The path of an output below the program's folder, or an absolute one; "" where nothing is said."""
    for token in ("{TGTDIR}", "{TEMPDIR}"):
        if location.startswith(token):
            return location.removeprefix(token).lstrip("/")
    return location
