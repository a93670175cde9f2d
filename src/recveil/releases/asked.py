"""Options that several requests have."""

from recveil.options import Argument, Option

DATA = Argument(metavar="DATA", many=True, help="A file, several, a folder of parts, a pattern; or sample:films.")
COLUMNS = Option(metavar="ROLE=NAME,...", help="Such as user=uid,item=movie,rating=stars.")
TYPES = Option(metavar="ROLE=TYPE,...", help="Of ids: int or text, such as item=int,user=text.")
SCHEMA = Option(metavar="FILE", help="What the columns are, as recveil inspect DATA --schema FILE wrote.")
DUPLICATES = Option(metavar="RULE", help="Repeated pairs: last, first, all, or error.")
FOLD_TAGS = Option("--fold-tags", help="Tags that differ in case or outer spaces are the same.")
ENGINE = Option("--engine", help="Where the work is done: local, or spark.")
MASTER = Option(metavar="URL", help="Of Spark: spark://host:7077, sc://host:15002, yarn, local[4]; else local[*].")
MEMORY = Option(metavar="SIZE", help="Such as 4GB: a log that needs more is worked on in parts on disk.")
SCRATCH = Option(metavar="DIR", help="Where those parts lie meanwhile; else beside the bundle.")
ITEMS = Option(
    "--items",
    "--catalogue",
    "--features",
    metavar="FILE",
    help="Your public file of items: item, title, category, any columns; csv, parquet, jsonl.",
    once="--items, --catalogue and --features name one public file: put all columns into it",
)
ITEMS_ARE_PUBLIC = Option(
    "--catalogue-is-public", help="My word that all of --items stands there whether or not anybody touched it."
)
OUTSIDE_BUDGET = Option("--outside-budget", help="Let in what promises nothing that the ledger's budget counts.")
LOOKED = Option(metavar="FILE", help="Enter there that DATA were looked at, before anything is.")
SPENT = Option(metavar="FILE", help="Add what is spent to this file, and say the total.")
SEED = Option(help="Makes the run repeatable: an experiment, not for publication.")
SIZE = Option(metavar="NUMBERS", help="For a forecast: people=5000,items=800,rows=90000, about.")
COUNT = Option(metavar="EPSILON", help="Or count them with this noise, which --ledger keeps.")


def mechanism(help: str) -> Option:
    """The one mechanism of an action."""
    once = "--with was given {} times; it names one mechanism, for one release"
    return Option("--with", "--mechanism", metavar="SPEC", help=help, once=once)
