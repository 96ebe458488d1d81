"""A served model made ready to be measured: how it is reached, and what drives the load."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchwright.records import Case, Value
from benchwright.worker.endpoints.client import ClientSettings, HttpClient
from benchwright.worker.endpoints.company import load_in_company
from benchwright.worker.endpoints.dialect import Dialect
from benchwright.worker.endpoints.driver import EndpointDriver, EndpointPlan, ExchangeMaker
from benchwright.worker.endpoints.endpoint_client import EndpointClient
from benchwright.worker.endpoints.prompt_maker import PromptMaker
from benchwright.worker.endpoints.reading import CountTokens
from benchwright.worker.endpoints.settings import read_client, read_prompts, read_think
from benchwright.worker.endpoints.wire import Address, parse_address, read_headers
from benchwright.worker.runtimes import Loaded


def load_endpoint(case: Case, dialect: Dialect, *, make: ExchangeMaker | None = None) -> Loaded:
    """Prepares to ask the server of a case, and starts it where the case says so; else the first request finds it.

    Prompts are sent unless `make` makes something else.
    """
    return load_in_company(case, lambda placed: load_client(placed, dialect, make=make))


def load_client(
    case: Case,
    dialect: Dialect,
    *,
    read_address: Callable[[str], Address] = parse_address,
    make: ExchangeMaker | None = None,
    make_client: Callable[[ClientSettings], EndpointClient] = HttpClient,
) -> Loaded:
    """Prepares to ask a server that somebody else looks after; `read_address` says where requests for a target go."""
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
        salt=_salt(case),
    )
    driver = EndpointDriver(plan)
    details: dict[str, Value] = {"address": address.origin + address.path}
    loaded = Loaded(
        call=lambda: None,  # a driver issues the load by itself
        items_per_call=case.inputs.batch_size,
        details=details,
        report=driver.report,
        close=driver.close,
        prepare=driver.prepare,
    )
    driver.tell = lambda text: loaded.tell(text)
    driver.keep = lambda known: loaded.keep(known)
    return loaded


def _salt(case: Case) -> str:
    """Text that no other process has, so that a server's cache has not seen its prompts in an earlier run.

    Who gives a seed wants the same prompts again, and a server that is started for this measurement has seen none.
    """
    return "" if case.inputs.seed or case.target.options.get("serve") else str(time.time_ns())


def _counter(tokenizer: str) -> CountTokens | None:
    if not tokenizer:
        return None
    from benchwright.worker.endpoints.tokens import TokenCounter

    return TokenCounter(tokenizer).count_all
