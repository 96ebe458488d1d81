"""A server of words that can misbehave, started by what is tested: `python fickle_server.py PORT FOLDER key=value ...`

`FOLDER/starts` gets a line with its process id at each start, `FOLDER/ends` one when SIGTERM reaches it.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


def main() -> None:
    port, folder, *given = sys.argv[1:]
    how = dict(pair.split("=", 1) for pair in given)
    _note(folder, "starts", f"{os.getpid()} {os.environ['PORT']}")
    print("a word of the server", flush=True)
    if "exit" in how:
        print("no memory left for the model", file=sys.stderr, flush=True)
        os._exit(int(how["exit"]))
    if "hidden" in how:  # a helper that leaves its group and session
        subprocess.Popen(["setsid", "sleep", "600"])
    if "deaf" in how:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: _end(folder))
    words = _load_example()
    _misbehave(words, how)
    with words.Server(int(port), float(how.get("first", 0.002)), float(how.get("gap", 0.0005))) as server:
        server.serve_forever()


def _misbehave(words: Any, how: dict[str, str]) -> None:
    began, usual_get, usual_post = time.monotonic(), words.Handler.do_GET, words.Handler.do_POST

    def get(self: Any) -> None:
        loading = time.monotonic() - began < float(how.get("loading", 0))
        if self.path == "/ready" or (self.path == "/health" and "health" in how):
            self._send(503 if loading else int(how.get("health", 200)), b"{}", "application/json")
        elif (self.path == "/metrics" and "metrics" not in how) or "nothing" in how:
            self._send(404, b"{}", "application/json")
        else:
            usual_get(self)

    def post(self: Any) -> None:
        if "die_after" in how and self.server.counts.requests >= int(how["die_after"]):
            print("the last word of the server", flush=True)
            os._exit(int(how.get("code", 3)))
        usual_post(self)

    words.Handler.do_GET, words.Handler.do_POST = get, post


def _end(folder: str) -> None:
    _note(folder, "ends", "SIGTERM")
    os._exit(0)


def _note(folder: str, name: str, text: str) -> None:
    with Path(folder, name).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def _load_example() -> Any:
    sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module("serve_words")


if __name__ == "__main__":
    main()
