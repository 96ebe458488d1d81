"""What is told of a load beside its columns."""

from __future__ import annotations

from array import array

import pytest

from benchwright.records import Samples
from benchwright.worker.endpoints.dialect import ChunkKind
from benchwright.worker.endpoints.load_report import LoadReport
from benchwright.worker.endpoints.reading import ReadTraffic
from benchwright.worker.endpoints.traffic import ClientHealth

COUNTS = ("asked_tokens", "output_tokens", "counted_tokens")


def _report(instants: list[list[int]]) -> LoadReport:
    """Answers whose events with text arrived at these instants."""
    columns = {name: array("q", [-1] * len(instants)) for name in COUNTS}
    columns["outcome"] = array("q", [0] * len(instants))
    columns["first_text"] = array("q", [own[0] if own else -1 for own in instants])
    events = [(call, at, int(ChunkKind.CONTENT), 1, -1) for call, own in enumerate(instants) for at in own]
    names = ("call", "at", "kind", "size", "tokens")
    chunks = {name: array("q", values) for name, values in zip(names, zip(*events, strict=True), strict=True)}
    samples = Samples(copy=0, calls=len(instants), loops=1, elapsed=100, columns=columns, chunks=chunks)
    read = ReadTraffic(samples=samples, streamed=len(instants))
    return LoadReport(read=read, health=ClientHealth(), prepared=len(instants))


@pytest.mark.parametrize(
    ("instants", "codes"),
    [
        ([[1, 2, 3], [4, 5, 6]], set()),
        ([[1, 1, 2], [4, 5, 5]], set()),  # as many apart as together
        ([[1, 1, 1], [4, 5, 5]], {"events-bundled"}),
        ([[7], [8]], set()),
        ([[7], []], {"answers-empty"}),
    ],
)
def test_what_times_of_tokens_cannot_tell_is_said(instants: list[list[int]], codes: set[str]) -> None:
    assert {warning.code for warning in _report(instants).warnings()} == codes
