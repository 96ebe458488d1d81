"""What is asked of a cloud, and what a cloud has: plain records, and the labels that tie the two together."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from benchwright.errors import OptionError
from benchwright.prices.machine_text import WantedMachine
from benchwright.records.prices import Market

# Names and values of labels hold only what every cloud takes: small letters, digits, - and _, at most 63 of them.
TOKEN_LABEL = "benchwright-token"  # noqa: S105 - the name of a label; its presence makes a machine ours
RUN_LABEL = "benchwright-run"
EXPIRES_LABEL = "benchwright-expires"
OWNER_LABEL = "benchwright-owner"
NAME_LABEL = "benchwright-name"
_LABEL_INSTANT = "%Y-%m-%dt%H-%M-%Sz"
_LONGEST_LABEL = 63
_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?")
_COMMON = ("zone", "image", "disk", "accelerator", "most", "login")  # what every cloud understands after `?`
LARGEST_DISK = 65_536  # GB


class InstanceState(StrEnum):
    """How far a machine of a cloud is."""

    PENDING = "pending"  # ordered and not up yet
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"  # can be started again; its disk costs money
    ENDED = "ended"  # ended, or about to be: it comes back no more
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One machine that is asked of a cloud: at most one comes of it, however often it is sent."""

    token: str  # 32 hexadecimal digits: makes the order idempotent, and is the label by which its machine is found
    provider: str
    shape: str
    region: str
    zone: str = ""  # "" leaves the choice to the cloud
    image: str = ""  # "" is the provider's usual Linux image, for the shape's architecture
    market: Market = Market.ON_DEMAND
    most_per_hour: float | None = None  # the highest spot price, in the cloud's currency; None is what on demand costs
    disk_gb: int | None = None
    accelerator: str = ""  # where it is not part of the shape: nvidia-tesla-t4:1
    name: str = ""  # what people call it; letters, digits and dashes
    owner: str = ""  # who ordered it
    run: str = ""
    expires: str = ""  # the instant, ISO in UTC, at which it is to end by itself
    login: str = ""  # who signs in; "" is the image's own user
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # of this provider: subnet, ...
    public_key: str = field(default="", repr=False)
    user_data: str = field(default="", repr=False)  # may hold a token of a lab: never shown, never written down

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the machine gets in the call that creates it."""
        found = {
            TOKEN_LABEL: self.token,
            EXPIRES_LABEL: _label_instant(self.expires),
            RUN_LABEL: label_value(self.run),
            OWNER_LABEL: label_value(self.owner),
            NAME_LABEL: label_value(self.name),
        }
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One machine that a cloud has."""

    provider: str
    id: str
    region: str
    state: InstanceState
    token: str = ""  # of the order it came of; "" is not ours
    shape: str = ""
    zone: str = ""
    image: str = ""
    market: Market = Market.ON_DEMAND
    address: str = ""  # where ssh reaches it: a name or a number; "" while there is none
    login: str = ""  # the user of its image; "" where the cloud does not know
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    launched_at: str = ""  # ISO instants, UTC; "" where the cloud does not say
    ended_at: str = ""
    host: str = ""  # the physical host, where the cloud tells
    reason: str = ""  # why it is in that state, in the cloud's words

    @property
    def expires(self) -> str:
        """The instant at which it is to end, from its label; "" where the label is missing or no instant."""
        return label_expiry(self.labels)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.labels.get(NAME_LABEL, "")

    @property
    def is_gone(self) -> bool:
        """Whether it costs nothing any more and cannot come back."""
        return self.state is InstanceState.ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineShape:
    """What a cloud says that a shape has."""

    provider: str
    name: str
    region: str
    vcpus: int
    cores: int | None = None  # None: not told
    memory_bytes: int | None = None
    architecture: str = "x86_64"  # or arm64
    accelerators: tuple[str, ...] = ()  # one name for each: ("NVIDIA T4",)


def label_value(text: str) -> str:
    """A text as every cloud takes it for a label."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")[:_LONGEST_LABEL]


def label_expiry(labels: Mapping[str, str]) -> str:
    """The ISO instant that the label of the expiry holds; "" where there is none that can be read."""
    try:
        moment = datetime.strptime(labels.get(EXPIRES_LABEL, ""), _LABEL_INSTANT).replace(tzinfo=UTC)
    except ValueError:
        return ""
    return moment.isoformat(timespec="seconds")


def instant(moment: datetime) -> str:
    """An instant as orders, machines and the ledger write it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def make_order(
    wanted: WantedMachine,
    *,
    region: str,
    seconds: float,
    known: Mapping[str, str],
    now: datetime,
    name: str = "",
    owner: str = "",
    run: str = "",
    what: str = "SPEC",
) -> Order:
    """The order of a machine that somebody wrote as text; it ends `seconds` after `now`.

    `region` is where it goes when the text names none, `known` the provider's own words after `?`.
    """
    if name and not _NAME.fullmatch(name):
        raise OptionError(
            f"{name!r} cannot be the name of a machine",
            remedy="at most 40 small letters, digits and dashes, the first a letter",
        )
    if wanted.market not in (Market.ON_DEMAND, Market.SPOT):
        raise OptionError(
            f"{what}: a machine of the market {wanted.market.value} cannot be ordered by the hour",
            remedy="order it on demand: a reservation is applied by the cloud; name its price with --price",
        )
    options = dict(wanted.options)
    _check_words(options, known, what)
    common = {word: options.pop(word, "") for word in _COMMON}
    return Order(
        token=secrets.token_hex(16),
        provider=wanted.provider,
        shape=wanted.shape,
        region=wanted.region or region,
        zone=common["zone"],
        image=common["image"],
        market=wanted.market,
        most_per_hour=_number(common["most"], "most", what) if common["most"] else None,
        disk_gb=round(_number(common["disk"], "disk", what)) if common["disk"] else None,
        accelerator=common["accelerator"],
        login=common["login"],
        options=options,
        name=name,
        owner=owner,
        run=run,
        expires=instant(now + timedelta(seconds=seconds)),
    )


def _check_words(options: Mapping[str, str], known: Mapping[str, str], what: str) -> None:
    from benchwright.errors import did_you_mean

    for word, value in options.items():
        if word not in _COMMON and word not in known:
            raise OptionError(
                f"{what}: {word!r} is not known after the question mark", remedy=did_you_mean(word, (*_COMMON, *known))
            )
        if not value:
            raise OptionError(f"{what}: {word} has no value", remedy=f"write {word}=VALUE")


def _number(text: str, word: str, what: str) -> float:
    try:
        number = float(text.lower().removesuffix("gb"))
    except ValueError:
        number = 0.0
    if not 0 < number <= LARGEST_DISK:
        example = "disk=50 (GB)" if word == "disk" else "most=0.05 (for an hour, in the cloud's currency)"
        raise OptionError(f"{what}: {word}={text} is not a number that will do", remedy=f"write {example}")
    return number


def _label_instant(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).strftime(_LABEL_INSTANT) if text else ""
