"""How a file of unknown making is written: by its content, not by its name. A proposal, which its owner confirms.

Encoding, line ends, separator, header or none, lists or pairs, the shape of JSON: out of the beginning of a file and
some parts of the rest. No release with a proof depends on it but through a schema that the owner keeps.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from recveil.errors import RecveilError
from recveil.formats.layout import is_number
from recveil.formats.parts import KINDS, Location, ending_of, parts_of
from recveil.formats.roles import told_roles
from recveil.formats.sources import DataFile, opened

HEAD, PART, PARTS = 1 << 18, 1 << 14, 8  # bytes at the beginning, in each other part, and how many of those
LINES = 500
FEW = 3  # lines that are no UTF-8 before another encoding is proposed
SEPARATORS = ("\t", "::", ",", ";", "|", " ")
ENDINGS = ("parquet", "jsonl", "itemsets", "inter")  # whose names say it all
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


def sniff(source: Location) -> Form:
    """The form of a file, or of the first of several; one line where there is none to be seen."""
    path = parts_of(source)[0]
    ending = ending_of(path)
    if KINDS.get(ending) in ENDINGS:
        return Form(KINDS[ending])
    parts = _parts(opened(path, KINDS.get(ending, "csv")))
    if parts[0].startswith(b"PAR1"):
        return Form("parquet")
    if parts[0].startswith(b"\x80") and parts[0][1:2] in b"\x02\x03\x04\x05":
        raise RecveilError(f"{path}: a pickle, which runs code when it is read; write the table as parquet or csv")
    encoding = _encoding(parts)
    text = parts[0].decode(encoding or "utf-8", "replace").removeprefix("\ufeff")
    line_ends = "cr" if "\r" in text and "\n" not in text else ""
    lines = [line for line in text.splitlines() if line.strip()]
    lines = lines[: max(1, len(lines) - (len(parts[0]) == HEAD))][:LINES]  # the last one may be cut
    if not lines:
        raise RecveilError(f"{path}: the file is empty")
    if lines[0].lstrip().startswith(("{", "[")) and (shape := _json_shape(lines)):
        return Form(shape, encoding)
    return _delimited(path, lines, ending, encoding, line_ends)


def _parts(source: DataFile) -> list[bytes]:
    with source.open() as file:
        parts = [file.read(HEAD)]
        size = file.seek(0, 2)
        for n in range(1, PARTS + 1) if size > HEAD else ():
            file.seek(HEAD + (size - HEAD) * n // (PARTS + 1))
            parts.append(file.read(PART))
    return parts


def _encoding(parts: Sequence[bytes]) -> str:
    """Nothing for UTF-8; UTF-16 by its mark; else that of Windows in the west, in which any byte is a letter."""
    if parts[0].startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    odd = 0
    for part in parts:
        for line in part.split(b"\n")[1 if part is not parts[0] else 0 : -1]:  # those at the ends may be cut
            try:
                line.decode()
            except UnicodeDecodeError:
                odd += 1
    return "cp1252" if odd >= FEW else ""


def _json_shape(lines: list[str]) -> str:
    try:
        return "jsonl" if isinstance(json.loads(lines[0]), dict) else ""
    except ValueError:
        return "json" if lines[0].lstrip().startswith("[") else ""


def _delimited(path: str, lines: list[str], ending: str, encoding: str, line_ends: str) -> Form:
    separator, regular = _separator(lines, "," if ending == "csv" else "\t")
    if not separator:
        raise RecveilError(
            f"{path}: one column only, {lines[0][:40]!r}; fields are separated by , tab ; | :: or a blank"
        )
    rows = _fields(lines, separator)
    if not regular and separator in ("\t", " ") and all(len(row) > 1 for row in rows):
        return Form(
            "lists", encoding, line_ends, header=False, names=("user", "items"), separator=separator, lists=True
        )
    kind = KINDS.get(ending, "") or ("csv" if separator != "\t" else "tsv")
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    if _is_header(rows):
        return Form(kind, encoding, line_ends, separator=separator)
    return Form(kind, encoding, line_ends, False, _names([r for r in rows if len(r) == width], width), separator)


def _fields(lines: list[str], separator: str) -> list[list[str]]:
    if len(separator) > 1:
        return [line.split(separator) for line in lines]
    csv.field_size_limit(2**31 - 1)
    quoting: Any = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    return list(csv.reader(lines, delimiter=separator, quoting=quoting))


def _separator(lines: list[str], usual: str) -> tuple[str, bool]:
    """The separator that parts most lines into equally many fields, the usual one if it does; and whether it does so
    with nearly all of them.
    """
    best, score = "", (0.0, 0)
    for separator in sorted((one for one in SEPARATORS if one in lines[0]), key=lambda one: one != usual):
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
    for n in range(width):
        values = [row[n] for row in rows]
        role = "user" if n == 0 else "item" if n == 1 else _looks(values)
        names.append(role if role and role not in taken else f"column {n + 1}")
        taken.add(role)
    return tuple(names)


def _looks(values: list[str]) -> str:
    known = [value for value in values if value.strip()]
    if len(set(known)) < 2:
        return ""
    if not all(is_number(value) for value in known):
        return "tag"
    numbers = [float(value) for value in known]
    if all(YEAR_2000 / 2 <= number <= YEAR_2100 * 1000 and number.is_integer() for number in numbers):
        return "timestamp"
    return "rating" if len(set(numbers)) <= 21 and min(numbers) >= -10 and max(numbers) <= 100 else ""
