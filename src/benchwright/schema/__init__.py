"""Records to JSON and back: strictly, versioned, with one migration per step. Standard library only.

A document is `{"format": 1, "kind": "run", "data": {...}}`. An unknown key is an error that names its place and the
nearest known key; an older format is lifted step by step before it is decoded; a newer one is refused.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import marshal
import types
import typing
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from enum import Enum
from typing import Any, TypeVar, cast

from benchwright import records
from benchwright.errors import DecodeError, did_you_mean
from benchwright.records import Int64s
from benchwright.schema import parsing, soundness
from benchwright.schema.parsing import pack_int64 as pack_int64
from benchwright.schema.parsing import unpack_int64
from benchwright.schema.plain_values import encode as encode
from benchwright.schema.plain_values import record_fields

FORMAT = 1
Migration = Callable[[str, dict[str, Any]], dict[str, Any]]
MIGRATIONS: dict[int, Migration] = {}  # entry n lifts the data of a document from format n to n + 1
T = TypeVar("T")


@functools.cache
def kinds() -> dict[str, type[Any]]:
    """The record that each kind of document holds."""
    from benchwright.records.findings import Finding  # measuring does not need it

    held = (records.Case, records.Environment, Finding, records.Result, records.Run)
    return {record.__name__.lower(): record for record in held}


def dumps(record: Any, *, indent: int | None = None) -> str:
    """One record as a versioned JSON document."""
    kind = next(name for name, cls in kinds().items() if type(record) is cls)
    return json.dumps({"format": FORMAT, "kind": kind, "data": encode(record)}, indent=indent, allow_nan=False)


def loads(text: str | bytes, cls: type[T], *, where: str = "document") -> T:
    """The record in a versioned JSON document, lifted to the present format."""
    document = parsing.json_document(text, where=where, remedy="is this a file that benchwright wrote?")
    return open_document(document, cls, where=where)


def open_document(
    document: Any,
    cls: type[T],
    *,
    where: str = "document",
    newest: int = FORMAT,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> T:
    """Checks the envelope, migrates the data step by step to `newest`, decodes it."""
    if not isinstance(document, dict) or not {"format", "kind", "data"} <= document.keys():
        raise DecodeError(
            f"{where}: not a Benchwright document", remedy='it needs the keys "format", "kind" and "data"'
        )
    _refuse_unknown(document, ("format", "kind", "data"), where)
    kind, version = document["kind"], document["format"]
    if not isinstance(kind, str) or kinds().get(kind) is not cls:
        raise DecodeError(f"{where}: holds a {_show_value(kind)}, not a {cls.__name__.lower()!r}")
    if not isinstance(version, int) or isinstance(version, bool) or version > newest:
        raise DecodeError(
            f"{where}: format {_show_value(version)}; this version reads up to {newest}",
            remedy="pip install --upgrade benchwright",
        )
    data = document["data"]
    for step in range(version, newest):
        if step not in migrations:
            raise DecodeError(f"{where}: format {version} is older than every format that this version can read")
        data = migrations[step](kind, data)
    return decode(cls, data, where=f"{where}: {kind}")


# ---- decoding ----


# Where a value stands: a name, or a place, a mark and what follows. It is written out only when something is wrong.
Place = Any
Decoder = Callable[[Any, Place], Any]

# How many bytes the packed columns of what is being decoded may still unpack to: a small document can hold many.
_left: ContextVar[list[int]] = ContextVar("left")


def decode(cls: type[T], data: Any, *, where: str = "") -> T:
    """`data` as a `cls`: every key known, every value of its declared type, or a `DecodeError` with the place."""
    token = _left.set([parsing.largest()])
    try:
        return cast(T, _decoder(cast(Any, cls))(data, where or cls.__name__))
    finally:
        _left.reset(token)


@functools.cache
def _decoder(kind: Any) -> Decoder:
    """How values of a declared type are decoded: asked once for each type, since the tests are slow."""
    if dataclasses.is_dataclass(kind):
        return functools.partial(_decode_record, cast(type, kind))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        alone = _decoder(rest[0]) if len(rest) == 1 else None
        return functools.partial(_decode_union, arguments, alone)
    if origin in (tuple, list):
        return functools.partial(_decode_items, origin, _accepted_types(arguments[0]), _decoder(arguments[0]))
    if origin in (dict, Mapping):
        key, item = arguments
        return functools.partial(_decode_mapping, key, _accepted_types(item), _decoder(item))
    if kind is array:
        return _decode_array
    if kind is object or isinstance(kind, typing.ForwardRef):
        return lambda data, where: data  # any JSON value: records.Value, or what its reader checks by itself
    if isinstance(kind, type) and issubclass(kind, Enum):
        return functools.partial(_decode_enum, kind, {member.value: member for member in kind})
    if kind is float:
        return _decode_float
    if kind is int:
        return _decode_int
    return lambda data, where: _expect(data, kind, where)


@functools.cache
def _accepted_types(kind: Any) -> frozenset[type]:
    """The types whose values are taken as they are where `kind` is declared, if there are any: most values are."""
    if kind in (str, float, bool):
        return frozenset({kind})
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return frozenset()
    arguments = typing.get_args(kind)
    rest = [a for a in arguments if a is not type(None)]
    fitting = _accepted_types(rest[0]) if len(rest) == 1 else {a for a in rest if isinstance(a, type) and a in _PLAIN}
    return frozenset(fitting) | {type(None)} & {*arguments}


_PLAIN = frozenset({str, int, float, bool})
_BEYOND = 2**63


def _decode_record(cls: type, data: Any, where: Place) -> Any:
    mapping = _expect(data, dict, where)
    fields, required = _plan(cls)
    if not mapping.keys() <= fields.keys():
        _refuse_unknown(mapping, fields, _write_place(where))
    if not required <= mapping.keys():
        missing = next(name for name in fields if name in required and name not in mapping)
        raise DecodeError(f"{_write_place(where)}: {missing!r} is missing")
    given = {}
    for name, value in mapping.items():
        fitting, decoder = fields[name]
        given[name] = value if type(value) in fitting else decoder(value, (where, ".", name))
    record = cls(**given)
    if cls in soundness.CHECKS and (flaw := soundness.CHECKS[cls](record)):
        raise DecodeError(f"{_write_place(where)}: {flaw}")
    return record


@functools.cache
def _plan(cls: type) -> tuple[dict[str, tuple[frozenset[type], Decoder]], frozenset[str]]:
    """Of each field what is taken as it is, and the way to decode the rest; and the fields that are required."""
    fields = record_fields(cls)
    ways = {name: (_accepted_types(kind), _decoder(kind)) for name, (kind, _) in fields.items()}
    if cls is records.Result:
        for name in _REPEATED:
            ways[name] = (frozenset(), functools.partial(_decode_repeated, name, ways[name][1]))
    return ways, frozenset(name for name, (_, required) in fields.items() if required)


# Fields of a result that say the same in thousands of them: one record is made of the same values, and shared.
_REPEATED = ("case", "environment")
_repeated: dict[tuple[str, bytes], Any] = {}
_MOST_REPEATED, _LONGEST_REPEATED = 512, 16 << 10  # records that are remembered, and bytes of each


def _decode_repeated(name: str, decoder: Decoder, data: Any, where: Place) -> Any:
    try:
        key = name, marshal.dumps(data, 2)  # of this version alone equal values always make equal bytes
    except ValueError:
        return decoder(data, where)
    found = _repeated.get(key)
    if found is None:
        found = decoder(data, where)
        if len(key[1]) <= _LONGEST_REPEATED:
            if len(_repeated) >= _MOST_REPEATED:
                _repeated.clear()
            _repeated[key] = found
    return found


def _decode_items(made: Callable[..., Any], fitting: frozenset[type], decoder: Decoder, data: Any, where: Place) -> Any:
    items = _expect(data, list, where)
    if not items:
        return made()
    return made(item if type(item) in fitting else decoder(item, (where, "", f"[{i}]")) for i, item in enumerate(items))


def _decode_mapping(key: Any, fitting: frozenset[type], decoder: Decoder, data: Any, where: Place) -> Any:
    mapping = _expect(data, dict, where)
    return {
        (k if key is str else _key(key, k, where)): v if type(v) in fitting else decoder(v, (where, ".", k))
        for k, v in mapping.items()
    }


def _decode_union(arguments: tuple[Any, ...], alone: Decoder | None, data: Any, where: Place) -> Any:
    """`alone` decodes the only kind that there is beside None."""
    if data is None and type(None) in arguments:
        return None
    if alone is not None:
        return alone(data, where)
    rest = [a for a in arguments if a is not type(None)]
    if any(isinstance(a, type) and type(data) is a for a in rest):
        return data
    if any(typing.get_origin(a) in (list, dict) and isinstance(data, typing.get_origin(a)) for a in rest):
        return data
    names = ", ".join(getattr(a, "__name__", str(a)) for a in rest)
    raise DecodeError(f"{_write_place(where)}: {_show_value(data)} is not one of {names}")


def _decode_int(data: Any, where: Place) -> Any:
    if type(data) is int and -_BEYOND <= data < _BEYOND:
        return data
    if isinstance(data, int) and not isinstance(data, bool):
        raise DecodeError(f"{_write_place(where)}: {_digits(data)} is a number of more than 64 bits")
    return _expect(data, int, where)


def _decode_float(data: Any, where: Place) -> Any:
    if not isinstance(data, int) or isinstance(data, bool):
        return _expect(data, float, where)
    try:
        return float(data)
    except OverflowError:
        raise DecodeError(f"{_write_place(where)}: {_digits(data)} is too large for a number") from None


def _digits(number: int) -> str:
    return "this" if abs(number) >= 10**parsing.DIGITS else f"{number:.5g}"  # Python writes only so many digits


def _decode_array(data: Any, where: Place) -> Int64s:
    left = _left.get()
    try:
        values = unpack_int64(_expect(data, str, where), most=left[0])
    except ValueError as error:
        why = f": {error}" if "more than" in str(error) else ""
        raise DecodeError(f"{_write_place(where)}: not a packed int64 array{why}") from None
    left[0] -= 8 * len(values)
    return values


def _decode_enum(kind: type[Enum], members: Mapping[Any, Enum], data: Any, where: Place) -> Enum:
    if type(data) is str and (found := members.get(data)) is not None:
        return found
    try:
        return kind(data)
    except ValueError:
        known, place = [str(member.value) for member in kind], _write_place(where)
        remedy = did_you_mean(data[:100] if isinstance(data, str) else "", known)
        raise DecodeError(f"{place}: unknown value {_show_value(data)}", remedy=remedy) from None


def _key(kind: Any, key: str, where: Place) -> Any:
    if kind is int:
        try:
            return int(key)
        except ValueError:
            raise DecodeError(f"{_write_place(where)}: key {_show_value(key)} is not a whole number") from None
    return key


def _expect(data: Any, kind: Any, where: Place) -> Any:
    if type(data) is kind:  # as nearly all are
        return data
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise DecodeError(f"{_write_place(where)}: {_show_value(data)} is not {_NAMES.get(kind, kind.__name__)}")
    return data


def _write_place(where: Place) -> str:
    return where if isinstance(where, str) else f"{_write_place(where[0])}{where[1]}{where[2]}"


def _refuse_unknown(mapping: dict[str, Any], known: Iterable[str], where: str) -> None:
    for key in mapping:
        if key not in known:
            raise DecodeError(f"{where}: unknown key {_show_value(key)}", remedy=did_you_mean(key[:100], known))


def _show_value(data: Any) -> str:
    try:
        text = repr(data)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists within each other without end
        text = f"this {type(data).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


_NAMES = {
    dict: "a mapping",
    list: "a list",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


# ---- identity ----


def fingerprint(value: Any) -> str:
    """32 hex digits that depend on content alone."""
    import hashlib  # with OpenSSL: a few milliseconds that a worker need not spend

    text = json.dumps(encode(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


# How long one measures does not change what one measures, nor does the folder the model lies in or its present content.
_LENGTH = {**dict.fromkeys(("warmup", "samples", "duration", "precision", "timeout")), "precision_of": 50.0, "seed": 0}
_YOUNGER_INPUTS = ("ranges", "files", "names", "values", "feed_back")


def case_key(case: records.Case) -> str:
    """What makes two cases the same thing measured: everything but how long, where the file lies, and its version.

    What its answers are compared with is no part of it either. Fields that are younger than the first stores count only
    when they say something, so that series go on.
    """
    load = dataclasses.replace(case.load, **cast(dict[str, Any], _LENGTH))
    target = dataclasses.replace(case.target, uri="", work="")
    told = encode(dataclasses.replace(case, load=load, target=target, version="", tags=(), expected=None))
    younger = (
        (told, ("expected",)),
        (told["target"], ("work",)),
        (told["inputs"], _YOUNGER_INPUTS),
        (told["load"], ("ramp_to",)),
    )
    for holder, names in (*younger, *((one, ("unit",)) for one in told["load"]["objectives"])):
        for name in names:
            if not holder[name]:
                del holder[name]
    return fingerprint(told)


def environment_key(environment: records.Environment) -> str:
    """What makes two machines comparable: hardware and operating system, not packages, knobs or the moment."""
    system = {k: environment.system.get(k) for k in ("os", "architecture")}
    image, device, host = (environment.system.get(k) for k in ("image", "device", "host"))
    if isinstance(image, dict):  # what is measured in a container is a series of its own; an older build of it is not
        system["image"] = image.get("name")
    if isinstance(device, dict):  # what runs on a phone is a series of its own for each phone
        system["device"] = [device.get("name"), device.get("serial")]
    if isinstance(host, dict):  # equal machines of a fleet differ all the same: each has series of its own
        system["host"] = host.get("name")
    return fingerprint({"machine": dict(environment.machine), "system": system, "gpu": list(environment.accelerators)})


def series_key(case: records.Case, environment: records.Environment, metric: str) -> str:
    """The series that a metric's values belong to, unless a race measured them (`schema.series_identity`)."""
    return fingerprint([case_key(case), environment_key(environment), metric])
