"""Several equal machines share the cases of each commit out, and a series stays on the machine that has it.

A machine that is away has its cases measured on the others where the user allows that: they are other series there, and
say so, and go back as soon as it answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchwright import schema
from benchwright.execution import lanes
from benchwright.execution.builds import BuiltRevision
from benchwright.execution.hosts import LOST
from benchwright.execution.outposts.host import AWAY
from benchwright.records import Case, Run

USUAL = "usual_machine"  # of a result's details: the machine that has the series of its case, where that was away


def is_away(built: BuiltRevision) -> bool:
    """Whether the machine, and not the commit, is why it could not be made ready."""
    return built.failure is not None and built.failure.kind in (AWAY, *LOST)


def choose(everywhere: Sequence[BuiltRevision], *, falls_back: bool) -> BuiltRevision:
    """The commit as it is planned: on the first machine that is there; where it could not be built, what says so.

    Unless the others may take over, one that is away counts as well.
    """
    failed = [one for one in everywhere if one.failure is not None and not (falls_back and is_away(one))]
    there = [one for one in everywhere if one.ok]
    return failed[0] if failed else there[0] if there else everywhere[0]


def find_usual(run: Run | None) -> dict[str, str]:
    """Which machine has the series of a case, by its key, as the newest run of the watch tells."""
    found: dict[str, str] = {}
    for result in run.results if run is not None else ():
        usual = result.details.get(USUAL)
        found[schema.case_key(result.case)] = str(usual) if usual else lanes.host_name(result) or lanes.LOCAL
    return found


def assign(
    cases: Sequence[Case], there: Sequence[BuiltRevision], names: Sequence[str], usual: Mapping[str, str]
) -> tuple[list[list[Case]], dict[str, str]]:
    """What each machine that is there measures, and the cases among them whose series another of `names` has.

    A machine that is no longer among the names has no claim: what it measured goes on as another series.
    """
    hosts = [one.there for one in there if one.there is not None]
    shares = lanes.share_out(cases, hosts, usual)
    guests: dict[str, str] = {}
    for host, share in zip(hosts, shares, strict=True):
        own = {key: usual[key] for case in share if usual.get(key := schema.case_key(case), host.name) != host.name}
        host.guests = {key: name for key, name in own.items() if name in names}
        guests |= host.guests
    return shares, guests
