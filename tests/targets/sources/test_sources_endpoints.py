"""Addresses become cases: which runtime calls them, what their cases are called, what is missing to call them."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from benchwright.errors import NotInstalledError, TargetError
from benchwright.records import Case
from benchwright.targets.sources import Request
from benchwright.targets.sources.endpoints import Endpoints


def _cases(target: str, **others: Any) -> list[Case]:
    assert Endpoints().accepts(target)
    return list(Endpoints().cases(target, Request(targets=[target], **others)))


@pytest.mark.parametrize(
    ("target", "runtime", "uri"),
    [
        ("http://h/v1/chat/completions", "openai", "http://h/v1/chat/completions"),
        ("http://h:8080/v2/models/M/infer", "kserve", "http://h:8080/v2/models/M/infer"),
        ("https://h/gate/v2/models/M/versions/2", "kserve", "https://h/gate/v2/models/M/versions/2"),
        ("kserve:http://h/v2/models/M", "kserve", "http://h/v2/models/M"),
        ("kserve:grpc://h:8081/M/1", "kserve", "grpc://h:8081/M/1"),
        ("grpcs://h/M", "kserve", "grpcs://h/M"),
        ("http://h:8501/v1/models/M:predict", "http", "http://h:8501/v1/models/M:predict"),
        ("http://h/invocations", "http", "http://h/invocations"),
    ],
)
def test_an_address_says_by_what_it_is_called(target: str, runtime: str, uri: str) -> None:
    [case] = _cases(target)
    assert (case.target.runtime, case.target.uri) == (runtime, uri)
    assert case.name == uri.partition("://")[2]


def test_batch_sizes_and_parameters_are_dimensions() -> None:
    cases = _cases("kserve:grpc://h:1/M", batch_sizes=[1, 8], params={"tensors": ["binary"]})
    assert [(case.inputs.batch_size, case.params.get("batch_size")) for case in cases] == [(1, None), (8, 8)]
    with pytest.raises(TargetError, match="no parameter 'model'"):
        _cases("http://h/predict", params={"model": ["a"]})


def test_grpc_takes_a_library_more(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "grpc" else find(name, *rest))
    with pytest.raises(NotInstalledError) as caught:
        _cases("kserve:grpc://h:1/M")
    assert caught.value.remedy == "pip install benchwright[grpc]"
    assert _cases("kserve:http://h/v2/models/M") and _cases("kserve:grpc://h:1/M", elsewhere=True)
