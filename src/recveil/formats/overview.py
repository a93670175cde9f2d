"""What a file's columns are taken for: the role of each, and whether it looks like personal data.

Only the first rows are looked at. It is for the owner, before anything is done: nothing that is released depends on it.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from recveil.errors import RecveilError
from recveil.formats import foreign
from recveil.formats.checking import Types
from recveil.formats.itemsets import ITSELF
from recveil.formats.json_lines import flat
from recveil.formats.parts import Location
from recveil.formats.roles import Names, Role, Roles, assign, several
from recveil.formats.schema import Schema
from recveil.formats.sniffing import Form, looks_of, sniff
from recveil.formats.sources import TABLES, DataFile, find, one_line
from recveil.formats.tables import look
from recveil.formats.text import has_broken_lines, records
from recveil.formats.values import MIXED, NOBODY, Values, date_forms, has_decimal_comma, is_mixed

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
        roles = assign(names, schema.columns if schema else columns, source.name, schema is not None, all_=True)
    role_of = {n: role for role, where in roles.columns.items() for n in where}
    values = [[row[n] for row in rows if n < len(row)] for n in range(len(names))]
    return [
        Column(name, role_of.get(n), looks_like(name, values[n], role_of.get(n)), _mostly(DATE, values[n]))
        for n, name in enumerate(names)
    ]


def proposal(
    path: Location,
    columns: Mapping[str, Names] | None = None,
    types: Types | None = None,
    declared: Mapping[str, Any] | None = None,
) -> Schema:
    """The schema that a file seems to have, for its owner to confirm; a key that few people have is not in it.

    `declared`: what she says of the file and its values herself (encoding, separator, header, decimal, ...).
    """
    declared = dict(declared or {})
    form = sniff(path, {key: declared.pop(key) for key in Form._fields if key in declared})
    if columns and form.names and not form.lists:
        form, columns = _by_number(form, columns)
    source = find(path, form=form)
    with one_line(source.name):
        names, rows = _look(source, form)
        columns = columns or _by_position(names)
        roles = _roles(names, rows, columns, source.name)
        if not columns and _is_a_day(rows, roles):
            columns = {role: names[where[0]] for role, where in roles.columns.items() if len(where) == 1}
            columns["time"] = columns.pop("tag")
            roles = _roles(names, rows, columns, source.name)
        if not (form.header or form.lists or columns):
            foreign.check_people(source.name, [row[roles.columns["user"][0]] for row in rows if row])
        if source.kind in ("jsonl", "json"):
            user = roles.columns["user"][0]
            names = [name for n, name in enumerate(names) if _several_people(rows, user, n)]
            roles = assign(names, columns, source.name, all_=True)
        user, item = (roles.columns[role][0] for role in ("user", "item"))
        foreign.check_items(source.name, names, rows, roles, "" if form.lists else form.separator)
        lists = [isinstance(row[item], list) for row in rows if item < len(row) and row[item] is not None]
    alone = roles.unit == "session" and "session" not in roles.columns
    chosen: dict[str, Names] = {}
    for role, where in roles.columns.items():
        found = tuple(names[n] for n in where)
        chosen["session" if alone and role == "user" else role] = found if len(found) > 1 else found[0]
    if source.kind in ("npz", "mtx") and "count" in chosen and not (columns or {}):
        chosen = _valued(chosen, rows)
    if "session" in chosen and "user" in chosen and _mostly_missing([row[user] for row in rows if user < len(row)]):
        del chosen["user"]  # most rows are nobody's, and sessions say more of them
    taken = {name for where in chosen.values() for name in several(where)}
    ignored = tuple(dict.fromkeys(name for name in names if name not in taken))
    most = form.lists or (sum(lists) > MOST * len(lists) and source.kind != "itemsets")
    written = {**form._asdict(), "lists": most}
    values = Values(**(_seen(rows, roles) | declared))
    return Schema(chosen, types or {}, proposed=True, ignored=ignored, values=values, **written)


def _roles(names: list[str], rows: list[list[Any]], columns: Mapping[str, Names] | None, source: str) -> Roles:
    try:
        roles = assign(names, columns, source, all_=True)
    except RecveilError:
        foreign.check_nested(source, names, rows)
        raise
    user, item = (roles.columns[role][0] for role in ("user", "item"))
    for n in (item, *foreign.holding_items(names, rows, user)) if not columns else (item,):
        foreign.check_nested(source, names[n : n + 1], [row[n : n + 1] for row in rows])
    return roles


def _by_number(form: Form, columns: Mapping[str, Names]) -> tuple[Form, Mapping[str, Names]]:
    """Columns that have no names get those of the roles that their owner gives them; "column 3" is the third."""
    numbers = [f"column {n + 1}" for n in range(len(form.names))]
    known = {name: n for names in (numbers, form.names) for n, name in enumerate(names)}
    where = {known.get(name, -1) if isinstance(name, str) else -1: role for role, name in columns.items()}
    if -1 in where or len(where) < len(columns):
        return form, columns  # which the roles will say
    kept = [name if name not in columns else number for name, number in zip(form.names, numbers, strict=True)]
    names = tuple(where.get(n, name) for n, name in enumerate(kept))
    return form._replace(names=names), {role: role for role in columns}


def _mostly_missing(values: list[Any]) -> bool:
    lost = sum(value is None or (isinstance(value, str) and value.strip() in ("", *NOBODY)) for value in values)
    return lost > MOST * len(values)


def _by_position(names: Sequence[str]) -> dict[str, Names] | None:
    """The roles of columns that a frame numbered as it was written: an index, then 0, 1, 2."""
    if len(names) < 3 or names[0] != "" or list(names[1:]) != [str(n) for n in range(len(names) - 1)]:
        return None
    return dict(zip(("user", "item", "count"), names[1:], strict=False))


def _valued(chosen: dict[str, Names], rows: list[list[Any]]) -> dict[str, Names]:
    """Of a matrix: whether its values look like ratings, or are all the same and say nothing."""
    values = [str(row[2]) for row in rows if len(row) > 2]
    rest = {role: name for role, name in chosen.items() if role != "count"}
    looks = looks_of(values)
    return rest if not looks else {**rest, looks if looks == "rating" else "count": chosen["count"]}


def _is_a_day(rows: list[list[Any]], roles: Roles) -> bool:
    """Whether what is called Tag is the German word for a day: most values are dates, and no other column has them."""
    values = _voices(rows, roles)("tag")
    return "time" not in roles.columns and (bool(date_forms(values)) or _mostly(DATE, values))


def _voices(rows: list[list[Any]], roles: Roles) -> Callable[[Role], list[str]]:
    """The values of a role by one row of each person: nobody has more than one voice."""
    user = roles.columns["user"][0]
    voices = {row[user]: row for row in reversed(rows) if user < len(row) and isinstance(row[user], str | int)}

    def texts(role: Role) -> list[str]:
        where = roles.columns.get(role, [])
        found = [row[where[0]] for row in voices.values() if len(where) == 1 and where[0] < len(row)]
        return [str(value) for value in found if isinstance(value, str | int)]

    return texts


def _seen(rows: list[list[Any]], roles: Roles) -> dict[str, Any]:
    """How values seem to be written."""
    texts = _voices(rows, roles)
    seen: dict[str, Any] = {}
    if has_decimal_comma(texts("rating")) or has_decimal_comma(texts("count")):
        seen["decimal"] = ","
    if forms := date_forms(texts("time")):
        seen["time_format"] = forms[0]
    elif is_mixed(texts("time")):
        seen["time_format"] = MIXED
    return seen


def _several_people(rows: list[list[Any]], user: int, column: int) -> bool:
    """Whether a column has values of several people, or of all where there are fewer."""
    people = [{str(row[user]) for row in rows if row[n] is not None} for n in (user, column)]
    return len(people[1]) >= min(FEW, len(people[0]))


def lines_break(path: Location, schema: Schema | None = None) -> bool:
    """Whether rows of a text file do not stand on lines of their own."""
    source = find(path, form=schema)
    with one_line(source.name):
        return source.kind not in NO_TEXT and has_broken_lines(source, schema)


def shown_rows(
    path: Location, schema: Schema | Form | None, many: int = 5, hide: bool = True
) -> list[list[str]]:  # fmt: skip
    """The first rows as they are read; what looks personal is hidden."""
    source = find(path, form=schema)
    with one_line(source.name):
        names, rows = _look(source, schema)
        if not rows and source.kind == "lists":
            rows = [line.split(None, 1) for line in islice((t for t in source.lines() if t.strip()), many)]
    looks = (looks_like(name, [row[n] for row in rows if n < len(row)]) for n, name in enumerate(names))
    hidden = {n for n, looked in enumerate(looks) if looked} if hide else set()
    return [["(hidden)" if n in hidden else _short(value) for n, value in enumerate(row)] for row in rows[:many]]


def _short(value: Any) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in str("" if value is None else value))
    return text if len(text) <= 24 else text[:23] + "…"


def names_in(path: Location, schema: Schema | None = None) -> list[str]:
    """The names of a file's columns, whatever they are taken for."""
    form = schema or sniff(path)
    source = find(path, form=form)
    with one_line(source.name):
        return _look(source, form)[0]


def looks_like(name: str, values: Sequence[Any], role: Role | None = None) -> str | None:
    """What kind of personal data a column seems to hold, by most of its values or else by its name; times are none."""
    if role == "time":
        return None
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
        return list(ITSELF.values()) if source.kind == "itemsets" else list(getattr(schema, "names", ())), []
    if source.kind in TABLES:
        return look(source, SAMPLE)
    if source.kind in ("jsonl", "json"):
        return _jsonl(source)
    layout, rows = records(source, schema)
    first: list[list[Any]] = []
    with suppress(csv.Error):  # a quote that nobody closes: reading says which line
        first.extend(islice(rows, SAMPLE))
    return list(layout.names), first


def _object(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _jsonl(source: DataFile) -> tuple[list[str], list[list[Any]]]:
    lines = list(islice((line for line in source.lines() if line.strip()), SAMPLE))
    objects = [flat(found) for line in lines if isinstance(found := _object(line), dict)]
    if not objects and lines:
        json.loads(lines[0])  # which says what is wrong; beside others a line that is no object is not looked at
    names = list(dict.fromkeys(name for found in objects for name in found))
    return names, [[found.get(name) for name in names] for found in objects]
