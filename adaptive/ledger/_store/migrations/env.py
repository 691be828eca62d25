"""Run the migration steps for alembic, on the connection that `migrate` gives."""

from alembic import context

from adaptive.ledger._store.schema import metadata

config = context.config
context.configure(
    connection=config.attributes["connection"],
    target_metadata=metadata,
    version_table=config.get_main_option("version_table") or "",
)
context.run_migrations()
