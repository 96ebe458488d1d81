"""The pages' data over HTTP: every route answers with its view, and refuses what is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

import sample_store
from benchwright.server.app import create_app
from benchwright.server.settings import ServerSettings

Client = Any


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of the real application on the sample store."""
    folder = tmp_path_factory.mktemp("reading")
    path = folder / "sample.db"
    sample_store.build(path)
    app = create_app(ServerSettings(store_url=f"sqlite:///{path}", artifacts=folder / "artifacts"))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def _get(reader: Client, path: str) -> Any:
    answer = reader.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return json.loads(answer.content)


def test_a_visitor_gets_from_the_overview_to_the_culprit(reader: Client) -> None:
    worst = _get(reader, "overview")["worse"][0]
    finding = _get(reader, f"findings/{worst['id']}")
    assert finding["line"]["culprit"]["subject"] == "Copy every input before the call"
    series = _get(reader, f"series/{worst['series']}?unit=s")
    assert [mark["finding"] for mark in series["marks"]] == [worst["id"]]
    run = _get(reader, f"runs/{worst['run']}")
    assert run["line"]["revision"]["id"] == finding["suspects"][0]["revision"]
    both = _get(reader, f"compare?a=run:{run['previous']}&b=run:{worst['run']}&metric=latency_p50&metric=rss_peak")
    assert both["lines"][0]["case"] == worst["case"]
    assert {line["metric"] for line in both["lines"]} == {"latency_p50", "rss_peak"}
    result = _get(reader, f"results/{both['lines'][0]['after_result']}")
    assert result["run"] == worst["run"]
    assert _get(reader, f"environments/{result['id']}")["machine"] == result["environment"]["machine"]


def test_lists_choose_and_go_on(reader: Client) -> None:
    first = _get(reader, "runs?limit=2&tag=nightly&case=vision/*")
    second = _get(reader, f"runs?limit=2&before={first['next']}")
    assert len({run["id"] for run in (*first["runs"], *second["runs"])}) == 4
    page = _get(reader, "series?words=bert&metric=rss_*&limit=4")
    assert len(page["series"]) == 4
    assert len(_get(reader, f"series?words=bert&metric=rss_*&after={page['next']}")["series"]) == 2
    assert len(_get(reader, "findings?state=resolved&state=acknowledged")["findings"]) == 2
    assert len(_get(reader, "findings?limit=3&after=6")["findings"]) == 2
    assert len(_get(reader, "machines")["machines"]) == 2


def test_lists_are_narrowed_by_facets_and_ordered_by_the_server(reader: Client) -> None:
    wanted = "series?metrics=latency_p50&metrics=rss_peak&param=batch_size=8&sort=-last&facets=true"
    page = _get(reader, f"{wanted}&limit=5")
    values = [line["last"] for line in page["series"]]
    assert values == sorted(values, reverse=True)
    facets = {facet["name"]: {one["label"]: one["count"] for one in facet["values"]} for facet in page["facets"]}
    assert facets["param.batch_size"] == {"1": 28, "8": 12}  # its own choice does not narrow it
    assert facets["machine"] == {"Example Core 9000, 8 cores": 6, "Example Server 7, 32 cores": 6}
    assert facets["branch"] == {"main": 12} and facets["tag"]["nightly"] == 12
    assert (page["total"], page["sortable"]) == (12, True)
    rest = _get(reader, f"{wanted}&after={page['next']}")
    assert len(rest["series"]) == 7 and rest["facets"] == []
    assert max(line["last"] for line in rest["series"]) <= values[-1]
    runs = _get(reader, "runs?branch=main&tags=release-2.0&sort=run&facets=true")
    assert [run["started_at"] for run in runs["runs"]] == sorted(run["started_at"] for run in runs["runs"])
    assert runs["total"] == len(runs["runs"]) == 2


def test_the_rounds_of_a_run_are_one_point_where_that_is_asked_for(reader: Client) -> None:
    key = _get(reader, "series?metric=latency_p50&limit=1")["series"][0]["key"]
    each, together = _get(reader, f"series/{key}"), _get(reader, f"series/{key}?rounds=together")
    assert (len(each["at"]), len(together["at"])) == (120, 60)
    assert set(together["rounds"]) == {2} and together["main"] == "main"
    assert len(together["committed"]) == len(together["revisions"]) == 60


def test_a_comparison_of_several_sides_is_paged_filtered_and_counted_over_all(reader: Client) -> None:
    sides = "a=run:last~4&b=run:last~2&b=run:last"
    whole = _get(reader, f"compare?{sides}&limit=500")
    assert len(whole["others"]) == 1 and all(len(line["others"]) == 1 for line in whole["lines"])
    page = _get(reader, f"compare?{sides}&limit=3")
    again = _get(reader, f"compare?{sides}&limit=3&after={page['next']}")
    assert [*page["lines"], *again["lines"]] == whole["lines"][:6]
    assert page["counts"] == whole["counts"] and page["total"] == len(whole["lines"]) and whole["next"] == ""
    rest = _get(reader, f"compare?{sides}&changed=false&group=case&only=latency_p50&words=resnet50")
    assert rest["lines"] and {line["metric"] for line in rest["lines"]} == {"latency_p50"}
    assert "in all 2 columns together" in rest["control"]


def test_configurations_by_two_metrics(reader: Client) -> None:
    view = _get(reader, "pareto?x=latency_p50&y=throughput&case=vision/resnet50.onnx&batch_size=8")
    assert view["chosen"] == {"case": "vision/resnet50.onnx", "batch_size": "8"}
    assert {point["standing"] for point in view["points"]} >= {"front", "dominated"}


def test_other_parameters_of_the_matrix_are_dimensions(reader: Client) -> None:
    view = _get(reader, "matrix?metric=throughput&rows=case&columns=runtime&baseline=torch&batch_size=8")
    assert view["chosen"]["batch_size"] == "8"
    assert view["baseline"] == "torch"


def test_a_number_from_a_series_names_a_result(reader: Client) -> None:
    key = _get(reader, "series?limit=1")["series"][0]["key"]
    number = _get(reader, f"series/{key}")["result"][-1]
    assert _get(reader, f"results/{number}")["series"]


@pytest.mark.parametrize(
    ("path", "status", "remedy"),
    [
        ("matrix?metric=latency_p5", 404, "did you mean 'latency_p50'?"),
        ("matrix?batch_sise=8", 404, "did you mean 'batch_size'?"),
        ("compare?a=run:last&b=run:last~1&metric=latncy_p50", 404, "did you mean 'latency_p50'?"),
        ("compare?a=run:last&b=last", 400, "run:REF"),
        ("compare?a=run:last", 422, "openapi"),
        ("compare?a=run:last&" + "&".join(["b=run:last~1"] * 8), 422, "openapi"),
        ("compare?a=run:last&b=run:last~1&limit=501", 422, "openapi"),
        ("compare?a=run:last&b=run:last~1&order=effct", 400, "did you mean 'effect'?"),
        ("compare?a=run:last&b=branch:nowhere", 404, "known: main"),
        ("pareto?x=latency_p5", 404, "did you mean 'latency_p50'?"),
        ("pareto?x=throughput&y=throughput", 400, "choose two metrics"),
        ("runs/nope", 404, ""),
        ("results/nope", 404, ""),
        ("environments/nope", 404, ""),
        ("series/nope", 404, "GET series"),
        ("findings/nope", 404, ""),
        ("findings?state=closed", 422, "openapi"),
        ("series?limit=0", 422, "openapi"),
        ("series?sort=lst", 400, "did you mean 'last'?"),
        (f"series?metrics={'x' * 2000}", 422, "openapi"),
        ("runs?sort=results-", 400, "did you mean 'results'?"),
        ("series/nope?rounds=all", 422, "openapi"),
        ("series?limit=100000", 422, "openapi"),
        (f"series?words={'x' * 2000}", 422, "openapi"),
        ("series/%00", 404, ""),
        ("runs/..%2F..%2Fetc", 404, ""),
    ],
)
def test_what_is_not_there_or_not_understood_is_refused(reader: Client, path: str, status: int, remedy: str) -> None:
    answer = reader.get(f"/api/v1/{path}")
    told = json.loads(answer.content)
    assert (answer.status_code, set(told)) == (status, {"error", "remedy"})
    assert remedy in told["remedy"]


def test_an_unchanged_page_is_not_sent_again(reader: Client) -> None:
    first = reader.get("/api/v1/overview")
    again = reader.get("/api/v1/overview", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
