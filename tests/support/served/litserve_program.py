"""litserve_program.py PORT: LitServe with a plain POST at /predict and a chat at /v1/chat/completions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import litserve
from lifeline import end_with_standard_input

USUAL = 8  # tokens of an answer where the request does not say


class Plus(litserve.LitAPI):
    """Adds one to each number of `x`."""

    def setup(self, device: str) -> None:
        pass

    def decode_request(self, request):  # type: ignore[no-untyped-def] # LitServe takes a type for the form of the body
        return request["x"]

    def predict(self, x: list[float]) -> list[float]:
        return [value + 1 for value in x]

    def encode_response(self, output: list[float]) -> dict[str, Any]:
        return {"y": output}


class Chat(litserve.LitAPI):
    """Says as many words as are asked for."""

    def setup(self, device: str) -> None:
        pass

    def predict(self, prompt: Any, context: dict[str, Any]) -> Iterator[str]:
        wanted = context.get("max_completion_tokens") or context.get("max_tokens") or USUAL
        for index in range(int(wanted)):
            yield f" word{index}"


if __name__ == "__main__":
    end_with_standard_input()
    apis = [Plus(api_path="/predict"), Chat(spec=litserve.OpenAISpec())]
    server = litserve.LitServer(apis, accelerator="cpu")
    server.run(host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="warning")
