"""What a file's columns are taken for: the role of each, and whether it looks like personal data.

Only the first rows are looked at. It is for the owner, before anything is done: nothing that is released depends on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from recveil.formats.checking import Types
from recveil.formats.itemsets import ITSELF
from recveil.formats.parts import Location
from recveil.formats.roles import Names, Role, assign
from recveil.formats.schema import Schema
from recveil.formats.sniffing import Form, sniff
from recveil.formats.sources import TABLES, DataFile, find, one_line
from recveil.formats.tables import look
from recveil.formats.text import has_broken_lines, records

SAMPLE = 1000  # rows
NO_TEXT = (*TABLES, "jsonl", "json", "itemsets", "lists")
FEW = 3  # people who must have a key before a schema is proposed that has it
MOST = 0.5  # of the values that must look alike

# What a name tells: words as they stand in names of columns, without "_", "-" and blanks.
NAMED = {
    "e-mail addresses": ("email", "mail"),
    "IP addresses": ("ip", "ipaddress", "ipaddr", "clientip", "remoteaddr"),
    "phone numbers": ("phone", "phonenumber", "tel", "telephone", "mobile", "msisdn"),
    "names": ("name", "username", "firstname", "lastname", "surname", "fullname", "customername", "nickname"),
    "postal addresses": ("address", "street", "zip", "zipcode", "postcode", "postalcode", "city"),
    "dates of birth": ("birth", "birthday", "birthdate", "dateofbirth", "dob"),
    "device or account numbers": ("ssn", "passport", "iban", "cardnumber", "deviceid", "imei", "idfa", "gaid"),
    "free text": ("comment", "review", "message", "note", "feedback", "reviewtext"),
}
# What values tell, the first that most of them match.
SHAPES = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[a-z]{2,}", re.IGNORECASE),
    "IP addresses": re.compile(r"(\d{1,3}\.){3}\d{1,3}|[0-9a-f]{1,4}(:[0-9a-f]{0,4}){3,7}", re.IGNORECASE),
    "phone numbers": re.compile(r"(\+|00|\()[\d ()/.-]{7,20}"),
    "free text": re.compile(r"(\S+\s+){5,}\S+.*", re.DOTALL),
}
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?")


@dataclass(frozen=True)
class Column:
    """A column of the file: its role (None: it is ignored), and what its values look like, if that is personal.

    times: whether most of its values are dates, which could give an order.
    """

    name: str
    role: Role | None
    looks: str | None
    times: bool = False

    def record(self) -> dict[str, Any]:
        return asdict(self)


def overview(path: Location, columns: Mapping[str, Names] | None = None, schema: Schema | None = None) -> list[Column]:
    """The columns of a file in their order."""
    source = find(path, form=schema)
    with one_line(source.name):
        names, rows = _look(source, schema)
        roles = assign(names, schema.columns if schema else columns, source.name, closed=schema is not None)
    role_of = {n: role for role, where in roles.columns.items() for n in where}
    values = [[row[n] for row in rows if n < len(row)] for n in range(len(names))]
    return [
        Column(name, role_of.get(n), looks_like(name, values[n]), _mostly(DATE, values[n]))
        for n, name in enumerate(names)
    ]


def proposal(path: Location, columns: Mapping[str, Names] | None = None, types: Types | None = None) -> Schema:
    """The schema that a file seems to have, for its owner to confirm; a key that few people have is not in it."""
    form = sniff(path)
    source = find(path, form=form)
    with one_line(source.name):
        names, rows = _look(source, form)
        roles = assign(names, columns, source.name)
        if source.kind in ("jsonl", "json"):
            user = roles.columns["user"][0]
            names = [name for n, name in enumerate(names) if _several_people(rows, user, n)]
            roles = assign(names, columns, source.name)
        item = roles.columns["item"][0]
        lists = [isinstance(row[item], list) for row in rows if item < len(row) and row[item] is not None]
    alone = roles.unit == "session" and "session" not in roles.columns
    chosen: dict[str, Names] = {}
    for role, where in roles.columns.items():
        found = tuple(names[n] for n in where)
        chosen["session" if alone and role == "user" else role] = found if len(found) > 1 else found[0]
    taken = {n for where in roles.columns.values() for n in where}
    ignored = tuple(dict.fromkeys(name for n, name in enumerate(names) if n not in taken))
    most = form.lists or (sum(lists) > MOST * len(lists) and source.kind != "itemsets")
    written = {**form._asdict(), "lists": most}
    return Schema(chosen, types or {}, proposed=True, ignored=ignored, **written)


def _several_people(rows: list[list[Any]], user: int, column: int) -> bool:
    """Whether a column has values of several people, or of all where there are fewer."""
    people = [{str(row[user]) for row in rows if row[n] is not None} for n in (user, column)]
    return len(people[1]) >= min(FEW, len(people[0]))


def lines_break(path: Location, schema: Schema | None = None) -> bool:
    """Whether rows of a text file do not stand on lines of their own."""
    source = find(path, form=schema)
    with one_line(source.name):
        return source.kind not in NO_TEXT and has_broken_lines(source, schema)


def names_in(path: Location) -> list[str]:
    """The names of a file's columns, whatever they are taken for."""
    form = sniff(path)
    source = find(path, form=form)
    with one_line(source.name):
        return _look(source, form)[0]


def looks_like(name: str, values: Sequence[Any]) -> str | None:
    """What kind of personal data a column seems to hold, by most of its values or else by its name."""
    for kind, shape in SHAPES.items():
        if _mostly(shape, values):
            return kind
    plain = re.sub(r"[^a-z]", "", name.casefold())
    return next((kind for kind, words in NAMED.items() if plain in words), None)


def _mostly(shape: re.Pattern[str], values: Sequence[Any]) -> bool:
    """Whether most of the values that are there have this shape."""
    known = [str(v).strip() for v in values if v is not None and str(v).strip()]
    return bool(known) and sum(bool(shape.fullmatch(v)) for v in known) > MOST * len(known)


def _look(source: DataFile, schema: Schema | Form | None = None) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns, and the first rows."""
    if source.kind in ("itemsets", "lists"):
        return list(ITSELF.values()) if source.kind == "itemsets" else ["user", "items"], []
    if source.kind in TABLES:
        return look(source, SAMPLE)
    if source.kind in ("jsonl", "json"):
        return _jsonl(source)
    layout, rows = records(source, schema)
    return list(layout.names), list(islice(rows, SAMPLE))


def _object(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _jsonl(source: DataFile) -> tuple[list[str], list[list[Any]]]:
    lines = list(islice((line for line in source.lines() if line.strip()), SAMPLE))
    objects = [found for line in lines if isinstance(found := _object(line), dict)]
    if not objects and lines:
        json.loads(lines[0])  # which says what is wrong; beside others a line that is no object is not looked at
    names = list(dict.fromkeys(name for found in objects for name in found))
    return names, [[found.get(name) for name in names] for found in objects]
