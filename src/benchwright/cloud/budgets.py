"""The most that machines may cost together: every lease holds what it costs until its end, so that no sum exceeds it.

What is held is a price times the time until the machine ends by itself. A lease is prolonged, and another machine is
ordered, only where that still fits; so nothing that happens later, not even a lost link, costs more than was allowed.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchwright.errors import OptionError
from benchwright.prices.amounts import parse_money
from benchwright.records.prices import Price

FLAG = "--budget"
HOUR = 3600.0
_ROUNDING = 1e-9  # relative: three times 0.1 are a little more than 0.3, and must fit into it
_SHORTEST = 600.0  # seconds: a machine takes minutes until it is ready, so less is no time to measure in


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What one lease may cost: from its start until it ends by itself."""

    per_hour: float
    start: float
    end: float

    @property
    def cost(self) -> float:
        return self.per_hour * (self.end - self.start) / HOUR


class Budget:
    """An amount of money that leases are held against, by several threads; without an amount nothing is refused."""

    def __init__(
        self, amount: float | None = None, currency: str = "", *, clock: Callable[[], float] = time.time
    ) -> None:
        self.amount, self.currency = amount, currency
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._spent = 0.0  # by leases that have ended
        self._lock = threading.Lock()

    @classmethod
    def parse(cls, text: str) -> Budget:
        """The budget of `5USD`."""
        amount, currency = parse_money(text, what=FLAG)
        if not currency:
            raise OptionError(f"{FLAG}: {text!r} has no currency", remedy="write it as 5USD")
        return cls(amount, currency)

    @property
    def is_limited(self) -> bool:
        """Whether there is an amount."""
        return self.amount is not None

    @property
    def spent(self) -> float:
        """What the machines have cost so far."""
        with self._lock:
            now = self._clock()
            return self._spent + sum(replace(one, end=max(one.start, now)).cost for one in self._held.values())

    def check(self, prices: Sequence[Price], seconds: float) -> None:
        """Refuses machines that would cost more together if each were kept for so long; nothing is held."""
        if self.amount is None:
            return
        for price in prices:
            if price.currency != self.currency:
                raise OptionError(
                    f"{FLAG}: {price.name} is paid in {price.currency or 'no currency that is known'}, "
                    f"the budget is in {self.currency}",
                    remedy=f"give the budget in {price.currency}"
                    if price.currency
                    else "write the currency of a price",
                )
        hourly = sum(price.per_hour for price in prices)
        whole = hourly * seconds / HOUR
        if not self._is_exceeded_by(whole):
            return
        fits = self.amount / hourly * HOUR
        machines = "one machine" if len(prices) == 1 else f"{len(prices)} machines"
        raise OptionError(
            f"{FLAG}: {machines} at {hourly:.6g} {self.currency} an hour cost up to {whole:.4g} {self.currency} in "
            f"{seconds / 60:.0f} min, more than {self.amount:.6g} {self.currency}",
            remedy=(
                f"--lease {math.floor(fits / 60 * (1 + _ROUNDING))}min fits, or give a larger budget"
                if fits >= _SHORTEST
                else "give a larger budget, or fewer or smaller machines: less than 10 min is no time to measure in"
            ),
        )

    def hold(self, token: str, per_hour: float, seconds: float) -> bool:
        """Holds what a machine costs that ends by itself after so long; False, and nothing is held, if it is too much.

        A machine that is held already is prolonged: so long from now.
        """
        with self._lock:
            now = self._clock()
            before = self._held.get(token)
            start = before.start if before else now
            wanted = _Held(per_hour=per_hour, start=start, end=max(start, now + seconds))
            others = self._spent + sum(one.cost for name, one in self._held.items() if name != token)
            if self._is_exceeded_by(others + wanted.cost):
                return False
            self._held[token] = wanted
            return True

    def room(self, token: str, per_hour: float) -> float:
        """For how many seconds from now a machine could be held at most."""
        with self._lock:
            if self.amount is None:
                return float("inf")
            now = self._clock()
            before = self._held.get(token)
            start = before.start if before else now
            others = self._spent + sum(one.cost for name, one in self._held.items() if name != token)
            left = (self.amount - others) / per_hour * HOUR if per_hour else float("inf")
            return max(0.0, start + left - now)

    def release(self, token: str) -> float:
        """Ends a lease now: what it has cost, which is no longer held but spent."""
        with self._lock:
            one = self._held.pop(token, None)
            if one is None:
                return 0.0
            cost = replace(one, end=max(one.start, self._clock())).cost
            self._spent += cost
            return cost

    def _is_exceeded_by(self, cost: float) -> bool:
        return self.amount is not None and cost > self.amount * (1 + _ROUNDING)

    def describe(self) -> str:
        """What was spent of what there is."""
        spent = f"{self.spent:.4g} {self.currency}".strip()
        return f"{spent} of {self.amount:.6g} {self.currency} spent" if self.amount is not None else f"{spent} spent"
