"""From what people type or pass to a `Request`: lists, ranges, objectives, shapes. Bad values name the flag."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from benchwright import plugins
from benchwright.errors import OptionError, did_you_mean
from benchwright.execution.plans import Plan
from benchwright.records import Scalar, Tolerance
from benchwright.records.prices import Market, Price
from benchwright.system.interrupts import Interrupt
from benchwright.units import parse_percent, parse_quantity
from benchwright.units.objectives import objective as objective

if TYPE_CHECKING:
    from benchwright.execution.hosts import AnyHost
    from benchwright.execution.hosts.cloud_fleet import CloudFleet
    from benchwright.execution.outposts.host import OutpostHost

T = TypeVar("T")
CLOUD = "cloud"  # the kind of host that is a machine of a cloud

_TOLERANCES = {"absolute": (0, 1e300), "relative": (0, 1e300), "cosine": (-1, 1), "top": (1, 10**9)}
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")


def parse_list(text: str, read: Callable[[str], T], flag: str) -> list[T]:
    """`'1,8,max'` as a list; every item through `read`."""
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise OptionError(f"{flag}: {text!r} has an empty item", remedy=f"write {flag} A,B,C")
    return [read(item) for item in items]


def whole(flag: str, *, least: int = 1) -> Callable[[str], int]:
    """Reads a whole number of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise OptionError(f"{flag}: {text!r} is not a whole number") from None
        if number < least:
            raise OptionError(f"{flag}: {number} is below {least}")
        return number

    return read


def copies(text: str) -> int:
    """A number of copies; `max` is one per CPU this process may use."""
    return available_cpus() if text == "max" else whole("--copies")(text)


def available_cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def positive(text: str, unit: str, flag: str) -> float:
    """A quantity above zero, in base units."""
    value = parse_quantity(text, unit, what=flag)
    if not value > 0:
        raise OptionError(f"{flag}: {text} is not above zero")
    return value


def precision(text: str) -> tuple[float, float]:
    """`'1%'` of the median, or `'p99:5%'`: the fraction and the percentile it is of."""
    of, colon, amount = text.rpartition(":")
    match = _PERCENTILE.fullmatch(of)
    if colon and (match is None or not 0 < float(match[1]) < 100):
        raise OptionError(f"--precision: {of!r} is not a percentile", remedy="write --precision 1% or p99:5%")
    return parse_percent(amount, "--precision", zero=False), float(match[1]) if match else 50.0


def tolerance(text: str) -> Tolerance:
    """`'1e-3'` is a relative one; `'relative=1e-3,absolute=1e-5,cosine=0.999,top=5'` names each."""
    found: dict[str, float] = {}
    for item in text.split(","):
        name, _, number = item.rpartition("=")
        name = name.strip() or "relative"
        if name not in _TOLERANCES:
            raise OptionError(
                f"--tolerance: {name!r} is not a kind of tolerance", remedy=did_you_mean(name, _TOLERANCES)
            )
        try:
            found[name] = int(number) if name == "top" else float(number)
        except ValueError:
            found[name] = math.nan
        least, most = _TOLERANCES[name]
        if not least <= found[name] <= most:  # nor when it is no number at all
            raise OptionError(
                f"--tolerance: {item.strip()!r} is not a number from {least:g} to {most:g}",
                remedy="write 1e-3, or absolute=1e-5,top=5",
            )
    return Tolerance(**found)  # type: ignore[arg-type]


def shapes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """`'input:1x3x224x224'`, or `'1x3x224x224'` for every input."""
    found = {}
    for text in texts:
        name, _, numbers = text.rpartition(":")
        try:
            found[name] = tuple(whole("--shape")(n) for n in re.split(r"[x,]", numbers))
        except OptionError:
            raise OptionError(f"--shape: {text!r} is not NAME:1x3x224x224") from None
    return found


def values(texts: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """`'sr=16000'` items, or `'size=640,480'`: numbers for an input, one for all its elements or one for each."""
    found = {}
    for text in texts:
        name, equals, numbers = text.rpartition("=")
        given = [scalar(number.strip()) for number in numbers.split(",")]
        if not (name and equals) or not all(isinstance(number, int | float) for number in given):
            raise OptionError(f"--value: {text!r} is not NAME=NUMBER", remedy="write --value sr=16000")
        found[name] = tuple(float(cast(float, number)) for number in given)
    return found


def parse_feedback(texts: Iterable[str]) -> dict[str, str]:
    """`'state=stateN'` items: an input and the output it takes; `'state'` alone leaves the output to be found."""
    found = {}
    for text in texts:
        name, _, output = text.partition("=")
        if not name:
            raise OptionError(f"--feed-back: {text!r} is not INPUT=OUTPUT", remedy="write --feed-back state=stateN")
        found[name] = output
    return found


def pairs(texts: Iterable[str], flag: str) -> dict[str, Scalar]:
    """`'name=value'` items; numbers and true/false are recognised."""
    return {name: scalar(value) for name, value in _split(texts, flag)}


def parameter_lists(texts: Iterable[str]) -> dict[str, Sequence[Scalar]]:
    """Reads items such as `'size=1,2,3'` into lists of parameter values."""
    return {name: [scalar(v) for v in value.split(",")] for name, value in _split(texts, "--param")}


def cpu_list(text: str, *, elsewhere: bool = False) -> tuple[int, ...]:
    """`'0,2-3'` as (0, 2, 3); CPUs that are not there are named, unless another machine is meant."""
    found: list[int] = []
    for item in text.split(","):
        low, dash, high = item.partition("-")
        read = whole("--cpus", least=0)
        found.extend(range(read(low), read(high) + 1) if dash else [read(low)])
    there = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    absent = [cpu for cpu in found if cpu not in there and not elsewhere]
    if absent or not found:
        raise OptionError(f"--cpus: {text!r} names CPUs that cannot be used", remedy=f"use some of {sorted(there)}")
    return tuple(dict.fromkeys(found))


def host(text: str) -> AnyHost | None:
    """`'container:IMAGE'` as a host; None for `'local'`, this machine."""
    kind, _, rest = text.partition(":")
    if kind == "local" and not rest:
        return None
    if kind == "ios":
        from benchwright.machine.devices import NO_IOS, NO_IOS_REMEDY

        raise OptionError(f"--host: {text}: {NO_IOS}", remedy=NO_IOS_REMEDY)
    found = plugins.load("hosts", kind)
    if not hasattr(found, "from_text") or not rest:
        raise OptionError(
            f"--host: {text!r} is not a host",
            remedy="write --host ssh:NAME, slurm:PARTITION, ray:ADDRESS, container:IMAGE or adb:SERIAL",
        )
    return cast("AnyHost", found.from_text(rest))


def host_names(text: str) -> list[str]:
    """`'ssh:a,b,local'` as its hosts: `ssh:a`, `ssh:b`, `local`. The kind of one goes on for those after it.

    `adb:*` stands for every phone that is connected and can be used.
    """
    found: list[str] = []
    for item in text.split(","):
        if item.startswith("/") and found:  # a folder on the phone before it
            found[-1] += f",{item}"
        elif ":" in item.partition("/")[0] or item == "local" or not found:  # aws/SHAPE:spot has no kind before it
            found.append(item)
        else:
            found.append(f"{found[-1].partition(':')[0]}:{item}")
    found = [name for item in found for name in _phones(item)]
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise OptionError(f"--host: {twice[0]} is named twice", remedy="name each machine once")
    return found


def _phones(item: str) -> list[str]:
    """The hosts that an item stands for: itself, or of `adb:*?screen=off` every phone, each with what is asked for."""
    kind, _, rest = item.partition(":")
    place, mark, wishes = rest.partition("?")
    serial, comma, folder = place.partition(",")
    if kind != "adb" or serial != "*":
        return [item]
    from benchwright.machine.devices.listing import list_serials

    return [f"adb:{found}{comma}{folder}{mark}{wishes}" for found in list_serials()]


def hosts(text: str, fleet: CloudFleet | None = None) -> list[AnyHost]:
    """The hosts of a list, each ready to measure; this machine is one of them where it is named `local`.

    `fleet` has the terms on which machines of clouds are leased; without one, the usual.
    """
    from benchwright.execution.outposts.here import HereHost

    if fleet is None and is_cloud(text):
        from benchwright.execution.hosts.cloud_fleet import CloudFleet

        fleet = CloudFleet()
    with ExitStack() as opened:
        found: list[AnyHost] = []
        for name in host_names(text):
            for one in _several_hosts(name, fleet) or [host(name) or HereHost()]:
                opened.callback(close_host, one)  # unless all of them can be had
                found.append(one)
        if fleet is not None:
            fleet.check()
        opened.pop_all()
    return found


def _several_hosts(name: str, fleet: CloudFleet | None) -> list[AnyHost]:
    """The hosts that one name stands for, where it is a kind that has several: the nodes of a cluster, of a cloud."""
    kind, _, rest = name.partition(":")
    several = getattr(plugins.load("hosts", kind), "several_from_text", None) if rest else None
    if several is None:
        return []
    found: list[AnyHost] = several(rest, fleet) if kind == CLOUD else several(rest)
    return found


def is_cloud(text: str | None) -> bool:
    """Whether a host's text names a machine of a cloud."""
    return bool(text) and any(name.partition(":")[0] == CLOUD for name in host_names(str(text)))


def is_several(text: str | None) -> bool:
    """Whether a host's text names more than one machine: a list, or several nodes of a cluster."""
    return bool(text) and (
        len(host_names(str(text))) > 1 or re.search(r"[?&]nodes=(?!1(?:&|$))", str(text)) is not None
    )


def machine(text: str | None, fleet: CloudFleet | None = None) -> OutpostHost | None:
    """The one machine on which revisions are built and measured; None for this one."""
    found = [] if text and is_several(text) else machines(text, fleet)
    if len(found) > 1 or (text and is_several(text)):
        raise OptionError(
            f"--host {text}: revisions are compared on one machine", remedy="give the command once for each machine"
        )
    return next(iter(found), None)


def machines(text: str | None, fleet: CloudFleet | None = None) -> list[OutpostHost]:
    """The machines on which revisions are built and measured, one or several equal ones; none for this one."""
    from benchwright.execution.outposts.host import OutpostHost

    if not text or text == "local":
        return []
    found = hosts(text, fleet)
    if not all(isinstance(one, OutpostHost) for one in found):
        for one in found:
            close_host(one)
        raise OptionError(
            f"--host {text}: revisions cannot be built there",
            remedy="write --host ssh:NAME, slurm:PARTITION, ray:ADDRESS or cloud:PROVIDER/SHAPE",
        )
    return cast("list[OutpostHost]", found)


def close_host(one: AnyHost | None) -> None:
    """Ends what a host has started on another machine, and puts back what it changed on a phone."""
    if close := getattr(one, "close", None):
        with Interrupt().watch():  # one signal does not keep a machine from being given back; a second one does
            close()


def is_remote(text: str | None) -> bool:
    """Whether a host's text names another machine, which has CPUs and files of its own."""
    return bool(text) and any(
        hasattr(plugins.load("hosts", name.partition(":")[0]), "attempt") for name in host_names(str(text))
    )


def price(given: str | Price, per_hour: float | None = None) -> Price | None:
    """What the machine costs: a price that is named, or a mere number for an hour; None where neither is given."""
    if given and per_hour is not None:
        raise OptionError("--price and --cost-per-hour say the same thing", remedy="give one of them")
    if isinstance(given, Price):
        return given
    if given:
        from benchwright.prices.shelf import find_price

        return find_price(given)
    return None if per_hour is None else Price.bare(per_hour)


def named_prices(given: Sequence[str], names: Iterable[str]) -> dict[str, Price]:
    """What the machines of a run cost, of texts such as `ssh:rack7=desk`; `names` are those of its hosts."""
    found: dict[str, str | Price] = {}
    for text in given:
        name, equals, told = text.partition("=")
        if not equals:
            raise OptionError(f"--price-of: {text!r} is not NAME=PRICE", remedy="name a machine of --host")
        if name in found:
            raise OptionError(f"--price-of: {name!r} is priced twice", remedy="leave one of them out")
        found[name] = told
    return host_prices(found, names, what="--price-of")


def host_prices(given: Mapping[str, str | Price], names: Iterable[str], *, what: str) -> dict[str, Price]:
    """What the machines of a run cost, by the names of its hosts, with or without their kind."""
    from benchwright.prices.shelf import find_price

    known = [*dict.fromkeys(word for name in names for word in (name, name.partition(":")[2]) if word)]
    for name in given:
        if name not in known:
            near = did_you_mean(name, known) if known else "name machines with --host"
            raise OptionError(f"{what}: {name!r} is no machine of this run", remedy=near)
    return {name: told if isinstance(told, Price) else find_price(told, what=what) for name, told in given.items()}


def priced(plan: Plan, given: str | Price | Mapping[str, str | Price], per_hour: float | None, host: str) -> Plan:
    """The plan with what its machine costs, or each of its hosts."""
    if isinstance(given, Mapping):
        return replace(plan, prices=host_prices(given, host_names(host) if host else (), what="price"))
    return replace(plan, price=price(given, per_hour))


def markets(text: str) -> list[Market]:
    """Names of markets, separated by commas."""
    known = [one.value for one in Market]
    for word in (words := [word.strip() for word in text.split(",") if word.strip()]):
        if word not in known:
            raise OptionError(f"--market: {word!r} is no market", remedy=did_you_mean(word, known))
    return [Market(word) for word in dict.fromkeys(words)]


def scalar(text: str) -> Scalar:
    """A finite number, true, false, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text


def _split(texts: Iterable[str], flag: str) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise OptionError(f"{flag}: {text!r} is not NAME=VALUE")
        yield name, value


def process_counts(text: str | None) -> list[int]:
    """The numbers of `--processes`; none where it was not given."""
    return parse_list(text, whole("--processes"), "--processes") if text else []


def one_or_many(value: T | Sequence[T] | None, default: Sequence[T]) -> Sequence[T]:
    """A keyword argument that takes one value or a list."""
    if value is None:
        return default
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [value]
    return list(value)


def whole_number(value: object, what: str) -> int:
    """A count of at least one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"{what}: {value!r} is not a whole number of at least 1")
    return value
