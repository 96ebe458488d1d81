"""Views as JSON, with orjson and without."""

from __future__ import annotations

import json
import math
from collections import Counter
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from benchwright.pages.overview import overview
from benchwright.pages.series import series_view
from benchwright.pages.view_json import dumps, dumps_plainly, hide_mail
from benchwright.records import Better, Estimate, Metric, Verdict
from benchwright.store.archive import SeriesFilter
from benchwright.store.sql import SqlStore

ESTIMATE = Estimate(point=1.5, low=None, high=math.inf, method="é<script>")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ESTIMATE, {"point": 1.5, "low": None, "high": None, "confidence": 0.95, "method": "é<script>"}),
        (
            {"a": (1, 2.5, True, None), "b": Verdict.WORSE, "c": float("nan")},
            {"a": [1, 2.5, True, None], "b": "worse", "c": None},
        ),
        (np.array([1.0, np.nan, -np.inf]), [1.0, None, None]),
        (np.arange(6)[::2], [0, 2, 4]),
        ([np.float64(2.5), np.int64(3)], [2.5, 3]),
        (Counter({"x": 2}), {"x": 2}),
        (MappingProxyType({"x": [1]}), {"x": [1]}),
        ({"log": "\udce9 is no text", "large": 2**80}, {"log": "\udce9 is no text", "large": 2**80}),
        ([], []),
    ],
)
def test_both_ways_say_the_same(value: Any, expected: Any) -> None:
    assert json.loads(dumps(value)) == expected
    assert json.loads(dumps_plainly(value)) == expected


def test_whole_views_are_the_same_both_ways(archive: SqlStore) -> None:
    key = archive.series(SeriesFilter(metric="rss_peak", limit=1))[0].series.key
    for view in (overview(archive), series_view(archive, key)):
        assert json.loads(dumps(view)) == json.loads(dumps_plainly(view))


def test_a_series_without_intervals_has_nulls(archive: SqlStore) -> None:
    key = archive.series(SeriesFilter(metric="rss_peak", limit=1))[0].series.key
    told = json.loads(dumps(series_view(archive, key)))
    assert set(told["low"]) == {None}
    assert len(told["low"]) == len(told["point"]) == 120


def test_what_is_no_value_is_refused() -> None:
    for write in (dumps, dumps_plainly):
        with pytest.raises(TypeError, match="cannot write a"):
            write({"x": object()})


def test_a_record_keeps_its_order() -> None:
    metric = Metric(name="latency", unit="s", better=Better.LOWER, estimate=ESTIMATE)
    assert list(json.loads(dumps(metric))) == list(json.loads(dumps_plainly(metric)))


@pytest.mark.parametrize("writes", [dumps, dumps_plainly])
@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"who": "Ada Lovelace <ada@example.com>"}, {"who": "Ada Lovelace"}),
        ({"who": 'Adé "the first" <adé@exämple.com>'}, {"who": 'Adé "the first"'}),
        ({"who": "benchwright (Ada <ada@localhost>)"}, {"who": "benchwright (Ada)"}),
        ({"who": "ada@example.com"}, {"who": "ada"}),
        (
            {"who": "Ada <7>", "assignee": "", "released_by": "\\"},
            {"who": "Ada <7>", "assignee": "", "released_by": "\\"},
        ),
        ({"assignees": ["Eve", "A [x] <a@x.org>", "b@x.org"]}, {"assignees": ["Eve", "A [x]", "b"]}),
        ({"text": "to Ada <ada@x.org>. ask b.c@x.org"}, {"text": "to Ada. ask b.c"}),
        ({"text": "see https://x.org/code@v1.2"}, {"text": "see https://x.org/code@v1.2"}),
        ({"repository": "git@x.org:a/b", "name": "a@b.org"}, {"repository": "git@x.org:a/b", "name": "a@b.org"}),
        ({"name": '","who":"a@b.org"', "who": None}, {"name": '","who":"a@b.org"', "who": None}),
    ],
)
def test_addresses_of_people_are_hidden(writes: Any, told: dict[str, Any], shown: dict[str, Any]) -> None:
    assert json.loads(hide_mail(writes({"lines": [told], "last": 1}))) == {"lines": [shown], "last": 1}
