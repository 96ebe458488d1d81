"""A served model made ready to be measured: reached, asked once, its prompts fitted to how it counts tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchwright.records import Case, Value
from benchwright.worker.endpoints.dialect import Dialect
from benchwright.worker.endpoints.driver import EndpointDriver, EndpointPlan
from benchwright.worker.endpoints.exchanges import Exchange, ExchangeSpec, make_exchanges
from benchwright.worker.endpoints.settings import read_client, read_prompts, read_think
from benchwright.worker.endpoints.wire import parse_address, read_headers
from benchwright.worker.runtimes import Loaded


def load_endpoint(case: Case, *, make_dialect: Callable[[], Dialect]) -> Loaded:
    """Reaches the server of a case; a `MeasureError` when it is not there or refuses what it is asked."""
    options = case.target.options
    address = parse_address(case.target.uri)
    dialect = make_dialect()
    plan = EndpointPlan(
        settings=read_client(case, address),
        headers=read_headers(options, dialect.accept),
        dialect=dialect,
        make=_PromptMaker(read_prompts(case, case.inputs.seed)),
        think=read_think(options),
    )
    driver = EndpointDriver(plan)
    details: dict[str, Value] = {"address": address.origin + address.path}
    return Loaded(
        call=lambda: None,  # a driver issues the load by itself
        items_per_call=case.inputs.batch_size,
        versions={},
        details=details,
        report=driver.report,
        close=driver.close,
        prepare=driver.prepare,
    )


class _PromptMaker:
    """Makes requests of one description, as many as are asked for, each seed its own."""

    def __init__(self, spec: ExchangeSpec) -> None:
        self.spec = spec

    def __call__(self, count: int, seed: int) -> Sequence[Exchange]:
        return make_exchanges(replace(self.spec, seed=seed), count)
