"""The verbs of an `Archive`, one by one: what a store that is reached over HTTP is made of."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import GenericAlias
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from benchwright import schema
from benchwright.errors import DecodeError, did_you_mean
from benchwright.records import Value
from benchwright.records.findings import Finding, Mute, Threshold, Triage
from benchwright.records.machines import Quarantine
from benchwright.server.access import Reads, Visitor, require
from benchwright.server.answer_parts import IN_PARTS, read_part
from benchwright.server.answers import Answered
from benchwright.server.bodies import read_whole
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import LONGEST_ASSIGNEE, check_id, check_names, check_text, check_wish, parse_json
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes_object
from benchwright.server.remarks import (
    TRIAGED,
    describe_changes,
    describe_quarantine,
    describe_rule,
    now,
    sign,
    sign_remark,
    sign_story,
)
from benchwright.store.archive import Archive

router = APIRouter(tags=["store"])
_COUNTS = range(2**31)
_INSTANTS = range(-62_135_596_800_000_000, 253_402_300_800_000_000)  # microseconds: the years 1 to 9999
_LONGEST = 2000  # characters in the audit log


@dataclass(frozen=True, slots=True)
class Verb:
    """The scope that a verb needs. Its arguments and their kinds are those of the method of `Archive`."""

    scope: str
    says: str = ""  # the line in the audit log; "" for what changes nothing


VERBS = {
    "find": Verb("read"),
    "runs": Verb("read"),
    "run_ids": Verb("read"),
    "history": Verb("read"),
    "misses": Verb("read"),
    "case_names": Verb("read"),
    "findings": Verb("read"),
    "finding": Verb("read"),
    "keep_finding": Verb("write", "keep finding"),
    "update_finding": Verb("triage", "update finding"),
    "causes": Verb("read"),
    "triage_findings": Verb("triage", "triage findings"),
    "split_findings": Verb("triage", "split findings"),
    "join_findings": Verb("triage", "join findings"),
    "mutes": Verb("read"),
    "mute": Verb("triage", "mute"),
    "unmute": Verb("triage", "unmute"),
    "thresholds": Verb("read"),
    "set_threshold": Verb("triage", "set threshold"),
    "drop_threshold": Verb("triage", "drop threshold"),
    "machines": Verb("read"),
    "quarantines": Verb("read"),
    "held_results": Verb("read"),
    "quarantine": Verb("triage", "quarantine machine"),
    "release": Verb("triage", "release machine"),
}
_SIGNED = frozenset({"triage_findings", "split_findings", "join_findings"})  # who did it and when, the server says
_FIXED = frozenset({"id", "series", "remarks", "cause"})  # of a finding


async def _allowed_body(request: Request, visitor: Reads, verb: str) -> bytes:
    """Reads the body, once it is clear that the visitor may call this verb; a reader may send only little."""
    if verb not in VERBS:
        raise refusal(404, f"no verb {verb[:60]!r}", did_you_mean(verb[:60], VERBS))
    scope, limits = VERBS[verb].scope, context_of(request).settings.limits
    require(visitor, scope)
    return await read_whole(request, limits.document if "write" in visitor.scopes and scope != "read" else limits.small)


@router.post(
    "/store/{verb}", responses=answers_with(Answered), openapi_extra=takes_object(), summary="A verb of the store"
)
def call(
    request: Request,
    visitor: Reads,
    verb: Annotated[str, Path(json_schema_extra={"enum": sorted(VERBS)})],
    body: Annotated[bytes, Depends(_allowed_body)],
    parts: Annotated[
        bool, Query(description="A long list may come in parts: `next` holds the arguments to change for the next one.")
    ] = False,
    branches: Annotated[bool, Query(description="of `history`: each point names its branch")] = False,
) -> Response:
    """The arguments by name, as a JSON object; what the verb returns is the `answer`.

    A list that is too long for one answer is refused, unless `parts` is asked for.
    """
    asked = VERBS[verb]
    arguments = arguments_of(verb, parse_json(body, context_of(request).settings.limits))
    if verb == "update_finding":
        return answer(request, {"answer": schema.encode(_update_finding(request, visitor, arguments))})
    if isinstance(finding := arguments.get("finding"), Finding):
        arguments["finding"] = sign_story(finding, visitor)
    if isinstance(mute := arguments.get("mute"), Mute):
        arguments["mute"] = replace(mute, who=sign(visitor, mute.who), at=now())
    if verb in _SIGNED:
        check_text(arguments.get("comment", ""), f"{verb}.comment")
        arguments |= {"who": sign(visitor, arguments.get("who", "")), "at": now()}
    if isinstance(held := arguments.get("quarantine"), Quarantine):
        arguments["quarantine"] = replace(held, who=sign(visitor, held.who), made_at=now())
    if verb == "release":
        arguments["who"] = sign(visitor, arguments.get("who", ""))
    if verb in IN_PARTS:
        return answer(request, _read_part(archive(request), verb, arguments, in_parts=parts, branches=branches))
    before = describe_rule(archive(request), verb, arguments)
    found = getattr(archive(request), verb)(**arguments)
    if asked.says:
        changed = f": {before} -> {describe_rule(archive(request), verb, arguments)}" if before else ""
        record(request, visitor, asked.says, _describe_arguments(arguments) + changed)
    return answer(request, {"answer": _drop_unknown_keys(verb, schema.encode(found), branches=branches)})


def _read_part(
    store: Archive, verb: str, arguments: dict[str, Any], *, in_parts: bool, branches: bool
) -> dict[str, Any]:
    """What is answered to a verb whose list may be long. Who does not ask for parts is not given one as the whole."""
    found, following = read_part(store, verb, arguments)
    if following and not in_parts:
        remedy = f"ask POST store/{verb}?parts=true, and go on with what stands in next; newer clients do"
        raise refusal(413, f"{verb}: the list is too long for one answer", remedy)
    told = {"answer": _drop_unknown_keys(verb, schema.encode(found), branches=branches)}
    return {**told, "next": following} if following else told


def _drop_unknown_keys(verb: str, told: Any, *, branches: bool) -> Any:
    """Leaves out what an older client refuses as unknown: `damaged` of sound runs, branches that it did not ask for."""
    if verb == "history" and not branches:
        for series in told:
            for point in series["points"]:
                del point["branch"]
    if verb == "runs":
        return [{key: value for key, value in run.items() if key != "damaged" or value} for run in told]
    return told


def _update_finding(request: Request, visitor: Visitor, arguments: dict[str, Any]) -> Finding:
    """Changes a finding as far as the visitor may.

    Who triages sets its state and its assignee. What was judged (verdict, effect, suspects, ...) is changed by
    whoever may send results. Either way the visitor signs, now, whatever the remark says of who and when.
    """
    reference, remark = arguments.pop("reference"), arguments.pop("remark", None)
    if beyond := sorted(arguments.keys() - TRIAGED):
        told = f"update_finding.changes.{beyond[0]} is set by what judges; a change of it"
        require(visitor, "write", what=told)
    if "write" not in visitor.scopes:
        check_text(remark.text if remark else "", "update_finding.remark.text")
        check_text(arguments.get("assignee", ""), "update_finding.assignee", LONGEST_ASSIGNEE)
    store = archive(request)
    before = store.finding(reference)
    found = store.update_finding(before.id, sign_remark(remark, arguments, visitor), **arguments)
    record(request, visitor, "update finding", f"{found.id}: {describe_changes(before, found)}")
    return found


def arguments_of(verb: str, data: Any) -> dict[str, Any]:
    """Decodes the arguments in a body, each of its kind; refuses unknown and missing ones."""
    kinds, required = _arguments(verb)
    if not isinstance(data, dict):
        raise DecodeError(f"{verb}: the arguments are not a mapping")
    if unknown := sorted(data.keys() - kinds.keys()):
        raise DecodeError(f"{verb}: unknown argument {unknown[0][:60]!r}", remedy=did_you_mean(unknown[0][:60], kinds))
    if missing := sorted(required - data.keys()):
        raise DecodeError(f"{verb}: {missing[0]!r} is missing")
    arguments = {name: schema.decode(kinds[name], value, where=f"{verb}.{name}") for name, value in data.items()}
    for name in ("limit", "skip", "most"):
        if arguments.get(name, 0) not in _COUNTS:
            raise DecodeError(f"{verb}.{name}: {arguments[name]} is too many")
    if verb == "release":
        _check_instant(arguments["at"], "release.at")
    for argument in arguments.values():
        _check_names_of(argument, verb)
    return arguments | _read_changes(arguments.pop("changes", {}))


@cache
def _arguments(verb: str) -> tuple[dict[str, Any], frozenset[str]]:
    """What kind each argument of a verb is, and which of them must be there; changes by name are one mapping here."""
    method = getattr(Archive, verb)
    hints, required = typing.get_type_hints(method), set()
    kinds: dict[str, Any] = {}
    for one in list(inspect.signature(method).parameters.values())[1:]:
        if one.kind is one.VAR_KEYWORD:
            kinds[one.name] = dict[str, Value]
            continue
        kind = hints[one.name]
        items = (*typing.get_args(kind), ...)
        kinds[one.name] = GenericAlias(tuple, items) if typing.get_origin(kind) is Sequence else kind
        if one.default is one.empty:
            required.add(one.name)
    return kinds, frozenset(required)


def _check_names_of(record: Any, verb: str) -> None:
    """Refuses names that could not be searched for later."""
    if isinstance(record, Finding):
        check_id(record.id, f"{verb}.finding.id")
        if record.cause:
            check_id(record.cause, f"{verb}.finding.cause")
        check_names({"series": [record.series]}, verb)
    elif isinstance(record, Mute):
        check_names({"mute.what": [record.what]}, verb)
        check_text(record.reason, f"{verb}.mute.reason")
    elif isinstance(record, Triage):
        check_wish(record, f"{verb}.wish")
    elif isinstance(record, Quarantine):
        check_names({"quarantine.machine": [record.machine]}, verb)
        check_text(record.reason, f"{verb}.quarantine.reason")
        _check_instant(record.since, f"{verb}.quarantine.since")
        _check_instant(record.until, f"{verb}.quarantine.until")
    elif isinstance(record, Threshold):
        check_names({"threshold": [record.case, record.metric]}, verb)


def _check_instant(at: int | None, where: str) -> None:
    """Refuses an instant that no calendar has: nobody could show it."""
    if at is not None and at not in _INSTANTS:
        raise DecodeError(f"{where}: {at} is not an instant", remedy="give microseconds since 1970")


def _read_changes(given: dict[str, Any]) -> dict[str, Any]:
    """Decodes the fields of a finding that are to change, each of its kind."""
    kinds = typing.get_type_hints(Finding)
    for name in given:
        if name in _FIXED or name not in kinds:
            raise DecodeError(
                f"update_finding.changes: {name[:60]!r} is not a field of a finding that can change",
                remedy=did_you_mean(name[:60], kinds.keys() - _FIXED),
            )
    return {name: schema.decode(kinds[name], value, where=f"update_finding.{name}") for name, value in given.items()}


def _describe_arguments(arguments: dict[str, Any]) -> str:
    """Describes what a verb was about, for the audit log."""
    first = next(iter(arguments.values()), "")
    if isinstance(first, tuple):
        return ", ".join(map(str, first))[:_LONGEST]
    if isinstance(first, Quarantine):
        return describe_quarantine(first)
    if isinstance(first, Threshold):
        return f"{first.case} {first.metric or 'every metric'}"
    return str(next((getattr(first, name) for name in ("id", "what") if hasattr(first, name)), first))
