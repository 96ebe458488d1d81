"""nginx on loopback: a small answer and a long stream, which cost it little, and one that it packs anew each time."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

EVENTS = 200  # of the stream, its mark at the end among them
NUMBERS = 400  # of the answer that is packed: about a millisecond of work
ANSWER = json.dumps({"outputs": [{"name": "y", "datatype": "FP32", "shape": [1, 8], "data": [0.125] * 8}]})
READY, PAUSE = 10.0, 0.02  # seconds: for it to answer, between two looks
PLACES = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")  # folders that it would make elsewhere
PROGRAMS = ("nginx", "/usr/sbin/nginx")  # the second where only an administrator's path has it

SETTINGS = """\
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    keepalive_timeout 600s;
    {places}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        root {folder}/files;
        location = /infer {{ default_type application/json; return 200 '{answer}'; }}
        location = /stream {{ default_type text/event-stream; }}
        location = /packed {{ default_type application/json; gzip on; gzip_types application/json; gzip_comp_level 9; }}
    }}
}}
"""


def program() -> str | None:
    """Where it is, if it is installed."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@contextlib.contextmanager
def running() -> Iterator[int]:
    """Serves until the block ends; yields the port.

    `/infer` is about 100 B of JSON, `/stream` is EVENTS events, `/packed` keeps its one process busy with compression.
    """
    found = program()
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="benchwright-") as name:
        folder, port = Path(name), _free_port()
        folder.chmod(0o755)  # its worker is another user where an administrator starts it
        (folder / "files").mkdir()
        (folder / "files" / "stream").write_bytes(stream())
        numbers = random.Random(0)
        (folder / "files" / "packed").write_text(json.dumps([numbers.random() for _ in range(NUMBERS)]))
        places = " ".join(f"{place}_temp_path {folder}/{place};" for place in PLACES)
        settings = folder / "settings"
        settings.write_text(SETTINGS.format(folder=folder, port=port, places=places, answer=ANSWER), encoding="utf-8")
        command = [found, "-p", name, "-e", f"{folder}/errors", "-c", str(settings)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            _wait(process, port)
            yield port
        finally:
            process.terminate()
            process.wait()


def stream() -> bytes:
    """Server-sent events as a chat has them: one word each, and a mark at the end."""
    fixed = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    texts = [
        json.dumps({**fixed, "choices": [{"index": 0, "delta": {"content": f" word{number}"}, "finish_reason": None}]})
        for number in range(EVENTS - 1)
    ]
    return "".join(f"data: {text}\n\n" for text in (*texts, "[DONE]")).encode()


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + READY
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=READY).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"nginx does not listen at port {port}") from None
            time.sleep(PAUSE)
