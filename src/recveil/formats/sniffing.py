"""How a file of unknown making is written: by its content, not by its name. A proposal, which its owner confirms.

Encoding, line ends, separator, header or none, lists or pairs, the shape of JSON: out of the beginning of a file and
some parts of the rest. No release with a proof depends on it but through a schema that the owner keeps.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from recveil.errors import RecveilError
from recveil.formats import foreign
from recveil.formats.archives import member_of, shown
from recveil.formats.layout import is_number
from recveil.formats.parts import KINDS, Location, ending_of, parts_of
from recveil.formats.roles import told_roles
from recveil.formats.sources import TABLES, DataFile, kind_of, opened
from recveil.formats.values import date_forms

HEAD, PART, PARTS = 1 << 18, 1 << 14, 8  # bytes at the beginning, in each other part, and how many of those
LINES = 500
FEW = 3  # lines that are no UTF-8 before another encoding is proposed
SEPARATORS = ("\t", "::", ",", ";", "|", " ")
ENDINGS = (*TABLES, "jsonl", "itemsets", "inter")  # whose names say it all
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow", b"SQLite format 3": "sqlite", b"%%Matrix": "mtx"}
FEWEST = 10  # of a count: numbers that begin higher are names of something
MANY = 0.9  # of the values of a column that number rows or moments differ
EMPTY = 0.05  # of the items that may have no id
FIRST = 20  # lines in which a separator must occur
SEEN = 200  # dates that are looked at
_OF_SHOPS = "view pv detailview click cart addtocart add removefromcart remove purchase buy transaction order wishlist"
_OF_MEDIA = "play listen skip like dislike share follow watch impression fav favorite save rate download install search"
EVENTS = frozenset([*_OF_SHOPS.split(), *_OF_MEDIA.split()])
YEAR_2000, YEAR_2100 = 946_684_800, 4_102_444_800


class Form(NamedTuple):
    """What the section [file] of a schema says."""

    format: str
    encoding: str = ""
    line_ends: str = ""
    header: bool = True
    names: tuple[str, ...] = ()
    separator: str = ""
    lists: bool = False


def sniff(source: Location, declared: Mapping[str, Any] | None = None) -> Form:
    """The form of a file, or of the first of several; one line where there is none to be seen.

    `declared`: what its owner says of the form herself, which is not looked for.
    """
    declared = declared or {}
    found = _sniffed(source, declared)
    if declared.get("header") and found.names:
        found = found._replace(names=())
    return found._replace(**declared)


def _sniffed(source: Location, declared: Mapping[str, Any]) -> Form:
    path = parts_of(source)[0]
    kind = kind_of(path)
    if kind in ENDINGS:
        return Form(kind)
    ending = ending_of(member_of(path))
    parts = _parts(opened(path, kind or "csv"))
    if parts[0][8:12] == b"DUCK":
        return Form("duckdb")
    if found := next((told for magic, told in MAGIC.items() if parts[0].startswith(magic)), ""):
        return Form(found)
    foreign.check_bytes(shown(path), parts[0])
    encoding = declared.get("encoding") or _encoding(parts)
    try:
        text = parts[0].decode(encoding or "utf-8", "replace").removeprefix("\ufeff")
    except LookupError:
        raise RecveilError(f"{shown(path)}: unknown encoding {encoding!r}, such as cp1252 or utf-16") from None
    foreign.check_text(shown(path), text)
    if encoding == "cp1252" and not declared.get("encoding"):
        foreign.check_letters(shown(path), parts)
    line_ends = "cr" if "\r" in text and "\n" not in text else ""
    lines = [line for line in text.splitlines() if line.strip()]
    lines = lines[: max(1, len(lines) - (len(parts[0]) == HEAD))][:LINES]  # the last one may be cut
    if not lines:
        raise RecveilError(f"{path}: the file is empty")
    if lines[0].lstrip().startswith(("{", "[")):
        if shape := _json_shape(shown(path), lines):
            return Form(shape, encoding)
        foreign.check_objects(shown(path), lines)
    return _delimited(shown(path), lines, ending, Form("", encoding, line_ends), declared)


def _parts(source: DataFile) -> list[bytes]:
    with source.open() as file:
        parts = [file.read(HEAD)]
        size = file.seek(0, 2)
        for n in range(1, PARTS + 1) if size > HEAD else ():
            file.seek(HEAD + (size - HEAD) * n // (PARTS + 1))
            parts.append(file.read(PART))
    return parts


def _encoding(parts: Sequence[bytes]) -> str:
    """Nothing for UTF-8; UTF-16 by its mark; else that of Windows in the west, in which any byte is a letter: where
    most lines that are more than ASCII are no UTF-8, since a few of somebody's must not change how all are read.
    """
    if parts[0].startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if parts[0][:LINES].count(0) > len(parts[0][:LINES]) / 3:  # every other byte, of Latin letters
        return "utf-16-be" if parts[0][:1] == b"\0" else "utf-16-le"
    sound, odd = 0, 0
    for part in parts:
        for line in part.split(b"\n")[1 if part is not parts[0] else 0 : -1]:  # those at the ends may be cut
            try:
                line.decode()
                sound += not line.isascii()
            except UnicodeDecodeError:
                odd += 1
    return "cp1252" if odd >= max(FEW, sound) or _odd_header(parts[0].partition(b"\n")[0]) else ""


def _odd_header(line: bytes) -> bool:
    """Whether the first line, which names columns, as no digit stands in it, is no UTF-8."""
    return not any(48 <= byte <= 57 for byte in line) and "\ufffd" in line.decode("utf-8", "replace")


def _json_shape(path: str, lines: list[str]) -> str:
    try:
        found = json.loads(lines[0])
    except RecursionError:
        return ""
    except ValueError:
        return "json" if lines[0].lstrip().startswith("[") else ""
    if isinstance(found, dict) and len(lines) == 1:
        foreign.check_columns(path, found)
    return "jsonl" if isinstance(found, dict) else ""


def _delimited(path: str, lines: list[str], ending: str, form: Form, declared: Mapping[str, Any]) -> Form:
    foreign.check_lines(path, lines)
    wanted = declared.get("separator")
    separator, regular = (wanted, True) if wanted else _separator(lines, "," if ending == "csv" else "\t")
    if not separator:
        raise RecveilError(
            f"{path}: one column only, {lines[0][:40]!r}; fields are separated by , tab ; | :: or a blank"
        )
    rows = _fields(lines, separator)
    if not regular and not told_roles(rows[0]):
        owned = separator in ("\t", " ") and len({row[0] for row in rows}) == len(rows)  # else baskets, a line each
        foreign.check_lists(path, rows, separator)
        names = ("user" if owned else "session", "items")
        return form._replace(format="lists", header=False, names=names, separator=separator, lists=True)
    kind = KINDS.get(ending, "") if ending not in ("json", "db") else ""
    kind = kind or ("csv" if separator != "\t" else "tsv")
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    if declared.get("header", _is_header(rows)):
        foreign.check_nameless(path, rows, separator)
        return form._replace(format=kind, separator=separator)
    foreign.check_width(path, width)
    columns = _names([r for r in rows if len(r) == width], width)
    return form._replace(format=kind, header=False, names=columns, separator=separator)


def _fields(lines: list[str], separator: str) -> list[list[str]]:
    if len(separator) > 1:
        return [line.split(separator) for line in lines]
    csv.field_size_limit(2**31 - 1)
    plain = separator == "\t" and not lines[0].startswith('"')
    quoting: Any = csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL
    return list(csv.reader(lines, delimiter=separator, quoting=quoting))


def _separator(lines: list[str], usual: str) -> tuple[str, bool]:
    """The separator that parts most lines into equally many fields, the usual one if it does; and whether it does so
    with nearly all of them.
    """
    best, regular = _best([one for one in SEPARATORS if one in lines[0]], lines, usual)
    if regular:
        return best, True
    return _best([one for one in SEPARATORS if one in "".join(lines[:FIRST])], lines, usual)


def _best(separators: list[str], lines: list[str], usual: str) -> tuple[str, bool]:
    best, score = "", (0.0, 0)
    for separator in sorted(separators, key=lambda one: one != usual):
        counts = Counter(len(row) - 1 for row in _fields(lines, separator))
        number, many = max(counts.items(), key=lambda pair: (pair[0] > 0, pair[1]))
        found = (round(many / len(lines), 2) if number else 0.0, number)
        if found[0] > score[0] + 0.05 or (not best and found[0]):
            best, score = separator, found
    return best, score[0] >= 0.9


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first line names columns: no number stands in it, and it tells a role or stands over numbers."""
    first, rest = rows[0], rows[1:]
    if any(is_number(field) for field in first):
        return bool(rest) and first[0] == "" and first[1:] == [str(n) for n in range(len(first) - 1)]
    over = any(len(row) > n and is_number(row[n]) for row in rest[:50] for n in range(len(first)))
    return over or bool(told_roles(first))


def _names(rows: list[list[str]], width: int) -> tuple[str, ...]:
    """Names for columns that have none: user, item, and what the values of the others look like."""
    names, taken = [], set()
    columns = [[row[n] for row in rows] for n in range(width)]
    user = next((n for n in range(width - 1) if not _stands_before(columns, n)), 0)
    item = next((n for n in range(user + 1, width) if _could_be_items(columns[n])), user + 1)
    for n, values in enumerate(columns):
        role = "user" if n == user else "item" if n == item else looks_of(values)
        role = "" if role == "tag" and not _says_something(values, columns[user], columns[item]) else role
        role = "count" if role == "rating" and "event" in taken else role
        names.append(role if role and role not in taken else f"column {n + 1}")
        taken.add(role)
    return tuple(names)


def _stands_before(columns: list[list[str]], n: int) -> bool:
    """Whether a column before that of people is one of moments, or numbers the rows."""
    values = columns[n]
    alone = len(set(values)) > MANY * len(values)
    if len(columns) - n < 3 or not (alone or not is_number(values[0])):
        return False
    if looks_of(values) == "timestamp":
        return True
    numbered = all(value.isdecimal() for value in values)
    in_turn = numbered and all(int(two) == int(one) + 1 for one, two in pairwise(values))
    return in_turn and len(values) > 1 and not is_number(columns[n + 1][0])


def _says_something(values: list[str], users: list[str], items: list[str]) -> bool:
    """Whether texts are what people say of items: words that follow from neither, and no item from them."""
    kinds = set(values)
    words = sum(sum(letter.isalpha() for letter in value) > 1 for value in kinds)
    follows = _follows_from(items, values) or _follows_from(users, values) or _follows_from(values, items)
    return words > len(kinds) / 2 and not follows


def _could_be_items(values: list[str]) -> bool:
    """Nearly all are there, and they are neither dates in words nor numbers with fractions, such as places on a map."""
    empty = sum(not value.strip() for value in values)
    if sum(is_number(value) and not float(value).is_integer() for value in values) > len(values) / 2:
        return False
    dates = not all(is_number(value) for value in values if value.strip()) and looks_of(values) == "timestamp"
    return empty <= EMPTY * len(values) and not dates


def _follows_from(items: list[str], values: list[str]) -> bool:
    """Whether nearly every item that is there again has one value: what it is, then, not what somebody said of it."""
    told: dict[str, set[str]] = {}
    for item, value in zip(items, values, strict=True):
        told.setdefault(item, set()).add(value)
    often = [item for item, many in Counter(items).items() if many > 1]
    return bool(often) and sum(len(told[item]) > 1 for item in often) <= EMPTY * len(often)


def looks_of(values: list[str]) -> str:
    """What a column without a name seems to hold beside people and items; nothing where all of it is the same."""
    known = [value for value in values if value.strip()]
    if len(set(known)) < 2 or len(known) < len(values) * (1 - EMPTY):
        return ""
    if not all(is_number(value) for value in known):
        if date_forms(known[:SEEN]) or (known[0][:4].isdecimal() and known[0][4:5] == "-"):
            return "timestamp"
        return "event" if {_plain(value) for value in known} <= EVENTS else "tag"
    numbers = [float(value) for value in known]
    if all(YEAR_2000 / 2 <= number <= YEAR_2100 * 1000 and number.is_integer() for number in numbers):
        return "timestamp"
    whole = all(number.is_integer() and number >= 1 for number in numbers)
    often, many = Counter(numbers).most_common(1)[0]
    if whole and often == 1 and (max(numbers) > 10 or many > len(numbers) / 2):
        return "count"  # few have much of something; ratings are not mostly the lowest
    if len(set(numbers)) <= 21 and min(numbers) >= -10 and max(numbers) <= 100:
        return "rating"
    return "count" if 0 <= min(numbers) <= FEWEST else ""


def _plain(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalpha())
