"""What is to be measured, how often, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchwright.execution.hosts import AnyHost
from benchwright.records import Case, Profile, Revision, Run, Value
from benchwright.records.prices import Price
from benchwright.records.races import RaceTerms

if TYPE_CHECKING:
    from benchwright.execution.builds.surroundings import Surroundings

DEFAULT_ROUNDS = 5
LOCAL = "local"  # the name of this machine among several
MONITORS = ("process", "pressure", "gpu", "power")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure and how often."""

    cases: Sequence[Case] = ()  # none: whoever measures chooses them as it goes
    run: str = ""  # the id of a new run, where somebody had to know it before; "" makes one
    rounds: int = DEFAULT_ROUNDS
    retries: int = 0
    host: AnyHost | None = None  # None: this machine
    # Several machines: each measures every case, those of one pool share them out (`execution.lanes`).
    hosts: Sequence[AnyHost] = ()
    spread: bool = False  # over the hosts instead: each case is measured on one of them
    paths: Sequence[str] = ()
    last_paths: Sequence[str] = ()  # behind sys.path
    folder: Callable[[Case, int], Path] | None = None  # where a case may leave files in a round; None: nowhere
    profile: Profile | None = None
    profile_inline: bool = False  # profile what is measured; otherwise a pass of its own, whose times are dropped
    operators: bool = False  # record each case's operators in a pass of its own
    cpus: Sequence[int] = ()
    memory: int | None = None
    monitors: Sequence[str] = MONITORS
    reason: str = ""
    tags: Sequence[str] = ()
    baseline: str = ""  # the run that this one is measured against
    command: Sequence[str] = ()  # what repeats this run
    directory: Path = field(default_factory=Path.cwd)  # whose revision is recorded
    revision: Revision | None = None  # the one that is recorded, where somebody knows it better
    surroundings: Surroundings | None = None  # the packages of environments that a project's own file describes
    price: Price | None = None  # of the machine; of several, of each that has none of its own
    prices: Mapping[str, Price] = field(default_factory=dict)  # by the name of a host, with or without its kind
    resumed: Run | None = None  # goes on with this run of the same cases and rounds: what is not ok there
    pause: Callable[[Case], float] | None = None  # seconds to rest before a case; not before the first
    notes: Callable[[Case], Mapping[str, Value]] | None = None  # what is kept with each result, among its details
    race: RaceTerms | None = None  # of a run that is one
    by_hand: bool = False  # somebody tries: a request that a model does not take is refused, which is no failure of it


def in_rounds(plan: Plan) -> Iterator[tuple[Case, int]]:
    """Every case in every round of its own, round by round: some benchmarks say themselves how many they need."""
    most = max((_count_rounds(case, plan) for case in plan.cases), default=0)
    for number in range(most):  # the cases are read anew each time: another machine may have taken some of them over
        yield from ((case, number) for case in plan.cases if number < _count_rounds(case, plan))


def _count_rounds(case: Case, plan: Plan) -> int:
    if case.target.runtime != "asv":
        return plan.rounds
    from benchwright.worker.runtimes.asv import rounds_of  # only now: no other start waits for it

    return rounds_of(case, plan.rounds)


def group_hosts(hosts: Sequence[AnyHost], *, spread: bool = False) -> list[list[AnyHost]]:
    """The hosts in groups, each of which measures every case once: a pool of equal nodes is one, another host alone.

    With `spread`, all of them are one.
    """
    if spread:
        return [list(hosts)]
    groups: dict[int, list[AnyHost]] = {}
    for host in hosts:
        groups.setdefault(id(getattr(host, "pool", None) or host), []).append(host)
    return list(groups.values())


def price_on(plan: Plan, host: AnyHost | None) -> Price | None:
    """What a host of the plan costs: as somebody says of it by name, as it says itself, or as of all machines."""
    name = getattr(host, "name", "") or LOCAL
    for known in (name, name.partition(":")[2]):
        if known in plan.prices:
            return plan.prices[known]
    own = getattr(host, "price", None)
    return own if isinstance(own, Price) else plan.price


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where one measurement takes place, where that is not what the plan says: None is the plan's own."""

    host: AnyHost | None = None
    paths: Sequence[str] | None = None
    last_paths: Sequence[str] | None = None
    cpus: Sequence[int] | None = None
    revision: Revision | None = None
    tags: Sequence[str] = ()  # added to those of the case in the result
    notes: Mapping[str, Value] = field(default_factory=dict)  # kept with the result, among its details
