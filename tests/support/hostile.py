"""Servers on this machine that never end, never hurry, or send little that becomes much."""

from __future__ import annotations

import contextlib
import functools
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
Answer = Callable[[socket.socket], None]


def endless(to: socket.socket) -> None:
    """An answer that does not end."""
    to.sendall(OK + b"\r\n")
    while True:
        to.sendall(b" " * 65536)


def bomb(to: socket.socket) -> None:
    """40 KiB that unpack to 40 MiB."""
    body = _packed()
    to.sendall(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def drip(to: socket.socket) -> None:
    """A body of which a byte comes now and then."""
    to.sendall(OK + b"Content-Length: 100000\r\n\r\n")
    _drip(to)


def drip_head(to: socket.socket) -> None:
    """The same of the head, so that there never is an answer."""
    to.sendall(OK + b"X-Long: ")
    _drip(to)


def continues(to: socket.socket) -> None:
    """Words before an answer that does not come, as fast as they are heard."""
    while True:
        to.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 2000)


def trailers(to: socket.socket) -> None:
    """What stands behind a body in chunks, without end."""
    to.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n")
    while True:
        to.sendall(b"X-More: and more\r\n" * 2000)


def deep(to: socket.socket) -> None:
    """Lists within each other."""
    plain(b"[" * 3000 + b"]" * 3000)(to)


def long_number(to: socket.socket) -> None:
    """A number of 5,000 digits."""
    plain(b'{"answer": %s}' % (b"9" * 5000))(to)


def plain(body: bytes) -> Answer:
    """That answer, whole."""
    return lambda to: to.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)


@contextlib.contextmanager
def serving(answer: Answer, first: Answer | None = None) -> Iterator[str]:
    """The address of a server that answers so; to questions about itself with `first`."""

    def talk(to: socket.socket) -> None:
        with to, contextlib.suppress(OSError), to.makefile("rb") as asked:
            path = asked.readline().split()[1]
            length = 0
            while (line := asked.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            asked.read(length)
            (first if first and path.endswith(b"about") else answer)(to)

    def wait() -> None:
        with contextlib.suppress(OSError):
            while True:
                to, _ = listening.accept()
                threading.Thread(target=talk, args=(to,), daemon=True).start()

    _packed()  # before somebody waits for it
    with socket.create_server(("127.0.0.1", 0)) as listening:
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        listening.shutdown(socket.SHUT_RDWR)
        waiting.join()


@functools.cache
def _packed() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b" " * (1 << 20)) for _ in range(40)) + packer.flush()


def _drip(to: socket.socket) -> None:
    while True:
        to.sendall(b" ")
        time.sleep(0.05)
