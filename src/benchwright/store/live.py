"""What a run says of itself while it measures. Apart from the other records of an archive: every run needs this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ENDED = "ended"  # the phase of a run that is over
REPEAT_AFTER = 60.0  # seconds after which a silent run repeats its last word: it is alive
STALE_AFTER = 3 * REPEAT_AFTER  # a run that was silent for longer was killed


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a run that is under way does now."""

    run: str
    started_at: str
    planned: int  # 0: nobody said
    done: int
    failed: int = 0
    case: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    round: int = 0
    phase: str = ""  # loading, warming, measuring, ...; ENDED is the last word
    host: str = ""
    spoke_at: int = 0  # microseconds since 1970, as the store says when it is asked
