"""Arrival schedules of an open loop, drawn whole from a seed before time zero."""

from __future__ import annotations

import random
from array import array
from dataclasses import replace
from itertools import accumulate, repeat
from pathlib import Path

from benchwright.errors import OptionError
from benchwright.records import Arrivals, Int64s, Load
from benchwright.system import streams

_LONGEST = 2**63  # nanoseconds
MOST_ARRIVALS = 20_000_000  # 160 MB of schedule; a longer test is several runs


def arrivals(load: Load, *, copy: int = 0) -> Int64s:
    """Instants in ns since time zero at which `copy` of the load's copies gets a call.

    Arrivals are dealt to the copies in turn, as a round-robin balancer would.
    """
    drawn = _read_trace(load) if load.arrivals is Arrivals.TRACE else _draw_instants(load)
    if len(drawn) < load.copies:
        found = f"{len(drawn)} arrivals are too few for {load.copies} copies"
        raise OptionError(found, remedy="change --rate, --duration or --samples")
    return drawn[copy :: load.copies] if load.copies > 1 else drawn


def load_of_round(load: Load, number: int) -> Load:
    """The load of round `number` (from 0), whose arrivals are a draw of their own; the first has the seed as given.

    Rounds with equal arrivals would agree about what the draw happens to be, and their interval would say so.
    """
    return load if number == 0 else replace(load, seed=_derive_seed(load.seed, "round", number))


def load_of_probe(load: Load, number: int) -> Load:
    """The load of try `number` (from 0) of a search for a rate: its arrivals are a draw of their own, too."""
    return load if number == 0 else replace(load, seed=_derive_seed(load.seed, "probe", number))


def fit_rate(instants: Int64s, rate: float) -> Int64s:
    """The arrivals, stretched so that as many come in a second as the rate says, from time zero on.

    Few arrivals that were drawn for a rate may be far from it, and take longer than they should.
    """
    if len(instants) < 2 or instants[-1] == instants[0]:
        return instants
    first, stretch = instants[0], (len(instants) - 1) * 1e9 / rate / (instants[-1] - instants[0])
    return array("q", (int((instant - first) * stretch) for instant in instants))


def _derive_seed(seed: int, what: str, number: int) -> int:
    """Derives a seed from another seed, a word and a number, so that equal ones give equal draws."""
    return random.Random(f"{seed} {what} {number}").getrandbits(63)


def _draw_instants(load: Load) -> Int64s:
    if load.rate is None or load.rate <= 0:
        raise OptionError("an open loop needs a rate above zero", remedy="give --rate")
    if load.ramp_to is not None:
        return _draw_ramp(load, load.rate, load.ramp_to)
    count = _count(load, load.rate)
    gap = 1e9 / load.rate
    if load.arrivals is Arrivals.CONSTANT:
        return array("q", (int(i * gap) for i in range(count)))
    draw = random.Random(load.seed).expovariate
    gaps = accumulate(map(draw, repeat(1 / gap, count)))
    instants = array("q", map(int, gaps))
    if load.duration is not None and load.samples is None:
        limit = int(load.duration * 1e9)
        while instants and instants[-1] > limit:
            instants.pop()
    return instants


def _draw_ramp(load: Load, first: float, last: float) -> Int64s:
    """Arrivals whose rate goes evenly from `first` to `last` over the duration.

    The n-th of a Poisson process of rate 1 is moved to where the area under the rate is as large; for constant
    arrivals that area is n itself.
    """
    duration = load.duration
    if duration is None or load.samples is not None or last <= 0:
        raise OptionError(
            "a ramp needs a duration and rates above zero", remedy="give --rate, --ramp-to and --duration"
        )
    count = _count(replace(load, rate=(first + last) / 2), (first + last) / 2)
    draw = random.Random(load.seed).expovariate
    areas = accumulate(map(draw, repeat(1.0, count))) if load.arrivals is Arrivals.POISSON else map(float, range(count))
    slope = (last - first) / duration
    instants = array("q")
    for area in areas:
        # first * t + slope * t * t / 2 = area, in the form that does not cancel where the slope is small
        inner = first * first + 2 * slope * area
        instant = 2 * area / (first + inner**0.5) if inner >= 0 else duration + 1
        if instant > duration:
            break
        instants.append(int(instant * 1e9))
    return instants


def _count(load: Load, rate: float) -> int:
    if load.samples is not None:
        count = load.samples
    elif load.arrivals is Arrivals.POISSON:  # enough to reach the end: six deviations above the mean
        mean = rate * (load.duration or 0)
        count = int(mean + 6 * mean**0.5 + 10)
    else:
        count = int(rate * (load.duration or 0))
    if not 0 < count <= MOST_ARRIVALS:
        raise OptionError(
            f"{count} arrivals are outside 1 to {MOST_ARRIVALS:,}", remedy="change --rate, --duration or --samples"
        )
    return count


def holds_requests(trace: str) -> bool:
    """Whether a trace is one of requests to a served model, with their lengths, by its file's ending."""
    return Path(trace).suffix.lower() in (".jsonl", ".json", ".csv")


def _read_trace(load: Load) -> Int64s:
    """Reads a trace file: on each line the seconds since the start; blank lines and what follows # are skipped."""
    path = Path(load.trace)
    if holds_requests(load.trace):
        raise OptionError(
            f"trace {path}: requests with instants and lengths are for a served model",
            remedy="name the address of one, or give --trace a file of seconds, one a line",
        )
    instants = array("q")
    try:
        lines = streams.read_text(path).splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise OptionError(f"trace {path}: {why}", remedy="give --trace a file of seconds, one a line") from None
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            instant = int(float(text) * 1e9)
        except (ValueError, OverflowError):
            instant = _LONGEST
        if not -_LONGEST < instant < _LONGEST:
            raise OptionError(f"{path}:{number}: {text[:40]!r} is not a number of seconds")
        if instant < 0 or (instants and instant < instants[-1]):
            raise OptionError(f"{path}:{number}: {text} lies before the arrival above it", remedy="sort the trace")
        instants.append(instant)
    if not instants:
        raise OptionError(f"trace {path}: holds no arrivals", remedy="write one number of seconds a line")
    return instants
