"""Which column plays which role: by the caller's mapping, otherwise by the obvious names."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Literal
from unicodedata import combining, normalize

from recveil.errors import RecveilError, unknown

Role = Literal["user", "item", "rating", "time", "tag", "session", "count", "event"]
Names = str | tuple[str, ...]  # of a column, or of the columns of a date in parts


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Lower case, without "_", "-", ".", "/", ":" and blanks; the earlier name wins where a table has several.
NAMES: dict[Role, tuple[str, ...]] = {
    "user": _words(
        "user userid uid customer customerid visitor visitorid reviewerid member memberid username clientid "
        "client buyerid accountid personid person householdid householdkey household fullvisitorid msno userhash "
        "useridx userpseudoid reviewer profileid playerid studentid learnerid raterid authorid cookieid deviceid "
        "shopperid customeruniqueid profilename reviewprofilename "
        "kunde kundennr kundenid kundennummer nutzer nutzerid benutzer benutzerid usuario "
        "idusuario usuarioid cliente idcliente clienteid utilisateur idutilisateur utilisateurid acheteur "
        "idclient email emailaddress customeremail session sessionid"
    ),
    "item": _words(
        "item itemid resource resourceid movie movieid film filmid artist artistid book bookid bookmark "
        "bookmarkid isbn product productid sku asin track trackid song songid article articleid clicks items "
        "anime animeid business businessid gametitle game gameid parentasin itemdescription venueid locationid "
        "stockcode newsid videoid courseid recipeid jokeid hotelid placeid poiid gmapid beerid beerbeerid "
        "contentid appid appname workid listingid restaurantid gamename productname itemname movietitle booktitle "
        "lineitemsku lineitemname materialnr campaign campaignid aid targetid objectid adgroupid adid offerid "
        "trackuri url pageurl reference "
        "artikel artikelnr artikelid artikelnummer produkt produktid producto idproducto productoid articulo "
        "produit idproduit produitid"
    ),
    "rating": _words(
        "rating stars score bookrating overall reviewscore reviewoverall ratings userrating ratingvalue bewertung "
        "sterne calificacion puntuacion valoracion notation"
    ),
    "time": _words(
        "time timestamp ts datetime timems date unixreviewtime reviewtime eventtime createdat eventtimestamp "
        "timestampms playedat listenedat watchedat orderdate invoicedate transactiondate purchasedate reviewdate "
        "ratingdate submittedat unixtime utctime localtime datum zeit zeitstempel fecha fechahora heure horodatage "
        "dateheure tdat transactiondt dateadded paidat auftragsdatum bestelldatum rechnungsdatum buchungsdatum "
        "kaufdatum zeitpunkt fechapedido datecommande eventdate order"
    ),
    "tag": ("tag", "label", "tagid"),
    # of a user; where there is no column of users, sessions stand for them
    "session": _words(
        "session sessionid visitid basketid basket orderid transactionnumber invoiceno invoice "
        "cartid receiptid usersession auftragsnummer auftragsnr bestellnummer "
        "bestellnr bestellid pedido idpedido commande idcommande"
    ),
    "count": _words(
        "count plays playcount quantity qty listens weight minutes hours hoursplayed playtime playtimeforever "
        "frequency value views lineitemquantity anzahl menge cantidad quantite"
    ),
    "event": _words(
        "event eventtype behavior behaviour behaviortype action actiontype interaction interactiontype eventname "
        "ereignis aktion evento evenement"
    ),
}
TOLD: tuple[Role, ...] = ("count", "event")  # that no reader looks for, but inspect; a schema may name them
THINGS = frozenset(_words("item product article movie film book song track artist title video url page name code"))
KEYS = frozenset(_words("id uri url code key sku nr no"))  # that the last word of a column of ids is
DATE_PARTS = ("year", "month", "day", "hour", "minute", "second")  # HetRec: day month year, or date_day date_month ...


@dataclass(frozen=True)
class Roles:
    """Positions of the columns of each role. `time` may be the parts of a date, in the order of DATE_PARTS."""

    columns: dict[Role, list[int]]
    unit: Literal["user", "session"]


def parse_columns(text: str) -> dict[str, str]:
    """The mapping written as "user=uid,item=movie,rating=stars"; a name with a comma as 'user=uid,"item=a, b"'."""
    mapping: dict[str, str] = {}
    for part in next(csv.reader(text.splitlines()), []) or [""]:
        role, equals, column = (piece.strip() for piece in part.partition("="))
        if not (role and equals and column):
            raise RecveilError(f"columns: {part.strip()!r} is not role=column, as in user=uid,item=movie")
        if role in mapping:
            raise RecveilError(f"columns: {role} is mapped twice, to {mapping[role]!r} and to {column!r}")
        mapping[role] = column
    _check(mapping)
    return mapping


def parse_types(text: str) -> dict[str, Literal["int", "text"]]:
    """The types of ids written as "item=int,user=text"."""
    types: dict[str, Literal["int", "text"]] = {}
    for part in text.split(","):
        role, _, kind = (piece.strip() for piece in part.partition("="))
        if role not in ("user", "item", "tag") or role in types:
            raise RecveilError(f"types: {part.strip()!r} is not role=type of user, item or tag, as in item=int")
        if kind not in ("int", "text"):
            raise unknown("type of ids", kind, ("int", "text"))
        types[role] = "int" if kind == "int" else "text"
    return types


def assign(
    names: Sequence[str], mapping: Mapping[str, Names] | None, source: str, closed: bool = False, all_: bool = False
) -> Roles:
    """The roles of a table's columns; an error names `source`. `closed`: no column but those of the mapping has one.

    `all_`: counts and events are looked for, too.
    """
    mapping = mapping or {}
    _check(mapping)
    columns: dict[Role, list[int]] = {}
    for role in NAMES:
        if role in mapping:
            columns[role] = [_mapped(names, role, name, source) for name in several(mapping[role])]
    taken = {position for positions in columns.values() for position in positions}
    free = {n: _plain(name) for n, name in enumerate(names) if n not in taken and not closed}
    for role in NAMES:
        if role in columns or (role in TOLD and not all_):
            continue
        if (position := _recognised(names, free, role, source)) is not None:
            columns[role] = [position]
            del free[position]
    if "time" not in columns and (parts := _date_parts(free)):
        columns["time"] = parts
    for role in ("user", "item", "time"):
        if role not in columns and not closed and (role != "user" or "session" not in columns):
            columns |= _ending(names, free, role)
    alone = "user" not in columns and "session" in columns
    if alone:
        columns["user"] = columns.pop("session")
    for role in ("user", "item"):
        if role not in columns:
            raise RecveilError(
                f"{source}: no column for {role} {_among(names)}; name it, as in: {_suggested(names, columns, source)}"
            )
    alone = alone or _plain(names[columns["user"][0]]).startswith("session")
    return Roles(columns, "session" if alone else "user")


def told_roles(names: Sequence[str]) -> list[Role]:
    """The roles that names tell by themselves."""
    plain = {_plain(name) for name in names}
    return [role for role, known in NAMES.items() if plain & set(known)]


def several(names: Names) -> tuple[str, ...]:
    """The names of one column, or of the parts of a date."""
    return (names,) if isinstance(names, str) else names


def _check(mapping: Mapping[str, Names]) -> None:
    used: dict[Names, str] = {}
    for role, column in mapping.items():
        if role not in NAMES:
            raise unknown("role of a column", role, NAMES)
        if column in used:
            raise RecveilError(f"columns: {column!r} is mapped twice, as {used[column]} and as {role}")
        used[column] = role


def _mapped(names: Sequence[str], role: str, column: str, source: str) -> int:
    found = [n for n, name in enumerate(names) if name == column]
    found = found or [n for n, name in enumerate(names) if name.casefold() == column.casefold()]
    if len(found) != 1:
        fault = "no column" if not found else f"{len(found)} columns named"
        raise RecveilError(f"{source}: {fault} {column!r} for {role} {_among(names)}")
    return found[0]


def recognised(names: Sequence[str], role: Role) -> str | None:
    """The column that has an obvious name for a role."""
    plain = [_plain(name) for name in names]
    return next((names[plain.index(known)] for known in NAMES[role] if known in plain), None)


def _recognised(names: Sequence[str], free: Mapping[int, str], role: Role, source: str) -> int | None:
    for known in NAMES[role]:
        found = [n for n, name in free.items() if name == known]
        if len(found) > 1:
            both = " and ".join(repr(names[n]) for n in found)
            remedy = f"name one as in {role}=COLUMN" if len({names[n] for n in found}) > 1 else "rename one of them"
            raise RecveilError(f"{source}: columns {both} both look like {role}; {remedy}")
        if found:
            return found[0]
    return None


def _ending(names: Sequence[str], free: dict[int, str], role: Role) -> dict[Role, list[int]]:
    """The one column whose last words are an obvious name, as in click_article_id; nothing where there are several."""
    known = set(NAMES[role]) - {"date", "time", "order"}  # release_date is of no row, and trans_time begins each day
    found = [n for n in free if any(end in known for end in _ends(names[n]))]
    if len(found) != 1:
        return {}
    del free[found[0]]
    return {role: found}


def _ends(name: str) -> list[str]:
    words = _parted(name)
    return ["".join(words[n:]) for n in range(1, len(words))]


def _parted(name: str) -> list[str]:
    """The words of a name, in click_article_id and clickArticleId alike."""
    return re.findall(r"[a-zà-ÿ]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())


def _is_thing(name: str) -> bool:
    return not THINGS.isdisjoint(_parted(name)) and _parted(name)[0] not in ("num", "n", "count", "number")


def _is_key(name: str) -> bool:
    words = _parted(name)
    return bool(words) and (words[-1] in KEYS or words[-1].endswith("id"))


def _suggested(names: Sequence[str], columns: Mapping[Role, list[int]], source: str) -> str:
    """A whole command line that names the columns of user and item: those known, and of the others the likeliest."""
    taken = {n for where in columns.values() for n in where}
    free = [name for n, name in enumerate(names) if n not in taken and name and name.isprintable() and len(name) <= 80]
    known = {role: names[where[0]] for role, where in columns.items() if names[where[0]].isprintable()}
    free = free if "user" in known else free[1:] + free[:1]  # people mostly come first
    if "item" not in known:
        known["item"] = min(free, key=lambda name: (not _is_thing(name), not _is_key(name)), default="COLUMN")
    if "user" not in known:
        others = [name for name in free[-1:] + free[:-1] if name != known["item"]]
        known["user"] = min(others, key=lambda name: (_is_thing(name), not _is_key(name)), default="COLUMN")
    wanted = f"user={known['user']},item={known['item']}"
    return f"recveil inspect {quote(source)} --columns {quote(wanted)}"


def _date_parts(free: Mapping[int, str]) -> list[int]:
    where = {name.removeprefix("date"): n for n, name in free.items()}
    wanted = DATE_PARTS if where.keys() >= set(DATE_PARTS) else DATE_PARTS[:3]
    return [where[part] for part in wanted] if where.keys() >= set(wanted) else []


def _among(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name[:40])[1:-1] for name in names[:12])
    return f"among: {listed}{', ...' if len(names) > 12 else ''}"


def _plain(name: str) -> str:
    plain = name.strip().casefold().translate(str.maketrans("", "", "_-. /:"))
    return plain if plain.isascii() else "".join(c for c in normalize("NFKD", plain) if not combining(c))
