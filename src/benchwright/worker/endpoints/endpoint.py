"""A served model made ready to be measured: how it is reached, and what drives the load."""

from __future__ import annotations

from collections.abc import Callable

from benchwright.records import Case, Value
from benchwright.worker.endpoints.caller import Caller
from benchwright.worker.endpoints.client import ClientSettings, HttpClient
from benchwright.worker.endpoints.dialect import Dialect
from benchwright.worker.endpoints.driver import EndpointDriver, EndpointPlan, ExchangeMaker
from benchwright.worker.endpoints.prompt_maker import PromptMaker
from benchwright.worker.endpoints.reading import CountTokens
from benchwright.worker.endpoints.settings import read_client, read_prompts, read_think
from benchwright.worker.endpoints.wire import Address, parse_address, read_headers
from benchwright.worker.runtimes import Loaded


def load_endpoint(
    case: Case,
    dialect: Dialect,
    *,
    read_address: Callable[[str], Address] = parse_address,
    make: ExchangeMaker | None = None,
    make_client: Callable[[ClientSettings], Caller] = HttpClient,
) -> Loaded:
    """Prepares to ask the server of a case; whether it is there shows with the first request.

    Prompts are sent unless `make` makes something else; `read_address` says where requests for a target go.
    """
    options = case.target.options
    address = read_address(case.target.uri)
    spec = read_prompts(case, case.inputs.seed)
    plan = EndpointPlan(
        settings=read_client(case, address),
        headers=read_headers(options, dialect.accept),
        dialect=dialect,
        make=make or PromptMaker(spec),
        think=read_think(options),
        count=_counter(spec.tokenizer),
        make_client=make_client,
    )
    driver = EndpointDriver(plan)
    details: dict[str, Value] = {"address": address.origin + address.path}
    return Loaded(
        call=lambda: None,  # a driver issues the load by itself
        items_per_call=case.inputs.batch_size,
        details=details,
        report=driver.report,
        close=driver.close,
        prepare=driver.prepare,
    )


def _counter(tokenizer: str) -> CountTokens | None:
    if not tokenizer:
        return None
    from benchwright.worker.endpoints.tokens import TokenCounter

    return TokenCounter(tokenizer).count_all
