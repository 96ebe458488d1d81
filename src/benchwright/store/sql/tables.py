"""The tables, for SQLite and PostgreSQL alike. `migrations/` builds the same ones step by step.

A point is thin: an instant, three numbers, and three references to rows where names stand once.
Documents and samples lie apart from `results`, so that reading a history touches small rows only.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Table,
    UniqueConstraint,
    case,
    text,
)

from benchwright.store.sql.cells import Blob, Number, Position, Small, Text, Whole
from benchwright.store.sql.lab_tables import lab_holds as lab_holds
from benchwright.store.sql.lab_tables import lab_jobs as lab_jobs
from benchwright.store.sql.lab_tables import lab_machines as lab_machines
from benchwright.store.sql.lab_tables import lab_parcels as lab_parcels
from benchwright.store.sql.lab_tables import lab_submissions as lab_submissions
from benchwright.store.sql.table_base import Id
from benchwright.store.sql.table_base import metadata as metadata
from benchwright.store.sqlite_file import VERSION as VERSION
from benchwright.store.sqlite_file import VERSION_TABLE as VERSION_TABLE

runs = Table(
    "runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run", Text, nullable=False),  # the id people see
    Column("at", Whole, nullable=False, index=True),  # microseconds since 1970
    Column("revision", Text, nullable=False, index=True),  # "" when unknown
    Column("format", Small, nullable=False),  # of the document
    Column("document", Text, nullable=False),  # JSON of the Run without its results
    Column("branch", Text, nullable=False, index=True, server_default=text("''")),  # of the revision; "" when unknown
    UniqueConstraint("run"),
)

# Of commits, what their order and the axis of a chart are made of. Whatever else is known stands in documents.
revisions = Table(
    "revisions",
    metadata,
    Column("revision", Text, primary_key=True),
    Column("committed_at", Whole, nullable=False),  # microseconds since 1970; no row where it is not known
)

revision_tags = Table(
    "revision_tags",
    metadata,
    Column("revision", Text, primary_key=True),
    Column("tag", Text, primary_key=True),  # of the repository: a release
)

run_tags = Table(
    "run_tags",
    metadata,
    Column("tag", Text, primary_key=True),
    Column("run_id", Id, ForeignKey("runs.id"), primary_key=True, index=True),
)

environments = Table(
    "environments",
    metadata,
    Column("id", Id, primary_key=True),
    Column("hash", Text, nullable=False),  # of the document
    Column("document", Blob, nullable=False),  # zlib of JSON: all but knobs and collected_at
    UniqueConstraint("hash"),
)

results = Table(
    "results",
    metadata,
    Column("id", Id, primary_key=True),
    Column("result", Text, nullable=False),  # the id people see
    Column("run_id", Id, ForeignKey("runs.id"), nullable=False, index=True),
    Column("environment_id", Id, ForeignKey("environments.id"), nullable=False),
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
    Column("result_id", Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("format", Small, nullable=False),
    Column("document", Blob, nullable=False),  # zlib of JSON: the Result without samples, environment by row
)

series = Table(
    "series",
    metadata,
    Column("id", Id, primary_key=True),
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
    Column("id", Id, primary_key=True),
    Column("method", Text, nullable=False),  # how an estimate was made
    UniqueConstraint("method"),
)

points = Table(
    "points",
    metadata,
    Column("series_id", Id, primary_key=True, autoincrement=False),
    Column("at", Whole, primary_key=True, autoincrement=False),
    Column("result_id", Id, primary_key=True, autoincrement=False),
    Column("point", Number, nullable=False),
    Column("low", Number),
    Column("high", Number),
    Column("confidence", Number, nullable=False),
    Column("method_id", Id, nullable=False),
    # PostgreSQL would take four times as long to add a point if it looked up all three. The rows of series and methods
    # are never deleted, and a result goes with its points.
    ForeignKeyConstraint(["series_id"], ["series.id"]).ddl_if(dialect="sqlite"),
    ForeignKeyConstraint(["result_id"], ["results.id"]).ddl_if(dialect="sqlite"),
    ForeignKeyConstraint(["method_id"], ["methods.id"]).ddl_if(dialect="sqlite"),
    Index("ix_points_result", "result_id"),  # all values of a run at once
    sqlite_with_rowid=False,  # the primary key is the table: one tree to write, and a history lies side by side
)

samples = Table(
    "samples",
    metadata,
    Column("result_id", Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("position", Position, primary_key=True, autoincrement=False),  # in Result.samples
    Column("document", Blob, nullable=False),  # zlib of JSON: the Samples without columns
)

sample_columns = Table(
    "sample_columns",
    metadata,
    Column("result_id", Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("position", Position, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("predictor", Text, nullable=False),  # see columns.py
    Column("data", Blob, nullable=False),
)

arrivals = Table(
    "arrivals",
    metadata,
    Column("result_id", Id, ForeignKey("results.id"), primary_key=True, autoincrement=False),
    Column("at", Whole, nullable=False),  # when it was kept here: microseconds since 1970
)

judging = Table(
    "judging",
    metadata,
    Column("name", Text, primary_key=True),  # of a fact about what was judged here: see `store.sql.arrivals`
    Column("number", Whole, nullable=False),
    Column("at", Whole, nullable=False),
    Column("document", Text, nullable=False),  # JSON, or ""
)

untold = Table(
    "untold",
    metadata,
    Column("finding", Text, primary_key=True),  # of which people are to be told
    Column("run", Text, nullable=False),  # that shows it: people are not told of one that is long past
    Column("at", Whole, nullable=False),
)

findings = Table(
    "findings",
    metadata,
    Column("id", Id, primary_key=True),
    Column("finding", Text, nullable=False),  # the id people see
    Column("series", Text, nullable=False, index=True),  # schema.series_key
    Column("state", Text, nullable=False, index=True),
    Column("at", Whole, nullable=False),  # when it was found: microseconds since 1970
    Column("format", Small, nullable=False),
    Column("document", Text, nullable=False),  # JSON of the Finding
    UniqueConstraint("finding"),
)

# What lists need of a finding, beside its document: ten thousand of these are read in the time of a few documents.
finding_heads = Table(
    "finding_heads",
    metadata,
    Column("finding_id", Id, ForeignKey("findings.id"), primary_key=True, autoincrement=False),
    Column("finding", Text, nullable=False, index=True),
    Column("series", Text, nullable=False),
    Column("cause", Text, nullable=False, index=True),
    Column("state", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("size", Number, nullable=False),  # logarithm of the factor, without its sign
    Column("case_name", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("at", Whole, nullable=False),  # as in `findings`
    Column("assignee", Text, nullable=False),
    Column("suspect", Text, nullable=False),  # the most probable commit, or ""
    Column("sure", Number, nullable=False),  # how probable that is
    Column("run", Text, nullable=False, server_default=text("''")),  # the first that shows it; "" when unknown
    Index("ix_finding_heads_state", "state", "at"),
)

cause_places = Table(
    "cause_places",
    metadata,
    Column("place", Text, primary_key=True),  # a commit, or a run: see records/causes.py
    Column("cause", Text, primary_key=True, index=True),
    Column("weight", Number, nullable=False),  # how probable it is that the cause lies there
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

# What somebody is about to do elsewhere, such as to open an issue: see claims.py.
claims = Table(
    "claims",
    metadata,
    Column("what", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("until", Whole, nullable=False),  # microseconds since 1970
)

quarantines = Table(
    "quarantines",
    metadata,
    Column("machine", Text, primary_key=True),  # schema.environment_key
    Column("since", Whole, primary_key=True, autoincrement=False),  # microseconds since 1970
    Column("until", Whole),  # None: until somebody releases the machine
    Column("reason", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("released_by", Text, nullable=False),  # "" where it ended by itself, or lasts
    Column("finding", Text, nullable=False, server_default=text("''")),  # of the control benchmark: the reason
)

series_notes = Table(
    "series_notes",
    metadata,
    Column("id", Id, primary_key=True),
    Column("series", Text, nullable=False, index=True),  # schema.series_key; "" for every series
    Column("at", Whole, nullable=False),  # the instant it is about: microseconds since 1970
    Column("text", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("kind", Text, nullable=False, server_default=text("''")),  # "release" stands on the axis of charts
)

# A page of the dashboard with everything that was chosen on it, under a name.
views = Table(
    "views",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("address", Text, nullable=False),  # what follows `#/` in a browser
    Column("who", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("is_home", Small, nullable=False),  # 1: what opens first; at most one
    UniqueConstraint("name"),
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
    Column("id", Id, primary_key=True),
    Column("at", Whole, nullable=False, index=True),  # microseconds since 1970
    Column("who", Text, nullable=False),  # a token's name, or "" without one
    Column("address", Text, nullable=False),
    Column("action", Text, nullable=False),  # "upload run", "acknowledge finding", "refused", ...
    Column("what", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", Text, primary_key=True),  # SHA-256 of what the browser holds, which is random and kept nowhere
    Column("subject", Text, nullable=False, index=True),  # the provider's address and its own name of the person
    Column("who", Text, nullable=False),  # as stories and the audit log name the person
    Column("group_names", Text, nullable=False),  # JSON: those that the provider told
    Column("made_at", Whole, nullable=False),  # microseconds since 1970
    Column("seen_at", Whole, nullable=False),  # to a few minutes
    Column("ends_at", Whole, nullable=False),
)

notify_targets = Table(
    "notify_targets",
    metadata,
    Column("id", Id, primary_key=True),
    Column("address", Text, nullable=False),  # with references to secrets, never with secrets
    Column("verdicts", Text, nullable=False),  # separated by spaces
    Column("cases", Text, nullable=False),  # a name with wildcards
    Column("smallest", Number, nullable=False),  # a share
    Column("who", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    UniqueConstraint("address"),
)


def branch_of_point() -> ColumnElement[str]:
    """The branch that a result was measured on.

    A run that measures several commits against each other is on the branch of its own commit, the others are not.
    """
    return case((results.c.revision == runs.c.revision, runs.c.branch), else_="")
