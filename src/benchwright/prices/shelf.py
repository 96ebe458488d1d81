"""Imported price lists, kept as files of one price a line, and the book of everything that is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchwright import config, schema
from benchwright.errors import DecodeError, OptionError
from benchwright.machine.environment import instances
from benchwright.prices.amounts import is_amount, parse_price
from benchwright.prices.book import PriceBook, WantedPrice, parse_wanted
from benchwright.prices.own import OwnPrices, load_own
from benchwright.records.prices import Market, Price
from benchwright.schema import quick_json
from benchwright.schema.parsing import TextError, json_value
from benchwright.system import whole_files

ENDING = ".jsonl"
HERE = "here"  # the cloud instance that this machine is
LARGEST = 1 << 30  # bytes of a kept list
_NAME = re.compile(r"[\w.-]{1,80}", re.ASCII)


def folder() -> Path:
    """Where imported lists are kept."""
    return config.cache_folder() / "prices"


def keep_list(name: str, prices: Iterable[Price]) -> Path:
    """Keeps a list under a name, in place of one that had it."""
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise OptionError(f"--as: {name!r} is no name for a list", remedy="use letters, digits, dots and dashes")
    path = folder() / f"{name}{ENDING}"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_files.write_bytes(path, b"".join(quick_json.dumps(schema.encode(price)) + b"\n" for price in prices))
    return path


def kept_lists() -> list[Path]:
    """The files of all imported lists, by name."""
    return sorted(folder().glob(f"*{ENDING}"))


def remove_list(name: str) -> None:
    """Forgets an imported list."""
    known = {path.stem: path for path in kept_lists()}
    if name not in known:
        raise OptionError(f"no list {name!r} was imported", remedy=f"known: {', '.join(known) or 'none'}")
    known[name].unlink(missing_ok=True)


def read_kept(path: Path, provider: str = "") -> Iterator[Price]:
    """The prices of a kept list; with a provider, only its."""
    if path.stat().st_size > LARGEST:
        raise DecodeError(f"{path}: it is larger than {LARGEST >> 30} GiB", remedy="import the list again")
    mark = f'"provider":"{provider}"'.encode()
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if provider and mark not in line:
                continue  # a list may hold tens of thousands of lines, of which few are asked for
            try:
                price = schema.decode(Price, json_value(line), where=f"{path}:{number}")
            except TextError as error:
                raise DecodeError(f"{path}:{number}: {error}", remedy="import the list again") from None
            if not provider or price.provider == provider:
                yield price


def open_book(own: OwnPrices | None = None, provider: str = "") -> PriceBook:
    """Everything that is known: one's own file, then the imported lists; with a provider, only its."""
    mine = own or load_own()
    return PriceBook(
        own=[*mine.prices, *mine.machines.values()],
        listed=[price for path in kept_lists() for price in read_kept(path, provider)],
    )


def find_price(text: str, *, what: str = "--price") -> Price:
    """The price that somebody names: an amount, one's own machine, or a shape of a provider."""
    own = None
    if is_amount(text):
        try:
            return parse_price(text, what=what)
        except OptionError:
            own = load_own()
            if text not in own.machines:  # one may be called 3090-box
                raise
    own = own or load_own()
    if text in own.machines:
        return own.machines[text]
    if text == HERE:
        wanted = _this_instance(what)
        return open_book(own, wanted.provider).get(wanted, what=what)
    if "/" not in text:
        known = (
            f"machines in {own.path}: {', '.join(own.machines)}" if own.machines else "no prices.yaml names a machine"
        )
        raise OptionError(
            f"{what}: {text!r} is neither an amount nor a machine of yours",
            remedy=f"{known}; or write 0.34USD/h, or aws/c7i.large@eu-central-1",
        )
    wanted = parse_wanted(text, what=what)
    return open_book(own, wanted.provider).get(wanted, what=what)


def _this_instance(what: str) -> WantedPrice:
    found = {name: str(value) for name, value in instances.collect(Path("/")).items()}
    if not found.get("shape"):
        raise OptionError(
            f"{what}: this machine is no cloud instance that is known", remedy="name its price, as 0.34USD/h"
        )
    return WantedPrice(
        provider=found["provider"],
        shape=found["shape"],
        region=found.get("region", ""),
        market=Market(found.get("market", Market.ON_DEMAND)),
    )
