"""Exports of shops and well-known logs as they lie about: each is read by its content, or one line says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import split
from typing import Any

import pytest

from recveil.errors import RecveilError
from recveil.formats import read
from recveil.formats.overview import proposal
from recveil.formats.schema import read_schema

Run = Callable[..., Any]
PAIRS = [(user, (user * 7 + n * n) % 30, n) for user in range(60) for n in range(9)]


def lines(form: str, head: str = "") -> str:
    def values() -> Iterator[str]:
        for user, item, n in PAIRS:
            more = {"mbid": "" if item % 9 == 3 else f"mb-{item}", "event": ("pv", "cart", "buy")[n % 3]}
            more["weekday"] = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")[n % 7]  # of April 2012
            yield form.format(
                user=user, item=item, n=n, day=n + 1, group=item // 5, plays=1 + (n > 5) * 20 + n % 2, **more
            )

    return head + "\n".join(values()) + "\n"


MESSY = {
    "Shopify": (
        "orders_export_1.csv",
        lines(
            "#{n},eva{user}@mail.example,2021-03-0{day} 10:00:00 +0100,1,Shirt {item},SKU-{item}",
            "Name,Email,Created at,Lineitem quantity,Lineitem name,Lineitem sku\n",
        ),
        {"user": "Email", "item": "Lineitem sku", "time": "Created at", "count": "Lineitem quantity"},
    ),
    "German ERP": (
        "Auftragspositionen.csv",
        lines(
            "{n};0{day}.03.2021;{user};A-{item};Schraube, verzinkt;{day},50",
            "Auftragsnr.;Auftragsdatum;Kundennr.;Artikelnr.;Bezeichnung;Menge\n",
        ),
        {
            "user": "Kundennr.",
            "item": "Artikelnr.",
            "time": "Auftragsdatum",
            "session": "Auftragsnr.",
            "count": "Menge",
        },
    ),
    "Last.fm 360K": (
        "plays.tsv",
        lines('sha{user}\t{mbid}\tdie "Ae {item}\t{plays}'),
        {"user": "user", "item": "item", "count": "count"},
    ),
    "Last.fm 1K": (
        "listens.tsv",
        lines("user_{user}\t2009-05-0{day}T23:08:57Z\ta-{item}\tDeep Dish {item}"),
        {"user": "user", "item": "item", "time": "timestamp"},
    ),
    "yoochoose": (
        "clicks.dat",
        lines("{user},2014-04-0{day}T10:51:09.277Z,2145365{item},0"),
        {"user": "user", "item": "item", "time": "timestamp"},
    ),
    "Taobao": (
        "UserBehavior.csv",
        lines("{user},22683{item},252037{group},{event},151154407{n}"),
        {"user": "user", "item": "item", "event": "event", "time": "timestamp"},
    ),
    "Kaggle's shop": (
        "2019-Oct.csv",
        lines("2019-10-0{day} 00:00:00 UTC,view,{item},{user}", "event_time,event_type,product_id,user_id\n"),
        {"user": "user_id", "item": "product_id", "time": "event_time", "event": "event_type"},
    ),
    "Foursquare": (
        "dataset_TSMC2014.txt",
        lines("{user}\tv{item}\tc{group}\tCafe {group}\t35.{item}\t{weekday} Apr 0{day} 18:00:06 +0000 2012"),
        {"user": "user", "item": "item", "time": "timestamp"},
    ),
    "retailrocket": (
        "events.csv",
        lines("143322177267{n},{user},view,{item},", "timestamp,visitorid,event,itemid,transactionid\n"),
        {"user": "visitorid", "item": "itemid", "time": "timestamp", "event": "event"},
    ),
    "quoted, tabs, UTF-16": (
        "export.csv",
        lines('"{user}"\t"P{item}"\t"0{day}.03.2021 10:00"', '"Benutzer-ID"\t"Produkt-ID"\t"Zeitpunkt"\n'),
        {"user": "Benutzer-ID", "item": "Produkt-ID", "time": "Zeitpunkt"},
    ),
    "French, cp1252 in the header alone": (
        "commandes.csv",
        lines("{n};0{day}/03/2021;{user};P{item};{plays}", "N° commande;Date;Client;Réf. produit;Quantité\n"),
        {"user": "Client", "item": "Réf. produit", "time": "Date", "count": "Quantité"},
    ),
    "moments first": (
        "delicious.tsv",
        lines("2009-05-0{day}T23:08:57Z\tu{user}\thttp://x.example/{item}\t{event}ing"),
        {"user": "user", "item": "item", "time": "timestamp", "tag": "tag"},
    ),
    "columns of others' words": (
        "clicks_hour_001.csv",
        lines("{user},{n},{item},15068{n}", "user_id,session_size,click_article_id,click_timestamp\n"),
        {"user": "user_id", "item": "click_article_id", "time": "click_timestamp"},
    ),
    "Gowalla": (
        "totalCheckins.txt",
        lines("{user}\t2010-10-1{day}T23:55:27Z\t30.23{item}\t-97.79{item}\t22{item}"),
        {"user": "user", "item": "item", "time": "timestamp"},
    ),
    "a day, and milliseconds": (
        "log_random.csv",
        lines("{user},{item},2022042{day},165055{n}000", "user_id,video_id,date,time_ms\n"),
        {"user": "user_id", "item": "video_id", "time": "time_ms"},
    ),
    "a table of psql": (
        "checkins.dat",
        lines(
            " {n:5} | {user:7} | {item:8} | 2012-04-0{day} ",
            " id | user_id | venue_id | created_at \n---+---+---+---\n",
        ),
        {"user": "user_id", "item": "venue_id", "time": "created_at"},
    ),
}


@pytest.mark.parametrize("shape", MESSY)
def test_its_columns_are_told_by_what_stands_in_it(shape: str, tmp_path: Path) -> None:
    name, text, columns = MESSY[shape]
    (tmp_path / name).write_text(text, encoding=next((e for e in ("cp1252", "UTF-16") if e in shape), "utf-8"))
    found = proposal(tmp_path / name)
    assert found.columns == columns
    for broken in ("refuse", "drop"):
        data = read(tmp_path / name, schema=found, duplicates="all", broken=broken)  # type: ignore[arg-type]
        assert (len(data), data.n_users, data.n_items) == (len(PAIRS), 60, 30)
        assert (data.time is not None) == ("time" in columns)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "combined_data_1.txt",
            "1:\n7,3,2005-09-06\n8,5,2005-05-13\n2:\n7,1,2005-09-06\n",
            "heads a block of rows.*awk",
        ),
        ("jester.csv", "\n".join(",".join(["30", *["99"] * 100]) for _ in range(9)), "101 columns.* matrix.*stack"),
        (
            "bq.json",
            "\n".join(json.dumps({"user_pseudo_id": str(n), "items": [{"item_id": "a"}]}) for n in range(9)),
            "items holds objects.* jq -c",
        ),
        ("users.json", "{'user_id': '1', 'items': [{'item_id': '10'}]}\n" * 9, "objects of Python.*ast.literal_eval"),
        ("mpd.json", '{"info": 1,\n "playlists": [{"pid": 0}]}', r"jq -c '.playlists\[\]'"),
        ("rows.jsonl", '{"session": 1, "events": [{"aid": 2}]}\n' * 9, r"jq -c '.events.* > single-rows"),
        ("beer.txt", "beer/name: A\nbeer/beerId: 4\nreview/overall: 3\n\n" * 9, "several lines for a row.* rows.jsonl"),
        ("track1.txt", "".join(f"{n}|2\n7\t90\n8\t30\n" for n in range(9)), r"heads a block of rows.* > rows.tsv"),
        ("users.dat", "".join(f"{n} {' '.join('123456789'[:n])}\n" for n in range(1, 9)), "counts the others.* cut -d"),
        (
            "behaviors.tsv",
            "".join(f"{n}\tU{n % 30}\t11/1{n % 9}/2019 9:05:58 AM\tN1 N2 N{n}\n" for n in range(1, 40)),
            r"several items in a field.*r\[1\],i,r\[2\].*r\[3\].split",
        ),
        (
            "impressions.tsv",
            "".join(f"{n}\tU{n % 30}\t11/1{n % 9}/2019 9:05:58 AM\tN{n}-1 N2-0\n" for n in range(1, 40)),
            r"each that was clicked.*r\[1\],i\[:-2\],r\[2\].*r\[3\].split\(\) if i\[-1\]=='1'",
        ),
        (
            "reviews.jsonl",
            "".join(json.dumps({"user_id": f"u{n}", "url": "x", "reviews": [{"item_id": n}]}) + "\n" for n in range(9)),
            "reviews holds objects.* jq -c",
        ),
        (
            "wikipedia.csv",
            "user_id,item_id,timestamp,list_of_features\n" + "1,2,3,.5,.25\n" * 9,
            "5 fields in a row, and the first line names 4 .*cut -d, -f1-4 .* > rows.csv",
        ),
        ("r.csv", "user,item,rating\n" + "7,8,3,5\n" * 9, "is a comma the decimal sign, too.* another separator"),
        ("r.json", json.dumps({"user": {"0": 1, "1": 2}, "item": {"0": 3, "1": 4}}), "columns, each .* jq -c"),
        ("train.txt", "".join(f"{n % 2}\t{n}\t{n % 7}\n" for n in range(99)), "2 values; name them.*'user=column 2"),
        ("log.csv", "name,pid,track\n" + "x,1,2\n" * 9, "user=pid,item=track$"),
        ("log.csv", "booker_country,uid,city_id\n" + "x,1,2\n" * 9, "user=uid,item=city_id"),
    ],
)
def test_what_is_no_table_of_rows_says_how_to_make_one(name: str, text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(RecveilError, match=line):
        proposal(tmp_path / name)


def test_letters_of_elsewhere_are_asked_about(recveil: Run, tmp_path: Path) -> None:
    """And the command that says which they are stays in those that follow."""
    rows = lines("{user};商品{item};{n}", "會員;商品;數量\n")
    (tmp_path / "l.txt").write_text(rows, encoding="big5")
    asked = recveil("inspect", "l.txt", code=1).stderr
    assert "say which it is" in asked and "recveil inspect l.txt --encoding big5" in asked
    named = recveil("inspect", "l.txt", "--encoding", "big5", code=1).stderr
    assert "recveil inspect l.txt --encoding big5 --columns 'user=會員,item=商品'" in named
    found = recveil("inspect", "l.txt", "--encoding", "big5", "--columns", "user=會員,item=商品", json_answer=True)
    assert (found["users"], found["items"]) == (60, 30)


def test_columns_without_names_are_told_by_their_number(recveil: Run, tmp_path: Path) -> None:
    """Where items stand first, and where another column tells more, inspect asks; what it says then is enough."""
    (tmp_path / "l.csv").write_text("".join(f"B{n % 20},A{n % 90},{1 + n % 5},15000{n:05}\n" for n in range(900)))
    asked = recveil("inspect", "l.csv").stdout
    assert "20 people with 90 items, or the other way round? --columns 'user=column 2,item=column 1'" in asked
    found = recveil("inspect", "l.csv", "--columns", "user=column 2,item=column 1", json_answer=True)
    assert (found["users"], found["items"], found["kind"]) == (90, 20, "ratings") and not found["questions"]
    recveil(*split(found["next"][0])[1:])
    assert read_schema(str(tmp_path / "log.toml")).names == ("item", "user", "rating", "timestamp")
    (tmp_path / "m.tsv").write_text("".join(f"u{n % 60}\tartist {n % 40 // 5}\tsong {n % 40}\n" for n in range(900)))
    (question,) = recveil("inspect", "m.tsv", json_answer=True)["questions"]
    said = split(question.partition("? ")[2])
    assert recveil("inspect", "m.tsv", *said, json_answer=True)["items"] == 40


def test_rows_of_nobody_are_left_out_where_the_owner_says_so(recveil: Run, tmp_path: Path) -> None:
    rows = lines("{n},{user},{item}", "InvoiceNo,CustomerID,StockCode\n").replace(",3,", ",,").replace(",4,", ",,")
    (tmp_path / "r.csv").write_text(rows + "1,,5\n" * 60)
    share = recveil("inspect", "r.csv", code=1).stderr.partition("--tolerate ")[2].split()[0]
    found = recveil("inspect", "r.csv", "--tolerate", share, json_answer=True)
    assert 0.05 < float(share) < 0.5 and "--tolerate" in found["next"][0]
    recveil(*found["next"][0].split()[1:])
    recveil("assess", "r.csv", "--schema", "log.toml")
    for wrong in ("much", "2"):
        assert "--tolerate is a share" in recveil("inspect", "r.csv", "--tolerate", wrong, code=1).stderr


def test_people_who_are_nobody_are_asked_about(recveil: Run, tmp_path: Path) -> None:
    """One word would be a person with most of the rows, and sessions say more where there are any."""
    rows = lines("{n},{user},{item}", "orderid,userid,itemid\n")
    (tmp_path / "r.csv").write_text(rows + "1,NA,5\n" * 300)
    asked = recveil("inspect", "r.csv")
    assert "NA would be a person with 300 rows" in asked.stdout
    found = recveil("inspect", "r.csv", "--nobody", "NA", "--schema", "log.toml", json_answer=True)
    assert (found["users"], found["rows"]) == (60, len(PAIRS))
    head, _, rest = rows.partition("\n")
    (tmp_path / "s.csv").write_text(f"{head}\n" + "1,NA,5\n" * 700 + rest)
    some = recveil("inspect", "s.csv", json_answer=True)
    assert some["unit"] == "session" and "--schema log.toml" in some["next"][0]
    assert any("--columns user=userid,item=itemid" in question for question in some["questions"])


def test_a_text_that_an_item_follows_from_is_no_tag(tmp_path: Path) -> None:
    (tmp_path / "listens.tsv").write_text(lines("user_{user}\ta-{group}\tSong {item}"))
    assert proposal(tmp_path / "listens.tsv").columns == {"user": "user", "item": "item"}
