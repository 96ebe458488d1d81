"""Servers that speak OpenAI's protocol: chat, completions and embeddings, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from benchwright.errors import RequestError
from benchwright.records import Case, Scalar, Target
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.options import boolean

if TYPE_CHECKING:
    from benchwright.worker.endpoints.dialect import RawAnswer, ReadAnswer
    from benchwright.worker.endpoints.exchanges import Exchange

ROUTES = ("chat/completions", "completions", "embeddings")  # ends of addresses, the longer of two first
OPTIONS = frozenset({"body", "ignore_eos", "length_field", "model", "stream"})
PROMPTS = frozenset(
    {
        *("data", "input_tokens", "output_tokens", "shared_prefix", "tokenizer", "turns", "think_time"),
        *("images", "image_size", "image_kind"),
    }
)
_COUNTED = "stream_options"  # asks for counts of tokens at the end of a stream


class OpenAi:
    """`http://host/v1/chat/completions` and its two sisters."""

    name: ClassVar[str] = "openai"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = "benchwright[endpoints]"
    module: ClassVar[str] = "httptools"
    parameters: ClassVar[frozenset[str]] = OPTIONS | PROMPTS  # whatever may differ from case to case

    @staticmethod
    def check(target: Target) -> None:
        """Refuses what is wrong with the address or the options."""
        from benchwright.worker.endpoints.option_names import check_options

        check_options(target, OPTIONS | PROMPTS)
        route_of(target.uri)

    def load(self, case: Case) -> Loaded:
        from benchwright.worker.endpoints.endpoint import load_endpoint

        return load_endpoint(case, OpenAiDialect(route_of(case.target.uri), case.target.options))


def route_of(uri: str) -> str:
    """Which of the routes an address ends with."""
    path = uri.partition("?")[0].rstrip("/")
    found = next((route for route in ROUTES if path.endswith(f"/{route}")), None)
    if found is None:
        raise RequestError(
            f"{path} is not a route of OpenAI's protocol",
            remedy=f"end the address with {', '.join(f'/v1/{route}' for route in ROUTES)}, or use --runtime http",
        )
    return found


class OpenAiDialect:
    """The bodies that one route takes, and the answers that it gives."""

    def __init__(self, route: str, options: Mapping[str, Scalar]) -> None:
        from benchwright.worker.endpoints.settings import read_object

        self._route = route
        self._model = str(options.get("model", ""))
        self.streams = route != "embeddings" and boolean(options, "stream", True)
        self._length = str(options.get("length_field", "max_tokens"))
        self._extra: dict[str, Any] = {}
        if self.streams:
            self._extra[_COUNTED] = {"include_usage": True}
        if boolean(options, "ignore_eos", False):
            self._extra["ignore_eos"] = True
        self._extra |= read_object(options, "body")
        self.accept = "text/event-stream" if self.streams else "application/json"

    def relax(self) -> str:
        """Leaves out what an old server refuses; says what that was, or "" when there is nothing left to leave out."""
        return _COUNTED if self._extra.pop(_COUNTED, None) else ""

    def encode(self, exchange: Exchange) -> bytes:
        """The body of a request."""
        if exchange.body is not None:
            return json.dumps({**self._fields(exchange), **self._extra, **exchange.body}).encode()
        return json.dumps({**self._fields(exchange), **self._extra}).encode()

    def _fields(self, exchange: Exchange) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model} if self._model else {}
        if self._route == "embeddings":
            return {**body, "input": exchange.messages[-1][1] if exchange.messages else ""}
        if self._route == "completions":
            body["prompt"] = "\n".join(text for _, text in exchange.messages)
        else:
            body["messages"] = [{"role": role, "content": text} for role, text in exchange.messages]
        if exchange.output_tokens is not None:
            body[self._length] = exchange.output_tokens
        return {**body, "stream": True} if self.streams else body

    def headers(self, exchange: Exchange) -> Mapping[str, str]:
        """No header is of one request alone."""
        return {}

    def read(self, answer: RawAnswer) -> ReadAnswer:
        """Reads a stream, or a whole answer where the server gave one."""
        from benchwright.worker.endpoints import openai_answers

        if self._route == "embeddings":
            return openai_answers.read_embedding(answer)
        first = next((piece for _, piece in answer.pieces if piece.strip()), b"").lstrip()
        if self.streams and not first.startswith(b"{"):
            return openai_answers.read_stream(answer)
        return openai_answers.read_whole(answer)
