"""Records to what the tables hold, and back. Knows no SQL.

A result is kept as one JSON document, compressed, without its samples and with its environment by reference: of an
environment only the knobs and the moment change between results, so the rest is kept once under its hash.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

from benchwright import schema
from benchwright.errors import DecodeError, StoreError
from benchwright.records import (
    Case,
    Environment,
    Failure,
    Metric,
    Result,
    Run,
    Samples,
    Status,
    join_columns,
    split_columns,
)
from benchwright.records.code import clean_repository
from benchwright.records.findings import Finding
from benchwright.records.prices import Price
from benchwright.schema import quick_json
from benchwright.schema.parsing import inflate, largest
from benchwright.store.archive import CommitFacts
from benchwright.store.sql import columns

# What differs from one look at the same machine to the next, and so stays in the result's own document.
_MOMENTARY = ("knobs", "collected_at")
_LEVEL = 3  # 4 % more bytes than the usual 6, in 60 % of its time
_DECODER = json.JSONDecoder()
_LONGEST_NUMBER = 40  # characters
K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRow:
    """An environment as it is kept: `hash` depends on the content alone."""

    hash: str
    document: bytes
    key: str  # schema.environment_key


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesRow:
    """The samples of one copy: all but the columns as a document, and each column as (predictor, blob)."""

    document: bytes
    columns: Mapping[str, tuple[str, bytes]]


def run_document(run: Run) -> str:
    """A run without its results."""
    return _dumps(schema.encode(replace(run, results=())))


def read_run(document: str, version: int, *, where: str) -> Run:
    """The inverse of `run_document`."""
    return schema.open_document(_envelope("run", version, _loads(document, where)), Run, where=where)


def commit_facts(document: str, *, where: str) -> CommitFacts:
    """What a run tells of its revision in a line, without reading the rest; "" for what nobody knows."""
    revision = _loads(document, where).get("revision") or {}
    return CommitFacts(str(revision.get("subject", "")), clean_repository(str(revision.get("repository", ""))))


def finding_document(finding: Finding) -> str:
    """A finding."""
    return _dumps(schema.encode(finding))


@lru_cache(maxsize=2000)  # every page that tells of open findings reads the same ones again
def read_finding(document: str, version: int, *, where: str) -> Finding:
    """The inverse of `finding_document`."""
    return schema.open_document(_envelope("finding", version, _loads(document, where)), Finding, where=where)


def environment_row(environment: Environment) -> EnvironmentRow:
    """The lasting part of an environment."""
    known = _by_identity.get(id(environment))
    if known is not None:
        return cast(EnvironmentRow, known[1])
    row = _environment_row(environment)
    _remember(_by_identity, id(environment), (environment, row))
    return row


def _environment_row(environment: Environment) -> EnvironmentRow:
    lasting = {k: v for k, v in schema.encode(environment).items() if k not in _MOMENTARY}
    text = quick_json.dumps(lasting)
    row = _environments.get(text)
    if row is None:
        row = EnvironmentRow(
            hash=schema.fingerprint({"format": schema.FORMAT, "environment": lasting}),
            document=zlib.compress(text, _LEVEL),
            key=schema.environment_key(environment),
        )
        if len(text) <= _LONGEST_REMEMBERED:
            _remember(_environments, text, row)
    return row


def encoded_case(case: Case) -> tuple[Any, str]:
    """A case as plain values, and its `schema.case_key`: both are made once of one that comes again and again."""
    known = _by_identity.get(id(case))
    if known is not None:
        return cast(tuple[Any, str], known[1])
    encoded = schema.encode(case)
    text = quick_json.dumps(encoded)
    key = _case_keys.get(text)
    if key is None:
        key = schema.case_key(case)
        if len(text) <= _LONGEST_REMEMBERED:
            _remember(_case_keys, text, key)
    _remember(_by_identity, id(case), (case, (encoded, key)))
    return encoded, key


# What is made of the same words in thousands of results. Each is forgotten when there are too many.
_environments: dict[bytes, EnvironmentRow] = {}
_case_keys: dict[bytes, str] = {}
_by_identity: dict[int, tuple[Case | Environment, Any]] = {}  # the record beside it holds its identity
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 1000, 16 << 10


def _remember(known: dict[K, T], name: K, made: T) -> None:
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    known[name] = made


def read_environment(document: bytes, *, where: str) -> Environment:
    """The inverse of `environment_row`: without knobs and the moment."""
    return schema.decode(Environment, _loads(_expand(document, where), where), where=where)


def result_document(result: Result, case: Any = None, metrics: Sequence[Any] | None = None) -> bytes:
    """A result without its samples and without the lasting part of its environment.

    `case` is the encoded case, for who has it at hand: rounds share one. So it is with `metrics`, which are finite.
    """
    data: dict[str, Any] = {}
    for name in _RESULT_FIELDS:
        if name == "case":
            data[name] = schema.encode(result.case) if case is None else case
        elif name == "metrics":
            told = result.metrics if metrics is None else metrics
            data[name] = told if metrics is not None or _are_finite(result.metrics) else schema.encode(told)
        elif name == "environment":
            data[name] = {part: schema.encode(getattr(result.environment, part)) for part in _MOMENTARY}
        else:
            data[name] = [] if name == "samples" else schema.encode(getattr(result, name))
    return _compress(data)


def _are_finite(metrics: Sequence[Metric]) -> bool:
    """Whether every number of these is finite for sure. A sum is not where any of its parts is not."""
    for metric in metrics:
        told = metric.estimate
        total = told.point + (told.low or 0.0) + (told.high or 0.0) + told.confidence
        if not math.isfinite(total + sum(metric.values) + (metric.least or 0.0) + (metric.most or 0.0)):
            return False
    return True


_RESULT_FIELDS = tuple(field.name for field in fields(Result))


def read_result(document: bytes, version: int, environment: bytes, *, where: str) -> Result:
    """The inverse of `result_document` and `environment_row`."""
    data = _loads(_expand(document, where), where)
    knobs = data.get("environment")
    if not isinstance(knobs, dict):
        raise _damage_error(where, ValueError("it does not hold its environment"))
    data["environment"] = _loads(_expand(environment, where), where) | knobs
    return schema.open_document(_envelope("result", version, data), Result, where=where)


class ResultFacts(NamedTuple):
    """The facts of a result's document that a list of results shows."""

    params: str
    version: str
    failure: Failure | None  # without its log
    verdict: str
    price: Price | None = None


def glance(document: bytes, status: str, *, where: str) -> ResultFacts:
    """A few facts of a result's document, at a tenth of the cost of reading all of it.

    Quotes inside strings are escaped, so a key with bare quotes is a key; a result's fields stand in the order of their
    declaration. What stands before its `status` is the id, the case and the round; after `instrument` and `error` come
    records that have no keys of these names.
    """
    text = _expand(document, where)
    end = text.find(b'"status":"%b","environment":{' % status.encode())
    start, stop = text.find(b'"case":', 0, end), text.rfind(b',"round":', 0, end)
    if end < 0 or start < 0 or stop < 0:
        raise _damage_error(where, ValueError("not a result"))
    try:
        params, version = _case(text[start + len(b'"case":') : stop])
        error, instrument = _last_value(text, b'"error":'), _last_value(text, b'"instrument":')
    except ValueError as fault:
        raise _damage_error(where, fault) from None
    return ResultFacts(
        params=params,
        version=version,
        failure=schema.decode(Failure, {**error, "log_tail": ""}, where=where) if error else None,
        verdict=str(instrument.get("verdict", "")),
        price=_price(text),
    )


def _price(text: bytes) -> Price | None:
    """The price of the machine among a result's details; None where there is none, or none that can be read."""
    start = text.rfind(b'"price":{"provider":')
    if start >= 0:
        start += len(b'"price":')
        return _read_price(text[start : text.find(b"}", start) + 1])
    start = text.rfind(b'"cost_per_hour":')
    if start < 0:
        return None
    start += len(b'"cost_per_hour":')
    return _read_price(text[start : start + _LONGEST_NUMBER])


@lru_cache(maxsize=500)  # a few prices stand in all results
def _read_price(text: bytes) -> Price | None:
    try:
        told = _DECODER.raw_decode(text.decode("ascii"))[0]
        return schema.decode(Price, told, where="price") if isinstance(told, dict) else Price.bare(float(told))
    except (ValueError, TypeError, DecodeError):  # a benchmark may call something of its own so
        return None


def _last_value(text: bytes, name: bytes) -> Any:
    """Returns the value of the last key of that name in a JSON text."""
    start = text.rindex(name) + len(name)
    return None if text.startswith(b"null", start) else _DECODER.raw_decode(text[start:].decode("ascii"))[0]


@lru_cache(maxsize=2000)  # the same cases are measured run after run
def _case(text: bytes) -> tuple[str, str]:
    """Returns the params, as compact JSON, and the version of a case."""
    case = json.loads(text)
    return _dumps(case.get("params", {})), str(case.get("version", ""))


def samples_rows(samples: tuple[Samples, ...]) -> list[SamplesRow]:
    """The raw samples of a result."""
    return [
        SamplesRow(
            document=_compress(schema.encode(replace(copy, columns={}, chunks={}))),
            columns=columns.pack(join_columns(copy)),
        )
        for copy in samples
    ]


def read_samples(row: SamplesRow, *, where: str) -> Samples:
    """The inverse of `samples_rows`, for one copy."""
    about = schema.decode(Samples, _loads(_expand(row.document, where), where), where=where)
    calls, chunks = split_columns(columns.unpack(row.columns, where=where))
    return replace(about, columns=calls, chunks=chunks)


def text_of_params(params: Mapping[str, Any]) -> str:
    """Parameters as compact JSON, as the series have them."""
    return _dumps(schema.encode(params))


def microseconds(instant: str, *, where: str) -> int:
    """An ISO 8601 instant as microseconds since 1970; without an offset it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        raise DecodeError(f"{where}: {instant!r} is not an ISO 8601 instant") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def instant(microseconds: int) -> str:
    """The inverse of `microseconds`, as far as there is a year for it."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return datetime(1970, 1, 1, tzinfo=UTC).isoformat()


_STATUSES = {status.value: status for status in Status}


def read_status(text: str) -> Status:
    """The status of that name; one that nobody knows is a failure, and costs no list its other results."""
    return _STATUSES.get(text, Status.FAILED)


def plain(text: str) -> str:
    r"""`text` as every database can hold it: a byte that is not UTF-8 and the zero character are written as `\x..`.

    Columns are for finding; the documents keep such text exactly.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "backslashreplace").decode()
    return text.replace("\0", "\\x00")


def _envelope(kind: str, version: int, data: Any) -> dict[str, Any]:
    return {"format": version, "kind": kind, "data": data}


def _dumps(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _loads(text: str | bytes, where: str) -> Any:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damage_error(where, error) from None
    if not isinstance(data, dict):
        raise _damage_error(where, ValueError("not a mapping"))
    return data


def _compress(data: Any) -> bytes:
    return zlib.compress(quick_json.dumps(data), _LEVEL)


def _expand(document: bytes, where: str) -> bytes:
    try:
        return inflate(document, most=largest())
    except (ValueError, TypeError) as error:  # damaged, or not even bytes
        raise _damage_error(where, error) from None


def _damage_error(where: str, error: Exception) -> StoreError:
    return StoreError(f"{where}: the stored document is damaged: {error}", remedy="restore the store from a backup")
