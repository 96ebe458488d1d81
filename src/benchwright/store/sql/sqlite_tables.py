"""The tables of an SQLite store as SQL, word for word what SQLAlchemy makes of `tables.py`; a test holds them equal."""

from __future__ import annotations

from benchwright.store.sqlite_file import VERSION, VERSION_TABLE

# name -> columns in their order, then constraints
TABLES: dict[str, tuple[str, ...]] = {
    "runs": (
        "id INTEGER NOT NULL",
        "run TEXT NOT NULL",
        "at BIGINT NOT NULL",
        "revision TEXT NOT NULL",
        "format SMALLINT NOT NULL",
        "document TEXT NOT NULL",
        "CONSTRAINT pk_runs PRIMARY KEY (id)",
        "CONSTRAINT uq_runs_run UNIQUE (run)",
    ),
    "environments": (
        "id INTEGER NOT NULL",
        "hash TEXT NOT NULL",
        "document BLOB NOT NULL",
        "CONSTRAINT pk_environments PRIMARY KEY (id)",
        "CONSTRAINT uq_environments_hash UNIQUE (hash)",
    ),
    "series": (
        "id INTEGER NOT NULL",
        '"key" TEXT NOT NULL',
        "unit TEXT NOT NULL",
        "case_name TEXT NOT NULL",
        "params TEXT NOT NULL",
        "metric TEXT NOT NULL",
        "better TEXT NOT NULL",
        "machine TEXT NOT NULL",
        "CONSTRAINT pk_series PRIMARY KEY (id)",
        'CONSTRAINT uq_series_key UNIQUE ("key", unit)',
    ),
    "methods": (
        "id INTEGER NOT NULL",
        "method TEXT NOT NULL",
        "CONSTRAINT pk_methods PRIMARY KEY (id)",
        "CONSTRAINT uq_methods_method UNIQUE (method)",
    ),
    "findings": (
        "id INTEGER NOT NULL",
        "finding TEXT NOT NULL",
        "series TEXT NOT NULL",
        "state TEXT NOT NULL",
        "at BIGINT NOT NULL",
        "format SMALLINT NOT NULL",
        "document TEXT NOT NULL",
        "CONSTRAINT pk_findings PRIMARY KEY (id)",
        "CONSTRAINT uq_findings_finding UNIQUE (finding)",
    ),
    "mutes": (
        "what TEXT NOT NULL",
        "who TEXT NOT NULL",
        "at TEXT NOT NULL",
        "reason TEXT NOT NULL",
        "CONSTRAINT pk_mutes PRIMARY KEY (what)",
    ),
    "thresholds": (
        "case_name TEXT NOT NULL",
        "metric TEXT NOT NULL",
        "smallest DOUBLE NOT NULL",
        "CONSTRAINT pk_thresholds PRIMARY KEY (case_name, metric)",
    ),
    "series_notes": (
        "id INTEGER NOT NULL",
        "series TEXT NOT NULL",
        "at BIGINT NOT NULL",
        "text TEXT NOT NULL",
        "who TEXT NOT NULL",
        "made_at TEXT NOT NULL",
        "CONSTRAINT pk_series_notes PRIMARY KEY (id)",
    ),
    "progress": (
        "run TEXT NOT NULL",
        "at BIGINT NOT NULL",
        "document TEXT NOT NULL",
        "CONSTRAINT pk_progress PRIMARY KEY (run)",
    ),
    "tokens": (
        "name TEXT NOT NULL",
        "hash TEXT NOT NULL",
        "scope TEXT NOT NULL",
        "made_at TEXT NOT NULL",
        "expires_at TEXT NOT NULL",
        "used_at TEXT NOT NULL",
        "CONSTRAINT pk_tokens PRIMARY KEY (name)",
        "CONSTRAINT uq_tokens_hash UNIQUE (hash)",
    ),
    "audit": (
        "id INTEGER NOT NULL",
        "at BIGINT NOT NULL",
        "who TEXT NOT NULL",
        "address TEXT NOT NULL",
        "action TEXT NOT NULL",
        "what TEXT NOT NULL",
        "CONSTRAINT pk_audit PRIMARY KEY (id)",
    ),
    "run_tags": (
        "tag TEXT NOT NULL",
        "run_id INTEGER NOT NULL",
        "CONSTRAINT pk_run_tags PRIMARY KEY (tag, run_id)",
        "CONSTRAINT fk_run_tags_run_id FOREIGN KEY(run_id) REFERENCES runs (id)",
    ),
    "results": (
        "id INTEGER NOT NULL",
        "result TEXT NOT NULL",
        "run_id INTEGER NOT NULL",
        "environment_id INTEGER NOT NULL",
        "case_name TEXT NOT NULL",
        "at BIGINT NOT NULL",
        "round BIGINT NOT NULL",
        "status TEXT NOT NULL",
        "started_at TEXT NOT NULL",
        "revision TEXT NOT NULL",
        "CONSTRAINT pk_results PRIMARY KEY (id)",
        "CONSTRAINT uq_results_result UNIQUE (result)",
        "CONSTRAINT fk_results_run_id FOREIGN KEY(run_id) REFERENCES runs (id)",
        "CONSTRAINT fk_results_environment_id FOREIGN KEY(environment_id) REFERENCES environments (id)",
    ),
    "documents": (
        "result_id INTEGER NOT NULL",
        "format SMALLINT NOT NULL",
        "document BLOB NOT NULL",
        "CONSTRAINT pk_documents PRIMARY KEY (result_id)",
        "CONSTRAINT fk_documents_result_id FOREIGN KEY(result_id) REFERENCES results (id)",
    ),
    "points": (
        "series_id INTEGER NOT NULL",
        "at BIGINT NOT NULL",
        "result_id INTEGER NOT NULL",
        "point DOUBLE NOT NULL",
        "low DOUBLE",
        "high DOUBLE",
        "confidence DOUBLE NOT NULL",
        "method_id INTEGER NOT NULL",
        "CONSTRAINT pk_points PRIMARY KEY (series_id, at, result_id)",
        "CONSTRAINT fk_points_series_id FOREIGN KEY(series_id) REFERENCES series (id)",
        "CONSTRAINT fk_points_result_id FOREIGN KEY(result_id) REFERENCES results (id)",
        "CONSTRAINT fk_points_method_id FOREIGN KEY(method_id) REFERENCES methods (id)",
    ),
    "samples": (
        "result_id INTEGER NOT NULL",
        "position INTEGER NOT NULL",
        "document BLOB NOT NULL",
        "CONSTRAINT pk_samples PRIMARY KEY (result_id, position)",
        "CONSTRAINT fk_samples_result_id FOREIGN KEY(result_id) REFERENCES results (id)",
    ),
    "sample_columns": (
        "result_id INTEGER NOT NULL",
        "position INTEGER NOT NULL",
        "name TEXT NOT NULL",
        "predictor TEXT NOT NULL",
        "data BLOB NOT NULL",
        "CONSTRAINT pk_sample_columns PRIMARY KEY (result_id, position, name)",
        "CONSTRAINT fk_sample_columns_result_id FOREIGN KEY(result_id) REFERENCES results (id)",
    ),
}
WITHOUT_ROWID = ("points",)
_LINES = ", \n\t"
_WITHOUT_ROWID = "\n WITHOUT ROWID\n\n"
_VERSION = ("version_num VARCHAR(32) NOT NULL", f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num)")
INDEXES = (
    "CREATE INDEX ix_runs_revision ON runs (revision)",
    "CREATE INDEX ix_runs_at ON runs (at)",
    "CREATE INDEX ix_series_case_name ON series (case_name)",
    "CREATE INDEX ix_findings_state ON findings (state)",
    "CREATE INDEX ix_findings_series ON findings (series)",
    "CREATE INDEX ix_series_notes_series ON series_notes (series)",
    "CREATE INDEX ix_audit_at ON audit (at)",
    "CREATE INDEX ix_results_revision ON results (revision)",
    "CREATE INDEX ix_results_run_id ON results (run_id)",
    "CREATE INDEX ix_results_case_name ON results (case_name, at)",
    "CREATE INDEX ix_points_result ON points (result_id)",
)


def statements() -> list[str]:
    """What makes all of them in an empty file, and says which version they are of."""
    made = [
        f"CREATE TABLE {name} (\n\t{_LINES.join(columns)}\n){_WITHOUT_ROWID if name in WITHOUT_ROWID else ''}"
        for name, columns in (*TABLES.items(), (VERSION_TABLE, _VERSION))
    ]
    return [*made, *INDEXES, f"INSERT INTO {VERSION_TABLE} (version_num) VALUES ('{VERSION}')"]  # noqa: S608 - our own


def columns_of(table: str) -> list[str]:
    """The names of its columns, in their order."""
    return [part.split()[0].strip('"') for part in TABLES[table] if not part.startswith("CONSTRAINT ")]
