"""Files and frames <-> Interactions.

Read: csv, tsv, parquet, jsonl, MovieLens (u.data, ratings.dat, ratings.csv), RecBole .inter, HetRec .dat, each also
as .gz or .zst; by a schema also other encodings and separators, no header, lists, JSON of both shapes; polars, pandas
and arrow frames; scipy CSR; user itemsets. Written: parquet, csv, .inter, .itemsets.
Whatever is wrong with an input comes out as one RecveilError line that names the file and the line.
"""

from recveil.formats.duplicates import count_duplicates, deduplicate
from recveil.formats.frames import from_csr, from_frame
from recveil.formats.reading import read
from recveil.formats.roles import parse_columns, parse_types
from recveil.formats.writing import write

__all__ = ["count_duplicates", "deduplicate", "from_csr", "from_frame", "parse_columns", "parse_types", "read", "write"]
