"""Phones come and go: what is plugged in is offered, what is gone is withdrawn, while the agent works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from benchwright.errors import BenchwrightError

if TYPE_CHECKING:
    from benchwright.lab.agent import Agent
    from benchwright.lab.machines import MachineOffer

LOOK = 3.0  # seconds between two looks at the cables
GONE = 2  # looks in a row at which a phone is not there: then it is gone


class PhoneWatch:
    """Looks again and again which phones there are. One that measures just now is not withdrawn: it may restart."""

    def __init__(self, agent: Agent, find: Callable[[], Sequence[MachineOffer]], *, pause: float = LOOK) -> None:
        self._agent, self._find, self._pause = agent, find, pause
        self._absent: dict[str, int] = {}  # by machine, for how many looks
        self._complaint = ""

    def start(self) -> None:
        """Looks in a thread of its own until the agent ends."""
        threading.Thread(target=self._go_on, name="phones", daemon=True).start()

    def look(self) -> Sequence[MachineOffer]:
        """The phones that are there; none where adb does not say, which is told once."""
        try:
            found = self._find()
        except BenchwrightError as error:
            if error.message != self._complaint:
                self._agent.say(f"phones: {error.message}")
            self._complaint = error.message
            return ()
        self._complaint = ""
        return found

    def _go_on(self) -> None:
        while not self._agent.stopping.wait(self._pause):
            try:
                self.compare(self.look())
            except BenchwrightError as error:  # the server refuses what is offered; it may not the next time
                self._agent.say(f"phones: {error.message}")

    def compare(self, offers: Sequence[MachineOffer]) -> None:
        """Offers what is new, and withdraws what was not there a few times."""
        there = {offer.machine.name: offer for offer in offers}
        at_work = {one.name: one for one in self._agent.stations if one.offer.device}
        for name, station in at_work.items():
            self._absent[name] = 0 if name in there or station.fence else self._absent.get(name, 0) + 1
            if self._absent[name] >= GONE and not station.withdrawn.is_set():
                self._agent.say(f"{name} is gone")
                self._agent.withdraw(station)
        if fresh := [offer for name, offer in there.items() if name not in at_work]:
            self._agent.say(f"{', '.join(offer.machine.name for offer in fresh)}: plugged in")
            self._agent.begin(fresh)
