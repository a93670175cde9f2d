"""The tables of the advisor, and how a database gets them.

people: an account is the SHA-256 of a random token; people of a loaded log have none, so nobody can be them.
items: the catalogue with exact counters (likes, dislikes), and what of them is shown to the public.
clicks: one at most for each person and item, in the order of clicking.
keys: idempotency keys as hashes. What was asked is kept as a hash with the key in it, so that an undone click
leaves nothing that could be read.
years: the ledger of noisy counters (noisy_counters.py). profiles: what looks show, many items in a row of its own
(profile_parts.py). noise_sums: what the noise of the next look begins with (counter_noise.py); it derives from the key.
models: the ledger of item models, and they themselves (item_model.py).
marks: how often a person changed her mind about an item she has no click on now, under a hash that needs her token.
allowances: what callers have to pay for, under salted hashes, where several workers keep limits together (sharing.py).
backups: when this database was copied, where it is the copy (backup.py).
platforms: who may speak for people of their own, by a key that is kept as a hash (platforms.py).
batches: how far the batches of platforms have come, and what became of them (batches.py).
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
)

from recveil.errors import RecveilError

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
Serial = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows only where the type is INTEGER

people = Table(
    "people",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("token", LargeBinary(32), unique=True),
    Column("created", BigInteger, nullable=False),  # all times are whole seconds since 1970
    Column("seen", BigInteger, nullable=False, index=True),
    Column("strategy", String(8)),
    Column("entered", SmallInteger, nullable=False, server_default="0"),  # 1 from her first click on
    sqlite_autoincrement=True,
)

items = Table(
    "items",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("key", String(200), nullable=False, unique=True),
    Column("title", String(500), nullable=False),
    Column("likes", Integer, nullable=False, server_default="0"),
    Column("dislikes", Integer, nullable=False, server_default="0"),
    Column("shown_likes", Integer, nullable=False, server_default="0"),
    Column("shown_dislikes", Integer, nullable=False, server_default="0"),
    Column("upto", BigInteger, nullable=False, server_default="0"),  # the last click that the shown counters know of
    Column("entered_likes", Integer, nullable=False, server_default="0"),  # what has reached this year's noisy counters
    Column("entered_dislikes", Integer, nullable=False, server_default="0"),
    Column("withdrawn", BigInteger),  # when; the row and its number stay, and no other item gets them
    Column(
        "revision", BigInteger, nullable=False, server_default="0", index=True
    ),  # of the catalogue that last had it new
    sqlite_autoincrement=True,
)

clicks = Table(
    "clicks",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("person", ForeignKey("people.id"), nullable=False),
    Column("item", ForeignKey("items.id"), nullable=False),
    Column("sign", SmallInteger, CheckConstraint("sign IN (-1, 1)", name="sign"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("spent", SmallInteger, nullable=False, server_default="1"),  # changes that reached noisy counters, with this
    Column("entered", SmallInteger, nullable=False, server_default="1"),  # whether this click did
    UniqueConstraint("person", "item"),
    sqlite_autoincrement=True,  # an id never comes back, also after the newest click was undone
)

keys = Table(
    "keys",
    metadata,
    Column("person", ForeignKey("people.id"), primary_key=True),
    Column("key", LargeBinary(32), primary_key=True),
    Column("request", LargeBinary(32), nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
)

marks = Table(
    "marks",
    metadata,
    Column("mark", LargeBinary(32), primary_key=True),
    Column("person", ForeignKey("people.id"), nullable=False, index=True),
    Column("spent", SmallInteger, nullable=False),
)

years = Table(
    "years",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("opened", BigInteger, nullable=False),
    Column("closed", BigInteger),
    Column("key", LargeBinary(32)),  # from which the noise of its looks derives; gone once the year is closed
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("looks", Integer, nullable=False),  # that its budget is for
    Column("changes", Integer, nullable=False),
    Column("variance", BigInteger, nullable=False),  # of the noise in items' counters, as dp.continual takes it
    Column("people_variance", BigInteger, nullable=False),
    Column("closing_variance", BigInteger, nullable=False, server_default="0"),  # with which it ends
    Column("done", Integer, nullable=False, server_default="0"),  # looks that were taken
    Column("looked", BigInteger, nullable=False, server_default="0"),
    Column("upto", BigInteger, nullable=False, server_default="0"),  # the last click that the last look knows of
    Column("people", Integer, nullable=False, server_default="0"),  # as shown
    Column("began_with", Integer, nullable=False, server_default="0"),  # people when it was opened, exactly
    Column("closed_people", Integer, nullable=False, server_default="0"),  # as the years before it ended
    Column("closed_spread", Float, nullable=False, server_default="0"),  # the variance of what they ended with
    Column("closed_people_spread", Float, nullable=False, server_default="0"),
    Column(
        "overspent", SmallInteger, nullable=False, server_default="0"
    ),  # 1: looked at with noise that could be undone
    Column("shown", BigInteger),  # the draft (profiles) that its last look made; none before the first of all
    Column("base", BigInteger),  # the draft in which the years before it ended
    Column("ended", BigInteger),  # the draft of what the year before it counted exactly and the items still do
    sqlite_autoincrement=True,
)

profiles = Table(
    "profiles",
    metadata,
    Column("draft", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),  # of the items, by their numbers
    Column("likes", LargeBinary, nullable=False),  # with noise, of all years together
    Column("dislikes", LargeBinary, nullable=False),
)

noise_sums = Table(
    "noise_sums",
    metadata,
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("year", BigInteger, nullable=False),
    Column("look", Integer, nullable=False),
    Column("sums", LargeBinary, nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("at", BigInteger, nullable=False, index=True),
    Column("rho", Float, nullable=False),  # what it spends of each person's budget for a year
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("document", LargeBinary),
    sqlite_autoincrement=True,
)

loads = Table(
    "loads",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("at", BigInteger, nullable=False),
)


allowances = Table(
    "allowances",
    metadata,
    Column("who", LargeBinary(32), primary_key=True),
    Column("until", Float, nullable=False),  # when everything will have been paid for
)

platforms = Table(
    "platforms",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    Column("access", LargeBinary(32)),  # the hash of its key; none once it is revoked
    Column("salt", LargeBinary(32), nullable=False),  # of the names of its people
    Column("at", BigInteger, nullable=False),  # when the key was made or revoked
    sqlite_autoincrement=True,
)

batches = Table(
    "batches",
    metadata,
    Column("platform", ForeignKey("platforms.id"), primary_key=True),
    Column("key", LargeBinary(32), primary_key=True),
    Column("request", LargeBinary(32), nullable=False),  # the hash of all of it
    Column("done", Integer, nullable=False),  # lines that were carried out
    Column("outcome", LargeBinary, nullable=False),  # of these lines: numbers, and what was refused
    Column("at", BigInteger, nullable=False, index=True),
)

backups = Table("backups", metadata, Column("at", BigInteger, primary_key=True, autoincrement=False))


def upgrade(engine: Engine) -> None:
    """Bring the database to the newest schema; nothing happens where it is there already."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        alone(connection)
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError:
            raise RecveilError(
                "this database was made by a newer recveil: start that one, or name another with --database"
            ) from None


def alone(connection: Connection) -> None:
    """Until the transaction ends nobody else sets up or fills this database. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7263)")
