"""What people say of served models, as parameters and options of their endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchwright.errors import MeasureError, OptionError, TargetError
from benchwright.records import Scalar
from benchwright.targets.sources import Request, source_of
from benchwright.worker.endpoints.wire import HEADER_OPTION, check_header

_COMMA = re.compile(r",(?![^(]*\))")  # not inside brackets: uniform(64,256)
_FILES = ("data", "tokenizer", "key_file")


def endpoint_values(
    *,
    dimensions: Mapping[str, str],
    plain: Mapping[str, str],
    stream: bool | None = None,
    insecure: bool = False,
    headers: Iterable[str] = (),
) -> tuple[dict[str, Sequence[Scalar]], dict[str, Scalar]]:
    """Parameters, each a dimension, and options; files by their whole path, for other folders are measured in too."""
    params: dict[str, Sequence[Scalar]] = {
        name: _split_list(text, f"--{name.replace('_', '-')}") for name, text in dimensions.items()
    }
    options: dict[str, Scalar] = {
        name: str(Path(text).expanduser().absolute()) if name in _FILES else text for name, text in plain.items()
    }
    if plain.get("body", "").startswith("@"):
        file = Path(plain["body"][1:]).expanduser().absolute()
        options["body"] = f"@{file}"
        if not file.is_file():
            raise OptionError(f"--body: there is no file {file}", remedy="@ names a file; JSON begins with {")
    for name in (name for name in ("data", "tokenizer") if name in plain):
        if not Path(plain[name].partition("::")[0]).expanduser().exists():
            raise OptionError(f"--{name}: there is no file {plain[name]}")
    if stream is not None:
        options["stream"] = stream
    if insecure:
        options["insecure"] = True
    options |= dict(map(_read_header, headers))
    return params, options


def refuse_elsewhere(request: Request, names: Iterable[str]) -> None:
    """Refuses settings of served models for targets that are none."""
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(names))
    for target in request.targets:
        if source_of(target).name != "endpoints":
            raise TargetError(
                f"{flags}: {target} is not the address of a served model",
                remedy="leave it out, or name an address such as http://localhost:8000/v1/chat/completions",
            )
    if request.command:
        raise TargetError(f"{flags}: a command is not a served model", remedy="use --serve COMMAND with an address")


def _split_list(text: str, flag: str) -> list[Scalar]:
    items = [item.strip() for item in _COMMA.split(text)]
    if not all(items):
        raise OptionError(f"{flag}: {text!r} has an empty item", remedy=f"write {flag} A,B,C")
    return [int(item) if item.isdigit() and len(item) < 18 else item for item in items]


def _read_header(text: str) -> tuple[str, Scalar]:
    name, colon, value = text.partition(":")
    if not colon:
        raise OptionError(f"--header: {text[:60]!r} has no colon", remedy="write --header 'Name: value'")
    try:
        return HEADER_OPTION + check_header(name.strip(), value.strip()), value.strip()
    except MeasureError as error:
        raise OptionError(error.message, remedy=error.remedy) from None
