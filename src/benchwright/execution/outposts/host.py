"""A machine that is reached over a line: attempts are made there by an outpost, and outcomes come back.

A line that breaks costs the attempt that was under way, which becomes a record; for the next one the machine is called
again, for as long as a reboot takes. After that it counts as lost, and what is left says so at once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from benchwright import schema
from benchwright.errors import BenchwrightError, LinkError, NoMachineError
from benchwright.execution.attempt import CHANNEL, INTERRUPTED, AttemptOutcome, timeout
from benchwright.execution.outposts import bundles, outcomes
from benchwright.execution.outposts.environment_desk import LATE, EnvironmentDesk, NotMadeError, WorkTerms
from benchwright.execution.outposts.link import Link, Tell
from benchwright.execution.outposts.orders import EnvironmentOrder, MadeEnvironment
from benchwright.execution.outposts.parcels import ParcelDesk
from benchwright.machine.fitness import WINDOW, Fitness
from benchwright.records import Environment, Failure, ResultWarning, Status, Value
from benchwright.system.texts import describe_error
from benchwright.worker.channel import Frame, Job

PATIENCE = 180.0  # seconds in which a machine that went away may come back
AGAIN = 5.0  # seconds between two calls at first
MOST_PAUSE = 60.0  # and in the end
CANCEL = 15.0  # seconds for an outpost to end what is under way
LINK = "link"  # the kind of failure of a line that broke
AWAY = "unreachable"  # that of a machine that does not come back

CALLS = 3  # of a machine that is lost while an environment is made, or something is planned
PACKAGES = ("ModuleNotFoundError", "NotInstalledError")  # kinds of failure of a package that is not there
ABSENT = "No module named"  # how Python begins to say so
ENVIRONMENT_REMEDY = (
    "--environment FILE makes an environment there from a lock of versions, --environment here from what is "
    "installed here"
)
T = TypeVar("T")
Connect = Callable[[Tell], Link]


class OutpostHost:
    """Measures on the machine that `connect` reaches. Its name is part of the identity of what is measured there."""

    watched = False  # from here; the outpost watches

    def __init__(self, name: str, connect: Connect, *, patience: float = PATIENCE, eager: bool = True) -> None:
        self.name = name
        self.patience = patience
        self._connect = connect
        # Unless it may have to be waited for, a machine that cannot be reached is refused before anything is planned.
        self._link: Link | None = connect(lambda text: None) if eager else None
        self._desk = ParcelDesk()
        self._environments = EnvironmentDesk()
        self._lost = ""  # why it is not called any more
        self._refused: NoMachineError | None = None  # why there is none to call
        self._environment: Environment | None = None
        self._is_known = False  # whether it is that of the machine at the end of the line
        self._fitness: Fitness | None = None
        self._withheld: list[str] = []

    @property
    def system(self) -> Mapping[str, Value]:
        """Which machine of several it is."""
        return {"host": {"name": self.name}}

    @property
    def is_waiting(self) -> bool:
        """Whether nothing was measured there yet because its machine has not been had: it waits in a queue."""
        return self._environment is None and self._link is None

    def environment(self) -> Environment:
        """The environment of that machine."""
        if self._environment is None or not self._is_known:
            link = self._reach(lambda text: None)
            link.say("environment")
            self._learn(link.hear_one("environment", seconds=LATE))
        assert self._environment is not None
        return self._environment

    @property
    def last_environment(self) -> Environment | None:
        """The environment of the last attempt, without a word to the machine: another line may lead to another node."""
        return self._environment

    def check_fitness(self, *, window: float = WINDOW) -> Fitness:
        """Whether that machine is fit to measure; `window` is for how many seconds it watches the load of others."""
        link = self._reach(lambda text: None)
        link.say("check", window=window)
        self._fitness = schema.decode(Fitness, link.hear_one("checked", seconds=LATE).data, where="fitness")
        return self._fitness

    def warnings(self) -> list[ResultWarning]:
        """What spoke against measuring on that machine before its first case."""
        reasons = self._fitness.reasons if self._fitness else ()
        return [replace(one, seen=f"{self.name}, before its first case: {one.seen}") for one in reasons]

    def use_environment(self, order: EnvironmentOrder) -> None:
        """Has everything measured in that environment, which is made over there when it is needed first."""
        self._environments.usual = order

    def attempt(
        self,
        job: Job,
        *,
        directory: Path,
        monitors: Sequence[str],
        while_loading: Callable[[], None],
        on_phase: Tell,
        terms: WorkTerms | None = None,
    ) -> AttemptOutcome:
        """Makes one attempt there; an outcome whatever happens to the machine or to the line."""
        phase, terms = "preparing", terms or WorkTerms()
        try:
            link = self._reach(on_phase)
            if self._fitness is None:
                self.check_fitness(window=0.0)  # takes milliseconds: nobody waits for it
            parcel = self._desk.pack(job, directory, self._environments.wheels(terms))
            self._desk.send(link, parcel, directory, on_phase)
            place, moved = self._environments.settle(link, terms, on_phase)
            there = bundles.translate(job, parcel.bundle, link.root, moved)
            # An outpost does one thing at a time: what is not known of its machine yet, it says while the worker loads.
            wanted = not self._is_known
            link.say(
                "attempt",
                job=schema.encode(there),
                monitors=list(monitors),
                place=schema.encode(place),
                environment=wanted,
            )
            if not wanted:
                while_loading()
            deadline = time.monotonic() + timeout(job.case) + LATE
            while (frame := link.hear(max(0.0, deadline - time.monotonic()))) is not None:
                if frame.kind == "phase":
                    phase = str(frame.data.get("text", ""))[:200]
                    on_phase(phase)
                elif frame.kind == "environment":
                    self._learn(frame)
                    while_loading()
                elif (outcome := self._take(frame, job)) is not None:
                    if not self._is_known:  # it failed before there was anything to load
                        self.environment()
                        while_loading()
                    return self._explain_absence(outcome, terms)
            raise LinkError(f"{self.name}: no outcome, long after the attempt must have ended")
        except NotMadeError as error:
            with contextlib.suppress(LinkError):
                self.environment()  # of the machine that could not make one
                while_loading()
            return _failed(error.failure)
        except NoMachineError as error:
            self._drop()
            return _failed(Failure(kind=error.kind, message=error.message, remedy=error.remedy))
        except LinkError as error:
            self._drop()
            kind, why = (AWAY, "") if self._lost else self.explain_loss(error)
            seen = f"{error.message} (the attempt was {phase}){'; ' if why else ''}{why}"
            return _failed(Failure(kind=kind, message=seen, remedy=error.remedy))
        except KeyboardInterrupt as interrupt:
            by = f"by {interrupt}" if str(interrupt) else "from the keyboard"
            self._cancel()
            return _failed(Failure(kind=INTERRUPTED, message=f"interrupted {by}"), status=Status.KILLED)
        except OSError as error:  # a file of this machine that is to be sent
            return _failed(Failure(kind="start", message=f"a file cannot be sent: {error}"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # the border to another machine's answers
            self._drop()
            seen = f"{self.name}: the outpost's answer cannot be used: {describe_error(error, 200)}"
            return _failed(Failure(kind=CHANNEL, message=seen))
        except BenchwrightError as error:
            self._drop()  # pieces of a file may still be on the way
            return _failed(Failure(kind=type(error).__name__, message=error.message, remedy=error.remedy))

    def prepare(self, terms: WorkTerms, *, paths: Sequence[str], tell: Tell) -> MadeEnvironment:
        """Makes the environment of a working copy ready over there; what failed is part of the answer."""
        directory = Path(terms.folder or Path.cwd())
        self._lost = ""  # this is new work: it may be back
        try:
            return self._call(lambda link: self._prepare(link, terms, directory, paths, tell), tell)
        except NotMadeError as error:
            return MadeEnvironment(failure=error.failure)
        except LinkError as error:
            kind, why = (AWAY, "") if self._lost else self.explain_loss(error)
            seen = f"{error.message}{'; ' if why else ''}{why}"
            return MadeEnvironment(failure=Failure(kind=kind, message=seen, remedy=error.remedy))
        except BenchwrightError as error:
            self._drop()  # pieces of a file may still be on the way
            failure = Failure(kind=type(error).__name__, message=error.message, remedy=error.remedy)
            return MadeEnvironment(failure=failure)

    def plan(
        self,
        request: Mapping[str, Any],
        *,
        paths: Sequence[str],
        tell: Tell,
        directory: Path | None = None,
        terms: WorkTerms | None = None,
        seconds: float = LATE,
    ) -> dict[str, Any]:
        """What `plan_elsewhere` answers over there to an encoded request; the paths in it are those of here."""
        where, how = directory or Path.cwd(), terms or WorkTerms()

        def ask(link: Link) -> dict[str, Any]:
            parcel = self._desk.pack_code(
                [str(target) for target in request["targets"]],
                where,
                paths=paths,
                last_paths=request.get("last_paths", ()),
                more=self._environments.wheels(how),
            )
            self._desk.send(link, parcel, where, tell)
            place, moved = self._environments.settle(link, how, tell)
            asked = bundles.translate_texts(
                {"request": dict(request), "paths": list(paths)}, parcel.bundle, link.root, moved
            )
            folder = place.folder or f"{link.root}{where}"
            link.say("plan", **asked, place=schema.encode(replace(place, folder=folder)), seconds=seconds)
            answer = link.hear_answer("planned", seconds=seconds + LATE, tell=tell).data["plan"]
            return dict(bundles.bring_back(answer, link.root, moved))

        return self._call(ask, tell)

    def explain_loss(self, error: LinkError) -> tuple[str, str]:
        """The kind of failure and, where more is known than that the line broke, why it did."""
        return LINK, ""

    def remark(self, case: object) -> ResultWarning | None:
        """What is to be said of the last attempt: files that it left and that were not fetched."""
        names, self._withheld = self._withheld, []
        if not names:
            return None
        return ResultWarning(
            code="files-left-there",
            seen=f"{len(names)} files were too large to be fetched from {self.name}: {', '.join(names[:3])}",
            remedy="let it write less, or keep them on that machine itself",
        )

    def cancel(self) -> None:
        """Has the outpost end what is under way, from another thread; its outcome still comes."""
        link = self._link
        if link is not None:
            with contextlib.suppress(LinkError):
                link.say("cancel")

    def close(self) -> None:
        """Ends the outpost."""
        self._drop()

    # ---- the line ----

    def _reach(self, tell: Tell) -> Link:
        """The line; a new one where the old one broke. A machine that stays away is called for a while."""
        if self._link is not None:
            return self._link
        if self._refused is not None:
            raise self._refused
        if self._lost:
            raise LinkError(self._lost, remedy="resume the run when it is back: --resume")
        deadline, pause = time.monotonic() + self.patience, 0.0
        while True:
            try:
                self._link = self._connect(tell)
            except NoMachineError as error:
                self._lost, self._refused = error.message, error
                raise
            except BenchwrightError as error:
                if time.monotonic() + AGAIN > deadline:
                    self._lost = f"{self.name} cannot be reached any more: {error.message}"
                    raise LinkError(self._lost, remedy="resume the run when it is back: --resume") from None
                if not pause:
                    tell(f"{self.name} cannot be reached; calling again")
                pause = min(MOST_PAUSE, 1.5 * pause or AGAIN)
                time.sleep(pause)
            else:
                return self._link

    def _call(self, work: Callable[[Link], T], tell: Tell) -> T:
        """Does some work over there that is no attempt; a line that breaks meanwhile is called again a few times."""
        for left in reversed(range(CALLS)):
            try:
                return work(self._reach(tell))
            except LinkError as error:
                self._drop()
                if not left or self._lost:
                    raise
                tell(f"{error.message}; calling again")
            except KeyboardInterrupt:
                self._cancel()
                raise
        raise AssertionError("unreachable")

    def _drop(self) -> None:
        link, self._link = self._link, None
        self._is_known = False
        self._desk.forget_placed()
        self._environments.forget_made()
        if link is not None:
            link.close()

    def _cancel(self) -> None:
        """Has the outpost end what is under way; a line that does not answer is dropped, which ends it as well."""
        link = self._link
        if link is None:
            return
        try:
            link.say("cancel")
            deadline = time.monotonic() + CANCEL
            while (frame := link.hear(max(0.0, deadline - time.monotonic()))) is not None:
                if frame.kind in (outcomes.KIND, "built", "planned"):
                    return
        except (LinkError, KeyboardInterrupt):
            pass
        self._drop()

    # ---- environments ----

    def _prepare(
        self, link: Link, terms: WorkTerms, directory: Path, paths: Sequence[str], tell: Tell
    ) -> MadeEnvironment:
        parcel = self._desk.pack_code((), directory, paths=paths, more=self._environments.wheels(terms))
        self._desk.send(link, parcel, directory, tell)
        place, _ = self._environments.settle(link, terms, tell)
        return self._environments.made_for(terms) or MadeEnvironment(python=place.python)

    def _explain_absence(self, outcome: AttemptOutcome, terms: WorkTerms) -> AttemptOutcome:
        """The outcome; of a package that is not on that machine, with how it comes there."""
        failure = outcome.failure
        if failure is None or self._environments.order_of(terms) or not self.system:
            return outcome
        if failure.kind not in PACKAGES and ABSENT not in failure.message:
            return outcome
        remedy = f"it is not installed on {self.name}: {ENVIRONMENT_REMEDY}"
        return replace(outcome, failure=replace(failure, remedy=remedy))

    # ---- what comes back ----

    def _learn(self, frame: Frame) -> None:
        found = schema.decode(Environment, frame.data, where="environment")
        self._environment, self._is_known = replace(found, system={**found.system, **self.system}), True

    def _take(self, frame: Frame, job: Job) -> AttemptOutcome | None:
        """An outcome; None for what comes before it."""
        if frame.kind == outcomes.KIND:
            return outcomes.unpack(frame)
        if frame.kind == "left":
            self._keep(frame, job)
        elif frame.kind == "withheld":
            self._withheld.append(str(frame.data.get("name", ""))[:200])
        elif frame.kind == "refused":
            raise BenchwrightError(
                f"{self.name}: {frame.data.get('message')}", remedy=str(frame.data.get("remedy", ""))
            )
        return None

    def _keep(self, frame: Frame, job: Job) -> None:
        """Adds a piece to a file that the attempt left, in the folder that is meant for it here."""
        target = bundles.below(Path(job.folder), f"/{frame.data['name']}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(target.open("ab")) as file:
            file.write(frame.arrays["bytes"].tobytes()[: frame.data["size"]])


def _failed(failure: Failure, *, status: Status = Status.FAILED) -> AttemptOutcome:
    return AttemptOutcome(status=status, failure=failure, early=True)
