"""A small adbd: what the real `adb` client takes for a device, on 127.0.0.1, with commands run on this machine.

It speaks the transport protocol (CNXN without authentication, OPEN, OKAY, WRTE, CLSE) and the services `exec:`,
`shell:` of the first version, `sync:` and `reboot:`. Started as a program it prints its port:
`python adbd.py FOLDER [FEATURE...]`. FOLDER/bin comes first in PATH and holds what a phone would have: `getprop`.
A line on its standard input, `unplug`, breaks the connection for good; at the end of its input it ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path

HEADER = struct.Struct("<4s5I")
VERSION = 0x01000001
MOST = 1 << 18  # bytes in one packet
CHUNK = 1 << 16


class Connection:
    """One client: packets in, packets out, and the streams that are open."""

    def __init__(self, line: socket.socket, folder: Path, features: list[str]) -> None:
        self.line, self.folder, self.features = line, folder, features
        self.streams: dict[int, Stream] = {}
        self._writing = threading.Lock()

    def serve(self) -> None:
        try:
            while packet := self._read():
                self._take(*packet)
        except OSError:
            pass
        finally:
            for stream in list(self.streams.values()):
                stream.close()

    def send(self, command: bytes, first: int, second: int, data: bytes = b"") -> None:
        magic = int.from_bytes(command, "little") ^ 0xFFFFFFFF
        with self._writing, contextlib.suppress(OSError):
            self.line.sendall(HEADER.pack(command, first, second, len(data), 0, magic) + data)

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)

    def _read(self) -> tuple[bytes, int, int, bytes] | None:
        head = self._exactly(HEADER.size)
        if len(head) < HEADER.size:
            return None
        command, first, second, size, _, _ = HEADER.unpack(head)
        return command, first, second, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size and (piece := self.line.recv(size - len(data))):
            data += piece
        return bytes(data)

    def _take(self, command: bytes, first: int, second: int, data: bytes) -> None:
        if command == b"CNXN":
            about = f"device::ro.product.name=small;ro.product.model=small;features={','.join(self.features)}"
            self.send(b"CNXN", VERSION, MOST, about.encode())
        elif command == b"OPEN":
            stream = Stream(self, first, data.rstrip(b"\0").decode(errors="surrogateescape"))
            self.streams[stream.number] = stream
            threading.Thread(target=stream.serve, daemon=True).start()
        elif (known := self.streams.get(second)) is None:
            return
        elif command == b"WRTE":
            known.arrived(data)
        elif command == b"OKAY":
            known.may_write.release()
        elif command == b"CLSE":
            known.close()


class Stream:
    """One service that the client opened."""

    def __init__(self, connection: Connection, remote: int, service: str) -> None:
        self.connection, self.remote, self.service = connection, remote, service
        self.number = remote + 1000
        self.may_write = threading.Semaphore(1)
        self._mine, self._other = socket.socketpair()  # the service holds one end of it, as a program of adbd's does
        self._closed = threading.Event()

    def serve(self) -> None:
        kind, _, rest = self.service.partition(":")
        runs = kind in ("exec", "shell") or kind.startswith("shell,")
        if not runs and kind not in ("sync", "reboot"):
            self.connection.send(b"CLSE", 0, self.remote)
            return
        self.connection.send(b"OKAY", self.number, self.remote)
        if runs:
            self._start(rest)
        elif kind == "sync":
            threading.Thread(target=Sync(self._other).serve, daemon=True).start()
        else:
            (self.connection.folder / "rebooted").write_text(rest)
            self._other.close()
        self._copy()

    def arrived(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._mine.sendall(data)
        self.connection.send(b"OKAY", self.number, self.remote)

    def close(self) -> None:
        """What runs at the other end finds its input at its end, and can print no more."""
        self._closed.set()
        self.may_write.release()
        with contextlib.suppress(OSError):
            self._mine.shutdown(socket.SHUT_RDWR)
        self.connection.streams.pop(self.number, None)

    def _start(self, command: str) -> None:
        folder = self.connection.folder
        env = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": "/", "SMALL_ADBD": str(folder)}
        child = subprocess.Popen(
            ["sh", "-c", command],
            stdin=self._other.fileno(),
            stdout=self._other.fileno(),
            stderr=self._other.fileno(),
            env=env,
            cwd="/",
            start_new_session=True,
        )
        self._other.close()
        threading.Thread(target=child.wait, daemon=True).start()  # it must not stay as a zombie

    def _copy(self) -> None:
        while True:
            try:
                data = self._mine.recv(CHUNK)
            except OSError:
                break
            if not data:
                break
            self.may_write.acquire()
            if self._closed.is_set():
                break
            self.connection.send(b"WRTE", self.number, self.remote, data)
        self.connection.send(b"CLSE", self.number, self.remote)
        self.close()
        self._mine.close()


class Sync:
    """Files: STAT, LIST, SEND and RECV, and those of the second version that have larger numbers."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._file = line.makefile("rb")

    def serve(self) -> None:
        with contextlib.suppress(OSError, struct.error), self._line, self._file:
            while len(head := self._file.read(8)) == 8:
                request, size = struct.unpack("<4sI", head)
                path = self._file.read(size).decode(errors="surrogateescape")
                if request == b"QUIT":
                    return
                getattr(self, f"_{request.decode().lower()}")(path)

    def _stat(self, path: str) -> None:
        found = _lstat(path)
        self._say(struct.pack("<4s3I", b"STAT", *(found and _short(found)) or (0, 0, 0)))

    def _sta2(self, path: str) -> None:
        self._say(_long(b"STA2", path, os.stat))

    def _lst2(self, path: str) -> None:
        self._say(_long(b"LST2", path, os.lstat))

    def _list(self, path: str) -> None:
        for name in _names(path):
            found = _lstat(f"{path}/{name}")
            if found:
                self._say(struct.pack("<4s4I", b"DENT", *_short(found), len(os.fsencode(name))) + os.fsencode(name))
        self._say(struct.pack("<4s4I", b"DONE", 0, 0, 0, 0))

    def _lis2(self, path: str) -> None:
        for name in _names(path):
            encoded = os.fsencode(name)
            self._say(_long(b"DNT2", f"{path}/{name}", os.lstat) + struct.pack("<I", len(encoded)) + encoded)
        self._say(b"DONE" + bytes(72))

    def _send(self, request: str) -> None:
        path, _, mode = request.rpartition(",")
        failure = ""
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            file = Path(path).open("wb")  # noqa: SIM115
        except OSError as error:
            failure, file = str(error), Path(os.devnull).open("wb")  # noqa: SIM115
        with file:
            while True:
                kind, size = struct.unpack("<4sI", self._file.read(8))
                if kind == b"DONE":
                    break
                file.write(self._file.read(size))
        if failure:
            self._fail(failure)
            return
        Path(path).chmod(stat.S_IMODE(int(mode)))
        _spoil(path)
        self._say(struct.pack("<4sI", b"OKAY", 0))

    def _recv(self, path: str) -> None:
        try:
            file = Path(path).open("rb")  # noqa: SIM115
        except OSError as error:
            self._fail(str(error))
            return
        with file:
            while data := file.read(CHUNK):
                self._say(struct.pack("<4sI", b"DATA", len(data)) + data)
        self._say(struct.pack("<4sI", b"DONE", 0))

    def _fail(self, why: str) -> None:
        self._say(struct.pack("<4sI", b"FAIL", len(why)) + why.encode())

    def _say(self, data: bytes) -> None:
        self._line.sendall(data)


def _spoil(path: str) -> None:
    """A flash that forgets: a file whose name ends in `.spoilt` loses its last byte."""
    if path.endswith(".spoilt"):
        os.truncate(path, Path(path).stat().st_size - 1)


def _names(path: str) -> list[str]:
    return [".", "..", *(each.name for each in Path(path).iterdir())] if Path(path).is_dir() else []


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _short(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mode, found.st_size & 0xFFFFFFFF, int(found.st_mtime)


def _long(kind: bytes, path: str, look: object) -> bytes:
    shape = struct.Struct("<4sI2Q4IQ3q")
    try:
        found = look(path)  # type: ignore[operator]
    except OSError as error:
        return shape.pack(kind, error.errno or 1, *([0] * 10))
    times = int(found.st_atime), int(found.st_mtime), int(found.st_ctime)
    numbers = found.st_dev, found.st_ino, found.st_mode, found.st_nlink, found.st_uid, found.st_gid, found.st_size
    return shape.pack(kind, 0, *numbers, *times)


def main() -> None:
    folder, features = Path(sys.argv[1]), sys.argv[2:]
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    live: list[Connection] = []

    def obey() -> None:
        for _ in sys.stdin:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in live:
                connection.drop()
        os._exit(0)  # whoever started it has gone

    threading.Thread(target=obey, daemon=True).start()
    while True:
        try:
            line, _ = listener.accept()
        except OSError:  # unplugged
            break
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(line, folder, features)
        live.append(connection)
        threading.Thread(target=connection.serve, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
