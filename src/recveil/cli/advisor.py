"""recveil advisor serve [DATA]: the click advisor in a browser."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from recveil.cli.arguments import Columns, Duplicates, Json, answer, read_released, say
from recveil.cli.commands import Group
from recveil.errors import RecveilError
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from sqlalchemy import Engine

VARIABLES = "RECVEIL_SERVE"  # and the name of an option: RECVEIL_SERVE_DATABASE
advisor = Group("advisor", "Serve the click advisor: what a click gives, and gives away.")


def _settings_file(context: click.Context, _parameter: click.Parameter, file: str | None) -> str | None:
    """Let a TOML file give the defaults of options."""
    import tomllib

    if file is None:
        return None
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecveilError(f"{file}: cannot read the settings ({error})") from None
    known = {parameter.name for parameter in context.command.params} - {"config"}
    given = {name.replace("-", "_"): value for name, value in found.items()}
    if unknown := sorted(set(given) - known):
        raise RecveilError(f"{file}: there is no option {unknown[0]}; recveil advisor serve --help names them all")
    context.default_map = given
    return file


@advisor.adds(auto_envvar_prefix=VARIABLES)
def serve(
    data: Annotated[
        str | None,
        Argument(metavar="DATA", help="A log whose people and items come first; else it starts empty."),
    ] = None,
    sample: Annotated[
        str | None, Option(metavar="NAME", help="Invented people and items to try it with: films.")
    ] = None,
    columns: Columns = None,
    database: Annotated[str, Option(metavar="URL", help="A SQLite file, or postgresql://...")] = "recveil.sqlite",
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0: any free one.")] = 8000,
    min_people: Annotated[int, Option(min=1, help="Item profiles of fewer people are not shown.")] = 5,
    counters: Annotated[
        str,
        Option(metavar="private|exact", help="Public counters with a bound, or exact ones for a closed group."),
    ] = "private",
    epsilon: Annotated[float, Option(help="The budget of private counters for one click.")] = 2.0,
    delta: Annotated[float, Option(help="The chance that this promise fails.")] = 1e-6,
    looks: Annotated[int, Option(help="How often a year private counters are shown anew.")] = 365,
    changes: Annotated[int, Option(help="Of one's mind about an item, that ever reach private counters.")] = 2,
    recommend: Annotated[
        str,
        Option(metavar="model|neighbours", help="From a private model of items, or, in a closed group, people."),
    ] = "model",
    model_epsilon: Annotated[float, Option(help="The budget of a year's item models for one person.")] = 4.0,
    model_refreshes: Annotated[int, Option(help="How many item models are made in a year.")] = 4,
    model_people: Annotated[
        int, Option(min=1, help="A model waits for so many people, as the public count says.")
    ] = 500,
    publish_every: Annotated[float, Option(min=0.05, help="Seconds between looks at public profiles.")] = 60.0,
    like: Annotated[
        float | None, Option(metavar="RATING", help="From which rating of DATA on it is a like; else mid-scale.")
    ] = None,
    titles: Annotated[str | None, Option(metavar="FILE", help="Titles of the items: a table of id and title.")] = None,
    rate: Annotated[float, Option(min=0.1, help="Requests a second for each person.")] = 20.0,
    accounts: Annotated[int, Option(min=1, help="New accounts an hour from each address.")] = 60,
    behind_proxy: Annotated[
        bool, Option("--behind-proxy", help="Trust X-Forwarded-For and -Proto of a proxy on this machine.")
    ] = False,
    trust_proxy: Annotated[
        str, Option(metavar="NETWORKS", help="The same of proxies in these networks, such as 10.0.0.0/8.")
    ] = "",
    site: Annotated[
        str, Option(metavar="NAMES", help="Host names it is asked under, beside localhost and addresses.")
    ] = "",
    trust_clock: Annotated[
        bool, Option("--trust-clock", help="Start although the clock is far from the newest visit.")
    ] = False,
    admin_token_file: Annotated[
        str | None, Option(metavar="FILE", help="The admin token; else RECVEIL_ADMIN_TOKEN, else a new one.")
    ] = None,
    workers: Annotated[int, Option(min=1, max=64, help="Processes that serve together, on PostgreSQL.")] = 1,
    log: Annotated[str, Option(metavar="text|json", help="The form of the log on standard error.")] = "text",
    config: Annotated[  # noqa: ARG001
        str | None,
        Option(metavar="FILE", callback=_settings_file, is_eager=True, help="Settings as TOML: names of options."),
    ] = None,
    duplicates: Duplicates = "last",
    as_json: Json = False,
) -> None:
    """The click advisor in a browser: what a click would give a person and give away, before she clicks.

    Accounts are random tokens, clicks are on the disk before they are acknowledged, advice is computed in the browser.

    Example: recveil advisor serve ratings.csv --titles movies.csv --database postgresql://advisor@localhost/advisor
    """
    from recveil.advisor.identity import digest
    from recveil.advisor.item_model import ModelBudget
    from recveil.advisor.noisy_counters import CounterBudget
    from recveil.advisor.running import Serving, check_workers, serve_many, server_of
    from recveil.advisor.service import Settings, open_advisor
    from recveil.advisor.store import check_clock, open_store

    if log not in ("text", "json"):
        raise RecveilError(f"--log is text or json, not {log}")
    token = _admin_token(admin_token_file)
    trusted = _networks(trust_proxy or ("127.0.0.1,::1" if behind_proxy else ""))
    with _listen(host, port) as listening:
        engine = open_store(database)
        try:
            check_workers(workers, engine)
            if not trust_clock:
                check_clock(engine)
            _fill(engine, _first(data, sample), columns, duplicates, like, titles)
            settings = Settings(
                min_people=min_people,
                counters=_chosen(counters),
                budget=CounterBudget(epsilon, delta, looks, changes),
                recommend=_recommender(recommend),
                models=ModelBudget(model_epsilon, delta, model_refreshes, model_people),
                publish_every=publish_every,
                rate=rate,
                accounts=accounts,
                admin=digest(token) if token else None,
                sites=(host.lower(), *(name.strip().lower() for name in site.split(",") if name.strip())),
            )
            opened = open_advisor(engine, settings)
            serving = Serving(database, settings, trusted, log == "json")
            server = server_of(opened, serving) if workers == 1 else None
            listening.listen(1024)  # from now on nobody is turned away
            url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
            shown = {"url": url, "people": opened.snapshot.people, "items": len(opened.snapshot.titles)}
            lines = [f"{shown['people']:,} people, {shown['items']:,} items", f"open {url}   (Ctrl-C stops)"]
            answer(shown, lines, as_json)
            sys.stdout.flush()
            if server is not None:
                server.run(sockets=[listening])
            else:
                engine.dispose()
                serve_many(serving, listening, workers)
        finally:
            engine.dispose()


def _admin_token(file: str | None) -> str | None:
    """From a file or the environment; else a new one, which only a terminal gets to see."""
    if file is not None:
        try:
            token = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise RecveilError(f"{file}: cannot read the admin token ({type(error).__name__})") from None
    else:
        token = os.environ.get("RECVEIL_ADMIN_TOKEN", "")
        if not token and not sys.stderr.isatty():
            say("no admin token: the catalogue cannot be changed over the API (RECVEIL_ADMIN_TOKEN sets one)")
            return None
        if not token:
            from recveil.advisor.identity import new_token

            token = new_token()
            say(f"admin token, shown this once: {token}")
    if len(token) < 20:
        raise RecveilError("the admin token must have at least 20 characters")
    return token


def _chosen(counters: str) -> Literal["private", "exact"]:
    if counters == "exact":
        say("exact counters: whoever makes a few accounts can read from them who clicked what; for closed groups only")
        return "exact"
    if counters != "private":
        raise RecveilError(f"--counters is private or exact, not {counters}")
    return "private"


def _recommender(name: str) -> Literal["model", "neighbours"]:
    if name == "neighbours":
        say("recommendations by neighbours: accounts that resemble a person learn what she likes; for closed groups")
        return "neighbours"
    if name != "model":
        raise RecveilError(f"--recommend is model or neighbours, not {name}")
    return "model"


def _networks(text: str) -> str:
    """Networks of proxies, as they were given."""
    from ipaddress import ip_network

    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            ip_network(part, strict=False)
        except ValueError:
            raise RecveilError(f"--trust-proxy: {part} is no network; write 10.0.0.0/8 or 192.0.2.7") from None
    return text


def _listen(host: str, port: int) -> socket.socket:
    listening = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        if listening is not None:
            listening.close()
        raise RecveilError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return listening


def _first(data: str | None, sample: str | None) -> str | None:
    if data is not None and sample is not None:
        raise RecveilError("DATA or --sample: one of them comes first")
    return data if sample is None else f"sample:{sample}"


def _fill(
    engine: Engine, data: str | None, columns: str | None, duplicates: str, like: float | None, titles: str | None
) -> None:
    """The first people of an empty store: those of DATA, where it is given."""
    from recveil.advisor.loading import is_empty, load
    from recveil.advisor.titles import read_titles, sample_titles
    from recveil.clicks.profiles import clicks

    if data is None:
        if is_empty(engine):
            say("an empty catalogue: PUT /api/v1/items fills it, or DATA or --sample films at a first start")
        return
    log = clicks(read_released(data, columns, duplicates).compact(), like)
    if load(engine, log, read_titles(titles) if titles else sample_titles(data)):
        say(f"{len(log):,} clicks of {log.users:,} nameless people loaded")
