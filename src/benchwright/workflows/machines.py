"""Machines of a store: what is known of them, and who puts one into quarantine or lets it out again."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import quote

from benchwright import config
from benchwright.analysis import machine_health
from benchwright.analysis.detection import OURS
from benchwright.errors import OptionError
from benchwright.pages import machines as machine_pages
from benchwright.pages import view_json
from benchwright.pages.names import names_of
from benchwright.records.machines import Quarantine, Quarantines
from benchwright.store import Store
from benchwright.store.archive import Archive
from benchwright.units.numbers import instant

AUTOMATIC = "automatic"
_LOOKED_AT = 20  # machines


def machine_documents(store: Store) -> list[dict[str, Any]]:
    """Every machine as `GET machines` answers it, from a database or from a server."""
    return cast(list[dict[str, Any]], _page(store)["machines"])


def machine_document(store: Store, reference: str) -> dict[str, Any]:
    """One machine with its health and its quarantines, as `GET machines/KEY` answers it."""
    return _page(store, reference)


def put_in_quarantine(store: Store, reference: str, quarantine: Quarantine) -> tuple[str, Quarantine]:
    """Puts the machine that is named into quarantine; returns its name and what is kept.

    One that is in quarantine already is refused.
    """
    key, name = _find(store, reference)
    if lasting := Quarantines(store.quarantines(key)).covering(key, max(quarantine.since, _now())):
        since = show_instant(lasting.since)
        raise OptionError(
            f"{name} is in quarantine since {since}: {lasting.reason or 'no reason given'}",
            remedy=f"release it first: benchwright machines release {key[:12]}",
        )
    held = replace(quarantine, machine=key)
    store.quarantine(held)
    return name, held


def release_machine(store: Store, reference: str, who: str) -> tuple[str, int]:
    """Ends the quarantine of the machine that is named, now; returns its name and how many were ended."""
    key, name = _find(store, reference)
    return name, store.release(key, _now(), who)


def hold_unhealthy(store: Store) -> list[Quarantine]:
    """Puts machines that are out of their usual into quarantine, and releases those that are well again.

    Those that measured last are looked at, before what they measured is judged. Only where `[machines] quarantine =
    "automatic"` says so, and in a database. A quarantine begins with the first of the runs that show it. It ends with
    the first of as many runs that are within the usual; what people decided stays.
    """
    if config.load().machines.quarantine != AUTOMATIC or not hasattr(store, "values_of_runs"):
        return []
    archive, changed = cast(Archive, store), []
    for key in [machine.key for machine in archive.machines()[:_LOOKED_AT]]:
        held = Quarantines(archive.quarantines(key))
        series = machine_health.health_series(machine_pages.run_health(archive, key, held))
        lasting = held.covering(key, _now())
        ended = max((one.until for one in held.of(key) if one.until is not None), default=None)
        # Runs from before the last release count no more: somebody has decided that the machine is judged again.
        out = [
            one
            for one in machine_health.unusual_signals(series)
            if ended is None or one.at[-machine_health.IN_A_ROW] >= ended
        ]
        if lasting is None and out:
            since = min(one.at[-machine_health.IN_A_ROW] for one in out)
            reason = machine_health.describe_trouble(out)
            new = Quarantine(machine=key, since=since, reason=reason, who=OURS, made_at=_today())
            archive.quarantine(new)
            changed.append(new)
        elif lasting and _is_by_health(lasting) and machine_health.is_well(series):
            until = min(one.at[-machine_health.IN_A_ROW] for one in series if len(one.at) >= machine_health.IN_A_ROW)
            if until > lasting.since:
                archive.quarantine(replace(lasting, until=until, released_by=OURS))
                changed.append(replace(lasting, until=until))
    return changed


def _is_by_health(one: Quarantine) -> bool:
    """Whether nobody but we decided it, for the machine's health; one that its control showed ends with that."""
    return one.who == OURS and one.until is None and not one.finding


def _today() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _find(store: Store, reference: str) -> tuple[str, str]:
    """The key of a machine and its name."""
    names = names_of({one.key: one.environment for one in store.machines()})
    key = machine_pages.find_machine(names, reference)
    return key, names[key]


def _page(store: Store, reference: str = "") -> dict[str, Any]:
    if hasattr(store, "page"):  # behind a server, which knows more than its verbs tell
        path = f"machines/{quote(reference, safe='')}" if reference else "machines"
        return cast(dict[str, Any], store.page(path))
    archive = cast(Archive, store)
    view = machine_pages.machine_view(archive, reference) if reference else machine_pages.machines(archive)
    return cast(dict[str, Any], json.loads(view_json.dumps(view)))


def show_instant(at: int) -> str:
    """An instant in microseconds since 1970 as people write it: `2026-11-15 23:31:27 UTC`."""
    return instant(datetime.fromtimestamp(at / 1e6, UTC).isoformat(timespec="seconds"))


def _now() -> int:
    return time.time_ns() // 1000
