"""Environments that were ordered of one machine: made there when they are first needed, and remembered here."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from benchwright import schema
from benchwright.errors import MeasureError
from benchwright.execution.outposts.link import Link, Tell
from benchwright.execution.outposts.orders import EnvironmentOrder, MadeEnvironment, WorkPlace
from benchwright.records import Failure

LATE = 60.0  # seconds beyond its own limit after which an answer is given up
NO_INDEX = (
    "where that machine has no index of packages, `pip download -d wheels -r FILE` here and --wheels wheels send "
    "them along"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTerms:
    """With what, and in which folder of here, something is done over there."""

    order: EnvironmentOrder | None = None  # None: that of the host, if it has one
    folder: str = ""  # a working copy; "": the present folder
    python: str = ""  # an interpreter over there, as it is
    revision: str = ""
    own: bool = False  # nothing of what the user's shell adds is seen


class NotMadeError(MeasureError):
    """There is no environment to do it with; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message, remedy=failure.remedy)
        self.failure = failure


class EnvironmentDesk:
    """Knows which environments are on the machine that a line leads to."""

    def __init__(self) -> None:
        self.usual: EnvironmentOrder | None = None  # of what says nothing else
        self._made: dict[EnvironmentOrder, MadeEnvironment] = {}
        self._never_made: dict[EnvironmentOrder, MadeEnvironment] = {}  # for what the order itself is to blame

    def order_of(self, terms: WorkTerms) -> EnvironmentOrder | None:
        """The environment in which something is done on these terms; None: that which the machine has."""
        return terms.order or self.usual

    def wheels(self, terms: WorkTerms) -> tuple[str, ...]:
        """The wheels that must be sent first."""
        order = self.order_of(terms)
        return tuple(wheel.path for wheel in order.wheels) if order is not None else ()

    def forget_made(self) -> None:
        """The next line may lead to another node."""
        self._made.clear()

    def made_for(self, terms: WorkTerms) -> MadeEnvironment | None:
        """What was made for these terms."""
        order = self.order_of(terms)
        return self._made.get(replace(order, again=False)) if order is not None else None

    def settle(self, link: Link, terms: WorkTerms, tell: Tell) -> tuple[WorkPlace, dict[str, str]]:
        """Where it is done over there, and which folders of here lie somewhere else there than the rest.

        A `NotMadeError` where there is no such environment; it is not tried twice.
        """
        folder = f"{link.root}{terms.folder}" if terms.folder else ""
        place = WorkPlace(python=terms.python, folder=folder, revision=terms.revision, own=terms.own)
        order = self.order_of(terms)
        if order is None:
            return place, {}
        key = replace(order, again=False)
        made = self._made.get(key) or self._never_made.get(key)
        if made is None:
            made = _make(link, order, tell)
            (self._never_made if made.failure else self._made)[key] = made
        if made.failure is not None:
            raise NotMadeError(made.failure)
        moved = {order.folder: made.folder} if made.folder else {}
        return replace(place, python=made.python, folder=made.folder or folder), moved


def _make(link: Link, order: EnvironmentOrder, tell: Tell) -> MadeEnvironment:
    begin = time.monotonic()
    link.say("build", order=schema.encode(order))
    # Somebody else may be making the same one: then it is waited for before it is made here, if that failed.
    answer = link.hear_answer("built", seconds=2 * order.timeout + LATE, tell=tell)
    made = schema.decode(MadeEnvironment, answer.data, where="environment")
    if made.failure is None:
        return replace(made, seconds=time.monotonic() - begin)
    failure = replace(made.failure, message=f"{link.name}: {made.failure.message}")
    if failure.kind == "packages" and not failure.remedy and not order.wheels:
        failure = replace(failure, remedy=NO_INDEX)
    return replace(made, failure=failure)
