"""What a case says of a server that is started for it, and of the server's own figures. Asked in the parent, too."""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchwright.errors import RequestError
from benchwright.records import Case, Scalar, Target
from benchwright.worker.endpoints.wire import Address, parse_address
from benchwright.worker.runtimes.options import duration

PORT = "{port}"  # stands for a free port in command, address, health and metrics; records keep it as it is
PORT_OPTION = "served_port"  # tells the copies of one attempt which port that is; no record has it
SERVE_TIMEOUT = "120s"
OFF = ("off", "false", "no", "0")
_SECRET = re.compile(
    r"(?:^|\s)(--?(?:[\w-]*[-_])?(?:api[-_]?keys?|passw(?:or)?d|secret|(?:auth|access|bearer|hf)[-_]token|token))[=\s]\S",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOrder:
    """A server to be started: its command, the port that it is told, how its readiness shows."""

    command: tuple[str, ...]
    port: int
    health: str  # a path or an address; "": whichever of the usual paths answers
    patience: float  # seconds until it must be ready


def serves(case: Case) -> bool:
    """Whether a server is started for this case."""
    return bool(case.target.options.get("serve")) and "://" in case.target.uri


def choose_port(case: Case) -> Case:
    """The case as the copies of an attempt get it: with one port for all of them, where a server is started.

    It stands wherever the case has `{port}`, so that whoever loads the case need not know of it.
    """
    if not serves(case) or PORT_OPTION in case.target.options:
        return case
    port = _free_port()
    known = case.target.options
    placed = {
        name: str(known[name]).replace(PORT, str(port)) for name in ("serve", "health", "metrics") if name in known
    }
    options = {**known, **placed, PORT_OPTION: port}
    return replace(case, target=replace(case.target, uri=case.target.uri.replace(PORT, str(port)), options=options))


def place(case: Case) -> tuple[Case, ServeOrder | None]:
    """The case with the port in its address, and what is to be started; None where the server runs already."""
    if not serves(case):
        return case, None
    placed = choose_port(case)
    options = placed.target.options
    order = ServeOrder(
        command=tuple(split_command(str(options["serve"]))),
        port=int(str(options[PORT_OPTION])),
        health=str(options.get("health", "")),
        patience=read_patience(options),
    )
    return placed, order


def find_server(uri: str) -> tuple[Address, bool]:
    """Where the server of a case listens, and whether it speaks HTTP/1 there, as gRPC does not."""
    is_grpc = uri.lower().startswith("grpc")
    return parse_address(f"http{uri[4:]}" if is_grpc else uri), not is_grpc


def check_serving(target: Target) -> None:
    """Refuses what is wrong with the options of a server that is started, before anything is."""
    options = target.options
    if not options.get("serve"):
        for name in ("health", "serve_timeout"):
            if name in options:
                raise RequestError(f"option {name} is about a server that is started", remedy="add --serve 'COMMAND'")
        if PORT in target.uri:
            raise RequestError(
                f"{target.uri}: {PORT} is the port of a server that --serve starts", remedy="add --serve"
            )
    else:
        _check_command(str(options["serve"]), target.uri)
        read_patience(options)
        health = str(options.get("health", "")).replace(PORT, "1")
        if health and not health.startswith("/"):
            parse_address(health)
    read_metrics_address(options, "http://host")


def read_patience(options: Mapping[str, Scalar]) -> float:
    """Seconds that a server may take until it is ready."""
    seconds = duration(str(options.get("serve_timeout", SERVE_TIMEOUT)), "serve_timeout") / 1e9
    if seconds <= 0:
        raise RequestError("option serve_timeout: must be above zero", remedy="for example serve_timeout=300s")
    return seconds


def read_metrics_address(options: Mapping[str, Scalar], origin: str) -> tuple[str, bool]:
    """Where the server tells its figures, "" where nobody shall ask; and whether the user named it."""
    given = options.get("metrics")
    if given is None or given is True or str(given).lower() in ("auto", "on", "true"):
        return f"{origin}/metrics", False
    text = str(given)
    if text.lower() in OFF:
        return "", False
    if text.startswith("/"):
        return origin + text, True
    address = parse_address(text.replace(PORT, "1"))
    if address.path == "/":
        raise RequestError(
            f"option metrics: {text!r} has no path", remedy="for example metrics=http://host:8002/metrics"
        )
    return text, True


def split_command(text: str) -> list[str]:
    """The words of a command, as a shell would split them; no shell reads it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RequestError(
            f"--serve: {text[:80]!r} cannot be split into words: {error}", remedy="check its quotes"
        ) from None
    if not words or not words[0]:
        raise RequestError("--serve: the command is empty", remedy="for example --serve 'python server.py {port}'")
    return words


def _check_command(text: str, uri: str) -> None:
    split_command(text)
    if found := _SECRET.search(text):
        raise RequestError(
            f"--serve: {found[1]} looks like a secret, and the command is kept with the results",
            remedy="let the server read it from a variable: its environment is that of this command",
        )
    if PORT in text and PORT not in uri:
        raise RequestError(
            f"--serve: the command has {PORT}, the address has not",
            remedy=f"write the address as http://127.0.0.1:{PORT}/...",
        )


def _free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
