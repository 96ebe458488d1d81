"""What nobody looks after any more is ended: what has expired, and what was ordered by a process that died."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from benchwright.cloud import leases, load_provider
from benchwright.cloud.calls import ask_patiently
from benchwright.cloud.ledger import CloudLedger, LedgerMachine
from benchwright.cloud.orders import Instance
from benchwright.cloud.provider import CloudProvider
from benchwright.errors import BenchwrightError


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptMachine:
    """One machine that `sweep` looked at, and what it did."""

    name: str
    provider: str
    region: str
    id: str = ""
    why: str = ""


@dataclass(slots=True, kw_only=True)
class SweepReport:
    """What `sweep` found: ended now, gone already, left alone, not to be told yet; and clouds that did not answer."""

    ended: list[SweptMachine] = field(default_factory=list)
    gone: list[SweptMachine] = field(default_factory=list)
    left: list[SweptMachine] = field(default_factory=list)
    unsettled: list[SweptMachine] = field(default_factory=list)
    failed: list[SweptMachine] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)  # lines of the ledger that cannot be read

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left of which it is not known whether it should be."""
        return not self.unsettled and not self.failed and not self.unread


def sweep(
    ledger: CloudLedger | None = None,
    *,
    places: Iterable[tuple[str, str]] = (),
    now: datetime | None = None,
    load: Callable[[str], CloudProvider] = load_provider,
    is_dry: bool = False,
) -> SweepReport:
    """Ends what has expired, and what was ordered by a process that has died, in every place that the ledger names.

    `places` are further ones: provider and region. A cloud is asked for machines with our label, so one that was
    created just before a `kill -9` is found; a machine without the label is never touched, and one that is not in this
    ledger only when the expiry on its own label is past.
    """
    book, moment, report = ledger or CloudLedger(), now or datetime.now(UTC), SweepReport()
    machines, report.unread = book.machines(), book.unread_lines()
    for provider_name, region in sorted({*places, *((one.order.provider, one.order.region) for one in machines)}):
        here = [one for one in machines if (one.order.provider, one.order.region) == (provider_name, region)]
        is_named = (provider_name, region) in set(places)
        try:
            provider = load(provider_name)
            there = ask_patiently(lambda p=provider, r=region: p.instances(r))  # type: ignore[misc]
        except BenchwrightError as error:
            if is_named or any(one.is_open for one in here):
                report.failed.append(SweptMachine(name="", provider=provider_name, region=region, why=error.message))
            continue
        _sweep_place(book, provider, here, there, moment, report, is_dry=is_dry)
    return report


def _sweep_place(
    ledger: CloudLedger,
    provider: CloudProvider,
    here: list[LedgerMachine],
    there: list[Instance],
    now: datetime,
    report: SweepReport,
    *,
    is_dry: bool,
) -> None:
    """One region of one cloud: what the ledger knows of it, then what it does not know."""
    live = [instance for instance in there if not instance.is_gone]
    for machine in here:
        is_there = any(instance.token == machine.token for instance in live)
        if machine.is_open or is_there:
            _settle(ledger, provider, machine, now, report, is_dry=is_dry)
    ours = {machine.token for machine in here}
    for instance in (instance for instance in live if instance.token not in ours):
        told = _swept(instance)
        if not instance.expires or datetime.fromisoformat(instance.expires) > now:
            until = f"until {instance.expires}" if instance.expires else "without an expiry"
            report.left.append(_because(told, f"ordered elsewhere, {until}"))
            continue
        try:
            if not is_dry:
                ask_patiently(lambda one=instance: provider.end(one.id, one.region))  # type: ignore[misc]
            report.ended.append(_because(told, f"ordered elsewhere, expired at {instance.expires}"))
        except BenchwrightError as error:
            report.failed.append(_because(told, error.message))


def _settle(
    ledger: CloudLedger,
    provider: CloudProvider,
    machine: LedgerMachine,
    now: datetime,
    report: SweepReport,
    *,
    is_dry: bool,
) -> None:
    """One machine of the ledger: ended, left, or found to be gone."""
    is_held = ledger.is_held(machine.token)
    # Read again, after that question: whoever keeps a machine writes it down first, and only then lets go of it.
    machine = ledger.get(machine.token) or machine
    order = machine.order
    told = SweptMachine(name=machine.name, provider=order.provider, region=order.region, id=machine.id)
    try:
        found = leases.look_for(machine, provider)
        if not found and not machine.is_open:
            return  # it was ended while this looked elsewhere
        if found:
            told = replace(told, id=found[0].id)
        why = _why_end(machine, now, is_held=is_held)
        age = (now - datetime.fromisoformat(machine.ordered_at)).total_seconds()
        if found and not why:
            report.left.append(_because(told, f"until {order.expires}" if machine.is_kept else "its process lives"))
        elif not found and is_held:
            report.left.append(_because(told, "its process lives, and orders it now"))
        elif not found and leases.is_unsettled(machine, now):
            report.unsettled.append(
                _because(told, f"ordered {age:.0f} s ago, and no machine is seen yet: sweep again in five minutes")
            )
        else:
            if not is_dry:
                leases.end(machine, provider=provider, ledger=ledger, reason=why, now=now)
            (report.ended if found else report.gone).append(_because(told, why or "it is gone"))
    except BenchwrightError as error:
        report.failed.append(_because(told, error.message))


def _why_end(machine: LedgerMachine, now: datetime, *, is_held: bool) -> str:
    """Why a machine is to end; "" where it may stay."""
    if not machine.is_open:
        return "it was ended before, and is there again"
    if machine.is_expired(now):
        return f"expired at {machine.order.expires}"
    if is_held:
        return ""
    if machine.event == "ending":
        return "it was being ended when the process died"
    return "" if machine.is_kept else "the process that ordered it is gone"


def _swept(instance: Instance) -> SweptMachine:
    return SweptMachine(
        name=instance.name or instance.id, provider=instance.provider, region=instance.region, id=instance.id
    )


def _because(machine: SweptMachine, why: str) -> SweptMachine:
    return replace(machine, why=why)
