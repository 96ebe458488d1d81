"""The OpenAPI document, drawn from: whatever is asked, the server does not fail, and answers as the document says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 3
NOT_HERE = {  # no result of this store has a file, and nothing was submitted to its lab
    "GET /api/v1/results/{result_id}/artifacts/{name}",
    "GET /api/v1/lab/parcels/{digest}",
    "GET /api/v1/lab/files/{sha256}",
    "GET /api/v1/lab/submissions/{run_id}",
    "GET /api/v1/lab/plans/{plan_id}",
}
HERE = {"Host": "127.0.0.1"}


def test_whatever_is_asked_is_answered(
    serving: Callable[..., Any], filled: Any, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    with serving(tmp_path, limits={"rate": 1e6, "burst": 1_000_000}) as server:
        filled(server.store)
        document = schemathesis.openapi.from_asgi("/api/v1/openapi.json", server.made, headers=HERE)
        document.config.generation.update(with_security_parameters=False)  # a token that is drawn is a wrong one
        operations = [found.ok() for found in document.get_all_operations()]
        assert len(operations) > 20
        for operation in operations:
            with subtests.test(operation.label):
                _ask(operation.as_strategy())
                if operation.method == "get" and operation.label not in NOT_HERE:
                    told = _ask_for_what_is_there(operation, _names(server.store))
                    assert told.status_code == 200, told.text


def _names(store: Any) -> dict[str, str]:
    """What is in the store, by the names of parameters."""
    found = store.finding("f1")
    result = next(iter(store.run(found.run).results)).id
    here = {"run_id": found.run, "reference": "last", "key": found.series, "finding": found.id, "case": found.case}
    here |= {"cause": found.cause, "kind": "mute"}
    sides = {"a": "run:last~1", "b": "run:last", "rows": "case", "columns": "machine"}
    machine = store.machines()[0].key
    return {**here, **sides, "result": result, "result_id": result, "metric": found.metric, "machine": machine}


def _ask_for_what_is_there(operation: Any, names: dict[str, str]) -> Any:
    paths = {parameter.name: names[parameter.name] for parameter in operation.path_parameters}
    query = {one.name: names[one.name] for one in operation.query if one.name in names and one.is_required}
    case = operation.Case(path_parameters=paths, query=query)
    told = case.call(headers=HERE)
    case.validate_response(told, checks=CHECKS)
    return told


def _ask(cases: Any) -> None:
    @given(case=cases)
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=[*HealthCheck],
    )
    def asked(case: Any) -> None:
        case.validate_response(case.call(headers=HERE), checks=CHECKS)

    asked()
