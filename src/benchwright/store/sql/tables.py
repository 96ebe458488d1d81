"""The tables, for SQLite and PostgreSQL alike. `migrations/` builds the same ones step by step.

A point is thin: an instant, three numbers, and three references to rows where names stand once.
Documents and samples lie apart from `results`, so that reading a history touches small rows only.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table, UniqueConstraint

from benchwright.store.sql.cells import Blob, Number, Position, Small, Text, Whole
from benchwright.store.sqlite_file import VERSION as VERSION
from benchwright.store.sqlite_file import VERSION_TABLE as VERSION_TABLE

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers rows by itself only in a column that is exactly INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")

runs = Table(
    "runs",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("run", Text, nullable=False),  # the id people see
    Column("at", Whole, nullable=False, index=True),  # microseconds since 1970
    Column("revision", Text, nullable=False, index=True),  # "" when unknown
    Column("format", Small, nullable=False),  # of the document
    Column("document", Text, nullable=False),  # JSON of the Run without its results
    UniqueConstraint("run"),
)

run_tags = Table(
    "run_tags",
    metadata,
    Column("tag", Text, primary_key=True),
    Column("run_id", _Id, ForeignKey("runs.id"), primary_key=True),
)

environments = Table(
    "environments",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("hash", Text, nullable=False),  # of the document
    Column("document", Blob, nullable=False),  # zlib of JSON: all but knobs and collected_at
    UniqueConstraint("hash"),
)

results = Table(
    "results",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("result", Text, nullable=False),  # the id people see
    Column("run_id", _Id, ForeignKey("runs.id"), nullable=False, index=True),
    Column("environment_id", _Id, ForeignKey("environments.id"), nullable=False),
    Column("case_name", Text, nullable=False),
    Column("at", Whole, nullable=False),
    Column("round", Whole, nullable=False),
    Column("status", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("revision", Text, nullable=False, index=True),  # the result's own, else its run's, else ""
    UniqueConstraint("result"),
    Index("ix_results_case_name", "case_name", "at"),
)

documents = Table(
    "documents",
    metadata,
    Column("result_id", _Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("format", Small, nullable=False),
    Column("document", Blob, nullable=False),  # zlib of JSON: the Result without samples, environment by row
)

series = Table(
    "series",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("key", Text, nullable=False),  # schema.series_key
    Column("unit", Text, nullable=False),  # beside the key: values in another unit are another series
    Column("case_name", Text, nullable=False, index=True),
    Column("params", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("better", Text, nullable=False),  # "" for neither
    Column("machine", Text, nullable=False),  # schema.environment_key
    UniqueConstraint("key", "unit"),
)

methods = Table(
    "methods",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("method", Text, nullable=False),  # how an estimate was made
    UniqueConstraint("method"),
)

points = Table(
    "points",
    metadata,
    Column("series_id", _Id, ForeignKey("series.id"), primary_key=True, autoincrement=False),
    Column("at", Whole, primary_key=True, autoincrement=False),
    Column("result_id", _Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("point", Number, nullable=False),
    Column("low", Number),
    Column("high", Number),
    Column("confidence", Number, nullable=False),
    Column("method_id", _Id, ForeignKey("methods.id"), nullable=False),
    Index("ix_points_result", "result_id"),  # all values of a run at once
    sqlite_with_rowid=False,  # the primary key is the table: one tree to write, and a history lies side by side
)

samples = Table(
    "samples",
    metadata,
    Column("result_id", _Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("position", Position, primary_key=True, autoincrement=False),  # in Result.samples
    Column("document", Blob, nullable=False),  # zlib of JSON: the Samples without columns
)

sample_columns = Table(
    "sample_columns",
    metadata,
    Column("result_id", _Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("position", Position, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("predictor", Text, nullable=False),  # see columns.py
    Column("data", Blob, nullable=False),
)

findings = Table(
    "findings",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("finding", Text, nullable=False),  # the id people see
    Column("series", Text, nullable=False, index=True),  # schema.series_key
    Column("state", Text, nullable=False, index=True),
    Column("at", Whole, nullable=False),  # when it was found: microseconds since 1970
    Column("format", Small, nullable=False),
    Column("document", Text, nullable=False),  # JSON of the Finding
    UniqueConstraint("finding"),
)

mutes = Table(
    "mutes",
    metadata,
    Column("what", Text, primary_key=True),  # a series' key, or a case's name with wildcards
    Column("who", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("reason", Text, nullable=False),
)

thresholds = Table(
    "thresholds",
    metadata,
    Column("case_name", Text, primary_key=True),  # with wildcards
    Column("metric", Text, primary_key=True),  # "" for every metric
    Column("smallest", Number, nullable=False),  # a share
)

series_notes = Table(
    "series_notes",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("series", Text, nullable=False, index=True),  # schema.series_key; "" for every series
    Column("at", Whole, nullable=False),  # the instant it is about: microseconds since 1970
    Column("text", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("made_at", Text, nullable=False),
)

progress = Table(
    "progress",
    metadata,
    Column("run", Text, primary_key=True),  # the id people see; the run itself may not be there yet
    Column("at", Whole, nullable=False),  # of the last word: microseconds since 1970
    Column("document", Text, nullable=False),  # JSON of a `Progress`
)

tokens = Table(
    "tokens",
    metadata,
    Column("name", Text, primary_key=True),
    Column("hash", Text, nullable=False),  # SHA-256 of the token, which is random and kept nowhere
    Column("scope", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),  # "" for never
    Column("used_at", Text, nullable=False),  # to the minute; "" for never
    UniqueConstraint("hash"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("at", Whole, nullable=False, index=True),  # microseconds since 1970
    Column("who", Text, nullable=False),  # a token's name, or "" without one
    Column("address", Text, nullable=False),
    Column("action", Text, nullable=False),  # "upload run", "acknowledge finding", "refused", ...
    Column("what", Text, nullable=False),
)
