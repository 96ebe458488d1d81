"""What could be run, for people to look at: a package is listed although some of its modules cannot be imported."""

from __future__ import annotations

import dataclasses

from benchwright.errors import TargetError
from benchwright.records import Case
from benchwright.targets.sources import CaseDescription, Request, describe_cases, source_of
from benchwright.targets.sources.classes import Classes


def list_cases(request: Request) -> tuple[list[tuple[Case, CaseDescription]], list[tuple[str, str]]]:
    """The cases of every target, and the modules that could not be imported, with the reason.

    A `TargetError` when nothing at all is left.
    """
    source = Classes()
    dotted = [target for target in request.targets if isinstance(source_of(target), Classes)]
    others = [target for target in request.targets if target not in dotted]
    pairs = describe_cases(dataclasses.replace(request, targets=others)) if others else []
    broken: list[tuple[str, str]] = []
    for target in dotted:
        found, failed = source.list_cases(target, request)
        pairs += found
        broken += failed
    if not pairs and broken:
        module, reason = broken[0]
        raise TargetError(f"{module}: {reason}", remedy="nothing else was found")
    return pairs, broken
