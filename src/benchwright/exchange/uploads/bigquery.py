"""Summaries to BigQuery: one row each, through Google's own client.

The table is the one PerfZero's dashboards read. Where BIGQUERY_EMULATOR_HOST is set, rows go there and no login is
looked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchwright.errors import NotInstalledError, OptionError, UploadError

PATIENCE = 60.0  # seconds during which a request is tried again
TIMEOUT = 30.0  # seconds for one answer
EMULATOR = "BIGQUERY_EMULATOR_HOST"
SCHEMA = (
    ("execution_timestamp", "TIMESTAMP", "REQUIRED"),
    ("execution_id", "STRING", "REQUIRED"),
    ("ml_framework_info", "STRING", "NULLABLE"),
    ("benchmark_result", "STRING", "NULLABLE"),
    ("benchmark_info", "STRING", "NULLABLE"),
    ("setup_info", "STRING", "NULLABLE"),
    ("system_info", "STRING", "NULLABLE"),
    ("process_info", "STRING", "NULLABLE"),
)
# PerfZero's first datasets moved; command lines that still name them mean the new ones. Others are taken as they are.
_MOVED = {"benchmark_results": "perfzero.benchmark_summary", "benchmark_results_dev": "perfzero_dev.benchmark_summary"}
_NAME = re.compile(r"[^.:`\s]+\.[^.:`\s]+")


def insert(summary: Mapping[str, Any], project: str, table: str, *, client: Any = None) -> None:
    """Adds the summary as one row of `table`, which is `dataset.table` in `project`.

    Without a client, one is made with the login this machine has. A row that is refused is an `UploadError`. Repeating
    it within a minute or so adds no second row: BigQuery knows the row by a hash of its content.
    """
    row = row_of(summary)
    with _connect(project, table, client) as (connection, reference):
        errors = connection.insert_rows_json(reference, [row], row_ids=[_row_id(row)], retry=_retry(), timeout=TIMEOUT)
    if errors:
        raise UploadError(
            f"BigQuery table {table}: the row was refused: {_refusal(errors)}",
            remedy=f"its columns must be: {', '.join(name for name, _, _ in SCHEMA)}",
        )


def check(project: str, table: str) -> None:
    """Raises for what cannot be a table, and where Google's client is not installed; asks no service."""
    if not project or not _NAME.fullmatch(table):
        raise OptionError(
            f"{project or 'no project'}, {table!r}: not a BigQuery table", remedy="give a project and dataset.table"
        )
    try:
        import google.cloud.bigquery  # noqa: F401 - whether it can be imported is the question
    except ImportError:
        raise NotInstalledError("google-cloud-bigquery", "'benchwright[bigquery]'") from None


def ensure_table(project: str, table: str, *, client: Any = None) -> None:
    """Makes the table with the columns of `SCHEMA` when it is missing; its dataset must be there."""
    with _connect(project, table, client) as (connection, reference):
        from google.cloud import bigquery

        columns = [bigquery.SchemaField(name, kind, mode=mode) for name, kind, mode in SCHEMA]
        made = bigquery.Table(reference, schema=columns)
        connection.create_table(made, exists_ok=True, retry=_retry(), timeout=TIMEOUT)


def row_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary as a row: mappings become JSON text, everything else stays as it is."""
    row = {}
    for key, value in summary.items():
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UploadError(f"summary key {key!r} cannot be a JSON value: {error}") from None
        row[key] = text if isinstance(value, Mapping) else value
    return row


def present_table(table: str) -> str:
    """Returns the table that PerfZero sends rows to: its first two datasets have moved, all others are as named."""
    return _MOVED.get(table.partition(".")[0], table)


@contextmanager
def _connect(project: str, table: str, client: Any) -> Iterator[tuple[Any, Any]]:
    """The client and the table's reference; errors of Google's libraries leave as an `UploadError`."""
    check(project, table)
    import requests
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from google.cloud import bigquery

    dataset, _, name = table.partition(".")
    connection = client
    try:
        connection = client or bigquery.Client(project=project, credentials=_credentials())
        yield connection, bigquery.DatasetReference(project, dataset).table(name)
    except GoogleAuthError as error:
        raise UploadError(
            f"BigQuery: no login that works: {_line(error)}",
            remedy="gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file",
        ) from None
    except (GoogleAPIError, requests.RequestException) as error:
        raise UploadError(f"BigQuery table {table}: {_line(error)}", remedy=_remedy(error)) from None
    finally:
        if client is None and connection is not None:
            connection.close()


def _credentials() -> Any:
    """Returns the login. None: the client finds the machine's login by itself. An emulator has no accounts."""
    if not os.environ.get(EMULATOR):
        return None
    from google.auth.credentials import AnonymousCredentials

    return AnonymousCredentials()


def _retry() -> Any:
    from google.cloud.bigquery import DEFAULT_RETRY

    return DEFAULT_RETRY.with_timeout(PATIENCE)


def _row_id(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


def _refusal(errors: Any) -> str:
    """What BigQuery holds against the row, in one line."""
    told = [error for entry in errors for error in entry.get("errors", ())]
    return "; ".join(" ".join(filter(None, (e.get("location"), e.get("message") or e.get("reason")))) for e in told)


def _remedy(error: Exception) -> str:
    match getattr(error, "code", None):
        case 401 | 403:
            return "the login needs the role BigQuery Data Editor on this dataset"
        case 404:
            return "make the dataset, and the table with benchwright.exchange.uploads.bigquery.ensure_table"
    return "try again later: nothing was added"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
