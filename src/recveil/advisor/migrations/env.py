"""Alembic's entry: migrations run on the connection that the advisor hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from recveil.advisor.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
