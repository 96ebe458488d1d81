"""The tables of the lab: machines, what holds them, and the queue. Instants are microseconds since 1970."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, text

from benchwright.store.sql.cells import Number, Small, Text, Whole
from benchwright.store.sql.table_base import Id, metadata

lab_machines = Table(
    "lab_machines",
    metadata,
    Column("name", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("who", Text, nullable=False),  # the token of the agent
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),  # schema.environment_key
    Column("version", Text, nullable=False),
    Column("facts", Text, nullable=False),  # JSON
    Column("labels", Text, nullable=False),  # JSON
    Column("trouble", Text, nullable=False),  # "" when nothing is wrong
    Column("registered_at", Whole, nullable=False),
    Column("seen_at", Whole, nullable=False),
    Column("is_offered", Small, nullable=False),
    # When its control benchmark was last put into the queue; 0: never.
    Column("control_at", Whole, nullable=False, server_default=text("0")),
)

lab_holds = Table(
    "lab_holds",
    metadata,
    Column("machine", Text, primary_key=True),
    Column("kind", Text, primary_key=True),  # "drain", "reservation"
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("since", Whole, nullable=False),
    Column("until", Whole),  # None: until somebody ends it
)

lab_submissions = Table(
    "lab_submissions",
    metadata,
    Column("run", Text, primary_key=True),  # the id people see
    Column("who", Text, nullable=False),
    Column("at", Whole, nullable=False),
    Column("selector", Text, nullable=False),
    Column("spread", Text, nullable=False),  # "any", "each"
    Column("priority", Whole, nullable=False),
)

# Lists of files that several jobs share. The files themselves are no part of the database.
lab_parcels = Table(
    "lab_parcels",
    metadata,
    Column("digest", Text, primary_key=True),  # SHA-256 of the document
    Column("document", Text, nullable=False),  # JSON
    Column("at", Whole, nullable=False),
)

lab_jobs = Table(
    "lab_jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("title", Text, nullable=False),  # the case with its parameters
    Column("case_key", Text, nullable=False),  # schema.case_key
    Column("selector", Text, nullable=False),
    Column("machine", Text, nullable=False),  # that it is meant for; "" for any that fits
    Column("prefers", Text, nullable=False),  # the machine that measured this case last, or ""
    Column("avoid", Text, nullable=False),  # machines that refused it, each with a line feed before and after
    Column("rank", Whole, nullable=False),  # its priority with the sign turned, so that the least is the first
    Column("state", Text, nullable=False),
    Column("attempt", Whole, nullable=False),
    Column("fence", Text, nullable=False, index=True),  # of the present or last lease; "" before the first
    Column("leased_to", Text, nullable=False),  # the machine of that lease
    Column("since", Whole, nullable=False),
    Column("until", Whole, nullable=False),
    Column("phase", Text, nullable=False),
    Column("reasons", Text, nullable=False),  # JSON: why it was given back, each time
    Column("queued_at", Whole, nullable=False),
    Column("ended_at", Whole, nullable=False),  # 0 while it is open
    Column("rounds", Whole, nullable=False),
    Column("expected", Number, nullable=False),  # seconds; 0 where nothing is known
    Column("seconds", Number, nullable=False),  # that its last lease lasted; 0 before its end
    Column("parcel", Text, nullable=False),
    Column("document", Text, nullable=False),  # JSON of a LabWork
    # How often its agent was killed for reasons of its own, which is no attempt of the job.
    Column("losses", Whole, nullable=False, server_default=text("0")),
    Column("answer", Text, nullable=False, server_default=text("''")),  # JSON: what a job that plans has found
    Index("ix_lab_jobs_state", "state", "rank", "id"),
    Index("ix_lab_jobs_run", "run", "state"),
    Index("ix_lab_jobs_case", "case_key", "state", "id"),
    Index("ix_lab_jobs_prefers", "prefers", "state", "rank", "id"),
    Index("ix_lab_jobs_leased", "leased_to", "state"),
    Index("ix_lab_jobs_selector", "state", "selector"),
)
