"""What every table is made with: the names of constraints, and the type of a row's number."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers rows by itself only in a column that is exactly INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")
