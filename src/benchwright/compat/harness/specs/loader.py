"""Spec files and lists of them, and how what they say is merged. Files are read and never written to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError
from benchwright.targets.specs import placeholders, places
from benchwright.targets.specs.places import PlacedDocument, SpecProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderSpec:
    """A model and its tests, as one file says them, and what the list that named the file adds."""

    file: Path
    document: PlacedDocument
    value: Mapping[str, Any]  # tokens of the command line are replaced
    listed: PlacedDocument | None = None
    meta: Mapping[str, Any]


def load_specs(path: Path, string_map: Mapping[str, str], problems: list[SpecProblem]) -> list[OlderSpec]:
    """The spec of a file, or those of a list. What is wrong is added to `problems`; a file that is no JSON raises."""
    document = read_document(path, problems)
    content = document.value
    if "benchmarks" not in content:
        return [_spec(path, document, string_map, None, {})]
    meta = placeholders.replace_tokens(content.get("meta"), string_map)
    if not isinstance(meta, Mapping):
        problems.append(
            SpecProblem(where=document.at("meta"), message="a list of benchmarks needs `meta`", remedy='"meta": {}')
        )
        meta = {}
    names = content["benchmarks"]
    if not isinstance(names, list) or not names:
        problems.append(SpecProblem(where=document.at("benchmarks"), message="`benchmarks` is a list of spec files"))
        return []
    found = []
    for i, name in enumerate(names):
        file = path.parent / str(name)
        if not isinstance(name, str) or not file.is_file():
            where = document.at("benchmarks", i)
            problems.append(
                SpecProblem(where=where, message=f"{name} is not a file", remedy="paths start at the list's folder")
            )
            continue
        inner = read_document(file, problems)
        if "benchmarks" in inner.value:
            problems.append(
                SpecProblem(where=document.at("benchmarks", i), message=f"{name} is a list itself; lists do not nest")
            )
            continue
        found.append(_spec(file, inner, string_map, document, meta))
    return found


def read_document(path: Path, problems: list[SpecProblem]) -> PlacedDocument:
    """What the file says: a mapping. Keys that stand twice are warnings, and the last one counts."""
    document = places.read(path)
    if not isinstance(document.value, dict):
        raise DecodeError(f"{document.where}: a spec is a mapping with `model` and `tests`")
    for place, line, column in document.duplicates:
        name = ".".join(str(part) for part in place)
        where = f"{document.where}:{line}:{column}"
        problems.append(
            SpecProblem(
                where=where, message=f"{name} is written twice; this one counts", remedy="keep one", severity="warning"
            )
        )
    return document


def default_args(path: Path) -> dict[str, Any]:
    """Flags that the file itself sets where the command line says nothing: `{"--timeout": 500}`."""
    problems: list[SpecProblem] = []
    document = read_document(path, problems)
    found = document.value.get("default_args", {})
    if not isinstance(found, dict) or not all(str(name).startswith("-") for name in found):
        raise DecodeError(
            f"{document.at('default_args')}: `default_args` is a mapping of flags", remedy='such as {"--timeout": 500}'
        )
    return found


def _spec(
    file: Path,
    document: PlacedDocument,
    string_map: Mapping[str, str],
    listed: PlacedDocument | None,
    meta: Mapping[str, Any],
) -> OlderSpec:
    value = placeholders.replace_tokens(document.value, string_map)
    return OlderSpec(file=file, document=document, value=value, listed=listed, meta=meta)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverriddenValue:
    """A value that does not count, because a nearer place says something else."""

    path: tuple[str, ...]
    kept: Any
    hidden: Any


def merge_mappings(
    near: Mapping[str, Any], far: Mapping[str, Any], *, missing_only: bool = False
) -> tuple[dict[str, Any], tuple[OverriddenValue, ...]]:
    """`near` with what only `far` has, and what of `far` does not count. Neither argument is changed.

    Mappings are merged all the way down. Lists are joined, `near` first; with `missing_only` (the rule of early 2018)
    only items that `near` lacks are added. Anything else stays as `near` has it.
    """
    hidden: list[OverriddenValue] = []
    return _merge_levels(near, far, (), missing_only, hidden), tuple(hidden)


def _merge_levels(
    near: Mapping[str, Any],
    far: Mapping[str, Any],
    path: tuple[str, ...],
    missing_only: bool,
    hidden: list[OverriddenValue],
) -> dict[str, Any]:
    found = dict(near)
    for key, theirs in far.items():
        if key not in near:
            found[key] = theirs
            continue
        mine = near[key]
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            found[key] = _merge_levels(mine, theirs, (*path, key), missing_only, hidden)
        elif isinstance(mine, list) and isinstance(theirs, list):
            found[key] = mine + [item for item in theirs if not missing_only or item not in mine]
        elif mine != theirs:
            hidden.append(OverriddenValue(path=(*path, key), kept=mine, hidden=theirs))
    return found
