"""What the scripted server answers by itself: as an inference server does, at once, and always the same."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scripted import events, kserve
from scripted.events import Usage
from scripted.reading import Request
from scripted.script import Piece, Script

if TYPE_CHECKING:
    from scripted.house import House

MODEL = "scripted"
CONTEXT = 4096  # words of a prompt and tokens of an answer together
USUAL = 8  # tokens of an answer where the request does not say
WIDTH = 4  # numbers of an embedding


class RefusedError(Exception):
    """The request is understood, and not served."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def answer(request: Request, script: Script, house: House) -> Script:
    """The answer of a path, with the waits of the script."""
    path = re.sub("^/@[^/]+", "", request.path).partition("?")[0]
    try:
        found = _route(request.method, path)(request, path, house)
    except RefusedError as error:
        found = as_json({"error": {"message": str(error), "type": "invalid_request_error", "code": error.code}})
        found = dataclasses.replace(found, status=error.status)
    pieces = tuple(dataclasses.replace(piece, gap=script.pace) for piece in found.pieces or ())
    headers = {**found.headers, **script.headers}
    return dataclasses.replace(script, pieces=pieces, status=found.status, framing=found.framing, headers=headers)


def as_json(document: Any) -> Script:
    """An answer of one piece, with its length."""
    data = json.dumps(document).encode()
    return Script(pieces=(Piece(data),), framing="length", headers={"Content-Type": "application/json"})


_Route = Callable[[Request, str, "House"], Script]


def _route(method: str, path: str) -> _Route:
    for known, pattern, route in _ROUTES:
        if re.fullmatch(pattern, path):
            if method != known:
                raise RefusedError(405, "method_not_allowed", f"{path} takes {known}")
            return route
    raise RefusedError(404, "not_found", f"there is nothing at {path}")


def _health(request: Request, path: str, house: House) -> Script:
    return as_json({"status": "ok"})


def _models(request: Request, path: str, house: House) -> Script:
    return as_json({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "tests", "created": 0}]})


def _metrics(request: Request, path: str, house: House) -> Script:
    """Names as vLLM has them, and figures that change with what goes on."""
    label = f'{{model_name="{MODEL}"}}'
    rows = [
        ("vllm:num_requests_running", "gauge", house.running),
        ("vllm:num_requests_waiting", "gauge", house.waiting),
        ("vllm:kv_cache_usage_perc", "gauge", min(1.0, house.running / 16)),
        ("vllm:request_success_total", "counter", house.requests),
        ("vllm:generation_tokens_total", "counter", house.tokens),
    ]
    text = "".join(
        f"# HELP {name} Made by a test.\n# TYPE {name} {kind}\n{name}{label} {value}\n" for name, kind, value in rows
    )
    headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
    return Script(pieces=(Piece(text.encode()),), framing="length", headers=headers)


def _chat(request: Request, path: str, house: House) -> Script:
    body = _body(request)
    said = " ".join(str(message.get("content", "")) for message in body.get("messages", []))
    return _generated(body, said, house, chat=True)


def _completion(request: Request, path: str, house: House) -> Script:
    body = _body(request)
    return _generated(body, str(body.get("prompt", "")), house, chat=False)


def _generated(body: dict[str, Any], said: str, house: House, *, chat: bool) -> Script:
    count = int(body.get("max_completion_tokens") or body.get("max_tokens") or USUAL)
    usage = Usage(len(said.split()), count)
    if usage.prompt + count > CONTEXT:
        raise RefusedError(400, "context_length_exceeded", f"This model's maximum context length is {CONTEXT} tokens")
    house.tokens += count
    words = [f" word{index}" for index in range(count)]
    if not body.get("stream"):
        return as_json(events.whole("".join(words), usage, chat=chat))
    wanted = (body.get("stream_options") or {}).get("include_usage")
    return events.stream(words, usage=usage, placed="own" if wanted else "absent", chat=chat)


def _embeddings(request: Request, path: str, house: House) -> Script:
    body = _body(request)
    texts = body["input"] if isinstance(body.get("input"), list) else [body.get("input", "")]
    vectors = [[float(len(str(text)) + index) for index in range(WIDTH)] for text in texts]
    packed = body.get("encoding_format") == "base64"
    rows = [base64.b64encode(struct.pack(f"<{WIDTH}f", *v)).decode() if packed else v for v in vectors]
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    words = sum(len(str(text).split()) for text in texts)
    usage = {"prompt_tokens": words, "total_tokens": words}
    return as_json({"object": "list", "model": MODEL, "data": data, "usage": usage})


def _infer(request: Request, path: str, house: House) -> Script:
    try:
        body, size = kserve.infer(request.headers, request.body)
    except kserve.WrongError as error:
        raise RefusedError(400, "invalid_request", str(error)) from error
    headers = {"Content-Type": "application/json"}
    if size is not None:
        headers = {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(size)}
    return Script(pieces=(Piece(body),), framing="length", headers=headers)


def _about(request: Request, path: str, house: House) -> Script:
    return as_json({"name": "scripted", "version": "1.0", "extensions": ["binary_tensor_data"]})


def _described(request: Request, path: str, house: House) -> Script:
    return as_json(kserve.describe(path.split("/")[3]))


def _ready(request: Request, path: str, house: House) -> Script:
    return Script(pieces=(), framing="length")


def _echo(request: Request, path: str, house: House) -> Script:
    headers = {"Content-Type": request.headers.get("content-type", "application/octet-stream")}
    return Script(pieces=(Piece(request.body),), framing="length", headers=headers)


def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(request.body)
    except ValueError as error:
        raise RefusedError(400, "invalid_json", f"no JSON: {error}") from error
    if not isinstance(body, dict):
        raise RefusedError(422, "invalid_request", "the body is no object")
    return body


_ROUTES: list[tuple[str, str, _Route]] = [
    ("GET", "/health", _health),
    ("GET", "/metrics", _metrics),
    ("GET", "/v1/models", _models),
    ("POST", "/v1/chat/completions", _chat),
    ("POST", "/v1/completions", _completion),
    ("POST", "/v1/embeddings", _embeddings),
    ("GET", "/v2/health/(?:live|ready)", _ready),
    ("GET", "/v2", _about),
    ("GET", "/v2/models/[^/]+(?:/versions/[^/]+)?", _described),
    ("GET", "/v2/models/[^/]+/ready", _ready),
    ("POST", "/v2/models/[^/]+(?:/versions/[^/]+)?/infer", _infer),
    ("POST", "/echo", _echo),
]
