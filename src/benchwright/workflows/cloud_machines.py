"""The terms on which machines of clouds are leased for a run, from what somebody types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchwright.errors import OptionError
from benchwright.workflows import arguments

if TYPE_CHECKING:
    from benchwright.execution.hosts.cloud_fleet import CloudFleet


def fleet_of(
    host: str | None,
    *,
    budget: str | None = None,
    lease: str | None = None,
    keep: str = "",
    instances: int = 1,
    run: str = "",
    owner: str = "",
) -> CloudFleet | None:
    """The machines of clouds that a run is to have; None where it has none, and then flags about them are refused."""
    flags = {"--budget": budget, "--lease": lease, "--keep": keep, "--instances": instances > 1}
    if not arguments.is_cloud(host):
        for flag in (name for name, given in flags.items() if given):
            raise OptionError(
                f"{flag} is for machines that are leased of a cloud",
                remedy="add --host cloud:aws/c7i.large@eu-central-1",
            )
        return None
    from benchwright.cloud.budgets import Budget
    from benchwright.execution.hosts.cloud_fleet import (
        LEASE,
        LONGEST_LEASE,
        MOST_INSTANCES,
        SHORTEST_LEASE,
        CloudFleet,
        CloudTerms,
    )

    seconds = arguments.positive(lease, "s", "--lease") if lease else LEASE
    if seconds > LONGEST_LEASE:
        raise OptionError(
            f"--lease: {lease} is longer than {LONGEST_LEASE / 86400:.0f} days", remedy="write --lease 2h"
        )
    if seconds < SHORTEST_LEASE:
        raise OptionError(
            f"--lease: {lease} is over before a machine is up",
            remedy=f"give it {SHORTEST_LEASE / 60:.0f} minutes at least, as --lease 1h",
        )
    if not 1 <= instances <= MOST_INSTANCES:
        raise OptionError(f"--instances: {instances} is not from 1 to {MOST_INSTANCES}")
    return CloudFleet(
        CloudTerms(
            budget=Budget.parse(budget) if budget else Budget(),
            seconds=seconds,
            keep=keep,
            instances=instances,
            run=run,
            owner=owner,
        )
    )
