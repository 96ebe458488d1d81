"""Rows to BigQuery: Google's own client against a peer on loopback that checks what it is sent."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import NotInstalledError, OptionError, UploadError
from benchwright.exchange.uploads import bigquery
from bigquery_peer import BigQueryPeer

SUMMARY: dict[str, Any] = {
    "execution_id": "2026-11-02-09-00-00-000000",
    "execution_timestamp": 1793610000.25,
    "benchmark_result": {"name": "demo.Demo.benchmark_ok", "wall_time": 2.5, "metrics": [], "succeeded": True},
    "benchmark_info": {"harness_name": "perfzero", "has_exception": False},
    "setup_info": {},
    "ml_framework_info": {"name": "tensorflow"},
    "system_info": {"hostname": "h", "note": "größer"},
    "process_info": {"max_rss": 1},
}


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with BigQueryPeer() as running:
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", running.url)
        yield running


@pytest.fixture
def table(peer: Any) -> Any:
    bigquery.ensure_table("project", "dataset.table")
    peer.requests.clear()
    return peer.tables["project", "dataset", "table"]


def test_the_table_has_the_columns_of_the_contract(peer: Any) -> None:
    bigquery.ensure_table("project", "dataset.table")
    columns = [(f["name"], f["type"], f["mode"]) for f in peer.tables["project", "dataset", "table"].fields]
    assert columns == [
        ("execution_timestamp", "TIMESTAMP", "REQUIRED"),
        ("execution_id", "STRING", "REQUIRED"),
        *(
            (name, "STRING", "NULLABLE")
            for name in (
                "ml_framework_info",
                "benchmark_result",
                "benchmark_info",
                "setup_info",
                "system_info",
                "process_info",
            )
        ),
    ]


def test_a_table_that_is_there_stays_as_it_is(peer: Any, table: Any) -> None:
    bigquery.insert(SUMMARY, "project", "dataset.table")
    bigquery.ensure_table("project", "dataset.table")
    assert peer.tables["project", "dataset", "table"] is table
    assert len(table.rows) == 1


def test_a_summary_is_one_row_with_its_mappings_as_json(peer: Any, table: Any) -> None:
    bigquery.insert(SUMMARY, "project", "dataset.table")
    ((method, path, body),) = peer.requests
    assert (method, path) == ("POST", "/bigquery/v2/projects/project/datasets/dataset/tables/table/insertAll")
    (row,) = body["rows"]
    assert row["json"]["execution_timestamp"] == 1793610000.25
    assert row["json"]["execution_id"] == SUMMARY["execution_id"]
    texts = {key: value for key, value in row["json"].items() if not key.startswith("execution_")}
    assert all(isinstance(text, str) for text in texts.values())
    assert {key: json.loads(text) for key, text in texts.items()} == {
        key: value for key, value in SUMMARY.items() if isinstance(value, dict)
    }
    assert list(table.rows.values()) == [row["json"]]
    assert set(peer.logins) == {None}  # no login was looked for


def test_the_same_row_is_known_again_and_another_is_not(table: Any) -> None:
    bigquery.insert(SUMMARY, "project", "dataset.table")
    bigquery.insert(SUMMARY, "project", "dataset.table")
    bigquery.insert(SUMMARY | {"process_info": {"max_rss": 2}}, "project", "dataset.table")  # a trial of the same id
    assert len(table.rows) == 2


def test_a_client_of_ones_own_is_used_and_left_open(peer: Any, table: Any) -> None:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.bigquery import Client

    with Client(project="project", credentials=AnonymousCredentials()) as client:
        bigquery.insert(SUMMARY, "project", "dataset.table", client=client)
        bigquery.insert(SUMMARY | {"execution_id": "b"}, "project", "dataset.table", client=client)
    assert len(table.rows) == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"surprise": {"a": 1}}, "surprise no such field: surprise."),
        ({"execution_id": None}, "Missing required field: execution_id."),
        ({"setup_info": 3}, "setup_info Cannot convert value to string."),
        ({"execution_timestamp": "soon"}, "execution_timestamp Could not parse the value as a timestamp."),
    ],
)
def test_a_row_that_is_refused_raises(table: Any, change: dict[str, Any], says: str) -> None:
    with pytest.raises(UploadError, match="the row was refused") as caught:
        bigquery.insert(SUMMARY | change, "project", "dataset.table")
    assert says in caught.value.message
    assert "execution_timestamp, execution_id, ml_framework_info" in caught.value.remedy
    assert not table.rows


def test_a_store_that_is_busy_is_asked_again(peer: Any, table: Any) -> None:
    peer.answers += [503]
    bigquery.insert(SUMMARY, "project", "dataset.table")
    assert len(peer.requests) == 2
    assert len(table.rows) == 1


def test_a_store_that_stays_busy_is_given_up(peer: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bigquery, "PATIENCE", 0.5)
    peer.answers += [503] * 50
    with pytest.raises(UploadError, match=r"dataset\.table"):
        bigquery.insert(SUMMARY, "project", "dataset.table")
    assert not table.rows


def test_who_may_not_write_is_told_what_is_missing(peer: Any, table: Any) -> None:
    peer.answers += [403]
    with pytest.raises(UploadError, match="403") as caught:
        bigquery.insert(SUMMARY, "project", "dataset.table")
    assert "BigQuery Data Editor" in caught.value.remedy
    assert len(peer.requests) == 1  # asking again would not help


def test_a_missing_table_is_not_made_unasked(peer: Any) -> None:
    with pytest.raises(UploadError, match="Not found: Table") as caught:
        bigquery.insert(SUMMARY, "project", "dataset.table")
    assert "ensure_table" in caught.value.remedy
    assert not peer.tables


def test_a_missing_dataset_is_an_error(peer: Any) -> None:
    with pytest.raises(UploadError, match="Not found: Dataset project:other"):
        bigquery.ensure_table("project", "other.table")


def test_a_server_that_is_not_there_is_an_upload_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound and not listening: refused
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", f"http://127.0.0.1:{bound.getsockname()[1]}")
        monkeypatch.setattr(bigquery, "PATIENCE", 0.2)
        with pytest.raises(UploadError, match=r"BigQuery table dataset\.table"):
            bigquery.insert(SUMMARY, "project", "dataset.table")


def test_a_key_file_that_is_none_says_how_to_log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key.json").write_text("{}")
    monkeypatch.delenv("BIGQUERY_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    with pytest.raises(UploadError, match="no login that works") as caught:
        bigquery.insert(SUMMARY, "project", "dataset.table")
    assert "gcloud auth application-default login" in caught.value.remedy


@pytest.mark.parametrize(("project", "table"), [("", "a.b"), ("p", "table"), ("p", "a.b.c"), ("p", ""), ("p", "a.")])
def test_a_name_that_is_no_table_is_a_wrong_request(project: str, table: str) -> None:
    with pytest.raises(OptionError, match="not a BigQuery table"):
        bigquery.insert(SUMMARY, project, table)


def test_a_number_that_is_none_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(UploadError, match="'process_info' cannot be a JSON value"):
        bigquery.row_of({"process_info": {"max_cpu_percent": float("nan")}})


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("benchmark_results.x", "perfzero.benchmark_summary"),
        ("benchmark_results_dev.x", "perfzero_dev.benchmark_summary"),
        ("my_benchmark_results.x", "my_benchmark_results.x"),  # PerfZero crashes here
        ("perfzero.benchmark_summary", "perfzero.benchmark_summary"),
    ],
)
def test_only_the_two_datasets_that_moved_have_moved(named: str, meant: str) -> None:
    assert bigquery.present_table(named) == meant


def test_the_package_is_needed_only_when_rows_are_sent() -> None:
    code = (
        "import sys; sys.modules['google'] = None; sys.modules['google.cloud'] = None\n"
        "from benchwright.exchange.uploads import bigquery\n"
        "bigquery.row_of({'a': {}})\n"
        "bigquery.insert({}, 'p', 'd.t')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert NotInstalledError.__name__ in ended.stderr
    assert "pip install 'benchwright[bigquery]'" in ended.stderr
