"""The files that jobs need: listed by digest, kept once by the server and once by each agent."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchwright import schema
from benchwright.errors import DecodeError, OptionError
from benchwright.execution.outposts import bundles
from benchwright.execution.outposts.bundles import Bundle, SentFile
from benchwright.execution.outposts.orders import BUILD_SECONDS, EnvironmentOrder

MOST_VARIABLES = 200
LONGEST_VALUE = 10_000  # characters of a variable's value
MOST_PACKAGES, LONGEST_LOCK = 10_000, 1_000_000  # of an environment; characters
_DIGEST = re.compile(r"[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabParcel:
    """What must be there for a job, as it lies where it was submitted; see `bundles.Bundle`."""

    files: tuple[SentFile, ...] = ()
    folders: tuple[str, ...] = ()  # that must be there, empty or not
    places: tuple[str, ...] = ()  # below which everything that is there was sent
    directory: str = "/"  # where relative paths begin
    variables: Mapping[str, str] = field(default_factory=dict)  # that say how libraries compute
    environment: EnvironmentOrder | None = None  # the packages to measure with; None: those of the machine

    @property
    def bundle(self) -> Bundle:
        """The same as the hosts of outposts have it."""
        paths = tuple(Path(one.path) for one in self.files)
        return Bundle(paths=paths, named=(), folders=self.folders, places=self.places)


def pack(parcel: LabParcel) -> tuple[str, str]:
    """The parcel as JSON, and the SHA-256 of that, which names it."""
    told = schema.encode(parcel)
    if parcel.environment is None:  # as before there were any: a digest that was given once stays
        del told["environment"]
    document = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(document.encode()).hexdigest(), document


def check(parcel: LabParcel, where: str) -> None:
    """Refuses a parcel that could lead out of its folder, is too large, or names what no file has."""
    if len(parcel.files) > bundles.MOST_FILES:
        raise DecodeError(
            f"{where}.files: more than {bundles.MOST_FILES}", remedy="let .gitignore name what is not needed"
        )
    for name, paths in (
        ("files", [one.path for one in parcel.files]),
        ("folders", [*parcel.folders, parcel.directory]),
        ("places", parcel.places),
    ):
        for path in paths:
            try:
                bundles.below(Path("/"), path)
            except OptionError as error:
                raise DecodeError(f"{where}.{name}: {error.message[:200]}") from None
    for number, one in enumerate(parcel.files):
        if not _DIGEST.fullmatch(one.sha256) or one.size < 0:
            raise DecodeError(f"{where}.files[{number}]: its digest is not a SHA-256, or its size is below zero")
    check_variables(parcel.variables, where)
    if parcel.environment is not None:
        _check_environment(parcel.environment, parcel, f"{where}.environment")


def _check_environment(order: EnvironmentOrder, parcel: LabParcel, where: str) -> None:
    """Refuses an environment that is more than packages, or asks for files that do not come along."""
    if order.command or order.folder:
        raise DecodeError(f"{where}: a lab makes environments, and builds nothing in them", remedy="send wheels")
    texts = (*order.pins, *order.requirements, order.content, *order.constraints)
    if len(texts) > MOST_PACKAGES or sum(map(len, texts)) > LONGEST_LOCK:
        raise DecodeError(f"{where}: more than {MOST_PACKAGES:,} packages or {LONGEST_LOCK:,} characters")
    if any(word.startswith("-") for word in (*order.pins, *order.requirements)):
        raise DecodeError(f"{where}: a package's name begins with a letter", remedy="name packages, not options")
    sent = {one.path: one.sha256 for one in parcel.files}
    for wheel in order.wheels:
        if sent.get(wheel.path) != wheel.sha256:
            raise DecodeError(f"{where}.wheels: {wheel.path[-80:]!r} is not among the files")
    if not 0 < order.timeout <= BUILD_SECONDS:
        raise DecodeError(f"{where}.timeout: at most {BUILD_SECONDS:g} seconds")


def check_variables(variables: Mapping[str, str], where: str) -> None:
    """Refuses variables other than those that say how libraries compute: a job must not steer the agent's Python."""
    if len(variables) > MOST_VARIABLES:
        raise DecodeError(f"{where}.variables: more than {MOST_VARIABLES}")
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name) or not bundles.may_be_sent(name):
            raise DecodeError(f"{where}.variables: {name[:60]!r} is not one that jobs may set")
        if len(value) > LONGEST_VALUE or "\0" in value:
            raise DecodeError(f"{where}.variables.{name}: longer than {LONGEST_VALUE:,} characters, or with a NUL")


def digests_of(parcels: Iterable[LabParcel]) -> dict[str, int]:
    """The digests of all files of these parcels, with their sizes."""
    return {one.sha256: one.size for parcel in parcels for one in parcel.files}
