"""What was sent, as records: strictly by `schema`, and within bounds that a database and a page can live with."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records import Result, Revision, Run
from benchwright.records.findings import Triage
from benchwright.schema import quick_results
from benchwright.schema.parsing import TextError, json_value
from benchwright.schema.quick_results import QuickResult
from benchwright.server.errors import refusal
from benchwright.server.settings import MIB, RequestLimits

LONGEST_ID = 200
LONGEST_TEXT = 10_000  # of a comment, a note, a reason
LONGEST_ASSIGNEE = 200
LONGEST_NAME = 500  # characters of what a database keeps an index of
_SIGNED = range(-(2**63), 2**63)
_MOST = 2**64  # of a whole number
T = TypeVar("T")


def run_of(body: bytes, limits: RequestLimits, *, where: str = "body") -> Run:
    """Returns the run in a versioned document."""
    document = parse_json(body, limits, where=where)
    _check_sample_size(document, limits)
    run = schema.open_document(document, Run, where=where)
    check_run(run, where)
    return run


def run_parts_of(body: bytes, limits: RequestLimits, *, where: str = "body") -> tuple[Run, Sequence[QuickResult]]:
    """Returns the run in a versioned document, and those of its results that could be read quickly: all, or none."""
    data = quick_results.open_quickly(body, "run")
    if data is not None:
        _check_sample_size({"data": data}, limits)
        if (found := quick_results.read_run(data, deepest=limits.depth)) is not None:
            check_run(found[0], where)
            for i, result in enumerate(found[1]):
                _check_quick_result(result, f"{where}: run.results[{i}]")
            return found
    return run_of(body, limits, where=where), ()


def quick_result_of(body: bytes, limits: RequestLimits, *, where: str = "body") -> Result | QuickResult:
    """Returns the result in a versioned document, its metrics as columns where they are as most are."""
    data = quick_results.open_quickly(body, "result")
    if data is not None:
        _check_sample_size({"data": data}, limits)
        if (found := quick_results.read_result(data, deepest=limits.depth)) is not None:
            _check_quick_result(found, f"{where}: result")
            return found
    return result_of(body, limits, where=where)


def result_of(body: bytes, limits: RequestLimits, *, where: str = "body") -> Result:
    """Returns the result in a versioned document."""
    document = parse_json(body, limits, where=where)
    _check_sample_size(document, limits)
    result = schema.open_document(document, Result, where=where)
    _check_result(result, f"{where}: result")
    return result


def record_of(kind: type[T], body: bytes, limits: RequestLimits, *, where: str = "body") -> T:
    """Decodes a plain JSON object as a record of this kind."""
    return schema.decode(kind, parse_json(body, limits, where=where), where=where)


def parse_json(body: bytes, limits: RequestLimits, *, where: str = "body") -> Any:
    """Parses JSON whose numbers are finite and of 64 bits, and which is not nested too deeply."""
    try:
        return json_value(body, deepest=limits.depth, most=_MOST)
    except TextError as error:
        remedy = "send what benchwright export writes" if str(error).startswith("not JSON") else ""
        raise DecodeError(f"{where}: {error}", remedy=remedy) from None


def _check_sample_size(document: Any, limits: RequestLimits) -> None:
    """Refuses samples that unpack to more than is allowed, before anything unpacks them."""
    total = 0
    for text in _packed_columns(document):
        total += _unpacked_size(text, limits.samples - total)
        if total > limits.samples:
            raise refusal(413, f"its samples unpack to more than {limits.samples / MIB:g} MiB", "keep fewer of them")


def _packed_columns(document: Any) -> Iterator[str]:
    data = document.get("data") if isinstance(document, dict) else None
    results = data.get("results", [data]) if isinstance(data, dict) else []
    for result in _dicts(results):
        for samples in _dicts(result.get("samples")):
            for columns in _dicts([samples.get("columns")]):
                yield from (text for text in columns.values() if isinstance(text, str))


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _unpacked_size(text: str, most: int) -> int:
    """How many bytes it unpacks to, counted to a step beyond `most`; 0 for what `schema` will refuse anyway."""
    stream, size = zlib.decompressobj(), 0
    try:
        packed = base64.b64decode(text, validate=True)
        while packed and size <= most and not stream.eof:
            size += len(stream.decompress(packed, MIB))
            packed = stream.unconsumed_tail
    except (binascii.Error, ValueError, zlib.error):
        return 0
    return size


def check_run(run: Run, where: str) -> None:
    """Refuses a run whose ids or names a database cannot be searched by."""
    check_id(run.id, f"{where}: run.id")
    names = {"tag": run.tags, **_revision_names(run.revision)}
    check_names(names, f"{where}: run")
    for i, result in enumerate(run.results):
        _check_result(result, f"{where}: run.results[{i}]")


def _check_result(result: Result, where: str) -> None:
    check_id(result.id, f"{where}.id")
    if result.round not in _SIGNED:
        raise DecodeError(f"{where}.round: {result.round} is not the number of a round")
    names = {
        "case.name": [result.case.name],
        "metrics": [text for metric in result.metrics for text in (metric.name, metric.unit)],
        "metrics.estimate.method": [metric.estimate.method for metric in result.metrics],
        **_revision_names(result.revision),
    }
    check_names(names, where)


def _check_quick_result(result: QuickResult, where: str) -> None:
    _check_result(result.head, where)
    told = result.columns
    check_names({"metrics": (*told.names, *told.units), "metrics.estimate.method": told.methods}, where)


def _revision_names(revision: Revision | None) -> dict[str, Sequence[str]]:
    if revision is None:
        return {}
    return {"revision": [revision.id], "revision.branch": [revision.branch], "revision.tags": revision.tags}


def check_names(names: Mapping[str, Iterable[str]], where: str) -> None:
    """Refuses names that are too long to be searched for; the error names their place."""
    for place, texts in names.items():
        if any(len(text) > LONGEST_NAME for text in texts):
            raise DecodeError(f"{where}.{place}: longer than {LONGEST_NAME} characters")


def check_wish(wish: Triage, where: str = "body") -> None:
    """Refuses a comment or a name that is too long."""
    check_text(wish.comment, f"{where}.comment")
    check_text(wish.assignee or "", f"{where}.assignee", LONGEST_ASSIGNEE)


def check_text(text: str, where: str, most: int = LONGEST_TEXT) -> None:
    """Refuses a text that a person wrote when it is too long to be shown beside other things."""
    if len(text) > most:
        raise DecodeError(f"{where}: a text of more than {most:,} characters", remedy="write less")


def check_id(text: str, where: str) -> None:
    """Refuses a text that cannot be an id, since ids stand in addresses and file names."""
    if not is_id(text):
        raise DecodeError(
            f"{where}: {text[:60]!r} cannot be an id", remedy=f"1 to {LONGEST_ID} printable characters without slashes"
        )


def is_id(text: str) -> bool:
    """Whether a text can be the id of a run or a result: in an address, in a file name, on a screen."""
    return 0 < len(text) <= LONGEST_ID and text.isprintable() and not {"/", "\\"} & {*text} and text not in (".", "..")
