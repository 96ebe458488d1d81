"""Which options served models have; asked in the parent too, so it imports no library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchwright.errors import DeviceError
from benchwright.records import Target
from benchwright.worker.endpoints.serve_options import PORT, PORT_OPTION, check_serving
from benchwright.worker.endpoints.wire import HEADER_OPTION, HTTP, check_header, parse_address
from benchwright.worker.runtimes.options import refuse_unknown

# How any server is reached, and what any of them may be sent.
CONNECTING = frozenset({"connections", "insecure", "key_env", "key_file", "key_header", "request_timeout"})
SERVING = frozenset({"serve", "health", "serve_timeout", "metrics", PORT_OPTION})


def check_options(target: Target, known: Iterable[str], schemes: Sequence[str] = HTTP) -> None:
    """Refuses options that the protocol does not know, secrets among the headers, other addresses, and devices."""
    plain = [name for name in target.options if not name.startswith(HEADER_OPTION)]
    refuse_unknown(plain, {*known, *CONNECTING, *SERVING}, target.runtime)
    for name, value in target.options.items():
        if name.startswith(HEADER_OPTION):
            check_header(name.removeprefix(HEADER_OPTION), str(value))
    check_serving(target)
    parse_address(target.uri.replace(PORT, "1"), schemes)
    if target.device != "cpu":
        raise DeviceError("a server chooses its device itself", remedy="leave --device out")
