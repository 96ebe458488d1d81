"""Patience with a server that limits its callers: before time zero, its `Retry-After` is waited for, once.

A limit that somebody else used up a moment ago would otherwise cost a whole round. Nothing is waited for while requests
are timed: there a refused request is a failed one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from benchwright.records import ResultWarning
from benchwright.worker.endpoints.dialect import ReadAnswer
from benchwright.worker.endpoints.traffic import Outcome

LONGEST = 60.0  # seconds: limits of requests a minute are the usual ones
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?")


class ThrottledCallError(Exception):
    """A request that the server refused for now; `answer` says for how long."""

    def __init__(self, answer: ReadAnswer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


class Patience:
    """Waits once, as long as a server asks for; `notes` then says so."""

    def __init__(self, tell: Callable[[str], None], *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._tell, self._sleep = tell, sleep
        self.notes: list[ResultWarning] = []

    def has_for(self, answer: ReadAnswer) -> bool:
        """Whether this answer would be waited for."""
        asked = read_seconds(answer.retry_after)
        return asked is not None and asked <= LONGEST and not self.notes

    def wait_for(self, answer: ReadAnswer) -> bool:
        """Waits as long as the answer asks for, where that is to be done; says whether it was."""
        if not self.has_for(answer):
            return False
        seconds = read_seconds(answer.retry_after) or 0.0
        self._tell(f"the server asks to wait {seconds:.3g} s")
        self._sleep(seconds)
        seen = f"the server asked to wait {seconds:.3g} s before time zero, which was done once: {answer.reason}"
        remedy = (
            "it limits its callers, and may do so again: such answers are errors of the kind throttled while requests "
            "are timed"
        )
        self.notes.append(ResultWarning(code="waited-for-server", seen=seen, remedy=remedy))
        return True

    def advise(self, answer: ReadAnswer) -> str:
        """What to do about a server that is not waited for, or not again."""
        asked = read_seconds(answer.retry_after)
        if answer.outcome is Outcome.THROTTLED and self.notes:
            return "it was waited for once: ask less before time zero with --warmup 0, or a server without that limit"
        if asked is not None and asked > LONGEST:
            return f"it asks to wait {asked:.0f} s, and at most {LONGEST:.0f} s are waited for: come back then"
        return "the server limits how often it is asked: wait as long as it says, or ask one without that limit"


def read_seconds(retry_after: str) -> float | None:
    """What the header `Retry-After` asks for: a number of seconds, or a date. None where it is neither."""
    text = retry_after.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or one that no clock shows
        return None
