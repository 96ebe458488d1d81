"""Runs in a process of its own, which alone imports Ray: carries bytes between its pipes and an outpost on a node.

It needs nothing of ours, so that any Python with the cluster's version of Ray can run it.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from typing import Any

LOST = 98  # exit code: the node, or the actor on it, is gone
NODE = "benchwright-node: "  # begins the line that says where the outpost runs
PIECE = 1 << 20
LONGEST = 10.0  # seconds that one question for bytes may take


class Post:
    """Lives on the node: a process, and the ends of its pipes."""

    def __init__(self, words: list[str]) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._errors = b""
        threading.Thread(target=self._listen, daemon=True).start()

    def node(self) -> str:
        """The address of the node."""
        import ray

        return str(ray.util.get_node_ip_address())

    def write(self, data: bytes) -> bool:
        """Hands bytes on; False when nobody takes them any more."""
        assert self._process.stdin is not None
        try:
            if not data:
                self._process.stdin.close()
                return False
            view = memoryview(data)
            while view:
                view = view[os.write(self._process.stdin.fileno(), view) :]
        except (OSError, ValueError):
            return False
        return True

    def read(self) -> bytes | None:
        """What the process wrote, waiting a while for it; None at its end."""
        import select

        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], LONGEST)[0]:
            return b""
        return os.read(self._process.stdout.fileno(), PIECE) or None

    def end(self) -> tuple[int, bytes]:
        """How it ended, and the end of what it printed as errors."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        return self._process.wait(10), self._errors

    def _listen(self) -> None:
        assert self._process.stderr is not None
        while data := self._process.stderr.read(4096):
            self._errors = (self._errors + data)[-4096:]


def main(order: dict[str, Any]) -> int:
    """Finds a place on the cluster, starts the outpost there and carries bytes until either end closes."""
    line = os.dup(1)
    os.dup2(2, 1)  # Ray prints
    import ray

    ray.init(address=order["address"] or "auto", log_to_driver=False, logging_level="ERROR", configure_logging=False)
    if order.get("check"):
        known = ray.cluster_resources()
        absent = [name for name in order["resources"] if name not in known]
        if absent:
            sys.stderr.write(f"no node of the cluster has the resource {absent[0]!r}\n")
            return 1
        nodes = [node.get("Labels") or {} for node in ray.nodes() if node.get("Alive")]
        if not any(order["labels"].items() <= labels.items() for labels in nodes):
            wanted = ",".join(f"{name}:{value}" for name, value in order["labels"].items())
            sys.stderr.write(f"no node of the cluster has the labels {wanted}\n")
            return 1
        return 0
    more = {"label_selector": order["labels"]} if order["labels"] else {}
    remote = ray.remote(Post).options(
        num_cpus=order["cpus"], resources=order["resources"], max_restarts=0, max_concurrency=4, **more
    )
    post = remote.remote(order["words"])
    try:
        return _carry(ray, post, line)
    except ray.exceptions.RayError as error:
        _say_loss(error)
        return LOST


def _say_loss(error: Exception) -> None:
    sys.stderr.write(f"\nbenchwright: {type(error).__name__}: {str(error).strip().splitlines()[0]}\n")
    sys.stderr.flush()


def _carry(ray: Any, post: Any, line: int) -> int:
    sys.stderr.write(f"{NODE}{ray.get(post.node.remote())}\n")
    sys.stderr.flush()

    def send() -> None:
        while data := os.read(0, PIECE):
            try:
                if not ray.get(post.write.remote(data)):
                    return
            except ray.exceptions.RayError as error:
                _say_loss(error)
                os._exit(LOST)
        os._exit(0)  # whoever asked has gone: the actor goes with this process

    threading.Thread(target=send, daemon=True).start()
    while (data := ray.get(post.read.remote())) is not None:
        view = memoryview(data)
        while view:
            view = view[os.write(line, view) :]
    code, errors = ray.get(post.end.remote())
    sys.stderr.buffer.write(errors)
    sys.stderr.flush()
    return int(code)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
