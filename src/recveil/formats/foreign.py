"""Files that hold no rows of people and items, but something that a command makes into such: one line that has it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from recveil.errors import RecveilError
from recveil.formats.roles import Roles, recognised

MAGIC = {
    b"PK\x03\x04": "a zip file; give it the ending .zip, .xlsx or .npz",
    b"\x89HDF": "an HDF5 file; write the table as parquet or csv",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file; save it as .xlsx or .csv",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"Rar!": "a rar archive; unpack it first",
    b"BZh": "bzip2 data; unpack it first: bunzip2",
    b"\xfd7zXZ": "xz data; unpack it first: unxz",
    b"<!DOCTYPE": "a page, no table; download the file itself",
    b"<html": "a page, no table; download the file itself",
    b"<?xml": "XML; write the table as csv or JSON lines",
    b"%PDF": "a PDF, which holds no table",
    b"\x89PNG": "a picture, which holds no table",
}
PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in (2, 3, 4, 5))
MOST = 0.9  # of what is looked at must have a shape
LOOKED, MOST_ODD = 10_000, 0.05  # letters, and the share of them that may be control characters
WIDEST = 60  # columns of a log that has no header
TAB = "\t"
PARTING = ",;\t|"
LABELLED = 50  # rows in which more than two people are there
CLICKED = ("-0", "-1")  # what an impression ends in: 1 was clicked
_BLOCK = re.compile(r"\d+(:|\|\d+)")  # a line above the rows of an item, or of a person
_PAIR = re.compile(r"([A-Za-z][\w/ .-]{0,40}): .*|([A-Za-z][\w/ .-]{0,40}):")
_ID = re.compile(r"[A-Za-z]{0,3}\d+(-\d+)?")  # one of several in a field, such as N55689 or N55689-1
_HIGH = re.compile(rb"[\x80-\xff]+")  # letters that are not ASCII
_LITERAL = re.compile(r"\{u?'")
_INNER = re.compile(r'"([^"]+)"\s*:\s*\[\s*\{')


def check_bytes(path: str, begin: bytes) -> None:
    """Raise where a file begins like something that is no table of ours."""
    if begin.startswith(PICKLES):
        raise RecveilError(f"{path}: a pickle, which runs code when it is read; write the table as parquet or csv")
    if wrong := next((told for magic, told in MAGIC.items() if begin.startswith(magic)), ""):
        raise RecveilError(f"{path}: {wrong}")


def check_letters(path: str, parts: Sequence[bytes]) -> None:
    """Raise where letters beyond ASCII stand side by side, as western ones seldom do; which they are, none tells."""
    lines = (line for part in parts for line in part.split(b"\n") if "\ufffd" in line.decode("utf-8", "replace"))
    runs = [run for line in lines for run in _HIGH.findall(line)]
    if sum(len(run) > 1 for run in runs) > len(runs) / 2:
        said = "text that is neither UTF-8 nor western; say which it is, such as big5, gb18030, shift_jis, cp1251"
        raise RecveilError(f"{path}: {said}: recveil inspect {quote(path)} --encoding big5")


def check_text(path: str, text: str) -> None:
    """Raise where letters are mostly none."""
    odd = sum(letter < " " and letter not in "\t\r\n" for letter in text[:LOOKED])
    if odd > MOST_ODD * len(text[:LOOKED]):
        raise RecveilError(f"{path}: bytes that are no text; write the table as parquet or csv")


def check_objects(path: str, lines: Sequence[str]) -> None:
    """Raise where objects are those of Python, or one object holds all rows."""
    first = lines[0].lstrip()
    if _LITERAL.match(first):
        turn = "import ast,json,sys; [print(json.dumps(ast.literal_eval(line))) for line in open(sys.argv[1])]"
        raise RecveilError(
            f'{path}: objects of Python, not of JSON: python3 -c "{turn}" {quote(path)} > {_rows(path, "jsonl")}'
        )
    if first.startswith("{"):
        found = _INNER.search("\n".join(lines))
        rows = f".{found[1]}[]" if found and found[1].isidentifier() else "."
        raise RecveilError(
            f"{path}: no object of JSON on each line: jq -c {quote(rows)} {quote(path)} > {_rows(path, 'jsonl')}"
        )


def check_columns(path: str, found: dict[str, Any]) -> None:
    """Raise where an object holds the columns of a table, each with all its values, and no row."""
    lengths = {len(value) if isinstance(value, list | dict) else 0 for value in found.values()}
    if len(found) > 1 and len(lengths) == 1 and max(lengths) > 1:
        turn = "keys_unsorted as $k | [.[]|[.[]]] as $v | range($v[0]|length) as $i | [$k,[$v[][$i]]] | transpose"
        turn += " | map({(.[0]): .[1]}) | add"
        raise RecveilError(
            f"{path}: columns, each with all its values; write a row for each: jq -c {quote(turn)} {quote(path)} > "
            f"{_rows(path, 'jsonl')}"
        )


def check_lines(path: str, lines: Sequence[str]) -> None:
    """Raise where rows stand below the item or the person that they are about, or take several lines."""
    first = lines[0].strip()
    if first.casefold().startswith("sep=") or (first.startswith("#") and not set(first) & set(PARTING)):
        said = f"{first[:30]!r} stands above the table; leave it out"
        raise RecveilError(f"{path}: {said}: tail -n +2 {quote(path)} > {_rows(path, 'csv')}")
    if _BLOCK.fullmatch(first) and not (len(lines) > 1 and "|" in first and "|" in lines[1]):
        rest = {":": """awk -F, '/:\\r?$/{sub(/:.*/,""); head=$0; next} {print $1","head","$2","$3}'"""}
        awk = rest.get(first[-1], """awk '/\\|/{sub(/\\|.*/,""); head=$0; next} {print head"\\t"$0}'""")
        said = f"{first!r} heads a block of rows; write it into each of them"
        raise RecveilError(f"{path}: {said}: {awk} {quote(path)} > {_rows(path, 'csv' if first[-1] == ':' else 'tsv')}")
    _check_separators(path, lines)
    keys = [found[1] or found[2] for line in lines if (found := _PAIR.fullmatch(line.strip()))]
    if len(keys) >= MOST * len(lines) and len(keys) > len(set(keys)) > 2:
        row = "dict(l.split(': ',1) for l in b.splitlines() if ': ' in l)"
        blocks = "open(sys.argv[1],errors='replace').read().split('\\n\\n')"
        turn = f"import json,sys; [print(json.dumps({row})) for b in {blocks} if b.strip()]"
        said = f"{first[:30]!r}: several lines for a row; write an object for each"
        raise RecveilError(f'{path}: {said}: python3 -c "{turn}" {quote(path)} > {_rows(path, "jsonl")}')


def _check_separators(path: str, lines: Sequence[str]) -> None:
    """Raise where some lines are parted by one sign, and the others by another."""
    head, *rest = ("".join(sign for sign in PARTING if sign in line) for line in lines)
    ((usual, many),) = Counter(rest).most_common(1) or (("", 0),)
    if len(head) == len(usual) == 1 and head != usual and many >= MOST * len(rest):
        sed = f"sed {quote(f'1s/{head}/{usual}/g')}"
        raise RecveilError(f"{path}: a first line with {head!r}, others with {usual!r}: {sed} {quote(path)} > rows.csv")
    signs = Counter([head, *rest])
    alone = sorted((many, sign) for sign, many in signs.items() if len(sign) == 1 and many >= len(lines) / 10)
    if len(alone) == 2 and sum(many for many, _ in alone) >= MOST * len(lines) > 2:
        (_, one), (_, two) = alone
        sed = f"sed {quote(f's/{one}/{two}/g')}"
        raise RecveilError(
            f"{path}: lines parted by {one!r} beside {two!r}: {sed} {quote(path)} > {_rows(path, 'csv')}"
        )


def check_lists(path: str, rows: Sequence[Sequence[str]], separator: str) -> None:
    """Raise where the first number on each line says how many items follow: it is nobody's id."""
    told = [row[0].isdecimal() and int(row[0]) == len([field for field in row[1:] if field.strip()]) for row in rows]
    if len(rows) > 2 and sum(told) >= MOST * len(rows):
        tab = "" if separator == "\t" else f" -d{quote(separator)}"
        said = "the first number on each line counts the others; leave it out"
        raise RecveilError(f"{path}: {said}: cut{tab} -f2- {quote(path)} > baskets.txt")


def check_nameless(path: str, rows: Sequence[Sequence[str]], separator: str) -> None:
    """Raise where most rows have more fields than the first line names."""
    named, wider = len(rows[0]), [row for row in rows[1:] if len(row) > len(rows[0])]
    if named > 1 and len(rows) > 2 and len(wider) > (len(rows) - 1) / 2 and len(separator) == 1:
        if separator == "," and all(len(row) == named + 1 and row[-1].strip().isdecimal() for row in wider):
            said = f"{named + 1} numbers and texts in a row of {named} columns; is a comma the decimal sign, too?"
            raise RecveilError(f"{path}: {said} Write the table with another separator, such as ; or a tab")
        said = f"{len(wider[0])} fields in a row, and the first line names {named} columns; leave the others out"
        cut = f"cut -d{quote(separator)} -f1-{named} {quote(path)}"
        raise RecveilError(f"{path}: {said}: {cut} > {_rows(path, 'tsv' if separator == TAB else 'csv')}")


def check_people(path: str, values: Sequence[Any]) -> None:
    """Raise where the column that is taken for people, as none has a name, tells only two apart, as a label does."""
    if len(values) >= LABELLED and len(set(values)) <= 2:
        said = f"no header says which column is that of people, and the first has {len(set(values))} values; name them"
        raise RecveilError(
            f"{path}: {said}, as in: recveil inspect {quote(path)} --columns 'user=column 2,item=column 3'"
        )


def check_width(path: str, width: int) -> None:
    """Raise where there is a column for each item."""
    if width > WIDEST:
        raise RecveilError(
            f"{path}: {width} columns without names, a matrix of people by items it seems; write a row for each value "
            "that is there (pandas: frame.stack().reset_index().to_csv('rows.csv', header=False, index=False))"
        )


def check_items(path: str, names: Sequence[str], rows: Sequence[Sequence[Any]], roles: Roles, separator: str) -> None:
    """Raise where a field holds several items, parted by blanks."""
    at = roles.columns["item"][0]
    texts = [row[at] for row in rows if at < len(row) and isinstance(row[at], str) and row[at].strip()]
    if separator and texts and sum(_several(text) for text in texts) > len(texts) / 2:
        kept = [where[0] for role, where in roles.columns.items() if role in ("session", "time")]
        row = ",".join([f"r[{roles.columns['user'][0]}]", "i", *(f"r[{n}]" for n in kept)])
        source = f"csv.reader(open(sys.argv[1]),delimiter={separator!r})"
        shown = all(word.endswith(CLICKED) for text in texts for word in text.split())
        row = row.replace("i", "i[:-2]") if shown else row
        every = f"for r in {source} for i in r[{at}].split()" + " if i[-1]=='1'" * shown
        python = f"import csv,sys; w=csv.writer(sys.stdout); [w.writerow([{row}]) {every}]"
        each = "a row for each that was clicked, which -1 says" if shown else "a row for each of them"
        said = f"{names[at]} holds several items in a field; write {each}"
        raise RecveilError(f'{path}: {said}: python3 -c "{python}" {quote(path)} > {_rows(path, "csv")}')


def _rows(path: str, ending: str) -> str:
    """A file to write, beside that which is read."""
    name = f"rows.{ending}"
    return name if Path(path).name != name else f"single-{name}"


def _several(text: str) -> bool:
    words = text.split()
    return len(words) > 1 and all(_ID.fullmatch(word) for word in words)


def check_nested(path: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Raise where rows hold lists of objects, each of which is about an item."""
    holds = holding(names, rows)
    if holds:
        items = names[holds[0]]
        if not path.removesuffix(".gz").endswith(("json", "jsonl")):
            raise RecveilError(f"{path}: {items} holds objects, several in a row; write a row for each of them")
        turn = f".{items}[]" if len(rows) == 1 else f".{items}[] as $i | . + $i | del(.{items})"
        said = f"{items} holds objects, several in a row; write a row for each of them"
        raise RecveilError(f"{path}: {said}: jq -c {quote(turn)} {quote(path)} > {_rows(path, 'jsonl')}")


def holding(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
    """The columns in which lists of objects stand."""
    return [n for n in range(len(names)) if any(_objects(row[n]) for row in rows[:20] if n < len(row))]


def holding_items(names: Sequence[str], rows: Sequence[Sequence[Any]], user: int) -> list[int]:
    """Those of them whose objects name an item, where each row is another person's: the row itself is then of none."""
    people = [str(row[user]) for row in rows if user < len(row)]
    if len(set(people)) < len(people):
        return []
    found = []
    for n in holding(names, rows):
        inner = [one for row in rows[:20] if n < len(row) and _objects(row[n]) for one in row[n]]
        keys = {str(key) for one in inner if isinstance(one, dict) for key in one}
        found += [n] if recognised(sorted(keys), "item") else []
    return found


def _objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)
