"""The schema of a log: columns, roles, types, scale and form, as its owner declares them before anybody reads a row.

A small TOML file, which `recveil inspect LOG --schema FILE` proposes and the owner reads, changes and keeps. A release
with a proof reads by such a declaration, by a csv's header or by a parquet's types, never by what stands in rows.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from recveil.errors import RecveilError, unknown
from recveil.formats.roles import DATE_PARTS, NAMES, TOLD, Names, assign, several
from recveil.formats.sources import FORMATS
from recveil.formats.values import AS_THEY_ARE, Values
from recveil.scales import parse_scale

SECTIONS = ("columns", "types", "file", "values")
KNOWN = {
    "": ("proposed", "kind", "scale", "catalogue_is_public"),
    "columns": (*NAMES, "ignored"),
    "types": ("user", "item", "tag"),
    "file": ("format", "encoding", "line_ends", "header", "names", "separator", "lists"),
    "values": Values._fields,
}
BY_INSPECT, BY_OWNER, BY_OPTIONS, BY_FILE = "proposed by inspect", "declared", "declared by options", "the file's own"


@dataclass(frozen=True)
class Schema:
    """`columns`: roles and the names of their columns; no other is read. `names`: all columns in their order, of a file
    without a header. `lists`: the column of items holds lists of them. `proposed`: by inspect, and not changed since.
    """

    columns: Mapping[str, Names]
    types: Mapping[str, Literal["int", "text"]] = field(default_factory=dict)
    kind: str = ""
    scale: str = ""
    catalogue_is_public: bool = False
    proposed: bool = False
    ignored: tuple[str, ...] = ()
    format: str = ""
    encoding: str = ""
    line_ends: str = ""
    header: bool = True
    names: tuple[str, ...] = ()
    separator: str = ""
    lists: bool = False
    values: Values = AS_THEY_ARE

    def __post_init__(self) -> None:
        flat = [name for names in self.columns.values() for name in several(names)]
        for role in ("item",) if "session" in self.columns else ("user", "item"):
            if role not in self.columns:
                raise RecveilError(f"[columns] has no {role}, as in {role} = {'uid' if role == 'user' else 'movie'!r}")
        if twice := next((name for name in flat if flat.count(name) > 1 or name in self.ignored), None):
            raise RecveilError(f"[columns] names {twice!r} twice")
        if len(several(self.columns.get("time", ""))) not in (1, 3, 6):
            raise RecveilError(f"[columns] time is one column, or {', '.join(DATE_PARTS)} in this order")
        if not self.header and not set(flat) <= set(self.names):
            lacking = next(name for name in flat if name not in self.names)
            raise RecveilError(f"[file] says header = false, and names, the columns in their order, lacks {lacking!r}")
        if self.header and self.names:
            raise RecveilError("[file] has names, which are for a file without a header; add header = false")
        if self.kind and self.kind != self.shown_kind:
            raise RecveilError(f"kind = {self.kind!r}, and the columns are those of {self.shown_kind}")
        for key, role in (("missing", "rating"), ("events", "event"), ("time_format", "time")):
            if getattr(self.values, key) and role not in self.columns:
                raise RecveilError(f"[values] {key} is about the {role}, and [columns] has no {role}")
        if self.scale:
            if "rating" not in self.columns:
                raise RecveilError("scale is of ratings, and [columns] has no rating")
            parse_scale(self.scale)

    @property
    def shown_kind(self) -> str:
        """What the columns make of the log."""
        if "tag" in self.columns:
            return "tags"
        return "ratings" if "rating" in self.columns else "clicks" if "user" in self.columns else "sessions"

    @property
    def levels(self) -> tuple[float, ...] | None:
        return parse_scale(self.scale) if self.scale else None

    @property
    def must_be_declared(self) -> bool:
        """Whether a release with a proof cannot do without its file: nothing but rows tells how to read it."""
        headless = not self.header and self.format != "data"
        return (
            self.format in ("jsonl", "json", "lists")
            or headless
            or bool(self.encoding or self.line_ends or any(self.values))
        )

    @property
    def is_told_by_names(self) -> bool:
        """Whether the names of the columns tell the same without a declaration."""
        declared = {role: several(names) for role, names in self.columns.items() if role not in TOLD}
        flat = [name for names in declared.values() for name in names]
        names = [*flat, *(name for name in self.ignored if name not in flat)]
        try:
            roles = assign(names, None, "")
        except RecveilError:
            return False
        told = {role: tuple(names[n] for n in where) for role, where in roles.columns.items()}
        if "user" not in declared and "session" not in told:  # sessions stand for people
            told["session"] = told.pop("user")
        return declared == told

    @property
    def origin(self) -> str:
        """What a manifest says of it."""
        return BY_INSPECT if self.proposed else BY_OWNER

    def text(self, about: str = "") -> str:
        """The file that `read_schema` reads."""
        top = {"proposed": self.proposed, "kind": self.kind or self.shown_kind, "scale": self.scale}
        top["catalogue_is_public"] = self.catalogue_is_public
        columns = {**self.columns, "ignored": self.ignored}
        form: dict[str, Any] = {"format": self.format, "encoding": self.encoding, "line_ends": self.line_ends}
        form |= {"header": self.header, "names": self.names, "separator": self.separator}
        sections: dict[str, Mapping[str, Any]] = {
            "columns": columns,
            "types": self.types,
            "file": {**form, "lists": self.lists},
        }
        sections |= {"values": self.values._asdict()} if any(self.values) else {}
        lines = [f"# {line}" for line in (about, *_ABOUT) if line] + _lines(top)
        for name, section in sections.items():
            lines += ["", f"[{name}]", *_lines(section)]
        return "\n".join(lines) + "\n"


_ABOUT = (
    "proposed = true: recveil inspect wrote this after a look at the log, and a manifest says so. Read it, change it,",
    "keep it; once it says what you know of the log anyway, write false: a proof then rests on your word alone.",
)


def _lines(section: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name, value in section.items() if value not in ("", ())]


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def as_schema(given: Any) -> Schema | None:
    """A schema given as itself, or as its file."""
    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, str | PathLike):
        return read_schema(fspath(given))
    raise RecveilError("a schema is the path of a file that `recveil inspect LOG --schema FILE` writes")


def read_schema(path: str) -> Schema:
    """The schema in a file; one line says what is wrong with it."""
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise RecveilError(
            f"{path}: there is no such schema; recveil inspect LOG --schema {quote(path)} proposes one"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as why:
        raise RecveilError(f"{path} cannot be read as a schema: {getattr(why, 'strerror', None) or why}") from None
    try:
        return parse_schema(found)
    except RecveilError as wrong:
        raise RecveilError(f"{path}: {wrong}") from None


def parse_schema(found: Mapping[str, Any]) -> Schema:
    """A schema from the sections of its file."""
    given: dict[str, Any] = {}
    for name in SECTIONS:
        section = found.get(name, {})
        if not isinstance(section, dict):
            raise RecveilError(f"{name} is a section: [{name}] with values below")
        given[name] = _known(section, name)
    top = _known({key: value for key, value in found.items() if key not in SECTIONS}, "")
    ignored = given["columns"].pop("ignored", ())
    values = Values(**given["values"])
    return Schema(given["columns"], given["types"], ignored=ignored, values=values, **top, **given["file"])


def _known(section: Mapping[str, Any], name: str) -> dict[str, Any]:
    where = f"[{name}] " if name else ""
    for key in section:
        if key not in KNOWN[name]:
            raise unknown(
                f"key {where}in a schema".replace("  ", " "), key, (*KNOWN[name], *(() if name else SECTIONS))
            )
    return {key: _fitting(f"{where}{key}", name, key, value) for key, value in section.items()}


def _fitting(where: str, section: str, key: str, value: Any) -> Any:
    """The value, of the type that belongs there."""
    if key in ("proposed", "catalogue_is_public", "header", "lists"):
        fits, wants = isinstance(value, bool), "true or false"
    elif key in ("ignored", "names", "missing", "events", "nobody"):
        fits, wants = _texts(value), "a list of texts"
    elif section == "columns" and key == "time":
        fits, wants = isinstance(value, str) or _texts(value), "the name of a column, or a list of them"
    else:
        fits, wants = isinstance(value, str), "the name of a column" if section == "columns" else "a text"
    if not fits:
        raise RecveilError(f"{where} is {wants}, not {value!r}")
    ways = {"format": FORMATS, "line_ends": ("cr",), "decimal": (",", ".")}
    choices = ("int", "text") if section == "types" else ways.get(key, ()) if section in ("file", "values") else ()
    if choices and value not in choices:
        raise unknown(where, value, choices)
    return tuple(value) if isinstance(value, list) else value


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def undeclared(name: str) -> RecveilError:
    """What a release with a proof says where nothing but rows could tell the columns."""
    wanted = f"recveil inspect {quote(name)} --schema log.toml"
    return RecveilError(
        f"{name}: a release with a proof reads no columns off rows, and this file has no header: {wanted} proposes a "
        "schema; read it, then release with --schema log.toml"
    )


def check_alone(schema: Schema | None, *options: Any) -> None:
    """Raise where options declare beside a schema what it declares itself."""
    if schema is not None and any(options):
        raise RecveilError("a schema says which columns and types there are; leave columns and types out, or change it")
