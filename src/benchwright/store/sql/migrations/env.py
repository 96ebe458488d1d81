"""Called by Alembic: runs the migrations on the connection that `store.sql.upgrade` hands over, in its transaction."""

from alembic import context

from benchwright.store.sql import tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables.metadata,
    version_table=tables.VERSION_TABLE,
    render_as_batch=True,  # SQLite changes a table by copying it
)
context.run_migrations()
