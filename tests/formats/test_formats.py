"""Every format in, three out, and the same Interactions whichever way they came."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from recveil.data import NO_TIME, Interactions, from_ids
from recveil.errors import RecveilError
from recveil.formats import count_duplicates, deduplicate, from_csr, from_frame, parse_columns, read, write

RATINGS = pl.DataFrame(
    {
        "user": [7, 7, 3, 9, 3, 12345678901],
        "item": [50, 1, 50, 2, 1, 50],
        "rating": [5.0, 3.0, 0.5, 4.0, 1.0, 2.5],
        "timestamp": [874965478, 874965500, 874000000, 874965478, 874000001, 890000000],
    }
)
TAGS = "userID\tmovieID\ttagID\tdate_day\tdate_month\tdate_year\tdate_hour\tdate_minute\tdate_second\n"


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(data: Interactions) -> list[tuple[Any, ...]]:
    return data.frame().rows()


def headless(frame: pl.DataFrame, separator: str) -> str:
    return "".join(separator.join(map(str, row)) + "\n" for row in frame.rows())


def jsonl(frame: pl.DataFrame) -> str:
    return "".join(json.dumps(row) + "\n" for row in frame.to_dicts())


def parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


WAYS: dict[str, Callable[[pl.DataFrame], str | bytes]] = {
    "ratings.parquet": parquet,
    "ratings.csv": lambda f: f.rename({"user": "userId", "item": "movieId"}).write_csv(),
    "semicolons.csv": lambda f: f.write_csv(separator=";"),
    "all_quoted.csv": lambda f: f.write_csv(quote_style="always"),
    "ratings.tsv": lambda f: f.write_csv(separator="\t"),
    "ratings.jsonl": jsonl,
    "u.data": lambda f: headless(f, "\t"),
    "ratings.dat": lambda f: headless(f, "::"),
    "user_ratedmovies-timestamps.dat": lambda f: "userID\tmovieID\trating\ttimestamp\n" + headless(f, "\t"),
    "x.inter": lambda f: "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + headless(f, "\t"),
}


# --- files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
def test_every_format_gives_the_same_ratings(name: str, tmp_path: Path) -> None:
    found = read(put(tmp_path / name, WAYS[name](RATINGS)))
    assert rows(found) == RATINGS.rows()
    assert found.users.to_list() == [3, 7, 9, 12345678901]
    assert found.kind == "ratings"
    assert found.time is not None
    assert found.time.dtype == np.int64


@pytest.mark.parametrize("name", ["ratings.csv", "ratings.tsv", "ratings.parquet", "ratings.jsonl", "ratings.dat"])
@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_packed_files(name: str, packing: str, tmp_path: Path) -> None:
    content = WAYS[name](RATINGS)
    content = content.encode() if isinstance(content, str) else content
    packed = gzip.compress(content) if packing == "gz" else pa.compress(content, codec="zstd", asbytes=True)
    assert rows(read(put(tmp_path / f"{name}.{packing}", packed))) == RATINGS.rows()
    assert rows(read(put(tmp_path / name, packed))) == RATINGS.rows()  # told by its first bytes


@pytest.mark.data
def test_movielens_100k_in_every_format(real_data: Path, tmp_path: Path) -> None:
    first = read(real_data / "ml-100k" / "ratings.parquet")
    assert (len(first), first.n_users, first.n_items) == (100_000, 943, 1682)
    assert first.rating is not None
    assert first.rating.mean() == pytest.approx(3.52986, abs=1e-12)
    frame = first.frame().rename({"time": "timestamp"}).with_columns(pl.col("rating").cast(pl.Int64))
    for name, way in WAYS.items():
        found = read(put(tmp_path / name, way(frame)))
        assert found.equals(first), name
        assert found.users.dtype == found.items.dtype == pl.Int64, name


REAL = {
    "ml-1m/ratings": ("ratings", 1_000_209, 6040, 3706, 0),
    "jester/ratings": ("ratings", 1_810_455, 24_983, 100, 0),
    "goodbooks-10k/ratings": ("ratings", 979_478, 53_424, 10_000, 0),
    "hetrec-lastfm/tags": ("tags", 186_479, 1892, 12_523, 9749),
    "hetrec-lastfm/listens": ("clicks", 92_834, 1892, 17_632, 0),
    "hetrec-movielens/tags": ("tags", 47_957, 2113, 5908, 9079),
    "yahoo-music-mbrw/ratings": ("ratings", 169_474, 9999, 2789, 0),
    "diginetica/sessions": ("sessions", 982_961, 202_633, 43_097, 0),
    "nowplaying/sessions": ("sessions", 1_057_684, 142_556, 60_416, 0),
    "msnbc/sessions": ("sessions", 4_698_794, 989_818, 17, 0),
}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_data(name: str, real_data: Path) -> None:
    found = read(real_data / f"{name}.parquet")
    assert (found.kind, len(found), found.n_users, found.n_items, found.n_tags) == REAL[name]
    assert found.unknown_times == (598 if name == "ml-1m/ratings" else 0)


@pytest.mark.data
def test_goodbooks_has_repeats(real_data: Path) -> None:
    path = real_data / "goodbooks-10k" / "ratings.parquet"
    everything = read(path, duplicates="all")
    assert (len(everything), count_duplicates(everything)) == (981_756, 981_756 - 979_478)
    with pytest.raises(RecveilError, match=r"2,278 of 981,756 rows repeat the user and item"):
        read(path, duplicates="error")


def test_hetrec_dates_in_parts(tmp_path: Path) -> None:
    found = read(put(tmp_path / "user_taggedmovies.dat", TAGS + "75\t353\t5290\t29\t10\t2006\t23\t20\t15\r\n"))
    moment = int(datetime(2006, 10, 29, 23, 20, 15, tzinfo=UTC).timestamp())
    assert rows(found) == [(75, 353, 5290, moment)]
    found = read(put(tmp_path / "b.dat", "userID\tartistID\ttagID\tday\tmonth\tyear\n2\t52\t13\t1\t4\t2009\n"))
    assert rows(found) == [(2, 52, 13, int(datetime(2009, 4, 1, tzinfo=UTC).timestamp()))]
    assert rows(read(put(tmp_path / "user_artists.dat", "userID\tartistID\tweight\n2\t51\t13883\n"))) == [(2, 51)]


def test_a_column_of_lists(tmp_path: Path) -> None:
    frame = pl.DataFrame({"session": [8, 5, 6], "test": [True, False, True], "clicks": [[3, 1, 3], [], [2]]})
    for found in (
        read(put(tmp_path / "s.parquet", parquet(frame))),
        read(put(tmp_path / "s.jsonl", jsonl(frame))),
        from_frame(frame),
        from_frame(frame.with_columns(pl.col("clicks").list.eval(pl.element().cast(pl.UInt8)))),
        from_frame(frame.rename({"session": "Session_ID", "clicks": "basket"}), {"item": "basket"}),
    ):
        assert rows(found) == [(8, 3, 0), (8, 1, 1), (8, 3, 2), (6, 2, 0)]
        assert (found.kind, found.unit) == ("sessions", "session")
    fixed = pl.DataFrame({"user": ["a", "b"], "items": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))})
    assert rows(from_frame(fixed)) == [("a", 1, 0), ("a", 2, 1), ("b", 3, 0), ("b", 4, 1)]
    assert from_frame(fixed).kind == "clicks"


def test_lists_of_the_same_user_follow_each_other() -> None:
    found = from_frame(pl.DataFrame({"user": [1, 2, 1], "clicks": [[10, 11], [10], [12, 13]]}))
    assert found.ordered().frame()["item"].to_list() == [10, 11, 12, 13, 10]


def test_json_lines(tmp_path: Path) -> None:
    text = '\ufeff{"user": "é", "item": 18446744073709551615}\r\n\r\n{"item": 1, "user": "1", "extra": {"a": []}}\n'
    assert rows(read(put(tmp_path / "a.jsonl", text))) == [("é", str(2**64 - 1)), ("1", "1")]
    mixed = '{"user":1,"item":"x"}\n' * 200 + '{"user":"a","item":2}\n'
    assert rows(read(put(tmp_path / "b.ndjson", mixed)))[-2:] == [("1", "x"), ("a", "2")]


# --- ids ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "ids"),
    [
        (["1", "10", "-3"], [1, 10, -3]),
        (["0", "7"], [0, 7]),
        (["007", "7"], ["007", "7"]),
        (["7", "007"], ["7", "007"]),
        (["5", "+5"], ["5", "+5"]),
        (["0", "-0"], ["0", "-0"]),
        (["1", " 1"], ["1", " 1"]),
        (["1", "\t1"], ["1", "\t1"]),
        (["1", "1\t"], ["1", "1\t"]),
        (["1", '"01"'], ["1", "01"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["1", "1e3"], ["1", "1e3"]),
        ([str(2**63 - 1), str(-(2**63))], [2**63 - 1, -(2**63)]),
        ([str(2**64 - 1), "1"], [str(2**64 - 1), "1"]),
        (["1", '"10"'], [1, 10]),
        ([str(2**64 - 1), "01"], [str(2**64 - 1), "01"]),
        ([str(2**64), "1"], [str(2**64), "1"]),
        (["1", "x"], ["1", "x"]),
        (["٣", "३"], ["٣", "३"]),  # digits, but not ours
        (["naïve", "日本"], ["naïve", "日本"]),
        (["null", "None", "NA"], ["null", "None", "NA"]),
    ],
)
@pytest.mark.parametrize("role", ["user", "item", "tag"])
def test_text_becomes_integers_only_where_nothing_is_lost(
    texts: list[str], ids: list[Any], role: str, tmp_path: Path
) -> None:
    other = [r for r in ("user", "item", "tag") if r != role]
    lines = [f"{role},{other[0]},{other[1]}", *(f"{text},{n},{n}" for n, text in enumerate(texts))]
    found = read(put(tmp_path / "ids.csv", "\n".join(lines)))
    assert found.frame()[role].to_list() == ids


common, rare = ["1", "7", "10", "-3", "0"], ["01", "+1", "-0", " 7", "\t7", '"7"', "1.0", "x"]
ends = st.sampled_from(["\n", "\r\n"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(
    lines=st.lists(st.tuples(st.sampled_from(common) | st.sampled_from(rare), ends), min_size=1, max_size=4),
    header=ends,
    ended=st.booleans(),
    order=st.sampled_from(["user,item,rating", "item,user,rating", "rating,item,user"]),
    separator=st.sampled_from(",\t;|"),
)
@example(lines=[("1", "\n"), ("01", "\n")], header="\n", ended=True, order="user,item,rating", separator="\t")
def test_integers_lose_nothing_whatever_the_separators(
    lines: list[tuple[str, str]], header: str, ended: bool, order: str, separator: str, tmp_path: Path
) -> None:
    assume(separator != "\t" or not any("\t" in user for user, _ in lines))
    row = order.replace("item", "5").replace("rating", "0.5")
    text = order + header + "".join(row.replace("user", user) + end for user, end in lines)
    content = (text if ended else text.rstrip()).replace(",", separator)
    found = read(put(tmp_path / "a.csv", content), duplicates="all")
    users = [user.strip('"') for user, _ in lines]
    whole = all(user.removeprefix("-").isdecimal() and str(int(user)) == user for user in users)
    assert found.frame()["user"].to_list() == ([int(user) for user in users] if whole else users)


def test_byte_order_mark_carriage_returns_blank_lines_and_quotes(tmp_path: Path) -> None:
    text = '\ufeffuser,"item",rating\r\n"a,1","say ""so""",5\r\n\r\n"two\nlines",b, 3\r\nc,"d",1\r\n\r\n'
    assert rows(read(put(tmp_path / "odd.csv", text))) == [
        ("a,1", 'say "so"', 5.0),
        ("two\nlines", "b", 3.0),
        ("c", "d", 1.0),
    ]
    short = put(tmp_path / "short.csv", "user,item,comment\n1,2\n3,4,x\n")
    assert rows(read(short)) == [(1, 2), (3, 4)]
    assert rows(read(put(tmp_path / "u.data", "007\t2\t3\t4\n"))) == [("007", 2, 3, 4)]
    assert rows(read(put(tmp_path / "u.data", "\ufeff1\t2\t3\t4\r\n5\t6\t7\t\r\n"))) == [(1, 2, 3, 4), (5, 6, 7, None)]
    assert rows(read(put(tmp_path / "t.dat", 'userID\tmovieID\ttag\n1\t2\t"12 inch\n'))) == [(1, 2, '"12 inch')]


def test_quotes_say_nothing_and_declarations_do(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", 'user,item\n"1",2\n"10",NaN\n2,x\n')
    assert rows(read(path, types={"user": "text", "item": "text"})) == [("1", "2"), ("10", "NaN"), ("2", "x")]
    assert rows(read(path, broken="drop")) == [(1, "2"), (2, "x")]
    assert read(path, broken="drop").users.to_list() == [1, 2, 10]
    assert rows(read(path, types={"item": "int"}, broken="drop")) == [(1, 2)]
    with pytest.raises(RecveilError, match="line 3: item is NaN, a missing value"):
        read(path, types={"item": "int"})


# --- times ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "times"),
    [
        (["3", "", "1"], [3, None, 1]),
        (["", "", ""], [None, None, None]),
        (["3", "1.5", "NaN"], [3.0, 1.5, None]),
        (["1970-01-02", "", "1970-01-01 00:00:09"], [86400, None, 9]),
        (["1970-01-01T00:00:01.25", "1970-01-01T00:01", "1970-01-02"], [1.25, 60.0, 86400.0]),
        (["1970-01-01T01:00:00+01:00", "1970-01-01T00:00:01Z", "1970-01-01 00:00+0000"], [0, 1, 0]),
        (["1969-12-31", "1969-12-31T23:59:59", "1970-01-01"], [-86400, -1, 0]),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_times_as_text(texts: list[str], times: list[Any], name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1, 1, 1], "item": [1, 2, 3], "date": texts})
    found = read(put(tmp_path / name, frame.write_csv() if name == "a.csv" else jsonl(frame)))
    assert found.frame()["time"].to_list() == times
    assert found.time is not None
    assert found.time.dtype == (np.float64 if any(isinstance(t, float) for t in times) else np.int64)


def test_times_as_dates() -> None:
    frame = pl.DataFrame({"user": [1, 2, 3], "item": [1, 1, 1]})
    day = [date(1970, 1, 2), None, date(1969, 12, 31)]
    moment = pl.Series([datetime(1970, 1, 1, 0, 0, 1), None, datetime(1970, 1, 1, 1)])
    exact = pl.Series([datetime(1970, 1, 1, 0, 0, 0, 500_000), None, datetime(1970, 1, 1)])
    for column, times in (
        (pl.Series(day), [86400, None, -86400]),
        (moment, [1, None, 3600]),
        (moment.dt.cast_time_unit("ns"), [1, None, 3600]),
        (moment.dt.replace_time_zone("Europe/Lisbon"), [-3599, None, 0]),
        (exact.dt.cast_time_unit("ms"), [0.5, None, 0.0]),
        (pl.Series([2**53, None, 1], dtype=pl.UInt64), [2**53, None, 1]),
        (pl.Series([0.5, None, float("nan")], dtype=pl.Float32), [0.5, None, None]),
        (pl.Series([None] * 3), [None] * 3),
    ):
        assert from_frame(frame.with_columns(column.alias("ts"))).frame()["time"].to_list() == times


# --- roles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "mapping", "roles"),
    [
        ("User_ID,ITEM,Stars,TimeStamp,Label", None, ["User_ID", "ITEM", "Label", "Stars", "TimeStamp"]),
        ("session,user,item", None, ["user", "session", "item"]),
        ("tag_id,tag,resource,user,date", None, ["user", "resource", "tag", "date"]),
        ("user,book,item_id,isbn", None, ["user", "item_id"]),
        ("uid,sku,order,date,score", None, ["uid", "sku", "score", "date"]),
        ("a,b,c", {"user": "c", "item": "A"}, ["c", "a"]),
        ("user,item,rating,x", {"rating": "x"}, ["user", "item", "x"]),
        ("user,item,movie", {"user": "item"}, ["item", "movie"]),
    ],
)
def test_columns_are_recognised(header: str, mapping: Any, roles: list[str], tmp_path: Path) -> None:
    names = header.split(",")
    values = dict(zip(names, range(1, 9), strict=False))
    found = read(put(tmp_path / "a.csv", f"{header}\n{','.join(map(str, values.values()))}\n"), mapping)
    assert list(rows(found)[0]) == [values[name] for name in roles]


def test_a_session_stands_for_less_than_a_user(tmp_path: Path) -> None:
    assert read(put(tmp_path / "a.csv", "SessionId,item\n1,2\n")).unit == "session"
    assert read(put(tmp_path / "b.csv", "SessionId,user,item\n1,2,3\n")).unit == "user"
    assert read(tmp_path / "b.csv", {"user": "sessionid"}).unit == "session"


def test_parse_columns() -> None:
    assert parse_columns("user=uid, item = movie,tag=a=b") == {"user": "uid", "item": "movie", "tag": "a=b"}


# --- duplicates -----------------------------------------------------------------------------------------------


def rated(pairs: list[tuple[int, int]], **columns: Any) -> Interactions:
    user, item = zip(*pairs, strict=True)
    tag = columns.pop("tag", None)
    arrays = {name: np.array(values) for name, values in columns.items()}
    return from_ids(pl.Series(user), pl.Series(item), tag=None if tag is None else pl.Series(tag), **arrays)


def test_the_last_or_first_of_repeated_ratings_stays() -> None:
    pairs = [(1, 1), (2, 1), (1, 1), (1, 2), (1, 1)]
    for time, first, last in (
        (None, 0, 4),
        ([5, 0, 3, 0, 4], 2, 0),
        ([5, 0, 5, 0, 5], 0, 4),
        ([5, 0, NO_TIME, 0, 6], 0, 2),
        ([5.0, 0, np.nan, 0, 6], 0, 2),
    ):
        times = {} if time is None else {"time": time}
        data = rated(pairs, rating=[0.0, 1, 2, 3, 4], **times)
        assert deduplicate(data, "first").frame()["rating"].to_list() == sorted([first, 1, 3])
        assert deduplicate(data, "last").frame()["rating"].to_list() == sorted([last, 1, 3])
        assert deduplicate(data, "all") is data
        assert count_duplicates(data) == 2
        with pytest.raises(RecveilError, match="2 of 5 rows repeat the user and item"):
            deduplicate(data, "error")


def test_tags_repeat_only_with_the_same_tag() -> None:
    data = rated([(1, 1), (1, 1), (1, 1)], tag=["a", "b", "a"], time=[1, 2, 3])
    assert deduplicate(data, "last").frame()["time"].to_list() == [2, 3]
    assert count_duplicates(data) == 1


def test_clicks_keep_their_repeats() -> None:
    clicks = rated([(1, 1), (1, 1)], time=[0, 1])
    assert deduplicate(clicks, "last") is clicks
    assert deduplicate(clicks, "first") is clicks
    assert count_duplicates(clicks) == 1
    with pytest.raises(RecveilError, match="1 of 2 rows repeat"):
        deduplicate(clicks, "error")
    with pytest.raises(RecveilError, match="did you mean last"):
        deduplicate(clicks, "lasts")  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=12))
def test_deduplicating_against_the_plain_way(entries: list[tuple[int, int, int]]) -> None:
    data = rated([(u, i) for u, i, _ in entries], time=[t for *_, t in entries], rating=range(len(entries)))
    best: dict[tuple[int, int], tuple[int, int]] = {}
    for row, (user, item, time) in enumerate(entries):
        best[user, item] = max(best.get((user, item), (time, row)), (time, row))
    assert deduplicate(data).frame()["rating"].to_list() == sorted(row for _, row in best.values())
    assert count_duplicates(data) == len(entries) - len(best)


# --- frames and matrices --------------------------------------------------------------------------------------


def test_frames_of_three_libraries() -> None:
    for frame in (RATINGS, RATINGS.lazy(), RATINGS.to_pandas(), RATINGS.to_arrow()):
        assert rows(from_frame(frame)) == RATINGS.rows()
    table = pd.DataFrame({"uid": ["a", "b"], "film": pd.Categorical(["x", "y"]), "stars": [1, None]})
    with pytest.raises(RecveilError, match="the frame, row 2: rating is empty"):
        from_frame(table)
    assert rows(from_frame(table.fillna({"stars": 2}))) == [("a", "x", 1.0), ("b", "y", 2.0)]
    assert rows(from_frame(pd.DataFrame({"user": [1.0, 2.0], "item": [3, 4]}))) == [(1, 3), (2, 4)]
    before = RATINGS.clone()
    from_frame(RATINGS)
    assert RATINGS.equals(before)


def test_matrices() -> None:
    data = from_frame(RATINGS.drop("timestamp"))
    found = from_csr(data.matrix(), data.users.to_list(), data.items.to_list())
    assert sorted(rows(found)) == sorted(rows(data))
    assert rows(from_csr(data.matrix(), binary=True))[:2] == [(0, 0), (0, 2)]
    assert from_csr(data.matrix(), binary=True).kind == "clicks"
    with pytest.raises(RecveilError, match="the matrix: 1 names for 4 users"):
        from_csr(data.matrix(), users=["a"])


# --- writing --------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
numerals = st.integers(0, 30).map(str) | st.just("007")
vocabularies = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6),
    st.lists(st.integers(0, 99), min_size=1, max_size=6),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6).map(lambda v: pl.Series(v, dtype=pl.UInt64)),
    st.lists(texts, min_size=1, max_size=6),
    st.lists(numerals, min_size=1, max_size=6),
)


@st.composite
def datasets(draw: st.DrawFn) -> Interactions:
    size = draw(st.integers(1, 12))

    def column(elements: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(elements, min_size=size, max_size=size))

    def ids() -> pl.Series:
        vocabulary = draw(vocabularies)
        return pl.Series(vocabulary).gather(column(st.integers(0, len(vocabulary) - 1)))

    whole = st.integers(-(2**63), 2**63 - 1) | st.just(NO_TIME)
    real = st.floats(allow_infinity=False)
    time = draw(st.sampled_from([None, np.int64, np.float64]))
    return from_ids(
        ids(),
        ids(),
        draw(st.none() | st.just(np.array(column(st.floats(allow_nan=False, allow_infinity=False))))),
        None if time is None else np.array(column(whole if time is np.int64 else real), dtype=time),
        ids() if draw(st.booleans()) else None,
        draw(st.sampled_from(["user", "session"])),
    )


@pytest.mark.parametrize("format", ["parquet", "csv", "inter"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(data=datasets())
def test_what_was_written_reads_back_the_same(data: Interactions, format: Any, tmp_path: Path) -> None:
    path = tmp_path / f"data.{format}"
    write(data, path)
    schema = data.frame().schema
    types = {role: "text" for role in ("user", "item", "tag") if schema.get(role) == pl.String}
    found = read(path, duplicates="all", types=types)
    big = {role: pl.String for role in ("user", "item", "tag") if schema.get(role) == pl.UInt64 and format != "parquet"}
    assert found.frame().cast(big).equals(data.frame().cast(big))
    assert found.frame().cast(big).schema == data.frame().cast(big).schema
    assert (found.unit, found.kind) == (data.unit, data.kind)
    assert list(tmp_path.iterdir()) == [path]


def test_writing_names_the_columns(tmp_path: Path) -> None:
    data = rated([(1, 2)], time=[3], rating=[4.5], tag=["x"])
    write(data, tmp_path / "a", format="csv")
    assert (tmp_path / "a").read_text() == 'user,item,tag,rating,time\n1,2,"x",4.5,3\n'
    write(data, tmp_path / "a", format="inter", time="order")
    header = "user_id:token\titem_id:token\ttag:token\trating:float\torder:float\n"
    assert (tmp_path / "a").read_text() == header + '1\t2\t"x"\t4.5\t3\n'
    write(data, tmp_path / "a.parquet", time="order")
    assert pl.read_parquet(tmp_path / "a.parquet").columns == ["user", "item", "tag", "rating", "order"]
    assert read(tmp_path / "a.parquet").equals(data)
