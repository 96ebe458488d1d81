"""The options of a served model, as people write them: read strictly, and refused before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchwright.errors import RequestError
from benchwright.records import Case, Scalar
from benchwright.worker.endpoints.client import MOST_CONNECTIONS, ClientSettings
from benchwright.worker.endpoints.exchanges import ExchangeSpec
from benchwright.worker.endpoints.wire import Address
from benchwright.worker.engine.arrivals import holds_requests
from benchwright.worker.runtimes.options import boolean, duration, number, whole

REQUEST_TIMEOUT = "60s"


def read_client(case: Case, address: Address) -> ClientSettings:
    """How the server is reached."""
    options = case.target.options
    timeout = duration(str(options.get("request_timeout", REQUEST_TIMEOUT)), "request_timeout") / 1e9
    if timeout <= 0:
        raise RequestError("option request_timeout: must be above zero", remedy="for example request_timeout=30s")
    return ClientSettings(
        address=address,
        insecure=boolean(options, "insecure", False),
        timeout=timeout,
        connections=whole(options, "connections", MOST_CONNECTIONS, least=1),
        method=str(options.get("method", "POST")),
    )


def read_prompts(case: Case, seed: int) -> ExchangeSpec:
    """What prompts are made of."""
    options, usual = case.target.options, ExchangeSpec()
    shared = str(options.get("shared_prefix", 0)).strip()
    share = number({"shared_prefix": shared.removesuffix("%")}, "shared_prefix", 0.0) / (
        100 if shared.endswith("%") else 1
    )
    if share > 1:
        raise RequestError(f"option shared_prefix: {shared!r} is more than all of it", remedy="for example 50%")
    trace = case.load.trace if holds_requests(case.load.trace) else ""  # it holds requests as well as instants
    return ExchangeSpec(
        source=str(options.get("data", trace or "random")),
        input_tokens=str(options.get("input_tokens", usual.input_tokens)),
        output_tokens=str(options.get("output_tokens", usual.output_tokens)),
        shared=share,
        turns=str(options.get("turns", "1")),
        seed=seed,
        tokenizer=str(options.get("tokenizer", "")),
        images=whole(options, "images", 0),
        image_size=str(options.get("image_size", usual.image_size)),
        image_kind=str(options.get("image_kind", usual.image_kind)),
    )


def read_think(options: Mapping[str, Scalar]) -> int:
    """ns between an answer and the next turn of its conversation."""
    return duration(str(options.get("think_time", "0s")), "think_time")


def read_object(options: Mapping[str, Scalar], name: str) -> dict[str, Any]:
    """An option that is a JSON object."""
    text = str(options.get(name, "") or "{}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"option {name}: {text[:80]!r} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise RequestError(
            f"option {name}: {text[:80]!r} is not a JSON object",
            remedy=f"""for example {name}='{{"temperature": 0}}'""",
        )
    return found
