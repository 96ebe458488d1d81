"""A tiny server that speaks OpenAI's protocol, for trying out `benchwright run http://... --serve`.

    python serve_words.py PORT [--first 0.02] [--gap 0.002]

It answers `/v1/chat/completions` with as many words as it is asked for, streamed as servers of models stream them, and
thinks for `--first` seconds before the first word and `--gap` before each other. `/health` says that it is ready,
`/metrics` what it did so far.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog")


class Counts:
    """What the server did so far, for `/metrics`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = self.tokens = self.running = 0

    def add(self, *, requests: int = 0, tokens: int = 0, running: int = 0) -> None:
        with self._lock:
            self.requests += requests
            self.tokens += tokens
            self.running += running

    def text(self) -> str:
        return (
            "# TYPE words_requests_total counter\n"
            f"words_requests_total {self.requests}\n"
            "# TYPE words_tokens_total counter\n"
            f"words_tokens_total {self.tokens}\n"
            "# TYPE words_requests_running gauge\n"
            f"words_requests_running {self.running}\n"
        )


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, first: float, gap: float) -> None:
        self.first, self.gap, self.counts = first, gap, Counts()
        super().__init__(("127.0.0.1", port), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # each word leaves at once

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._send(200, self.server.counts.text().encode(), "text/plain; version=0.0.4")
        elif self.path in ("/health", "/v1/models"):
            self._send(200, b'{"status": "ok"}', "application/json")
        else:
            self._send(404, b'{"error": {"message": "no such path"}}', "application/json")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self._send(404, b'{"error": {"message": "no such path"}}', "application/json")
            return
        self.server.counts.add(requests=1, running=1)
        try:
            self._answer(asked)
        finally:
            self.server.counts.add(running=-1)

    def _answer(self, asked: dict[str, object]) -> None:
        count = int(str(asked.get("max_tokens") or 16))
        prompt = " ".join(message["content"] for message in asked["messages"])  # type: ignore[attr-defined]
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": count}
        usage["total_tokens"] = sum(usage.values())
        if asked.get("stream"):
            self._stream(count, usage)
            return
        text = " ".join(self._words(count))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
        answer = {"object": "chat.completion", "model": "words", "choices": [choice], "usage": usage}
        self._send(200, json.dumps(answer).encode(), "application/json")

    def _words(self, count: int) -> Iterator[str]:
        for number in range(count):
            time.sleep(self.server.gap if number else self.server.first)
            self.server.counts.add(tokens=1)
            yield WORDS[number % len(WORDS)]

    def _stream(self, count: int, usage: dict[str, int]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._event({"role": "assistant", "content": ""})
        for word in self._words(count):
            self._event({"content": f"{word} "})
        self._event({}, finish="length")
        self._write(f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [], 'usage': usage})}\n\n")
        self._write("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, delta: dict[str, str], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"object": "chat.completion.chunk", "model": "words", "choices": [choice]}
        self._write(f"data: {json.dumps(chunk)}\n\n")

    def _write(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Says nothing of single requests: they are many."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves words, as a server of models would.")
    parser.add_argument("port", type=int)
    parser.add_argument("--first", type=float, default=0.02, help="seconds before the first word")
    parser.add_argument("--gap", type=float, default=0.002, help="seconds before each other word")
    asked = parser.parse_args()
    with Server(asked.port, asked.first, asked.gap) as server:
        print(f"listening on port {asked.port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
